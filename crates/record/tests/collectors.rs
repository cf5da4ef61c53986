//! The same programs by both collectors and by `perf record`: all have to see the same.

mod lockers;
mod perf_tool;
mod recorded;

use std::path::Path;

use lockers::{assert_known_answer, build, is_wait};
use longpole_event::{Blocking, Event, EventKind};
use longpole_record::{CollectorChoice, Error, RecordOptions, RecordTarget, record};
use longpole_recording::Destination;
use longpole_testkit::skipped;
use recorded::Recorded;

/// At most this many events may be lost for a hundred that were kept: other programs of the machine fill the rings too.
const MOST_LOST_PERCENT: u64 = 5;
/// Rings can fill up while something else has all processors; that is over in a moment.
const ATTEMPTS: u64 = 4;

/// A recording with next to no losses; `None`, with the reason printed, where there is no such collector.
fn record_with(folder: &Path, collector: CollectorChoice, program: &str) -> Option<Recorded> {
    let program = build(folder, program);
    let mut counts = Vec::new();
    for attempt in 0..ATTEMPTS {
        let output = folder.join(format!("{collector:?}-{attempt}.longpole"));
        let target = RecordTarget::Command(vec![program.clone().into()]);
        let options = RecordOptions {
            collector,
            hertz: Some(4000),
            ..RecordOptions::new(Destination::New(output.clone()), target)
        };
        match record(&options, &mut |_| {}) {
            Ok(finished) => assert_eq!(finished.outcome.exit_code, Some(3)),
            Err(error @ Error::NoCollector { .. }) => {
                skipped(&error.to_string());
                return None;
            }
            Err(error) => panic!("failed to {error}"),
        }
        let recorded = Recorded::open(&output);
        let (lost, kept) = (recorded.lost(), recorded.events.len() as u64);
        if lost * 100 <= kept * MOST_LOST_PERCENT {
            return Some(recorded);
        }
        counts.push((lost, kept));
        std::thread::sleep(std::time::Duration::from_millis(500 * (attempt + 1)));
    }
    panic!("{collector:?} lost too much in every attempt: (lost, kept) {counts:?}");
}

fn assert_stacks_are_whole(recorded: &Recorded) {
    for name in ["first", "second"] {
        let waits = recorded.stacks_at_outs(name, is_wait);
        let placed =
            waits.iter().filter(|stack| recorded.procedures(**stack).contains(&"locked_work")).count();
        assert!(placed * 10 >= waits.len() * 9, "{placed} of {} in locked_work", waits.len());
    }
    let created = recorded.events.iter().filter(|event| match event.kind {
        EventKind::Start { creator: Some(_), stack } => recorded.procedures(stack).contains(&"main"),
        _ => false,
    });
    assert_eq!(created.count(), 2);
}

#[test]
fn the_perf_collector_tells_what_the_program_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(recorded) = record_with(folder.path(), CollectorChoice::Perf, "lockers") else { return };
    assert_known_answer(&recorded);
    assert_stacks_are_whole(&recorded);
    assert_eq!(recorded.manifest.machines[0].collector.name, "perf");
    let ended_by_timer = recorded
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Wake { waker, .. } if waker.is_interrupt()));
    assert!(ended_by_timer.count() >= 30);
}

#[test]
fn the_bpf_collector_tells_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(recorded) = record_with(folder.path(), CollectorChoice::Bpf, "lockers") else { return };
    assert_known_answer(&recorded);
    assert_stacks_are_whole(&recorded);
}

/// What is the same as the last time is not copied again; who called must be told apart all the same.
#[test]
fn callers_that_differ_further_out_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(recorded) = record_with(folder.path(), CollectorChoice::Bpf, "callers") else { return };
    let waits = recorded.stacks_at_outs("callers", is_wait);
    let through = |caller: &str| {
        let is_through = |stack: &&Option<_>| {
            let procedures = recorded.procedures(**stack);
            let place = procedures.iter().position(|&name| name == "middle");
            place.is_some_and(|place| procedures.get(place + 1) == Some(&caller))
        };
        waits.iter().filter(is_through).count()
    };
    // 10 and 5 of 15 turns, 20 times; a few of the events may be lost, and a thread that is taken off its processor on its way into a
    // sleep can have its timer end before it is back.
    let (often, seldom) = (through("often"), through("seldom"));
    let preempted =
        recorded.stacks_at_outs("callers", |blocking| matches!(blocking, Blocking::Runnable)).len();
    let missing = usize::try_from(recorded.lost()).expect("few") + preempted;
    assert!(often <= 200 && seldom <= 100, "{often} and {seldom}");
    assert!(often + missing >= 200 && seldom + missing >= 100, "{often} and {seldom}, {missing} missing");
}

