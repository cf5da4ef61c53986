use super::*;
use crate::fixture::{DrawnRun, LOCK_HOG, PROCESSES, SPINNER};
use crate::style::Style;

fn report(drawing: &str, by: By) -> Report {
    DrawnRun::of(drawing).report(View::Rankings, &ReportOptions { by, ..ReportOptions::default() })
}

#[test]
fn every_metric_adds_up_to_a_hundred() {
    for by in [By::Procedure, By::Line, By::Thread, By::Process] {
        let report = report(LOCK_HOG, by);
        for columns in ALL {
            let shares: Vec<f64> = report.rows.iter().filter_map(|row| row.value(columns.percent)).collect();
            let sum: f64 = shares.iter().map(|share| share.max(0.0)).sum();
            assert!(shares.is_empty() || (sum - 100.0).abs() < 0.01, "{by:?} {}: {sum}", columns.title);
        }
    }
}

#[test]
fn figure_2_of_the_paper_has_its_numbers() {
    // A 36 then B 36 and a signal; C 36 beside A on two threads, which then wait (M figure 2).
    let drawing = "cpus 4\nA = A:1\nB = B:1\nC = C:1\nT1 AAABBB\nT2 CCCccc\nT3 CCCccc\nT1@6 -> T2 signal\nT1@6 -> T3 signal";
    let report = report(drawing, By::Procedure);
    let of = |name: &str, column: &str| {
        let row = report.rows.iter().find(|row| row.words("procedure") == name).unwrap();
        row.value(column).unwrap()
    };
    let shares = |column: &str| ["A", "B", "C"].map(|name| of(name, column).round());
    assert_eq!(shares("critical_path_percent"), [50.0, 50.0, 0.0]);
    assert_eq!(shares("npt_percent"), [17.0, 50.0, 33.0]);
    assert_eq!(shares("gprof_percent"), [25.0, 25.0, 50.0]);
    assert_eq!(shares("zeroing_percent"), [50.0, 50.0, 0.0]);
    let c = report.rows.iter().find(|row| row.words("procedure") == "C").unwrap();
    assert!(c.words("disagreement").starts_with("gprof 50"), "{c:?}");
}

#[test]
fn procedures_are_ranked_in_each_process_apart() {
    let report = report(PROCESSES, By::ProcessProcedure);
    assert!(report.rows.iter().all(|row| row.value("pid").is_some() && !row.words("procedure").is_empty()));
    for columns in [&GPROF, &PATH, &NPT, &ZEROING] {
        let sum: f64 = report.rows.iter().filter_map(|row| row.value(columns.percent)).sum();
        assert!((sum - 100.0).abs() < 0.01, "{}: {sum}", columns.title);
    }
    let of_process = |by| {
        let report = self::report(PROCESSES, by);
        let mut sums = std::collections::BTreeMap::new();
        for row in &report.rows {
            *sums.entry(row.value("pid").unwrap_or(0.0) as u64).or_insert(0.0) +=
                row.value("gprof_seconds").unwrap_or(0.0);
        }
        sums.into_iter().map(|(pid, sum): (u64, f64)| (pid, (sum * 1e6).round() as u64)).collect::<Vec<_>>()
    };
    assert_eq!(of_process(By::ProcessProcedure), of_process(By::Process));
}

#[test]
fn spinning_counts_for_gprof_and_not_for_ips2() {
    let report = report(SPINNER, By::Procedure);
    let sum = |column: &str| -> f64 { report.rows.iter().filter_map(|row| row.value(column)).sum() };
    let (gprof, ips2) = (sum("gprof_seconds"), sum("ips2_seconds"));
    let spun = report.recording.spin_seconds;
    assert!(spun > 0.0 && (gprof - ips2 - spun).abs() < 1e-6, "{gprof} {ips2} {spun}");
}

#[test]
fn objects_are_ranked_by_what_threads_wait_for() {
    let report = report(LOCK_HOG, By::Object);
    let row = report.rows.iter().find(|row| row.words("object") == "table_lock").unwrap();
    assert!(row.value("wait_seconds").unwrap() > 0.0);
    assert!(row.get("gprof_percent").is_none());
}

#[test]
fn an_empty_answer_says_why() {
    let text = report("cpus 1\nA = work:1\none AAAA", By::Object).text(&Style::plain(80));
    assert!(text.contains("No thread waited for a lock"), "{text}");
    assert!(report("cpus 1\none ....", By::Procedure).text(&Style::plain(80)).contains("No CPU time"));
}

#[test]
fn the_rule_of_disagreement_needs_points_a_factor_and_errors() {
    let of = |one: f64, other: f64, error: f64| {
        disagreement(&[("gprof", one, error), ("path", other, error)]).is_some()
    };
    assert!(of(30.0, 12.0, 1.0));
    assert!(!of(18.0, 9.0, 1.0), "fewer than ten points");
    assert!(!of(60.0, 40.0, 1.0), "less than twice as much");
    assert!(!of(30.0, 12.0, 7.0), "within two errors");
}
