//! A program of 2,001 threads: the metrics of each of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::fmt::Write;

use longpole_answer::{Question, Recording};
use longpole_metrics::By;
use longpole_report::View;
use longpole_testkit::Drawing;

/// With a search among all names for each thread and metric this takes minutes.
#[test]
fn each_of_two_thousand_threads_has_its_metrics() {
    let mut drawing = "unit 1000000\n".to_owned();
    for thread in 0..2001 {
        writeln!(drawing, "T{thread} {}cc", ["Ac", "AA", "cc"][thread % 3]).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.longpole");
    Drawing::parse(&drawing).unwrap().write(&path).unwrap();
    let recording = Recording::open(&path).unwrap();
    let metrics = vec!["cpu_seconds".to_owned(), "npt_seconds".to_owned()];
    let question = Question { by: By::Thread, metrics, ..Question::default() };
    let report = recording.report(View::Metrics, &question).unwrap();
    let value = |row: usize| (report.rows[2 * row].value("value").unwrap() * 1e6).round();
    // The program, its machine, its process, and as many threads as a report shows, two rows each.
    assert_eq!(report.rows.len(), 2 * 2000);
    assert_eq!([value(0), value(1), value(2)], [2001e3; 3]);
    (0..1997).for_each(|thread| assert_eq!(value(3 + thread), [1e3, 2e3, 0.0][thread % 3], "T{thread}"));
}
