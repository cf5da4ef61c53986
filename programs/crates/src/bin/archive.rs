//! Documents that are parsed, counted, sorted, compressed and summed by rayon, between two serial parts.
//!
//! ```text
//!   main       make_documents | par_iter: parse_document, count_words, sort_lines, compress_document, checksum_document | rank_lines
//! ```
//! No part needs what another one made, so each can be left out.

use std::collections::HashMap;
use std::hint::black_box;
use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use judged_crates::{document, is_left_out};
use rayon::prelude::*;

const DOCUMENTS: u64 = 144;
const BYTES: usize = 100_000;

#[inline(never)]
fn make_documents() -> Vec<String> {
    (0..DOCUMENTS).map(|number| document(number, BYTES)).collect()
}

#[inline(never)]
fn parse_document(text: &str) -> usize {
    if is_left_out("parse_document") {
        return 0;
    }
    serde_json::from_str::<serde_json::Value>(text).map_or(0, |value| value.as_array().map_or(0, Vec::len))
}

#[inline(never)]
fn count_words(text: &str) -> usize {
    if is_left_out("count_words") {
        return 0;
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in text.split(|letter: char| !letter.is_ascii_alphanumeric()) {
        *counts.entry(word).or_default() += 1;
    }
    counts.len()
}

#[inline(never)]
fn sort_lines(text: &str) -> usize {
    if is_left_out("sort_lines") {
        return 0;
    }
    let mut lines: Vec<&str> = text.split(',').collect();
    lines.sort_unstable();
    lines.iter().position(|line| line.contains("zero")).unwrap_or(0)
}

#[inline(never)]
fn compress_document(text: &str) -> usize {
    if is_left_out("compress_document") {
        return 0;
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(2));
    encoder.write_all(text.as_bytes()).expect("memory takes everything");
    encoder.finish().expect("memory takes everything").len()
}

#[inline(never)]
fn checksum_document(text: &str) -> usize {
    if is_left_out("checksum_document") {
        return 0;
    }
    // The parts one by one, as an archive's index has them.
    (0..40).map(|part| crc32fast::hash(&text.as_bytes()[part..]) as usize).fold(0, |sum, part| sum ^ part)
}

#[inline(never)]
fn rank_lines(documents: &[String]) -> usize {
    if is_left_out("rank_lines") {
        return 0;
    }
    let mut lines: Vec<&str> = documents.iter().take(32).flat_map(|text| text.split(',')).collect();
    lines.sort();
    lines.dedup();
    lines.len()
}

fn main() {
    let documents = make_documents();
    let work = |text: &String| parse_document(text) + count_words(text) + sort_lines(text) + compress_document(text) + checksum_document(text);
    let total: usize = documents.par_iter().map(work).sum();
    black_box(total + rank_lines(&documents));
}
