//! Questions that have no answer: what is wrong is said on stderr, with the nearest names, and nothing on stdout.

use std::path::Path;

use crate::support::{Collector, Recording, Run, Session, assert_forms, assert_laws, longpole, or_skip, run};

/// Exit status of a command that failed, and of a wrong command line.
const FAILED: i32 = 1;
const WRONG: i32 = 2;

fn report(recording: &Path, options: &[&str]) -> Run {
    run(longpole().arg("report").arg(recording).args(options))
}

/// Asserts that the question is refused with this status, and that all these words are in the answer.
fn assert_refused(recording: &Path, options: &[&str], status: i32, words: &[&str]) {
    let run = report(recording, options);
    let Run { stdout, stderr, .. } = &run;
    assert_eq!(run.status.code(), Some(status), "{options:?}: {stderr}");
    assert!(stdout.is_empty(), "{options:?}: {stdout}");
    assert!(!stderr.contains("panicked"), "{options:?}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{options:?}: no {word}: {stderr}");
    }
}

#[test]
fn what_does_not_exist_is_answered_with_what_does() {
    let session = Session::start();
    let program = or_skip!(session.build("lock_hog.c", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let path = &recording.path;
    let refused = |options: &[&str], status, words: &[&str]| assert_refused(path, options, status, words);
    refused(&["--view", "zeroin"], WRONG, &["`zeroin`", "zeroing", "waits"]);
    refused(&["--by", "lock"], WRONG, &["'lock'", "procedure", "object"]);
    refused(&["--phase", "hog_tabel"], FAILED, &["`hog_tabel`", "hog_table"]);
    refused(&["--phase", "3..1"], FAILED, &["`3..1`", "s long"]);
    refused(&["--phase", "90%..10%"], FAILED, &["`90%..10%`", "s long"]);
    refused(&["--phase", "1s..x"], FAILED, &["`x`", "neither seconds"]);
    refused(&["--phase", "1000s..2000s"], FAILED, &["`1000s..2000s`", "after the end"]);
    refused(&["--explain", "99"], FAILED, &["99", "no such row", "--view waits"]);
    refused(&["--explain", "0"], FAILED, &["0", "no such row"]);
    refused(&["--view", "npt,zeroin"], WRONG, &["`zeroin`", "zeroing"]);
    refused(&["--view", "npt,waits", "--format", "csv"], WRONG, &["one view", "json"]);
    assert_several_views(path);
}

/// Several views are those of the single commands, in the order in which they were asked for.
fn assert_several_views(recording: &Path) {
    let parsed = |view: &str| {
        let run = report(recording, &["--view", view, "--format", "json"]);
        assert!(run.status.success(), "{}", run.stderr);
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()
    };
    let (zeroing, waits) = (parsed("zeroing"), parsed("waits"));
    assert_eq!(parsed("waits,zeroing"), serde_json::json!([waits, zeroing]));
    assert!(parsed("all").as_array().is_some_and(|views| views.len() >= 15));
    let text = report(recording, &["--view", "npt,zeroing"]).stdout;
    let places = ["Normalised processor time", "Zeroing"].map(|title| text.find(title));
    assert!(places[0].is_some() && places[0] < places[1], "{text}");
}

#[test]
fn changes_that_cannot_be_made_say_what_is_wrong_with_them() {
    let session = Session::start();
    let program = or_skip!(session.build("lock_hog.c", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let refused = |options: &[&str], status: i32, words: &[&str]| {
        let run = run(longpole().arg("what-if").arg(&recording.path).args(options));
        assert_eq!(run.status.code(), Some(status), "{options:?}: {}", run.stderr);
        assert!(run.stdout.is_empty() && !run.stderr.contains("panicked"), "{options:?}: {}", run.stderr);
        assert!(words.iter().all(|word| run.stderr.contains(word)), "{options:?}: {}", run.stderr);
    };
    refused(&[], WRONG, &["--set"]);
    refused(&["--set", "hog_table"], FAILED, &["`hog_table`", "factor"]);
    refused(&["--set", "procedure:hog_table=-1"], FAILED, &["-1", "factor"]);
    refused(&["--set", "procedure:hog_tabel=0"], FAILED, &["`hog_tabel`", "hog_table"]);
    refused(&["--set", "object:tabel_lock=0"], FAILED, &["`tabel_lock`", "table_lock"]);
    refused(&["--set", "thread:nobody=0"], FAILED, &["`nobody`"]);
}

/// Without samples, the times of threads and waits are known, and those of procedures only where they waited: the
/// laws hold, and every view says something.
#[test]
fn a_program_that_only_waits_has_all_views() {
    let session = Session::start();
    let recording = or_skip!(session.record(Collector::Bpf, &["/bin/sleep", "0.3"]));
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    assert_laws(&recording);
    assert_forms(&recording.path);
    let threads = recording.report("threads", "thread");
    let slept = threads.sum_of("blocked_sleep_seconds");
    assert!(slept > 0.29, "{slept} s asleep: {:#}", threads.value["rows"]);
}

/// What is cut off in the middle is a recording too.
#[test]
fn a_recording_that_ends_early_has_all_views() {
    let session = Session::start();
    let program = or_skip!(session.build("condition_pipeline.c", &[]));
    // Three times, so that several seconds are written, each by itself.
    let script = format!("{0}; {0}; {0}", program.display());
    let recording = or_skip!(session.record(Collector::Bpf, &["/bin/sh", "-c", &script]));
    let log = recording.path.join("machine-0/events.log");
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() * 3 / 4]).unwrap();
    let cut = Recording::at(&recording.path);
    assert_laws(&cut);
    assert_forms(&cut.path);
}
