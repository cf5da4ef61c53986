//! What other programs do is neither lost to the recorded one nor charged to it.

mod bystanders;
mod lockers;
mod recorded;

use bystanders::Bystanders;
use lockers::{assert_known_answer, build};
use longpole_event::{EventKind, LossKind};
use longpole_record::{CollectorChoice, Error, RecordOptions, RecordTarget, record};
use longpole_recording::Destination;
use longpole_testkit::skipped;
use recorded::Recorded;

/// Others switch, and map code, as fast as they can.
#[test]
fn what_others_do_is_neither_lost_nor_charged() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("run.longpole");
    let target = RecordTarget::Command(vec![build(folder.path(), "lockers").into()]);
    let options = RecordOptions {
        collector: CollectorChoice::Bpf,
        hertz: Some(4000),
        ..RecordOptions::new(Destination::New(output.clone()), target)
    };
    let bystanders = Bystanders::start();
    let result = record(&options, &mut |_| {});
    let passed = bystanders.stop();
    if let Err(error @ Error::NoCollector { .. }) = &result {
        return skipped(&error.to_string());
    }
    result.expect("a recording");
    let recorded = Recorded::open(&output);
    assert_known_answer(&recorded);
    let machine = &recorded.manifest.machines[0];
    let notes = &machine.collector.notes;
    let stacks = recorded.events.iter().filter_map(|event| match event.kind {
        EventKind::Lost { kind: LossKind::Stacks, count } => Some(count),
        _ => None,
    });
    assert_eq!(stacks.sum::<u64>(), 0, "{} lost in all; {notes:?}", recorded.lost());
    // A run makes one switch, which is two events at most, wake, sample, start or name; no run makes none.
    let cost = machine.cost.as_ref().expect("a cost");
    let (runs, events) = (cost.kernel_runs.expect("runs"), recorded.events.len() as u64);
    assert!(passed > 10 * events, "the others switched only {passed} times");
    assert!((events / 4..=2 * events + 100).contains(&runs), "{runs} runs for {events} events");
    let seconds = cost.kernel_seconds.expect("seconds");
    assert!(seconds > 0.0 && seconds < 0.001 * runs as f64, "{seconds} s for {runs} runs");
}
