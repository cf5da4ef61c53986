//! A recording of each format version, kept for ever: it opens and gives the answer that it gave when it was made.

use std::fs;
use std::path::{Path, PathBuf};

use longpole_trace::Cause;

use crate::support::{Recording, Wait};

/// The answer of lock_hog.c, in percent of the critical path (see the program), and how far a recording may be from it.
const HOG_PERCENT: f64 = 92.3;
const CLOSE: f64 = 4.0;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A copy of the recording of this version: answers are remembered in the folder.
fn recording(version: &str) -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.longpole");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    copy(&kept.join(format!("version-{version}.longpole")), &path);
    (place, path)
}

fn assert_answer(version: u32) {
    let (_place, path) = recording(&version.to_string());
    let (_, manifest) = longpole_recording::RecordingFolder::open(&path).unwrap();
    assert_eq!(manifest.format_version, version);
    let recording = Recording::at(&path);
    let critical = recording.report("critical-path", "procedure");
    critical.assert_percent("hog_table", HOG_PERCENT, CLOSE);
    recording.report("critical-path", "thread").assert_share("thread", "hog", 98.0, CLOSE);
    let evidence = critical.value["evidence"].clone();
    assert!(evidence["events"].as_u64().is_some_and(|events| events > 1000), "{evidence:#}");
    let is_lock = |wait: &Wait| wait.thread == "polite" && wait.cause == Cause::Lock;
    recording.waits().assert_seconds("the polite threads wait for the hog", 0.9, 100.0, |wait| {
        is_lock(wait) && wait.is_ended_by("hog")
    });
    let metrics = recording.report_with("metrics", "procedure", &["--metric", "page_faults"]);
    assert_eq!(metrics.rows().count(), 1, "{:#}", metrics.value["rows"]);
    for log in ["torn_bytes", "damaged_chunks"] {
        assert_eq!(recording.report("evidence", "procedure").sum("name", log, "count"), 0.0, "{log}");
    }
}

#[test]
fn version_3() {
    assert_answer(3);
}

#[test]
fn version_4() {
    assert_answer(4);
}

#[test]
fn version_5() {
    assert_answer(5);
}

#[test]
fn version_6() {
    assert_answer(6);
}

#[test]
fn version_7() {
    assert_answer(7);
}

#[test]
fn version_8() {
    assert_answer(8);
}

#[test]
fn version_9() {
    assert_answer(9);
}

#[test]
fn version_10() {
    assert_answer(10);
}

#[test]
fn version_11() {
    assert_answer(11);
}

#[test]
fn version_12() {
    assert_answer(12);
}

#[test]
fn the_version_that_is_written_has_its_recording() {
    let (_place, path) = recording(&longpole_recording::FORMAT_VERSION.to_string());
    assert!(path.join("recording.json").is_file());
}
