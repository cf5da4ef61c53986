//! Text on which rayon works in parallel phases, chunk by chunk, with a parallel sort and a serial report.
//!
//! ```text
//!   split | sort_chunk, par_sort | count_chunk | search_chunk | hash_chunk | compress_chunk | write_report
//! ```
//! What one phase makes no other one takes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use judged_crates::{document, is_left_out};
use rayon::prelude::*;

/// Words of a chunk.
const CHUNK: usize = 4096;

#[inline(never)]
fn sort_chunk(words: &[&str]) -> usize {
    if is_left_out("sort_chunk") {
        return 0;
    }
    let mut sorted = words.to_vec();
    sorted.sort_by(|one, other| one.as_bytes().iter().rev().cmp(other.as_bytes().iter().rev()));
    black_box(sorted[0].len())
}

#[inline(never)]
fn count_chunk(words: &[&str]) -> usize {
    if is_left_out("count_chunk") {
        return 0;
    }
    let mut counts = HashMap::<&str, usize>::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    black_box(counts.len())
}

#[inline(never)]
fn search_chunk(words: &[&str]) -> usize {
    if is_left_out("search_chunk") {
        return 0;
    }
    let is_found = |word: &&&str| ["9}", "lock\":7", "th\":1", "77"].iter().any(|part| word.contains(part));
    black_box(words.iter().filter(is_found).count())
}

#[inline(never)]
fn hash_chunk(words: &[&str]) -> usize {
    if is_left_out("hash_chunk") {
        return 0;
    }
    let hash = |word: &&str| {
        (0..12_u64).fold(0, |sum, seed| {
            let mut hasher = DefaultHasher::new();
            (seed, word).hash(&mut hasher);
            sum ^ hasher.finish()
        })
    };
    black_box(words.iter().map(hash).fold(0, |one, other| one ^ other) as usize)
}

#[inline(never)]
fn compress_chunk(words: &[&str]) -> usize {
    if is_left_out("compress_chunk") {
        return 0;
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(1));
    for word in words {
        encoder.write_all(word.as_bytes()).expect("memory takes everything");
    }
    encoder.finish().expect("memory takes everything").len()
}

#[inline(never)]
fn write_report(words: &[&str]) -> usize {
    if is_left_out("write_report") {
        return 0;
    }
    let mut report = String::new();
    for (number, word) in words.iter().enumerate() {
        report.clear();
        report.push_str(&format!("{number:>8} {word:<20}\n"));
    }
    black_box(report.len())
}

fn main() {
    let text = document(3, 4_000_000);
    let words: Vec<&str> = text.split(',').collect();
    let of_all = |phase: fn(&[&str]) -> usize| words.par_chunks(CHUNK).map(phase).sum::<usize>();
    for phase in [sort_chunk, count_chunk, search_chunk, hash_chunk, compress_chunk] {
        black_box(of_all(phase));
    }
    let mut sorted = words.clone();
    sorted.par_sort_unstable();
    black_box(write_report(&sorted));
}
