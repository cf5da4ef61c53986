//! A Rust `mpsc` channel: the sender is slow, the receiver parks.
//!
//! ```text
//!   sender   load_chunk 45, send | ...                     20 chunks
//!   main     recv ... | index_chunk 15 | recv ...
//! ```
//! Critical path (CPU): 20 x 45 + 15 = 915 ms: load_chunk 98.4 %, index_chunk 1.6 %. CPU time: 1200 ms:
//! load_chunk 75 %, index_chunk 25 %. main is blocked 45 + 19 x 30 = 615 ms: cause `message`, suffered in
//! next_chunk, ended by thread `sender`.
use std::sync::mpsc::{Receiver, channel};
use std::thread;

include!("work.rs");

#[inline(never)]
fn load_chunk() {
    burn!(45);
}

#[inline(never)]
fn index_chunk() {
    burn!(15);
}

#[inline(never)]
fn next_chunk(chunks: &Receiver<u32>) -> Option<u32> {
    chunks.recv().ok()
}

fn main() {
    let (sender, chunks) = channel();
    let run = move || {
        for number in 0..20 {
            load_chunk();
            sender.send(number).unwrap();
        }
    };
    let thread = thread::Builder::new().name("sender".into()).spawn(run).unwrap();
    while next_chunk(&chunks).is_some() {
        index_chunk();
    }
    thread.join().unwrap();
}
