//! Threads that wait for each other's turn, though they could work ahead: the answer says so, and what that gains.

use crate::support::{Collector, Session, or_skip};

/// Records the program, and compares what working ahead is promised with what it gains by construction, seconds.
#[track_caller]
fn assert_gain(source: &str, objects: &[&str], truth: f64) {
    assert_gain_of((source, &[]), "let threads work ahead", objects, truth);
}

/// The same with this advice.
#[track_caller]
fn assert_gain_of((source, flags): (&str, &[&str]), advice: &str, objects: &[&str], truth: f64) {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build(source, flags));
    let recording = session.record(Collector::Bpf, &[program.to_str().unwrap()]).unwrap();
    let summary = recording.report("summary", "procedure");
    let change = summary.changes(advice).next().expect("it is advised");
    let text = change["text"].as_str().unwrap();
    assert!(objects.iter().any(|object| text.starts_with(object)), "{change:?}");
    let of = |key: &str| change[key].as_f64().unwrap();
    // What a thread needs of the other one is not recorded; beside other programs all takes longer.
    assert_eq!(of("gain_low_percent"), 0.0, "{change:?}");
    assert!(of("gain_high_seconds") > 0.9 * truth, "in truth {truth}: {change:?}");
}

/// 50 blocks of 6 + 5 ms, each after the other; beside each other all but the last 5 ms go by in 300.
#[test]
fn who_waits_for_the_only_buffer_is_to_have_more() {
    assert_gain("one_buffer.c", &["condition filled", "condition emptied"], 0.245);
}

/// 50 requests of 6 + 5 ms, each after the other; with several under way all but the last 5 ms go by in 300.
#[test]
fn who_waits_for_each_reply_is_to_ask_for_several_at_once() {
    for flags in [&[][..], &["-DPOLLS"]] {
        let connection = ["socket request_reply ↔ request_reply"];
        assert_gain_of(("request_reply.c", flags), "ask earlier, or several at once", &connection, 0.245);
    }
}

/// 80 items take 540 ms in all, for two threads 270; in order 380.
#[test]
fn who_writes_results_in_order_is_to_keep_them_until_their_turn() {
    assert_gain("in_order.c", &["condition turn"], 0.110);
}
