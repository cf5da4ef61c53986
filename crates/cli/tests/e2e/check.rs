//! A gate for continuous integration: programs executed several times, with more work and with the same.

use std::path::PathBuf;

use crate::support::{Answer, Run, Session, longpole, or_skip, run};

/// Recordings of each side.
const RUNS: usize = 3;

/// Records one of `programs/`, built with these flags, several times.
fn recorded(session: &Session, flags: &[&str], name: &str) -> Result<Vec<PathBuf>, String> {
    let program = session.build("serial_then_parallel.c", flags)?;
    (0..RUNS).map(|number| session.record_as(&format!("{name}-{number}"), &program)).collect()
}

fn check(after: &[PathBuf], before: &[PathBuf], options: &[&str]) -> Run {
    let mut command = longpole();
    run(command.arg("check").args(after).arg("--against").args(before).args(options))
}

#[test]
fn doubled_work_fails_and_the_same_work_passes() {
    let session = Session::start();
    let before = or_skip!(recorded(&session, &[], "before"));
    let again = or_skip!(recorded(&session, &[], "again"));
    let after = or_skip!(recorded(&session, &["-DTRANSFORM=800"], "after"));
    // Work is counted in CPU time, which other programs on the machine do not change by as much as that.
    let conditions = [
        "--fail-if",
        "critical_path.transform > +30%",
        "--fail-if",
        "cpu.transform > +200ms",
        "--fail-if",
        "cpu.read_input > +30%",
    ];
    let failed = check(&after, &before, &[&conditions[..], &["--width", "80"]].concat());
    assert_eq!(failed.status.code(), Some(3), "{}{}", failed.stdout, failed.stderr);
    assert!(failed.stdout.starts_with("FAILED: 2 of 3 conditions"), "{}", failed.stdout);
    assert!(failed.stdout.lines().all(|line| line.chars().count() <= 80), "{}", failed.stdout);
    let passed = check(&again, &before, &[&conditions[..], &["--format", "json"]].concat());
    assert_eq!(passed.status.code(), Some(0), "{}{}", passed.stdout, passed.stderr);
    let answer = Answer::new("check", &passed.stdout);
    assert!(answer.rows().all(|row| row["outcome"] != "FAILED"), "{answer:?}");
    let transform = answer.rows().find(|row| row["condition"] == "cpu.transform > +200ms").unwrap();
    let seconds = transform["before_seconds"].as_f64().unwrap();
    assert!((seconds - 0.8).abs() < 0.08, "{seconds}");
}

#[test]
fn what_cannot_be_checked_is_no_failed_condition() {
    let session = Session::start();
    let all = or_skip!(recorded(&session, &[], "all"));
    let (one, others) = all.split_at(1);
    let told = |options: &[&str]| {
        let run = check(one, others, options);
        (run.status.code(), run.stderr)
    };
    let (status, text) = told(&["--fail-if", "cpu.transfrom > +5%"]);
    assert!(
        status == Some(1) && text.contains("no recording has it") && text.contains("transform"),
        "{text}"
    );
    let (status, text) = told(&["--fail-if", "cpu.transform > 5%"]);
    assert!(status == Some(2) && text.contains("write +5%"), "{text}");
    let twice = check(one, one, &["--fail-if", "elapsed > +5%"]);
    assert!(twice.status.code() == Some(2) && twice.stderr.contains("named twice"), "{}", twice.stderr);
}
