//! The metrics of one run side by side, on a program whose metrics are known.

use crate::support::{Collector, Session, longpole, or_skip, run};

/// What each metric gives `lock_hog.c`'s procedures by the program's first comment, percent of the metric's sum: the hog's two
/// procedures are the critical path, and most CPU time of the others is beside it.
#[test]
fn the_columns_are_those_of_the_metrics_own_views() {
    let session = Session::start();
    let recording =
        or_skip!(session.build("lock_hog.c", &[]).and_then(|it| session.record(Collector::Bpf, &[it])));
    let answer = recording.report("rankings", "procedure");
    let share = |name: &str, column: &str| answer.sum("procedure", name, column);
    // Of 975 ms; what lies between is short.
    assert!((share("hog_table", "critical_path_percent") - 92.3).abs() < 6.0, "{answer:?}");
    assert!(share("independent_work", "critical_path_percent") < 10.0, "{answer:?}");
    for (column, view) in [
        ("gprof_seconds", "profile"),
        ("critical_path_seconds", "critical-path"),
        ("npt_seconds", "npt"),
        ("zeroing_seconds", "zeroing"),
        ("slack_seconds", "slack"),
    ] {
        let own = recording.report(view, "procedure").sum("procedure", "hog_table", "seconds");
        let here = share("hog_table", column);
        assert!((own - here).abs() < 1e-6, "{view}: {own}, not {here}");
    }
    for column in ["gprof_percent", "ips2_percent", "critical_path_percent", "npt_percent", "zeroing_percent"]
    {
        let sum = answer.sum_of(column);
        assert!((sum - 100.0).abs() < 0.1, "{column}: {sum}");
    }
}

#[test]
fn every_kind_of_row_is_ranked_and_fits_the_terminal() {
    let session = Session::start();
    let recording =
        or_skip!(session.build("lock_hog.c", &[]).and_then(|it| session.record(Collector::Bpf, &[it])));
    for by in ["procedure", "line", "thread", "process", "object"] {
        let mut report = longpole();
        report.arg("report").arg(&recording.path).args(["--view", "rankings", "--by", by, "--width", "80"]);
        let text = run(&mut report).stdout;
        assert!(text.contains("Rankings: "), "{by}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{by}: {text}");
    }
    let objects = recording.report("rankings", "object");
    assert!(objects.sum("object", "table_lock", "wait_seconds") > 0.1, "{objects:?}");
}
