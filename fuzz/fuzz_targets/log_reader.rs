//! The reader of a log file. Seeds: the `.log` files of any recording.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use longpole_recording::LogReader;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("a written file");
    let Ok(mut reader) = LogReader::open(file.path()) else { return };
    while reader.next_chunk().expect("a readable file").is_some() {}
});
