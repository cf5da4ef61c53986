use super::*;
use crate::find::FoundNodes;
use crate::fixture::{DrawnRun, LOCK_HOG, LOCK_HOG_TOLD};
use crate::style::Style;

fn report() -> Report {
    let scene = DrawnRun::of(LOCK_HOG);
    let of = Some(FoundNodes::Objects(vec![scene.timelines.object("table_lock")]));
    scene.report(View::Objects, &ReportOptions { of, ..ReportOptions::default() })
}

#[test]
fn one_object_is_told_in_full_at_any_width() {
    for width in [80, 120] {
        let text = report().text(&Style::plain(width));
        insta::assert_snapshot!(format!("lock_hog_one_object_{width}"), text);
    }
}

#[test]
fn what_threads_told_of_a_lock_is_shown() {
    let scene = DrawnRun::of(LOCK_HOG_TOLD);
    for width in [80, 120] {
        let text = scene.text(View::Objects, width);
        insta::assert_snapshot!(format!("lock_hog_told_{width}"), text);
    }
    let of = Some(FoundNodes::Objects(vec![scene.timelines.object("table_lock")]));
    let report = scene.report(View::Objects, &ReportOptions { of, ..ReportOptions::default() });
    insta::assert_snapshot!("lock_hog_told_one_object", report.text(&Style::plain(80)));
    let rows: Vec<_> = report.rows.iter().filter(|row| row.words("section") == "acquisition").collect();
    let sum = |column: &str| -> f64 { rows.iter().filter_map(|row| row.value(column)).sum() };
    assert_eq!((sum("acquisitions"), sum("contended_acquisitions")), (9.0, 6.0));
    assert!((sum("hold_seconds") - 0.31).abs() < 1e-9);
}

#[test]
fn a_lock_that_nobody_waits_for_is_shown_when_asked_for() {
    let scene = DrawnRun::of(LOCK_HOG_TOLD);
    let names = |all| -> Vec<String> {
        let report = scene.report(View::Objects, &ReportOptions { all, ..ReportOptions::default() });
        report.rows.iter().map(|row| row.words("object").to_owned()).collect()
    };
    assert_eq!(names(false), ["table_lock"]);
    assert_eq!(names(true), ["table_lock", "log_lock"]);
}

#[test]
fn queue_lengths_add_up_to_the_run_and_pairs_to_the_waits() {
    let rows = report().rows;
    let sum = |section: &str, column: &str| -> f64 {
        rows.iter().filter(|row| row.words("section") == section).filter_map(|row| row.value(column)).sum()
    };
    assert!((sum("queue", "seconds") - 0.32).abs() < 1e-9);
    assert!((sum("length", "seconds") - 0.40).abs() < 1e-9);
    assert!((sum("threads", "seconds") - 0.40).abs() < 1e-9);
    assert_eq!(sum("length", "blocks"), 8.0);
    let threads = rows.iter().find(|row| row.words("section") == "threads").unwrap();
    assert!(threads.words("thread").starts_with("polite") && threads.words("ended_by_thread") == "hog");
    assert!(threads.value("tid").is_some() && threads.value("ended_by_tid").is_some());
    let places = rows.iter().find(|row| row.words("section") == "places").unwrap();
    let of = ["procedure", "ended_by_procedure"].map(|column| places.words(column));
    assert_eq!((of[1], places.value("ended_by_line")), ("update", Some(30.0)), "{places:?}");
    assert!(!of[0].is_empty() && places.value("line").is_some(), "{places:?}");
    // The hog held it while others waited at 1..8, 11..16, 19..24.
    assert!((sum("holder", "held_seconds") - 0.17).abs() < 1e-9);
}

#[test]
fn ranges_have_three_parts_of_ten() {
    assert_eq!(range_of(999), (0, 1_000));
    assert_eq!(range_of(3_000), (3_000, 10_000));
    assert_eq!(range_of(70_000_000), (30_000_000, 100_000_000));
    assert_eq!(range_of(u64::MAX).1, u64::MAX);
}
