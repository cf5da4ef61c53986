//! The import of traces in Chrome's JSON format, up to the recording. Seeds: `crates/record/tests/fixtures/chrome/*.json`.
#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use longpole_record::import::{ImportChoice, import_chrome};
use longpole_recording::Destination;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = Destination::New(folder.path().join("run.longpole"));
    let choice = ImportChoice { process: None, rank: Some((0, 2)) };
    let _ = import_chrome(Cursor::new(bytes), (Path::new("trace.json"), choice), &output);
});
