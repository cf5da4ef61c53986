//! Files of two recordings in one folder, and files that are no files: never a plausible answer, never a hang.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::fs;
use std::path::{Path, PathBuf};

use longpole_event::{MachineId, Record};
use longpole_recording::{Error, FORMAT_VERSION, LOG_HEADER_BYTES, LogName, Manifest, RecordingFolder};

const LOGS: [(LogName, &str); 3] = [
    (LogName::Events, "machine-0/events.log"),
    (LogName::Symbols, "machine-0/symbols.log"),
    (LogName::Series, "machine-0/series.log"),
];

/// A recording whose logs hold a text each.
fn write(path: &Path) {
    let manifest = Manifest { format_version: FORMAT_VERSION, ..Manifest::default() };
    let folder = RecordingFolder::create(path, &manifest).unwrap();
    for (log, name) in LOGS {
        let mut writer = folder.create_log(MachineId(0), log).unwrap();
        writer.push(&Record::Text(name.to_owned())).unwrap();
        writer.flush().unwrap();
    }
    folder.write_manifest(&manifest).unwrap();
}

fn two() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| place.path().join(name));
    write(&one);
    write(&other);
    (place, one, other)
}

/// Chunks and damaged ones of a log.
fn read(recording: &Path, log: LogName) -> Result<(usize, u64), Error> {
    let mut reader = RecordingFolder::open(recording)?.0.open_log(MachineId(0), log)?.unwrap();
    let mut chunks = 0;
    while reader.next_chunk()?.is_some() {
        chunks += 1;
    }
    Ok((chunks, reader.defects().damaged_chunks))
}

#[test]
fn a_log_of_another_recording_is_refused() {
    for (log, name) in LOGS {
        let (_place, one, other) = two();
        assert_eq!(read(&one, log).unwrap(), (1, 0));
        fs::copy(other.join(name), one.join(name)).unwrap();
        let refused = read(&one, log).unwrap_err();
        assert!(matches!(&refused, Error::OtherRecording { path } if path.ends_with(name)), "{refused}");
        fs::copy(other.join("recording.json"), one.join("recording.json")).unwrap();
        assert_eq!(read(&one, log).unwrap(), (1, 0));
    }
}

#[test]
fn a_damaged_id_of_a_log_is_counted_as_damage() {
    let (_place, one, _) = two();
    let log = one.join("machine-0/events.log");
    let whole = fs::read(&log).unwrap();
    for position in 12..LOG_HEADER_BYTES {
        let mut damaged = whole.clone();
        damaged[position] ^= 1;
        fs::write(&log, damaged).unwrap();
        assert_eq!(read(&one, LogName::Events).unwrap(), (1, 1), "byte {position}");
    }
}

#[test]
fn recordings_of_version_3_have_no_id_and_are_read() {
    let (_place, one, _) = two();
    let manifest = one.join("recording.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let without: Vec<&str> = text.lines().filter(|line| !line.contains("\"id\"")).collect();
    assert_eq!(without.len() + 1, text.lines().count(), "{text}");
    fs::write(&manifest, without.join("\n").replace("\"format_version\": 4", "\"format_version\": 3"))
        .unwrap();
    let log = one.join("machine-0/events.log");
    let whole = fs::read(&log).unwrap();
    assert!(matches!(read(&one, LogName::Events), Err(Error::OtherRecording { .. })), "a log with an id");
    let older = [&b"LONGPOLE\x03\0\0\0\0\0\0\0"[..], &whole[LOG_HEADER_BYTES..]].concat();
    fs::write(&log, &older).unwrap();
    assert_eq!(read(&one, LogName::Events).unwrap(), (1, 0));
    fs::write(&manifest, text).unwrap();
    assert!(matches!(read(&one, LogName::Events), Err(Error::OtherRecording { .. })), "a log without an id");
}

#[test]
fn pipes_and_folders_in_the_place_of_logs_are_refused_at_once() {
    let (_place, one, _) = two();
    for (log, name) in LOGS {
        let path = one.join(name);
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(matches!(read(&one, log), Err(Error::NotARecording { .. })), "{name}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(read(&one, log), Err(Error::NotARecording { .. })), "{name}");
    }
    let manifest = one.join("recording.json");
    fs::remove_file(&manifest).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&manifest).status().unwrap().success());
    assert!(matches!(RecordingFolder::open(&one), Err(Error::NotARecording { .. })));
}

#[test]
fn the_newest_recording_is_found_whatever_its_number() {
    let place = tempfile::tempdir().unwrap();
    for name in ["x.longpole", "x-10.longpole", "x-2.longpole"] {
        write(&place.path().join(name));
        // Times of files are only as fine as the clock's tick.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(RecordingFolder::newest_below(place.path()).unwrap(), place.path().join("x-2.longpole"));
}
