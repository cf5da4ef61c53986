//! What threads find free in the recorded run may be what they wait for in a changed one, a lock or a stage of a pipeline: the program is run
//! anew without a procedure.

use crate::support::{Session, first_that_holds, or_skip};

const SOURCE: &str = "free_lock.c";
const FLAGS: [&str; 2] = ["-O2", "-pthread"];

/// Recordings of which one has a range that holds, or most.
const ATTEMPTS: usize = 5;
/// By the scheduler's accidents, in points.
const CLOSE: f64 = 4.0;

#[test]
fn work_beside_a_lock_gains_no_more_than_the_lock_lets_it() {
    let session = Session::start();
    let left_out = [&[r#"-DSCALED="pack""#, "-DFACTOR=0"], &FLAGS[..]].concat();
    let seconds = |flags: &[&str]| session.least_seconds(&session.build(SOURCE, flags).unwrap(), &[]);
    for options in [&["--collector", "bpf"][..], &["--collector", "bpf", "--locks"]] {
        first_that_holds(ATTEMPTS, || {
            let truth = 100.0 * (1.0 - seconds(&left_out) / seconds(&FLAGS));
            let program = session.build(SOURCE, &FLAGS).unwrap();
            let recording = session.record_with(options, &program);
            let (_, range) = recording.gain_without("procedure:pack", CLOSE);
            let summary = recording.report("summary", "procedure");
            let row = summary.all_changes().find(|row| row["text"] == "pack").expect("it gains most");
            let least = row["gain_low_percent"].as_f64().unwrap();
            // Two processors share what is left at best.
            let holds = truth < 45.0 && range.contains(&truth) && least < truth + CLOSE;
            let told = || {
                format!("{options:?}: {range:.0?}, at least {least:.0} in the summary; in truth {truth:.0} %")
            };
            if holds { Ok(()) } else { Err(told()) }
        });
    }
}

/// A lock that is held for less than a third of the run has no order; without any, its waits would be missing.
#[test]
fn waits_for_a_lock_that_is_seldom_held_are_in_the_ranges() {
    const SELDOM: &str = "seldom_lock.c";
    let session = Session::start();
    or_skip!(session.build(SELDOM, &["-pthread"]));
    let seconds = |flags: &[&str]| session.least_seconds(&session.build(SELDOM, flags).unwrap(), &[]);
    // Beside other programs runs take longer, and ranges are as wide as what those took.
    first_that_holds(ATTEMPTS, || {
        let program = session.build(SELDOM, &["-pthread"])?;
        let recording = session.record_with(&["--collector", "bpf"], &program);
        let range = |procedure: &str| recording.gain_without(&format!("procedure:{procedure}"), CLOSE).1;
        let predicted = ["update", "compute"].map(|procedure| (procedure, range(procedure)));
        let all = seconds(&["-pthread"]);
        for (procedure, range) in predicted {
            let scaled = format!(r#"-DSCALED="{procedure}""#);
            let truth = 100.0 * (1.0 - seconds(&[&scaled, "-DFACTOR=0", "-pthread"]) / all);
            if !range.contains(&truth) || range.end() - range.start() >= 30.0 {
                return Err(format!("{procedure}: {range:.0?}; in truth {truth:.0} %"));
            }
        }
        Ok(())
    });
}

/// The unlock is the last call of `update`, which jumps to it.
#[test]
fn who_lets_a_lock_go_by_its_last_call_is_told() {
    let session = Session::start();
    let program = or_skip!(session.build(SOURCE, &FLAGS));
    // Without the program's memory, a lock has the name of the procedure that waits for it.
    for (collector, lock) in [("bpf", "table_lock"), ("perf", "mutex in update")] {
        let recording = session.record_with(&["--collector", collector], &program);
        let answer = recording.report_with("objects", "object", &["--of", lock]);
        let places: Vec<_> = answer
            .rows()
            .filter(|row| row["section"] == "holder")
            .map(|row| row["procedure"].clone())
            .collect();
        assert!(
            !places.is_empty() && places.iter().all(|place| place == "update"),
            "{collector}: {places:?}"
        );
    }
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn work_beside_a_stage_of_a_pipeline_gains_no_more_than_that_lets_it() {
    const STAGES: &str = "pipeline_stages.cpp";
    const LIBRARY: [&str; 1] = ["-ltbb"];
    let session = Session::start();
    let scaled = [&[r#"-DSCALED="change_block""#, "-DFACTOR=0"], &LIBRARY[..]].concat();
    // Each flag set is built at the same path.
    let without = session.path().join("without");
    std::fs::rename(or_skip!(session.build(STAGES, &scaled)), &without).unwrap();
    let program = or_skip!(session.build(STAGES, &LIBRARY));
    let least = |program| session.least_seconds(program, &[]);
    let gain = |_| 100.0 * (1.0 - least(&without) / least(&program));
    // All reads are one after the other. Beside other programs that takes a while to be seen.
    let truth = (1..ATTEMPTS).map(gain).find(|&gain| gain < 45.0).unwrap_or_else(|| gain(ATTEMPTS));
    assert!(truth < 45.0, "{truth}");
    // Samples seldom have it that two threads read at once.
    let ranges: Vec<_> = (0..ATTEMPTS)
        .map(|_| {
            let recording = session.record_with(&["--collector", "bpf"], &program);
            recording.gain_without("procedure:change_block(int)", CLOSE).1
        })
        .collect();
    let held = ranges.iter().filter(|range| range.contains(&truth)).count();
    assert!(2 * held > ATTEMPTS, "{ranges:.0?}; in truth {truth:.0} %");
}
