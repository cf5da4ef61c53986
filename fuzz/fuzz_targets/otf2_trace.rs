//! The import of OTF2 traces, up to the recording. Seeds: `crates/record/tests/fixtures/otf2/*.packed`.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use longpole_otf2::PackedTrace;
use longpole_record::import::import_trace_files;
use longpole_recording::Destination;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = Destination::New(folder.path().join("run.longpole"));
    let _ = import_trace_files(&mut PackedTrace::unpack(bytes), Path::new("traces.otf2"), &output);
});
