//! Rust's own synchronisation, which no library call betrays: each object has its kind, and the same name in every run.
//!
//! ```text
//!   holder   [ask first] hold 8 ms | ...          for each object in turn, 6 rounds
//!   client     wait until held, ask | ...
//! ```
//! The client waits for `rust_locks::TABLE` (a mutex that is a static), `rust_locks::LINES` (a reader-writer lock), a mutex
//! on the heap in `Cache::get`, a channel in `receive` and to be unparked in `rest`.
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, RwLock, mpsc};
use std::thread;
use std::time::Duration;

static TABLE: Mutex<u64> = Mutex::new(0);
static LINES: RwLock<u64> = RwLock::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);

struct Cache {
    entries: Mutex<u64>,
}

impl Cache {
    #[inline(never)]
    fn get(&self, work: fn()) {
        let mut entries = self.entries.lock().unwrap();
        work();
        *entries += 1;
    }
}

fn hold() {
    HELD.fetch_add(1, SeqCst);
    thread::sleep(Duration::from_millis(8));
}

fn nothing() {}

/// Waits until the holder has what the client is about to ask for.
fn await_turn(seen: &mut usize) {
    *seen += 1;
    while HELD.load(SeqCst) < *seen {
        thread::sleep(Duration::from_micros(100));
    }
}

#[inline(never)]
fn receive(receiver: &mpsc::Receiver<u64>) {
    receiver.recv().unwrap();
}

#[inline(never)]
fn rest() {
    thread::park();
    // Not the last call, or the compiler makes a jump of it.
    HELD.fetch_add(0, SeqCst);
}

fn pause() {
    thread::sleep(Duration::from_millis(2));
}

fn main() {
    let cache = Arc::new(Cache { entries: Mutex::new(0) });
    let (sender, receiver) = mpsc::channel();
    let of_client = cache.clone();
    let client = thread::spawn(move || {
        let mut seen = 0;
        for _ in 0..6 {
            await_turn(&mut seen);
            *TABLE.lock().unwrap() += 1;
            await_turn(&mut seen);
            *LINES.write().unwrap() += 1;
            await_turn(&mut seen);
            of_client.get(nothing);
            receive(&receiver);
            rest();
        }
    });
    for _ in 0..6 {
        {
            let _table = TABLE.lock().unwrap();
            hold();
        }
        pause();
        {
            let _lines = LINES.read().unwrap();
            hold();
        }
        pause();
        cache.get(hold);
        thread::sleep(Duration::from_millis(8));
        sender.send(1).unwrap();
        thread::sleep(Duration::from_millis(8));
        client.thread().unpark();
        pause();
    }
    client.join().unwrap();
}
