//! Attacks on folders: whatever is asked for, nothing but a recording's own files goes, and one recorder wins.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::sync::Barrier;

use longpole_event::MachineId;
use tempfile::TempDir;

use super::*;
use crate::folder::LogName;
use crate::manifest::FORMAT_VERSION;
use crate::metric_files::MetricFile;

fn manifest(command: &str) -> Manifest {
    let command = vec![command.to_owned()];
    Manifest { format_version: FORMAT_VERSION, command, ..Manifest::default() }
}

/// A place with the finished recording `x.longpole`, which has every kind of file.
fn recorded() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.longpole");
    let folder = RecordingFolder::create(&path, &manifest("first")).unwrap();
    for machine in [0, 1] {
        for log in [LogName::Events, LogName::Symbols, LogName::Series] {
            folder.create_log(MachineId(machine), log).unwrap();
        }
    }
    let file = MetricFile { name: "m.toml".to_owned(), text: String::new() };
    folder.keep_metric_files(&[file]).unwrap();
    folder.keep_sources(vec![("a.c".to_owned(), Ok(b"int main;\n".to_vec()))]).unwrap();
    fs::create_dir(folder.cache()).unwrap();
    fs::write(folder.cache().join("0123456789abcdef.answer"), "answer").unwrap();
    (place, path)
}

/// Every file below a folder, with its text.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path(), fs::read(entry.path()).unwrap_or_default());
        }
    }
    found
}

fn command(path: &Path) -> String {
    RecordingFolder::open(path).unwrap().1.command[0].clone()
}

/// Every destination in this folder is refused, and nothing in it changes.
fn assert_occupied(path: &Path, watched: &Path) {
    let before = files(watched);
    for destination in [Destination::New(path.to_owned()), Destination::Replace(path.to_owned())] {
        let refused = destination.create(&manifest("second")).unwrap_err();
        assert!(matches!(refused, Error::Occupied { .. }), "{refused}");
        assert_eq!(files(watched), before, "{refused}");
    }
}

#[test]
fn a_folder_with_a_recording_json_of_others_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let project = place.path().join("proj");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("thesis.tex"), "precious").unwrap();
    assert_occupied(&project, place.path());
    for text in
        ["{\"mine\":1}", "", "[]", "{\"format_version\": 4}", "{\"format_version\": \"x\", \"machines\": []}"]
    {
        fs::write(project.join("recording.json"), text).unwrap();
        assert_occupied(&project, place.path());
    }
    let newer = "{\"format_version\": 999, \"longpole\": \"9\", \"command\": [], \"machines\": []}";
    fs::write(project.join("recording.json"), newer).unwrap();
    assert_occupied(&project, place.path());
}

#[test]
fn a_file_in_the_place_of_the_folder_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("x"), "precious").unwrap();
    assert_occupied(&place.path().join("x"), place.path());
}

#[test]
fn a_recording_is_replaced_only_when_that_is_asked_for() {
    let (place, path) = recorded();
    let before = files(place.path());
    let refused = Destination::New(path.clone()).create(&manifest("second")).unwrap_err();
    let Error::Existing { free, .. } = &refused else { panic!("{refused}") };
    assert_eq!(free, &place.path().join("x-2.longpole"));
    assert_eq!(files(place.path()), before);
    Destination::Replace(path.clone()).create(&manifest("second")).unwrap();
    assert_eq!(command(&path), "second");
    let left: Vec<PathBuf> = files(&path).into_keys().collect();
    assert_eq!(left, [path.join("recording.json"), path.join("recording.lock")]);
}

#[test]
fn what_is_no_part_of_the_recording_stays_when_it_is_replaced() {
    let (_place, path) = recorded();
    let others = [
        "thesis.tex",
        "machine-0/notes.txt",
        "cache/notes.txt",
        "sources/main.c",
        "metrics/readme",
        "machine-x/events.log",
        "other/recording.json",
    ];
    for other in others {
        let file = path.join(other);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "precious").unwrap();
    }
    let folder = Destination::Replace(path.clone()).create(&manifest("second")).unwrap();
    assert_eq!(folder.metric_files().unwrap(), [], "what others put there is not read as the recording's");
    let mut expected: Vec<PathBuf> = others.map(|other| path.join(other)).to_vec();
    expected.extend(["recording.json", "recording.lock"].map(|name| path.join(name)));
    expected.sort();
    assert_eq!(files(&path).into_keys().collect::<Vec<_>>(), expected);
    folder.discard().unwrap();
    expected.retain(|file| !file.ends_with("x.longpole/recording.json") && !file.ends_with("recording.lock"));
    assert_eq!(files(&path).into_keys().collect::<Vec<_>>(), expected);
}

