//! Scripts whose time is in starting processes: the answer says so, and what a script without them gains.

use std::path::Path;

use crate::support::{Collector, Session, or_skip};

/// A script that takes so many file names apart, by a program or by itself, and then works a little.
fn script(count: usize, name: &str) -> String {
    format!(
        "i=0; while [ $i -lt {count} ]; do f=/some/file$i.txt; n={name}; i=$((i + 1)); done; sum=0; \
         while [ $sum -lt 30000 ]; do sum=$((sum + 1)); done; echo $n"
    )
}

#[test]
fn a_script_of_many_short_processes_is_to_start_fewer() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let (by_programs, by_itself) = (script(200, "$(basename $f)"), script(200, "${f##*/}"));
    let recording = or_skip!(session.record(Collector::Bpf, &["sh", "-c", &by_programs]));
    let summary = recording.report("summary", "procedure");
    let change = summary.changes("start fewer").next().expect("it is advised");
    assert!(change["text"].as_str().unwrap().ends_with(" short processes"), "{change:?}");
    let seconds = |script: &str| session.least_seconds(Path::new("sh"), &["-c", script]);
    let truth = seconds(&by_programs) - seconds(&by_itself);
    let most = change["gain_high_seconds"].as_f64().unwrap();
    assert!(most > 0.9 * truth, "{most} s, in truth {truth}");
}

#[test]
fn a_script_of_few_processes_is_not() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let script = script(10, "$(basename $f)");
    let recording = or_skip!(session.record(Collector::Bpf, &["sh", "-c", &script]));
    assert_eq!(recording.report("summary", "procedure").changes("start fewer").next(), None);
}
