//! The import of Perfetto traces, up to the recording. Seeds: `crates/record/tests/fixtures/perfetto/*.pftrace`.
#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use longpole_record::import::import_perfetto;
use longpole_recording::Destination;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = Destination::New(folder.path().join("run.longpole"));
    let _ = import_perfetto(Cursor::new(bytes), (Path::new("trace.pftrace"), None), &output);
});
