//! Imports of OTF2 traces that are packed in `fixtures/otf2/` (see `longpole_otf2::PackedTrace`), made from the scripts beside them by
//! `programs/otf2/write_trace.c`: whole, cut at every place, and with damage everywhere.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use longpole_otf2::{
    LocalDefinitions, LocationEvents, PackedTrace, TraceAnchor, TraceEvent, read_definitions,
};
use longpole_record::FinishedRecording;
use longpole_record::import::{ImportResult, import_trace_files};
use longpole_recording::Destination;

const MESSAGES: &[u8] = include_bytes!("fixtures/otf2/messages.packed");
const THREADS: &[u8] = include_bytes!("fixtures/otf2/threads.packed");

fn import(bytes: &[u8]) -> ImportResult<FinishedRecording> {
    let folder = tempfile::tempdir().unwrap();
    let output = Destination::New(folder.path().join("run.longpole"));
    import_trace_files(&mut PackedTrace::unpack(bytes), Path::new("traces.otf2"), &output)
}

/// All events of all locations.
fn events(bytes: &[u8]) -> Vec<TraceEvent> {
    let mut files = PackedTrace::unpack(bytes);
    let anchor = TraceAnchor::read(&mut files).unwrap();
    let definitions = read_definitions(&mut files, &anchor).unwrap();
    let mut found = Vec::new();
    for location in &definitions.locations {
        let local = LocalDefinitions::read(&mut files, location.number, anchor.definition_chunk).unwrap();
        let chunks = (anchor.event_chunk, 4096);
        let opened = LocationEvents::open(&mut files, (location.number, local), chunks).unwrap();
        let mut reader = opened.expect("each has a file");
        let before = found.len();
        while let Some((_, event)) = reader.next(&mut files).unwrap() {
            found.push(event);
        }
        assert_eq!((found.len() - before) as u64, location.events, "as its writer counted them");
        assert_eq!(reader.damage(), longpole_otf2::LocationDamage::default());
    }
    found
}

#[test]
fn events_are_as_many_of_each_kind_as_otf2_print_shows() {
    let count =
        |events: &[TraceEvent], is: fn(&TraceEvent) -> bool| events.iter().filter(|event| is(event)).count();
    let found = events(MESSAGES);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::Enter(_))), 15);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::Leave(_))), 15);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::PostCollective(_))), 2);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::CompleteCollective(..))), 2);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::EndCollective(_))), 2);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::Receive(_))), 1);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::Flush(_))), 1);
    // One value of a metric, one put, one parameter.
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::Other(_))), 3);
    let found = events(THREADS);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::Enter(_))), 8);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::AcquireLock(..))), 2);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::BeginTeam(_))), 2);
    assert_eq!(count(&found, |event| matches!(event, TraceEvent::Fork)), 1);
}

#[test]
fn what_is_left_out_is_counted_in_the_notes() {
    let imported = import(MESSAGES).unwrap();
    assert_eq!(imported.manifest.machines.len(), 2);
    let notes = imported.manifest.machines[0].collector.notes.join("\n");
    for note in ["1 values of metrics", "1 events of one-sided communication", "1 events of other kinds"] {
        assert!(notes.contains(note), "{note} is not in:\n{notes}");
    }
    assert!(!imported.outcome.truncated);
}

#[test]
fn a_trace_that_is_cut_anywhere_is_an_error_or_a_cut_recording() {
    for fixture in [MESSAGES, THREADS] {
        let (mut refused, mut cut) = (0, 0);
        // The last byte only ends the chunk behind the mark of the end.
        for length in 0..fixture.len() - 1 {
            match import(&fixture[..length]) {
                Err(_) => refused += 1,
                Ok(imported) => {
                    let notes = imported.manifest.machines[0].collector.notes.join("\n");
                    let is_named = notes.contains("no file of events") || notes.contains("could not be read");
                    assert!(imported.outcome.truncated || is_named, "{length}: {notes}");
                    cut += 1;
                }
            }
        }
        assert!(refused > 100 && cut > 100, "{refused} {cut}");
    }
}

#[test]
fn damaged_traces_are_errors_or_recordings() {
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for fixture in [MESSAGES, THREADS] {
        for _ in 0..3000 {
            let mut bytes = fixture.to_vec();
            for _ in 0..=random(4) {
                let place = random(bytes.len());
                bytes[place] = [0, 1, 5, 12, 13, 127, 128, 255, random(256) as u8][random(9)];
            }
            let _ = import(&bytes);
        }
    }
}
