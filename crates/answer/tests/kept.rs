//! What is kept of a recording between questions changes no answer: the analysis and the details, read again from
//! `cache/`, damaged there, or of another recording.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use longpole_answer::{DeviceWaits, Question, Recording};
use longpole_metrics::By;
use longpole_report::{Fold, View};
use longpole_testkit::Drawing;
use tempfile::TempDir;

const CONTENDED: &str = "\
C = main > C:12
D = main > D:20
1 = mutex m
2 = barrier b
T1 AAAA111AACCC222DDDDAAjjjAA
T2 CCCC%CCCCCC2222DDDDCCCCC__
T3 _BBBB111BBBBBBBDDDDBB_____
T1@0 -> T2 create
T1@1 -> T3 create
T2@7 -> T1 unlock
T1@8 -> T3 unlock
T3@15 -> T1 barrier
T3@15 -> T2 barrier
T2@24 -> T1 join
";

/// A folder with one recording, drawn or one of those of the format's versions.
fn recorded(which: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.longpole");
    match which {
        "example" => Drawing::example().write(&path).unwrap(),
        "contended" => Drawing::parse(CONTENDED).unwrap().write(&path).unwrap(),
        version => {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/fixtures").join(version);
            copy(&from, &path);
        }
    }
    (folder, path)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn questions() -> Vec<Question> {
    let plain = Question::default();
    vec![
        plain.clone(),
        Question { by: By::Thread, ..plain.clone() },
        Question { by: By::Object, all: true, ..plain.clone() },
        Question { by: By::Line, fold: Some(Fold::None), io: DeviceWaits::Idle, ..plain.clone() },
        Question { phase: Some("20%..80%".to_owned()), ..plain },
    ]
}

/// Every view of every question, each asked of the recording opened anew.
fn answers(path: &Path, open: impl Fn(Recording) -> Recording) -> Vec<String> {
    let answer = |question: &Question, view: View| {
        let recording = open(Recording::open(path).unwrap());
        // What is refused is refused alike.
        recording.report(view, question).map_or_else(|error| error.to_string(), |report| report.json())
    };
    let questions = questions();
    questions.iter().flat_map(|one| View::ALL.iter().map(|&view| answer(one, view))).collect()
}

fn kept(recording: Recording) -> Recording {
    recording.kept_from_events(0)
}

/// The files of the cache with their times.
fn files(path: &Path) -> Vec<(PathBuf, SystemTime)> {
    let entries = fs::read_dir(path.join("cache")).unwrap().map(Result::unwrap);
    let mut files: Vec<_> =
        entries.map(|entry| (entry.path(), entry.metadata().unwrap().modified().unwrap())).collect();
    files.sort();
    files
}

#[test]
fn answers_from_what_is_kept_are_those_of_the_sweeps() {
    for which in ["example", "contended", "version-7.longpole"] {
        let (_folder, path) = recorded(which);
        let computed = answers(&path, Recording::without_cache);
        assert!(!path.join("cache").exists(), "{which}");
        assert_eq!(answers(&path, kept), computed, "{which}: while they are kept");
        let made = files(&path);
        assert!(made.len() > 10, "{which}: {made:?}");
        assert_eq!(answers(&path, kept), computed, "{which}: from what was kept");
        assert_eq!(files(&path), made, "{which}: nothing was computed again");
    }
}

#[test]
fn what_is_damaged_is_computed_again() {
    let (_folder, path) = recorded("contended");
    let computed = answers(&path, Recording::without_cache);
    for damage in 0..4 {
        answers(&path, kept);
        let made = files(&path);
        for (file, _) in &made {
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() - bytes.len() / 4 - 1;
            match damage {
                0 => bytes[middle] ^= 1,
                1 => bytes.truncate(middle),
                2 => bytes.clear(),
                _ => bytes.extend(*b"more"),
            }
            fs::write(file, bytes).unwrap();
        }
        assert_eq!(answers(&path, kept), computed, "damage {damage}");
    }
}

#[test]
fn nothing_is_kept_for_another_recording_nor_where_nothing_can_be_written() {
    let ((_folder, path), (_other_folder, other)) = (recorded("contended"), recorded("example"));
    let computed = answers(&other, Recording::without_cache);
    answers(&path, kept);
    copy(&path.join("cache"), &other.join("cache"));
    assert_eq!(answers(&other, kept), computed, "with the files of another recording");
    fs::remove_dir_all(other.join("cache")).unwrap();
    fs::write(other.join("cache"), "a file in the folder's place").unwrap();
    assert_eq!(answers(&other, kept), computed, "without a folder");
}
