//! Threads that wait for each other's turn, though they could work ahead: the answer says so, and what that gains.

use crate::support::{Collector, Session, or_skip};

const ADVICE: &str = "let threads work ahead";

/// Records the program, which waits, and compares what is promised with the time of the one rebuilt not to.
#[track_caller]
fn assert_gain(source: &str, object: &str, rebuilt: &str) {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build(source, &[]));
    let recording = session.record(Collector::Bpf, &[program.to_str().unwrap()]).unwrap();
    let summary = recording.report("summary", "procedure");
    let change = summary.changes(ADVICE).next().expect("it is advised");
    assert!(change["text"].as_str().unwrap().starts_with(object), "{change:?}");
    let truth = session.least_seconds(&program, &[]) - session.least_seconds(&program, &[rebuilt]);
    let most =
        |change: &serde_json::Map<String, serde_json::Value>| change["gain_high_seconds"].as_f64().unwrap();
    let promised = most(change);
    assert!(change["gain_low_percent"].as_f64().unwrap() == 0.0, "{change:?}");
    assert!((0.9 * truth..1.5 * truth).contains(&promised), "up to {promised} s, in truth {truth}");
    // Beside each other the threads still wait, for a block or two.
    let recording = session.record(Collector::Bpf, &[program.to_str().unwrap(), rebuilt]).unwrap();
    let left = recording.report("summary", "procedure").changes(ADVICE).next().map_or(0.0, most);
    assert!(left < 0.2 * truth, "up to {left} s are left, {truth} are gained");
}

#[test]
fn who_waits_for_the_only_buffer_is_to_have_more() {
    assert_gain("one_buffer.c", "condition filled", "2");
}

#[test]
fn who_writes_results_in_order_is_to_keep_them_until_their_turn() {
    assert_gain("in_order.c", "condition turn", "any");
}
