//! Two drawn runs compared.

use longpole_testkit::random_timelines;
use proptest::prelude::*;

use super::{EarlierPrediction, build_diff, diff_demand};
use crate::fixture::{DrawnRun, LOCK_HOG, PIPE, SERIAL_THEN_PARALLEL, WAITING};
use crate::input::ReportOptions;
use crate::report::{Report, Row};
use crate::style::Style;

fn compared(before: &DrawnRun, after: &DrawnRun) -> Report {
    compared_with(before, after, &[])
}

fn compared_with(before: &DrawnRun, after: &DrawnRun, earlier: &[EarlierPrediction]) -> Report {
    before.with_details(&diff_demand(), |before| {
        after.with_details(&diff_demand(), |after| {
            build_diff((before.input(), earlier), after.input(), &ReportOptions::default())
        })
    })
}

fn section<'a>(report: &'a Report, name: &'a str) -> impl Iterator<Item = &'a Row> {
    report.rows.iter().filter(move |row| row.words("section") == name)
}

fn change(row: &Row) -> f64 {
    row.value("change_seconds").unwrap()
}

/// The changes of the parts, and of the elapsed time; nanoseconds.
fn sums(report: &Report) -> (i64, i64) {
    let whole = |seconds: f64| (seconds * 1e9).round() as i64;
    let parts = section(report, "because").map(|row| whole(change(row))).sum();
    let elapsed = section(report, "run").find(|row| row.words("name") == "elapsed").map(change);
    (parts, whole(elapsed.unwrap()))
}

#[test]
fn work_that_takes_longer_is_named_with_its_time() {
    // `compute` of both workers takes 100 ms more, of which the longer one is on the path.
    let longer = SERIAL_THEN_PARALLEL
        .replace(
            "AAAAAAAAAA\nworker2 ____________________",
            "AAAAAAAAAAAAAAAAAAAA\nworker2 ____________________AAAAAAAAAA",
        )
        .replace("jM", "jjjjjjjjjjjM")
        .replace("worker2@40", "worker2@50");
    let (before, after) = (DrawnRun::of(SERIAL_THEN_PARALLEL), DrawnRun::of(&longer));
    let report = compared(&before, &after);
    assert_eq!(sums(&report), (100_000_000, 100_000_000));
    let changed: Vec<(&str, &str, f64)> = section(&report, "because")
        .filter(|row| row.words("verdict") != "none")
        .map(|row| (row.words("procedure"), row.words("kind"), change(row)))
        .collect();
    assert_eq!(changed, [("compute", "work", 0.1)]);
    let cpu = section(&report, "procedure").next().unwrap();
    assert_eq!((cpu.words("procedure"), change(cpu)), ("compute", 0.2));
    let text = report.text(&Style::plain(80));
    assert!(text.starts_with("The run takes 100 ms longer: 510 ms instead of 410 ms (24 %)"), "{text}");
    assert!(text.contains("nearly all of it in `compute`"), "{text}");
}

#[test]
fn the_same_run_has_no_change_anywhere() {
    for drawing in [LOCK_HOG, SERIAL_THEN_PARALLEL, PIPE, WAITING] {
        let run = DrawnRun::of(drawing);
        let report = compared(&run, &run);
        assert!(report.rows.iter().all(|row| row.words("verdict") == "none"), "{:?}", report.rows);
        assert!(report.rows.iter().all(|row| row.words("explanation") != "changed"));
        assert!(report.text(&Style::plain(80)).starts_with("No difference in the elapsed time"));
    }
}

#[test]
fn a_change_within_its_errors_is_none() {
    // Of 32 columns one more is `update`, with one look behind each column: a share of 1 in 32 is nothing.
    let before = "cpus 1\nA = update:1\nB = digest:2\none ABABABABABABABABABABABABABABABAB";
    let after = "cpus 1\nA = update:1\nB = digest:2\none ABABABABABABABABABABABABABABABAA";
    let run = |drawing| DrawnRun { looks: 1.0, ..DrawnRun::of(drawing) };
    let report = compared(&run(before), &run(after));
    let update = section(&report, "procedure").find(|row| row.words("procedure") == "update").unwrap();
    assert_eq!((change(update), update.words("verdict")), (0.01, "none"));
    assert!(update.value("change_error_seconds").unwrap() > 0.01);
}

#[test]
fn waits_of_which_the_cause_changed_say_so() {
    // The lock is held by `update` before, and by `rebuild` after.
    let other = LOCK_HOG.replace("hog:5 > update:30", "hog:5 > rebuild:30");
    let report = compared(&DrawnRun::of(LOCK_HOG), &DrawnRun::of(&other));
    let wait = section(&report, "wait").find(|row| row.words("object") == "table_lock").unwrap();
    assert_eq!(wait.words("explanation"), "changed");
    assert!(wait.words("before_cause").contains("update"), "{wait:?}");
    assert!(wait.words("after_cause").contains("rebuild"), "{wait:?}");
}

#[test]
fn different_programs_are_compared_as_far_as_they_can_be() {
    let mut other = DrawnRun::of(WAITING);
    other.timelines.program.command = vec!["./other".to_owned()];
    let report = compared(&DrawnRun::of(LOCK_HOG), &other);
    let (parts, elapsed) = sums(&report);
    assert_eq!(parts, elapsed);
    let text = report.text(&Style::plain(80)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("these are different programs, `drawn` and `other`"), "{text}");
    assert!(text.contains("update (only before)"), "{text}");
}

#[test]
fn the_text_of_two_runs_stays_as_it_is() {
    let slower = LOCK_HOG.replace("HHHHHHHHHHHHHHHH\n", "HHHHHHHHHHHHHHHHHHHHHHHH\n");
    let report = compared(&DrawnRun::of(LOCK_HOG), &DrawnRun::of(&slower));
    insta::assert_snapshot!("diff_lock_hog_80", report.text(&Style::plain(80)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_parts_add_up_to_the_difference(before in random_timelines(4, 50), after in random_timelines(4, 50)) {
        let report = compared(&DrawnRun::with(before), &DrawnRun::with(after));
        let (parts, elapsed) = sums(&report);
        prop_assert_eq!(parts, elapsed);
        let text = report.text(&Style::plain(80));
        prop_assert!(text.lines().all(|line| line.chars().count() <= 80), "{}", text);
    }
}

#[test]
fn what_was_predicted_stands_beside_what_was_achieved() {
    let (before, after) = (DrawnRun::of(SERIAL_THEN_PARALLEL), DrawnRun::of(SERIAL_THEN_PARALLEL));
    let of = |change: &str, low, high| EarlierPrediction {
        change: change.to_owned(),
        percent: low,
        range: (low, high),
    };
    let report =
        compared_with(&before, &after, &[of("a=0", 20.0, 30.0), of("b=0", 1.0, 2.0), of("c=1", -1.0, 1.0)]);
    let inside: Vec<(&str, &str)> =
        section(&report, "prediction").map(|row| (row.words("name"), row.words("inside"))).collect();
    // Nothing was gained.
    assert_eq!(inside, [("c=1", "yes"), ("b=0", "not sure"), ("a=0", "no")]);
    assert!(report.text(&Style::plain(80)).contains("Predicted by `what-if`"));
    assert!(!compared(&before, &after).text(&Style::plain(80)).contains("Predicted by"));
}
