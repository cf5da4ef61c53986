//! Imports of traces in Chrome's JSON format: real ones in `fixtures/chrome/` (PyTorch's by `programs/chrome/torch_ranks.py`, clang's by
//! `-ftime-trace`, Node's by `--trace-events-enabled`), whole, cut at every place, and with damage everywhere.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Read};
use std::path::Path;
use std::time::Duration;

use flate2::read::GzDecoder;
use longpole_chrome::ChromeTrace;
use longpole_record::FinishedRecording;
use longpole_record::import::{ImportChoice, ImportResult, import_chrome};
use longpole_recording::Destination;
use longpole_testkit::Mutations;

const TORCH: &[u8] = include_bytes!("fixtures/chrome/torch-rank0.json.gz");
const CLANG: &[u8] = include_bytes!("fixtures/chrome/clang.json.gz");
const NODE: &[u8] = include_bytes!("fixtures/chrome/node.json.gz");

fn import(bytes: &[u8], choice: ImportChoice<'_>) -> ImportResult<FinishedRecording> {
    let folder = tempfile::tempdir().unwrap();
    let output = Destination::New(folder.path().join("run.longpole"));
    import_chrome(Cursor::new(bytes), (Path::new("trace.json"), choice), &output)
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut text).unwrap();
    text
}

fn notes(bytes: &[u8]) -> String {
    import(bytes, ImportChoice::default()).unwrap().manifest.machines[0].collector.notes.join("\n")
}

#[test]
fn compressed_traces_are_those_that_are_not() {
    let imported = |bytes| import(bytes, ImportChoice::default()).unwrap().assembled.events;
    assert_eq!(imported(TORCH), imported(&unpacked(TORCH)));
}

#[test]
fn what_cannot_be_used_is_in_the_notes() {
    assert!(notes(TORCH).contains("--rank RANK/SIZE"), "{}", notes(TORCH));
    assert!(notes(CLANG).contains("slices are no activity"), "{}", notes(CLANG));
    assert!(notes(NODE).contains("events of other kinds"), "{}", notes(NODE));
}

#[test]
fn slices_of_what_is_no_thread_and_damaged_events_are_counted() {
    let text = include_str!("fixtures/chrome/damaged.json");
    let trace = ChromeTrace::read(text.as_bytes()).unwrap();
    let damage = trace.damage();
    assert_eq!((damage.drawn, damage.crossing, damage.unended), (1, 1, 1));
    assert_eq!((damage.unmatched_ends, damage.incomplete, damage.other), (1, 2, 1));
    assert_eq!(trace.contents().rank, Some((1, 4)));
    let ends: Vec<u64> = trace.lanes()[0].slices.iter().map(|slice| slice.end).collect();
    // Times count from the first slice; what crosses an end is cut there.
    assert_eq!(ends, [50_000, 50_000]);
}

#[test]
fn a_process_that_is_not_there_is_an_error() {
    let of = |process| ImportChoice { process: Some(process), rank: None };
    assert!(import(TORCH, of("CPU functions")).is_ok());
    let error = import(TORCH, of("other")).unwrap_err().to_string();
    assert!(error.contains("process other"), "{error}");
}

#[test]
fn what_is_no_trace_is_told_apart_from_one_without_slices() {
    let error = |text: &str| import(text.as_bytes(), ImportChoice::default()).unwrap_err().to_string();
    assert!(error("{\"traceEvents\": 3}").contains("Chrome's JSON format"));
    assert!(error("{\"a\": 1}").contains("no slices"));
    assert!(error("[]").contains("no slices"));
}

/// A list may end anywhere, so that only an object can be known to be cut.
#[test]
fn a_trace_that_is_cut_is_read_up_to_there() {
    let (list, object) = (unpacked(TORCH), unpacked(CLANG));
    let mut slices = 0;
    for length in (0..list.len()).step_by(997) {
        match import(&list[..length], ImportChoice::default()) {
            Ok(imported) => {
                assert!(!imported.outcome.truncated, "{length} bytes");
                assert!(imported.assembled.events >= slices, "{length} bytes");
                slices = imported.assembled.events;
            }
            Err(error) => assert_eq!(slices, 0, "{length} bytes: {error}"),
        }
    }
    assert!(slices > 1_000, "{slices}");
    let half = import(&object[..object.len() / 2], ImportChoice::default()).unwrap();
    assert!(half.outcome.truncated);
}

#[test]
fn damaged_traces_are_errors_or_recordings() {
    let inputs = vec![unpacked(NODE), unpacked(CLANG), TORCH.to_vec()];
    let choice = ImportChoice { process: None, rank: Some((0, 2)) };
    let count = Mutations::new(inputs, 17).run_for(Duration::from_secs(3), |bytes| {
        let _ = import(bytes, choice);
    });
    assert!(count > 10, "{count}");
}
