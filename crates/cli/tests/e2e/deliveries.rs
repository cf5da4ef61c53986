//! Data that the system holds back: the answer says so, and what sending it at once gains.

use crate::support::{Collector, Session, or_skip};

/// What a run takes, seconds, and what the list of changes says of data that is sent late in it, at most.
fn promised(session: &Session, program: &str, mode: &[&str]) -> (f64, Option<f64>) {
    let recording = session.record(Collector::Bpf, &[&[program][..], mode].concat()).unwrap();
    let summary = recording.report("summary", "procedure");
    let most = summary.changes("send it at once (TCP_NODELAY)").next().map(|change| {
        assert!(change["text"].as_str().unwrap().ends_with("in `receive`"), "{change:?}");
        change["gain_high_seconds"].as_f64().unwrap()
    });
    (summary.number("recording", "elapsed_seconds"), most)
}

#[test]
fn a_small_write_behind_another_one_is_to_be_sent_at_once() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("held_back.c", &[]));
    let path = program.to_str().unwrap();
    let at_once = session.least_seconds(&program, &["at_once"]);
    for mode in [&[][..], &["poll"]] {
        // How many acknowledgements come late is up to the system, in each run anew; what else others use only lengthens a run.
        let (elapsed, most) = promised(&session, path, mode);
        let truth = elapsed.min(session.least_seconds(&program, mode)) - at_once;
        assert!(most.is_some_and(|most| most > 0.9 * truth), "{mode:?}: {most:?} s, in truth {truth}");
    }
}

#[test]
fn data_that_is_written_late_or_arrives_at_once_is_not_held_back() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("held_back.c", &[]));
    for mode in ["at_once", "late"] {
        let (_, most) = promised(&session, program.to_str().unwrap(), &[mode]);
        assert!(most.is_none_or(|most| most < 0.1), "{mode}: {most:?} s");
    }
}
