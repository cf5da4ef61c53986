//! Imports of Perfetto traces in `fixtures/perfetto/`, which `programs/perfetto/write_traces.py` wrote by Perfetto's own schema: whole, cut at
//! every place, and with damage everywhere.
#![allow(clippy::unwrap_used)]

use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use longpole_perfetto::{PerfettoEvent, PerfettoKind, PerfettoTrace, PerfettoWaker};
use longpole_record::FinishedRecording;
use longpole_record::import::{ImportResult, import_perfetto};
use longpole_recording::Destination;
use longpole_testkit::Mutations;

const LATE_PARTNER: &[u8] = include_bytes!("fixtures/perfetto/late_partner.pftrace");
const SLICES: &[u8] = include_bytes!("fixtures/perfetto/slices.pftrace");
const EVENTS: &[u8] = include_bytes!("fixtures/perfetto/events.pftrace");
const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

fn import(bytes: &[u8], process: Option<&str>) -> ImportResult<FinishedRecording> {
    let folder = tempfile::tempdir().unwrap();
    let output = Destination::New(folder.path().join("run.longpole"));
    import_perfetto(Cursor::new(bytes), (Path::new("trace.pftrace"), process), &output)
}

fn events(bytes: &[u8]) -> Vec<PerfettoEvent> {
    let mut trace = PerfettoTrace::open(Cursor::new(bytes)).unwrap();
    std::iter::from_fn(|| trace.next_event().unwrap()).collect()
}

#[test]
fn events_come_in_the_order_of_time_from_packets_that_do_not() {
    let found = events(LATE_PARTNER);
    assert!(found.is_sorted_by_key(|event| event.time));
    let count = |is: fn(&PerfettoKind) -> bool| found.iter().filter(|event| is(&event.kind)).count();
    assert_eq!(count(|kind| matches!(kind, PerfettoKind::Switch { .. })), 24);
    assert_eq!(count(|kind| matches!(kind, PerfettoKind::Sample { callstack: Some(_), .. })), 800);
    // The waker is the task on the processor, which columns do not name.
    assert_eq!(count(|kind| matches!(kind, PerfettoKind::Wake { waker: Some(101), wakee: 102, .. })), 10);
}

#[test]
fn samples_by_another_clock_stand_where_they_were_taken() {
    let found = events(LATE_PARTNER);
    let first = found.iter().find(|event| matches!(event.kind, PerfettoKind::Sample { .. })).unwrap();
    assert_eq!(first.time, SECOND + MILLISECOND / 2);
    // One a millisecond.
    assert_eq!(import(LATE_PARTNER, None).unwrap().manifest.machines[0].collector.sample_hertz, 1000);
    assert_eq!(import(SLICES, None).unwrap().manifest.machines[0].collector.sample_hertz, 0);
}

#[test]
fn a_wake_in_an_interrupt_is_no_work_of_the_task_that_it_interrupts() {
    let found = events(EVENTS);
    let wake = found.iter().find_map(|event| match event.kind {
        PerfettoKind::Wake { wakee, context, .. } => Some((event.time, wakee, context)),
        _ => None,
    });
    assert_eq!(wake, Some((SECOND + 12 * MILLISECOND, 100, PerfettoWaker::Interrupt)));
}

#[test]
fn what_the_trace_does_not_hold_is_in_the_notes() {
    let notes = |bytes| import(bytes, None).unwrap().manifest.machines[0].collector.notes.join("\n");
    assert!(notes(SLICES).contains("without sched_switch"));
    assert!(notes(EVENTS).contains("without samples and slices"));
    assert!(notes(LATE_PARTNER).contains("system calls are not in the trace"));
}

#[test]
fn a_process_that_is_not_there_is_an_error() {
    assert!(import(LATE_PARTNER, Some("app")).is_ok());
    assert!(import(LATE_PARTNER, Some("100")).is_ok());
    let error = import(LATE_PARTNER, Some("other")).unwrap_err().to_string();
    assert!(error.contains("process other"), "{error}");
}

/// Where packets end.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let (mut length, mut place) = (0, at + 1);
        loop {
            length |= usize::from(bytes[place] & 0x7f) << (7 * (place - at - 1));
            place += 1;
            if bytes[place - 1] < 0x80 {
                break;
            }
        }
        at = place + length;
        found.push(at);
    }
    found
}

#[test]
fn a_trace_that_is_cut_within_a_packet_is_an_error_or_a_cut_recording() {
    let ends = ends(LATE_PARTNER);
    let (mut recordings, mut cut) = (0, 0);
    for length in (0..LATE_PARTNER.len()).step_by(37) {
        match import(&LATE_PARTNER[..length], None) {
            Ok(imported) => {
                assert_eq!(imported.outcome.truncated, !ends.contains(&length), "{length} bytes");
                recordings += 1;
                cut += usize::from(imported.outcome.truncated);
            }
            // Before the first switch there is nothing to tell.
            Err(error) => assert_eq!(recordings, 0, "{length} bytes: {error}"),
        }
    }
    assert!(cut > 100, "{cut} of {recordings}");
}

#[test]
fn damaged_traces_are_errors_or_recordings() {
    let inputs = vec![LATE_PARTNER.to_vec(), SLICES.to_vec(), EVENTS.to_vec()];
    let count = Mutations::new(inputs, 13).run_for(Duration::from_secs(3), |bytes| {
        let _ = import(bytes, None);
    });
    assert!(count > 10, "{count}");
}