#[test]
fn links_are_not_followed() {
    let (place, path) = recorded();
    let link = place.path().join("link");
    symlink(&path, &link).unwrap();
    assert_occupied(&link, place.path());
    assert_occupied(&link.join(""), place.path());
    let elsewhere = place.path().join("elsewhere");
    for name in ["machine-0/events.log", "machine-0", "sources", "metrics/000-m.toml", "recording.lock"] {
        let inside = path.join(name);
        fs::rename(&inside, &elsewhere).unwrap();
        symlink(&elsewhere, &inside).unwrap();
        assert_occupied(&path, place.path());
        fs::remove_file(&inside).unwrap();
        fs::rename(&elsewhere, &inside).unwrap();
    }
    Destination::Replace(path).create(&manifest("second")).unwrap();
}

#[test]
fn a_second_recorder_is_refused_until_the_first_has_ended() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("two");
    let first = RecordingFolder::create(&path, &manifest("first")).unwrap();
    for second in [Destination::New(path.clone()), Destination::Replace(path.clone())] {
        let refused = second.create(&manifest("second")).unwrap_err();
        let Error::Busy { free, .. } = &refused else { panic!("{refused}") };
        assert_eq!(free, &place.path().join("two-2"));
    }
    assert_eq!(command(&path), "first");
    let copy = first.clone();
    drop(first);
    let refused = Destination::Replace(path.clone()).create(&manifest("second"));
    assert!(matches!(refused, Err(Error::Busy { .. })), "a copy of the folder keeps the lock");
    drop(copy);
    let refused = Destination::New(path.clone()).create(&manifest("second"));
    assert!(matches!(refused, Err(Error::Existing { .. })));
    Destination::Replace(path.clone()).create(&manifest("second")).unwrap();
    assert_eq!(command(&path), "second");
}

#[test]
fn a_recorder_stopped_before_its_manifest_is_not_in_the_way() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("recording.lock"), "").unwrap();
    fs::write(path.join("recording.json.new"), "{\"format").unwrap();
    RecordingFolder::create(&path, &manifest("first")).unwrap();
    assert_eq!(command(&path), "first");
}

#[test]
fn numbers_go_before_the_ending() {
    for (name, second) in [
        ("lock_hog.longpole", "lock_hog-2.longpole"),
        ("perf.data.longpole", "perf.data-2.longpole"),
        ("two", "two-2"),
        (".hidden", ".hidden-2"),
        ("/a.b/two", "/a.b/two-2"),
        (".", "./recording-2.longpole"),
    ] {
        assert_eq!(numbered(Path::new(name), 2), Path::new(second), "{name}");
        assert_eq!(numbered(Path::new(name), 1), Path::new(name));
    }
}

/// What eight recorders that begin at once get; each lives until all have tried.
fn at_once(destination: &Destination) -> Vec<Result<PathBuf>> {
    const RECORDERS: usize = 8;
    let (begin, end) = (Barrier::new(RECORDERS), Barrier::new(RECORDERS));
    let run = |number: usize| {
        begin.wait();
        let created = destination.create(&manifest(&number.to_string()));
        end.wait();
        created.map(|folder| folder.path().to_owned())
    };
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..RECORDERS).map(|number| scope.spawn(move || run(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn recorders_with_one_default_name_get_a_folder_each() {
    for _ in 0..20 {
        let place = tempfile::tempdir().unwrap();
        let mut paths: Vec<PathBuf> =
            at_once(&Destination::FirstFree(place.path().join("x.longpole"))).into_iter().flatten().collect();
        paths.sort();
        let mut expected: Vec<PathBuf> =
            (1..=8).map(|number| numbered(&place.path().join("x.longpole"), number)).collect();
        expected.sort();
        assert_eq!(paths, expected);
    }
}

#[test]
fn of_recorders_with_one_given_name_one_records() {
    for _ in 0..20 {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x.longpole");
        for destination in [Destination::New(path.clone()), Destination::Replace(path.clone())] {
            let (made, refused): (Vec<_>, Vec<_>) =
                at_once(&destination).into_iter().partition(Result::is_ok);
            assert_eq!((made.len(), refused.len()), (1, 7), "{refused:?}");
            assert!(refused.iter().all(|error| matches!(error, Err(Error::Busy { .. }))), "{refused:?}");
        }
    }
}
