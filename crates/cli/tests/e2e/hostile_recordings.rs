//! Recordings that claim more than they hold: each is refused with its path and a reason, in bounded memory and time.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_recording::LOG_HEADER_BYTES;
use longpole_testkit::Drawing;
use tempfile::TempDir;

use crate::support::{Run, longpole, run};

/// Address space of a command, KiB: 1.5 GiB.
const MEMORY: u32 = 1_572_864;

/// A whole recording, in a folder of its own.
fn drawn() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.longpole");
    Drawing::example().write(&path).unwrap();
    (folder, path)
}

/// Runs a command of longpole on the recording, in bounded memory.
fn bounded(command: &str, recording: &Path) -> Run {
    let binary = longpole().get_program().to_owned();
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("ulimit -v {MEMORY}; exec \"$0\" {command} \"$1\""))
        .arg(binary)
        .arg(recording);
    run(&mut shell)
}

/// The command is refused with a reason and the path of what is wrong.
fn assert_refused(recording: &Path, path: &str, reason: &str) {
    let run = bounded("report", recording);
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(run.stderr.contains(path) && run.stderr.contains(reason), "{}", run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

/// A chunk of a log with a right checksum.
fn chunk(raw: &[u8], counts: [u32; 9]) -> Vec<u8> {
    let payload = zstd::bulk::compress(raw, 1).unwrap();
    let mut chunk = b"LPCK".to_vec();
    for word in [payload.len() as u32, raw.len() as u32, 0].into_iter().chain(counts) {
        chunk.extend(word.to_le_bytes());
    }
    chunk.extend(payload);
    let checksum = crc32fast::hash(&chunk[16..]);
    chunk[12..16].copy_from_slice(&checksum.to_le_bytes());
    chunk
}

/// Puts chunks behind those of a log.
fn append(recording: &Path, log: &str, chunks: &[u8]) {
    let path = recording.join("machine-0").join(log);
    if !path.exists() {
        let header = fs::read(recording.join("machine-0/events.log")).unwrap();
        fs::write(&path, &header[..LOG_HEADER_BYTES]).unwrap();
    }
    let whole = [fs::read(&path).unwrap(), chunks.to_vec()].concat();
    assert!(whole.len() > LOG_HEADER_BYTES && whole.len() < 1 << 20, "the attack is small");
    fs::write(path, whole).unwrap();
}

#[test]
fn chunks_that_unpack_to_gigabytes_are_refused() {
    for (bytes, times) in [(64 << 20, 100), (4 << 20, 1500)] {
        for log in ["events.log", "symbols.log", "series.log"] {
            let (_folder, recording) = drawn();
            // Zeros are texts without a character.
            append(&recording, log, &chunk(&vec![0; bytes], [0; 9]).repeat(times));
            let run = bounded("report", &recording);
            assert!(matches!(run.status.code(), Some(0 | 1)), "{bytes} {log}: {run:?}");
            let is_told = run.stderr.contains(log) || bytes > 4 << 20 || log == "series.log";
            assert!(is_told && !run.stderr.contains("panicked"), "{bytes} {log}: {}", run.stderr);
        }
    }
    let (_folder, recording) = drawn();
    append(&recording, "events.log", &chunk(&vec![0; 4 << 20], [0; 9]).repeat(1500));
    assert_refused(&recording, "machine-0/events.log", "definitions are more than");
}

#[test]
fn counts_that_no_log_can_hold_are_refused() {
    for kind in 0..9 {
        let (_folder, recording) = drawn();
        let mut counts = [0; 9];
        counts[kind] = u32::MAX - 1;
        append(&recording, "events.log", &chunk(&[0, 0], counts));
        assert_refused(&recording, "machine-0/events.log", "definitions are more than");
    }
}

#[test]
fn manifests_that_claim_too_much_are_refused() {
    let (_folder, recording) = drawn();
    let file = recording.join("recording.json");
    let text = fs::read_to_string(&file).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let machine = manifest["machines"][0].clone();
    for (machines, reason) in
        [(100_000, "larger than"), (20_000, "20000 machines"), (1000, "there is no folder")]
    {
        manifest["machines"] = vec![machine.clone(); machines].into();
        fs::write(&file, manifest.to_string()).unwrap();
        assert_refused(&recording, "x.longpole", reason);
    }
    fs::write(&file, text + &" ".repeat(17 << 20)).unwrap();
    assert_refused(&recording, "recording.json", "larger than");
    fs::write(
        &file,
        format!("{{\"format_version\":4,\"x\":[{}0]}}", "0,".repeat(8 << 20).get(..15 << 20).unwrap()),
    )
    .unwrap();
    let run = bounded("report", &recording);
    assert_eq!(run.status.code(), Some(1), "{run:?}");
}

#[test]
fn pipes_in_a_recording_are_not_waited_for() {
    let names = [
        "recording.json",
        "machine-0/events.log",
        "machine-0/symbols.log",
        "machine-0/series.log",
        "sources/manifest.json",
        "sources/0",
        "metrics/000-a.toml",
    ];
    for name in names {
        let (_folder, recording) = drawn();
        let path = recording.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        let pipe = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the name ends in a zero byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        if name == "sources/0" {
            let list = r#"{"files":[{"path":"drawn.c","stored":"0","bytes":1}],"missing":0,"left_out":0}"#;
            fs::write(recording.join("sources/manifest.json"), list).unwrap();
        }
        for command in ["report", "report --view metrics", "export --to html -o /dev/null"] {
            let run = bounded(command, &recording);
            assert!(matches!(run.status.code(), Some(0 | 1)), "{name} {command}: {run:?}");
            let is_refused = run.stderr.contains("not a regular file");
            assert!(run.status.success() || is_refused, "{name} {command}: {}", run.stderr);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let name = CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the name ends in a zero byte.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for arguments in [["import", pipe.to_str().unwrap()], ["doctor", pipe.to_str().unwrap()]] {
        let run = run(longpole().current_dir(folder.path()).args(arguments));
        assert!(!run.status.success() && run.stderr.contains("not a regular file"), "{run:?}");
    }
}
