//! Threads that are all woken for what one of them can have: the answer says so, and what waking only that one gains.

use crate::support::{Collector, Session, or_skip};

const ADVICE: &str = "wake only who can go on";

#[test]
fn who_wakes_all_for_one_is_to_wake_that_one() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("wake_all.c", &[]));
    let recording = session.record(Collector::Bpf, &[program.to_str().unwrap()]).unwrap();
    let summary = recording.report("summary", "procedure");
    let change = summary.changes(ADVICE).next().expect("it is advised");
    assert!(change["text"].as_str().unwrap().starts_with("condition changed"), "{change:?}");
    let truth = session.least_seconds(&program, &[]) - session.least_seconds(&program, &["one"]);
    let most = change["gain_high_seconds"].as_f64().unwrap();
    assert!(most > 0.9 * truth, "{most} s, in truth {truth}");
}

#[test]
fn who_wakes_the_one_that_can_go_on_is_not_advised_to() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("wake_all.c", &[]));
    let recording = session.record(Collector::Bpf, &[program.to_str().unwrap(), "one"]).unwrap();
    let summary = recording.report("summary", "procedure");
    assert_eq!(summary.changes(ADVICE).next(), None);
}
