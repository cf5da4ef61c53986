//! Scripts that start processes: what those gain that start fewer, or in another order.

use std::path::Path;

use crate::support::{Collector, Session, held, or_skip};

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
    let truth = 100.0 * (1.0 - seconds(&by_itself) / seconds(&by_programs));
    let most = change["gain_high_percent"].as_f64().unwrap();
    assert!(most > 0.9 * truth, "{most} %, in truth {truth}");
}

#[test]
fn a_script_of_few_processes_is_not() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let script = script(10, "$(basename $f)");
    let recording = or_skip!(session.record(Collector::Bpf, &["sh", "-c", &script]));
    assert_eq!(recording.report("summary", "procedure").changes("start fewer").next(), None);
}

/// Two jobs at a time: the long one alone at the end, or beside the others from the begin.
#[test]
fn the_longest_job_that_begins_last_is_to_be_started_earlier() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let job = session.build("job.c", &[]).unwrap();
    let script = |jobs: &str| format!("echo {jobs} | xargs -n1 -P2 {}", job.display());
    let (last, first) = (script("60 60 60 60 60 300"), script("300 60 60 60 60 60"));
    let recording = or_skip!(session.record(Collector::Bpf, &["sh", "-c", &last]));
    let summary = recording.report("summary", "procedure");
    let change = summary.changes("start it earlier").next().expect("it is advised");
    assert!(change["text"].as_str().unwrap().contains("job"), "{change:?}");
    let seconds = |script: &str| session.least_seconds(Path::new("sh"), &["-c", script]);
    let truth = seconds(&last) - seconds(&first);
    let most = change["gain_high_seconds"].as_f64().unwrap();
    assert!(truth > 0.0 && most > 0.9 * truth, "{most} s, in truth {truth}");
}

#[test]
fn jobs_of_one_length_are_in_no_wrong_order() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let job = session.build("job.c", &[]).unwrap();
    let script = format!("echo 60 60 60 60 60 60 | xargs -n1 -P2 {}", job.display());
    let recording = or_skip!(session.record(Collector::Bpf, &["sh", "-c", &script]));
    let advised = recording.report("summary", "procedure");
    let gains = advised.changes("start it earlier").filter_map(|change| change["gain_high_seconds"].as_f64());
    // What a busy machine delays one of the last two.
    assert!(gains.sum::<f64>() < 0.1, "{:#}", advised.value["rows"]);
}

/// The next job begins where any has ended: without the long one nothing else of the run keeps its place.
#[test]
fn jobs_begin_when_a_place_is_free() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for flags in [&[][..], &["-DSIGNALLED"], &["-DCERTAIN"]] {
        let gains = held(&session, ("job_slots.c", flags), "long_job");
        assert!(gains.truth > 20.0, "{flags:?}: {}", gains.text());
        let of_range = gains.most.max(gains.predicted) - gains.least.min(gains.predicted);
        assert!(of_range < 30.0, "{flags:?}: {}", gains.text());
    }
}
