//! The manifest. Seeds: the `recording.json` of any recording.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_recording::RecordingFolder;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("recording.json"), bytes).expect("a written file");
    let _ = RecordingFolder::open(folder.path());
});
