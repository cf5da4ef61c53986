//! A Rust thread that sleeps and looks again until another one has made the next item: `poll_usleep.c` by `std::thread::sleep`.
//!
//! ```text
//!   maker    produce 12 | produce 12 | ...                      nothing says when an item is there but a number in memory
//!   main     sleep 2 | sleep 2 | ... | consume 3 | sleep 2 ...
//! ```
//! Without produce all items are there from the start, and main never sleeps: the run is 60 ms of about 245.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

include!("work.rs");

const ITEMS: usize = 20;

static MADE: AtomicUsize = AtomicUsize::new(0);

#[inline(never)]
fn produce() {
    burn!(12);
}

#[inline(never)]
fn consume() {
    burn!(3);
}

#[inline(never)]
fn await_item(item: usize) {
    while MADE.load(Ordering::Acquire) <= item {
        thread::sleep(Duration::from_millis(2));
    }
}

fn main() {
    let maker = thread::Builder::new().name("maker".into()).spawn(|| {
        for _ in 0..ITEMS {
            produce();
            MADE.fetch_add(1, Ordering::Release);
        }
    });
    for item in 0..ITEMS {
        await_item(item);
        consume();
    }
    maker.unwrap().join().unwrap();
}