/// The gaps of the samples, nanoseconds; 0 where they are not known.
fn gaps(recorded: &Recorded) -> Vec<u64> {
    let gap = |event: &Event| match event.kind {
        EventKind::Sample { gap, .. } => Some(u64::from(gap) * 1000),
        _ => None,
    };
    recorded.events.iter().filter_map(gap).collect()
}

/// Each sample stands for the time around it, so that all of them together stand for the time that threads ran, however the
/// timer's intervals vary.
#[test]
fn gaps_of_samples_come_to_the_time_that_threads_ran() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(recorded) = record_with(folder.path(), CollectorChoice::Bpf, "computing") else { return };
    let gaps = gaps(&recorded);
    let count = gaps.len() as f64;
    if count < 100.0 {
        skipped("too few samples for their gaps to be compared");
        return;
    }
    let known = gaps.iter().filter(|&&gap| gap > 0).count() as f64;
    assert!(known > 0.95 * count, "{known} of {count}");
    let ratio = gaps.iter().sum::<u64>() as f64 / recorded.running("computing") as f64;
    // One sample more or less is chance.
    assert!((ratio - 1.0).abs() < 0.05 + 4.0 / count.sqrt(), "{ratio} by {count} samples");
    // The intervals are drawn from 0.6 to 1.4 times their mean, twenty times a second for each processor.
    let mean = gaps.iter().sum::<u64>() as f64 / count;
    let differ = gaps.iter().filter(|&&gap| (gap as f64 / mean - 1.0).abs() > 0.15).count() as f64;
    assert!(differ > 0.2 * count, "{differ} of {count} differ from their mean by a sixth");
}

#[test]
fn the_process_collector_tells_the_same_of_a_program_of_one_s_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(recorded) = record_with(folder.path(), CollectorChoice::Process, "lockers") else { return };
    assert_known_answer(&recorded);
    assert_stacks_are_whole(&recorded);
    assert_eq!(recorded.manifest.machines[0].collector.name, "process");
}

/// Of a thread: its waits, and the switches to it that were not followed by one.
fn waits_and_unended(recorded: &Recorded, name: &str) -> (usize, usize) {
    let is_in = |event: &&Event| event.kind == EventKind::In && recorded.name(event.thread) == name;
    let ins = recorded.events.iter().filter(is_in).count();
    let outs = recorded.stacks_at_outs(name, |_| true).len();
    (recorded.stacks_at_outs(name, is_wait).len(), ins.abs_diff(outs))
}

#[test]
fn all_ways_to_record_count_the_same_waits_and_wakes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut ways = Vec::new();
    for collector in [CollectorChoice::Perf, CollectorChoice::Bpf] {
        ways.extend(
            record_with(folder.path(), collector, "passing").map(|way| (format!("{collector:?}"), way)),
        );
    }
    let options = [&["-g"][..], &["-g", "--switch-events"], &["-a", "-g"], &["-a", "-g", "--switch-events"]];
    for options in options {
        let way = perf_tool::recorded(folder.path(), "passing", options);
        ways.extend(way.map(|way| (format!("perf record {options:?}"), way)));
    }
    for (way, recorded) in &ways {
        let (sleeps, sleeper_unended) = waits_and_unended(recorded, "passing");
        let (waits, waiter_unended) = waits_and_unended(recorded, "other");
        let wakes = recorded.wakes("passing", "other").len();
        let counts = format!(
            "{way}: the sleeper waited {sleeps} times, {sleeper_unended} switches of it have no counterpart; the other \
             waited {waits} times, {waiter_unended} have none; it was woken {wakes} times; {} events were lost; {:?}",
            recorded.lost(),
            recorded.manifest.machines[0].collector.notes,
        );
        // 200, the start and the end.
        assert!((200..=204).contains(&sleeps), "{counts}");
        // Where the other thread loses its processor between two bytes, the second may be there before it is waited for.
        assert!((150..=202).contains(&waits) && wakes.abs_diff(waits) <= 4, "{counts}");
        // Before its first event a thread can have had its processor already.
        assert!(sleeper_unended <= 1 && waiter_unended <= 1, "{counts}");
    }
}
