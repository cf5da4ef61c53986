//! What synchronising itself costs is what the program without it saves.

use std::path::Path;
use std::process::Command;

use crate::support::{Collector, Recording, Session, longpole, or_skip};

/// CPU time of a run of `counted_lock`, seconds, by its own word; the least of three.
fn cpu_seconds(program: &Path) -> f64 {
    let run = |_| {
        let output = Command::new(program).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };
    (0..3).map(run).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn calls_of_a_lock_cost_what_the_program_without_them_saves() {
    let session = Session::alone();
    let without = session.path().join("without");
    let flags = ["-DWITHOUT_LOCK", "-o", without.to_str().unwrap()];
    or_skip!(session.build("counted_lock.c", &flags));
    let with = or_skip!(session.build("counted_lock.c", &[]));
    let truth = 1.0 - cpu_seconds(&without) / cpu_seconds(&with);
    let recording = or_skip!(session.record(Collector::Bpf, &[&with]));

    let objects = recording.report("objects", "object");
    let rows = objects.rows().filter(|row| row["kind"] == "mutex");
    let calls: f64 = rows.filter_map(|row| row.get("call_cpu_seconds")?.as_f64()).sum();
    let share = calls / objects.number("recording", "cpu_seconds");
    // Processors charge a part of what an atomic instruction takes to the instructions behind it, in the caller.
    let told = format!("the calls are {share:.2} of the CPU time, without them {truth:.2} less");
    assert!(share > truth / 2.0 && share < truth + 0.1, "{told}");

    let summary = recording.report("summary", "procedure");
    let mut entries = summary.changes("synchronise less often");
    let entry = entries.next().unwrap_or_else(|| panic!("{:#}", summary.value["rows"]));
    assert!(entry["gain_high_seconds"].as_f64() > Some(0.0), "{entry:#?}");
}

/// Records a program that tells of its calls, and asks who calls `nap` in it.
#[test]
fn calls_are_counted_where_threads_tell_of_them() {
    let session = Session::start();
    let program = or_skip!(session.build("call_counts.c", &["-finstrument-functions"]));
    let path = session.path().join("x.longpole");
    let mut record = longpole();
    let options = ["record", "--force", "--calls", "-o"];
    let run = session.run(record.args(options).arg(&path).arg("--").arg(&program));
    assert!(run.status.success(), "{}", run.stderr);
    let report = Recording::at(&path).report_with("callers", "procedure", &["--of", "shared"]);
    let calls = |relation: &str, name: &str| {
        let is_it = |row: &&serde_json::Map<String, serde_json::Value>| {
            row["relation"] == relation && row["procedure"] == name
        };
        let row = report.rows().find(is_it).unwrap_or_else(|| panic!("{name}: {:#}", report.value["rows"]));
        row.get("calls").and_then(serde_json::Value::as_u64)
    };
    assert_eq!(calls("caller", "often"), Some(30));
    assert_eq!(calls("caller", "seldom"), Some(5));
    assert_eq!(calls("callee", "leaf"), Some(70));
    assert_eq!(calls("self", "shared"), Some(35));
    // The work of `leaf` is 30 : 5 for its callers' callers.
    let share = |name: &str| report.sum("procedure", name, "percent");
    assert!((share("often") - 100.0 * 30.0 / 35.0).abs() < 10.0, "{:#}", report.value["rows"]);
}

/// The same program with a lock that lets writers go first is the truth.
#[test]
fn a_writer_that_readers_pass_is_to_go_first() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("starved_writer.c", &["-pthread"]));
    let first = session.least_seconds(&program, &["writer"]);
    // How often the readers meet differs from run to run, so the truth is of the recorded one; in a run where they seldom do, or that
    // other programs hold up, there may be no such waits.
    let mut told = Vec::new();
    for _ in 0..3 {
        let recording = session.record_with(&["--quiet", "--collector", "bpf"], &program);
        let summary = recording.report("summary", "procedure");
        let elapsed = summary.number("recording", "elapsed_seconds");
        let mut found = summary.changes("let writers go first");
        let of_lock = found.find(|change| change["text"] == "rwlock config_lock");
        let most = of_lock.map(|change| change["gain_high_seconds"].as_f64().unwrap());
        let truth = elapsed - first;
        told.push((most, truth));
        if most.is_some_and(|most| most > 0.8 * truth) {
            return;
        }
    }
    panic!("at most, and in truth: {told:?}");
}

/// Here the readers wait, for a writer that keeps the lock for long.
#[test]
fn readers_of_a_lock_are_no_starved_writers() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("rwlock.c", &["-pthread"]));
    let recording = session.record_with(&["--quiet", "--collector", "bpf"], &program);
    assert_eq!(recording.report("summary", "procedure").changes("let writers go first").count(), 0);
}

/// Seconds that others may take from either run.
const ROOM: f64 = 0.05;

#[test]
fn a_semaphore_of_connections_gains_what_more_of_them_save() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let advice = "hold shorter or let more in";
    let program = session.build("connections.c", &["-pthread"]).unwrap();
    let summary =
        session.record_with(&["--quiet", "--collector", "bpf"], &program).report("summary", "procedure");
    let change = summary.changes(advice).next().unwrap_or_else(|| panic!("{:#}", summary.value["rows"]));
    assert!(change["text"].as_str().unwrap().contains("connections"), "{change:?}");
    let truth = session.least_seconds(&program, &[]) - session.least_seconds(&program, &["two"]);
    let [low, high] = ["gain_low_seconds", "gain_high_seconds"].map(|key| change[key].as_f64().unwrap());
    assert!((low - ROOM..high + ROOM).contains(&truth), "{low} to {high} s; in truth {truth}");
    // One by which a thread tells another that something is there lets nobody in.
    let program = session.build("semaphore.c", &["-pthread"]).unwrap();
    let summary =
        session.record_with(&["--quiet", "--collector", "bpf"], &program).report("summary", "procedure");
    assert!(summary.changes(advice).next().is_none(), "{:#}", summary.value["rows"]);
}
