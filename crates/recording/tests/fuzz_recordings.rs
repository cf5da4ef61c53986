//! Readers of a recording's files on damaged input: no panic, no endless loop, whatever the bytes.

use std::path::Path;
use std::time::Duration;

use longpole_event::{Decoder, MachineId};
use longpole_recording::{DefinitionTables, LOG_HEADER_BYTES, LogName, LogReader, RecordingFolder};
use longpole_testkit::{Drawing, Mutations};

const TIME: Duration = Duration::from_secs(2);

fn write_recording(folder: &Path) {
    Drawing::example().write(folder).expect("a recording");
}

/// The decompressed chunks of the recording's logs.
fn blocks(folder: &Path) -> Vec<Vec<u8>> {
    let (folder, _) = RecordingFolder::open(folder).expect("a recording");
    let mut blocks = Vec::new();
    for name in [LogName::Events, LogName::Symbols] {
        let mut log = folder.open_log(MachineId(0), name).expect("a log").expect("a log");
        while let Some(chunk) = log.next_chunk().expect("a chunk") {
            blocks.push(chunk.bytes.to_vec());
        }
    }
    blocks
}

#[test]
fn records_of_damaged_blocks_decode_or_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    write_recording(&folder.path().join("r"));
    let runs = Mutations::new(blocks(&folder.path().join("r")), 11).run_for(TIME, |block| {
        let mut tables = DefinitionTables::default();
        for record in Decoder::new(block).map_while(Result::ok) {
            tables.define(record);
        }
        let frames = tables.frames.len();
        assert!(tables.stacks.iter().all(|stack| frames == 0 || stack.frame.index() < frames));
    });
    assert!(runs > 1000, "{runs} inputs");
}

#[test]
fn damaged_logs_are_read_as_far_as_they_go() {
    let folder = tempfile::tempdir().expect("a folder");
    write_recording(&folder.path().join("r"));
    let log = std::fs::read(folder.path().join("r/machine-0/events.log")).expect("a log");
    // Several chunks, so that damage lies before, in and behind whole ones.
    let several = [&log[..], &log[LOG_HEADER_BYTES..], &log[LOG_HEADER_BYTES..]].concat();
    let path = folder.path().join("damaged");
    let runs = Mutations::new(vec![log, several], 12).run_for(TIME, |bytes| {
        std::fs::write(&path, bytes).expect("a file");
        let Ok(mut reader) = LogReader::open(&path) else { return };
        let mut read = 0;
        while let Some(chunk) = reader.next_chunk().expect("a readable file") {
            read += chunk.bytes.len();
            assert!(read < 1 << 30, "a small file holds no gigabyte");
        }
    });
    assert!(runs > 100, "{runs} inputs");
}

#[test]
fn damaged_manifests_are_refused_or_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("r");
    write_recording(&recording);
    let manifest = std::fs::read(recording.join("recording.json")).expect("a manifest");
    let runs = Mutations::new(vec![manifest], 13).run_for(TIME, |bytes| {
        std::fs::write(recording.join("recording.json"), bytes).expect("a file");
        let _ = RecordingFolder::open(&recording);
    });
    assert!(runs > 100, "{runs} inputs");
}
