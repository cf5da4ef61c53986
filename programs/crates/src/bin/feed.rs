//! Blocks that one thread makes, and six take from a bounded channel, work on and enter into one table behind a mutex.
//!
//! ```text
//!   main      make_block, send | ...                                                                | write_report
//!   worker    receive | parse_block | compress_block | checksum_block | lock update_table unlock | ...
//! ```

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use judged_crates::{document, is_left_out};

const BLOCKS: u64 = 180;
const BYTES: usize = 60_000;
const WORKERS: usize = 6;

static TABLE: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

#[inline(never)]
fn make_block(number: u64, first: &str) -> String {
    if is_left_out("make_block") {
        return first.to_owned();
    }
    // No tail call: this procedure stays on the stack.
    black_box(document(number, BYTES))
}

#[inline(never)]
fn parse_block(text: &str) -> usize {
    if is_left_out("parse_block") {
        return 0;
    }
    serde_json::from_str::<serde_json::Value>(text).map_or(0, |value| value.as_array().map_or(0, Vec::len))
}

#[inline(never)]
fn compress_block(text: &str) -> usize {
    if is_left_out("compress_block") {
        return 0;
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(3));
    encoder.write_all(text.as_bytes()).expect("memory takes everything");
    encoder.finish().expect("memory takes everything").len()
}

#[inline(never)]
fn checksum_block(text: &str) -> usize {
    if is_left_out("checksum_block") {
        return 0;
    }
    (0..80).map(|part| crc32fast::hash(&text.as_bytes()[part..]) as usize).fold(0, |sum, part| sum ^ part)
}

#[inline(never)]
fn update_table(text: &str) {
    let mut table = TABLE.lock().expect("no worker panics");
    enter_words(&mut table, text);
}

#[inline(never)]
fn enter_words(table: &mut BTreeMap<String, usize>, text: &str) {
    if is_left_out("enter_words") {
        return;
    }
    for word in text.split(',').take(1500) {
        *table.entry(word[..word.len().min(12)].to_owned()).or_default() += 1;
    }
}

#[inline(never)]
fn write_report(text: &str) -> usize {
    if is_left_out("write_report") {
        return 0;
    }
    (0..60).map(|_| text.split(',').collect::<std::collections::BTreeSet<_>>().len()).sum()
}

fn main() {
    let (sender, receiver) = sync_channel::<String>(4);
    let receiver = Arc::new(Mutex::new(receiver));
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let receiver = Arc::clone(&receiver);
            std::thread::spawn(move || {
                loop {
                    let block = receiver.lock().expect("no worker panics").recv();
                    let Ok(text) = block else { return };
                    black_box(parse_block(&text) + compress_block(&text) + checksum_block(&text));
                    update_table(&text);
                }
            })
        })
        .collect();
    let first = document(0, BYTES);
    for number in 0..BLOCKS {
        sender.send(make_block(number, &first)).expect("the workers receive until the end");
    }
    drop(sender);
    for worker in workers {
        worker.join().expect("no worker panics");
    }
    black_box(write_report(&first));
}
