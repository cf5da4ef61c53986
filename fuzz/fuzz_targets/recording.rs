//! A whole recording: its records are written into a log, and the log is opened, surveyed and swept.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use longpole_event::{Decoder, MachineId};
use longpole_recording::{LogName, MachineDescription, Manifest, RecordingFolder};
use longpole_trace::Trace;

/// Writes a recording of one machine whose log holds these records.
fn write(path: &Path, block: &[u8]) {
    let machine = MachineDescription { name: "fuzzed".to_owned(), cpus: 2, ..MachineDescription::default() };
    let manifest = Manifest {
        format_version: longpole_recording::FORMAT_VERSION,
        machines: vec![machine],
        ..Manifest::default()
    };
    let folder = RecordingFolder::create(path, &manifest).expect("a new folder");
    let machine = MachineId::from_index(0);
    let mut log = folder.create_log(machine, LogName::Events).expect("a new log");
    for record in Decoder::new(block).map_while(Result::ok) {
        log.push(&record).expect("room for a record");
    }
    log.flush().expect("room for the log");
}

fuzz_target!(|block: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("fuzzed.longpole");
    write(&path, block);
    let Ok(trace) = Trace::open(&path) else { return };
    let mut last = None;
    trace
        .items(&mut |item| {
            assert!(last <= Some(item.time), "items in time order");
            last = Some(item.time);
        })
        .expect("what was opened is read again");
});
