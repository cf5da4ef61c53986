use longpole_testkit::random_timelines;
use proptest::prelude::*;

use super::*;
use crate::fixture::{DrawnRun, LOCK_HOG, REGIONS, SERIAL_THEN_PARALLEL};
use crate::style::Style;

fn report(scene: &DrawnRun, of: Option<FoundNodes>) -> Report {
    scene.report(View::CallTree, &ReportOptions { of, ..ReportOptions::default() })
}

/// Rows below others add up to them, in every measure.
fn assert_sums(report: &Report) {
    let value = |row: &Row, column| row.value(column).unwrap_or(0.0);
    for row in &report.rows {
        let below = report.rows.iter().filter(|child| child.value("parent") == row.value("id"));
        let below: Vec<&Row> = below.filter(|child| child.value("id") != row.value("id")).collect();
        for (own, inclusive) in MEASURES {
            let sum: f64 = below.iter().map(|child| value(child, inclusive)).sum();
            let difference = value(row, inclusive) - value(row, own) - sum;
            assert!(difference.abs() < 1e-8 * (1.0 + below.len() as f64), "{inclusive}: {row:?}");
        }
    }
}

#[test]
fn the_root_has_what_the_profile_has_in_all() {
    let scene = DrawnRun::of(SERIAL_THEN_PARALLEL);
    let report = report(&scene, None);
    let root = &report.rows[0];
    assert_eq!((root.words("kind"), root.get("parent")), ("program", None));
    assert_eq!(root.value("cpu_inclusive_seconds"), Some(report.recording.cpu_seconds));
    let profile = scene.report(View::Profile, &ReportOptions::default());
    let waited: f64 = profile.rows.iter().filter_map(|row| row.value("wait_seconds")).sum();
    assert!((root.value("wait_inclusive_seconds").unwrap() - waited).abs() < 1e-9);
    assert_sums(&report);
}

#[test]
fn the_tree_below_a_procedure_has_its_inclusive_figures() {
    let scene = DrawnRun::of(LOCK_HOG);
    let hog = report(&scene, Some(FoundNodes::Procedure(scene.timelines.procedure("hog"))));
    let shown: Vec<(&str, Option<f64>, Option<f64>)> = hog
        .rows
        .iter()
        .map(|row| (row.words("procedure"), row.value("line"), row.value("cpu_inclusive_seconds")))
        .collect();
    assert_eq!(shown, [("hog", Some(5.0), Some(0.32)), ("update", Some(30.0), Some(0.32))]);
    assert!(hog.text(&Style::plain(80)).contains("Call tree below `hog`"));
}

#[test]
fn regions_are_told_from_procedures_and_threads_can_be_chosen() {
    let scene = DrawnRun::of(REGIONS);
    let kinds: Vec<String> =
        report(&scene, None).rows.iter().map(|row| row.words("kind").to_owned()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "region").count(), 2, "{kinds:?}");
    let pool = report(&scene, Some(FoundNodes::Threads(vec![scene.timelines.thread("pool")])));
    assert_eq!(pool.rows[0].value("cpu_inclusive_seconds"), Some(0.14));
    assert_sums(&pool);
}

#[test]
fn small_paths_are_one_row_below_the_path_that_they_go_on_from() {
    let big = "A".repeat(20_100);
    let text = format!("cpus 1\nA = main > work\nB = main > tiny\nC = main > small > leaf\nmain {big}BC");
    let scene = DrawnRun::with(longpole_testkit::draw(&text));
    let report = report(&scene, None);
    let others: Vec<&Row> = report.rows.iter().filter(|row| row.words("kind") == "others").collect();
    let [others] = others[..] else { panic!("{others:?}") };
    assert_eq!(others.value("count"), Some(2.0));
    assert_eq!(others.value("cpu_inclusive_seconds"), Some(2e-9));
    assert_sums(&report);
    let names: Vec<&str> = report.rows.iter().map(|row| row.words("procedure")).collect();
    assert_eq!(names, ["", "main", "", "work"]);
}

#[test]
fn paths_that_only_go_on_are_told_with_their_end() {
    let text =
        DrawnRun::of("cpus 1\nA = _start > main > run > work\nB = _start > main > run > log\nmain AAAAABB")
            .text(View::CallTree, 100);
    let names: Vec<&str> = text.lines().rev().take(3).map(|line| line.rsplit("  ").next().unwrap()).collect();
    assert_eq!(names, ["log", "work", "_start › main › run"], "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn rows_add_up_and_stand_behind_those_that_they_are_below(made in random_timelines(5, 60)) {
        let report = report(&DrawnRun::with(made), None);
        assert_sums(&report);
        for (at, row) in report.rows.iter().enumerate() {
            prop_assert_eq!(row.value("id"), Some(at as f64));
            prop_assert!(row.value("parent").is_none_or(|parent| parent < at as f64));
        }
    }
}
