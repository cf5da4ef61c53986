//! A Rust `Mutex` that one thread keeps nearly all the time.
//!
//! ```text
//!   holder   [lock] rebuild_index 50 [unlock] log_progress 5 | ...          16 rounds
//!   client   parse_query 10 | lock ... [read_index 1] | ...                 two of them, until the holder ends
//! ```
//! Critical path (CPU): the holder, 16 x 55 = 880 ms: rebuild_index 800 (90.9 %), log_progress 80 (9.1 %); a
//! few read_index may lie between. The clients are blocked most of the time: cause `lock`, suffered in
//! answer_query, ended by thread `holder`.
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

include!("work.rs");

static INDEX: Mutex<u64> = Mutex::new(0);
static HOLDER_HAS_ENDED: AtomicBool = AtomicBool::new(false);

#[inline(never)]
fn rebuild_index() {
    burn!(50);
}

#[inline(never)]
fn log_progress() {
    burn!(5);
}

#[inline(never)]
fn parse_query() {
    burn!(10);
}

#[inline(never)]
fn read_index() {
    burn!(1);
}

#[inline(never)]
fn answer_query() {
    let index = INDEX.lock().unwrap();
    read_index();
    drop(index);
}

fn holder() {
    for _ in 0..16 {
        let mut index = INDEX.lock().unwrap();
        rebuild_index();
        *index += 1;
        drop(index);
        log_progress();
    }
    HOLDER_HAS_ENDED.store(true, Ordering::Release);
}

fn client() {
    while !HOLDER_HAS_ENDED.load(Ordering::Acquire) {
        parse_query();
        answer_query();
    }
}

fn main() {
    let start = |name: &str, run: fn()| thread::Builder::new().name(name.into()).spawn(run).unwrap();
    let threads = [start("holder", holder), start("client", client), start("client", client)];
    for thread in threads {
        thread.join().unwrap();
    }
}
