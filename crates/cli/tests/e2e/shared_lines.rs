//! Cache lines that threads share are found by samples, and promised to save no less than the program without them saves.
//!
//! All runs are real-time, so that the two threads have a processor each whatever other programs do.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::support::{Session, may_be_real_time, or_skip, record_in_real_time, saved_percents};

/// Entries about shared lines.
const REMEDIES: [&str; 2] = ["give each thread a cache line", "give each thread its own"];

fn program(session: &Session) -> Result<PathBuf, String> {
    may_be_real_time()?;
    session.build("line_of_counters.c", &[])
}

/// The program with counters at this place.
fn at<'a>(program: &'a Path, place: &'a str) -> [&'a OsStr; 2] {
    [program.as_os_str(), place.as_ref()]
}

/// The change that is about shared lines.
fn change(session: &Session, program: &Path, place: &str) -> Option<Map<String, Value>> {
    let recording = record_in_real_time(session, &["--collector", "bpf"], &at(program, place));
    let summary = recording.report("summary", "procedure");
    REMEDIES.into_iter().find_map(|remedy| summary.changes(remedy).next().cloned())
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn counters_in_one_line_are_to_be_spread_out_and_one_counter_to_be_divided() {
    let session = Session::alone();
    let program = or_skip!(program(&session));
    for (place, remedy) in ["beside", "same"].into_iter().zip(REMEDIES) {
        let truths = saved_percents(&at(&program, "apart"), &at(&program, place));
        let found = change(&session, &program, place).unwrap_or_else(|| panic!("no change for `{place}`"));
        assert_eq!(found["remedy"], remedy, "{found:?}");
        assert_eq!(found["text"], "`counters`", "{found:?}");
        let high = found["gain_high_percent"].as_f64().unwrap();
        let about = found["about"].as_str().unwrap();
        assert!(high >= truths[0], "{place}: up to {high} %, not {truths:?}");
        assert!(about.contains("2 threads use") && about.contains("in `count_events`"), "{about}");
    }
}

#[test]
fn counters_in_lines_of_their_own_are_left_alone() {
    let session = Session::alone();
    let program = or_skip!(program(&session));
    assert_eq!(change(&session, &program, "apart"), None);
}
