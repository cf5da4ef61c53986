//! Where recordings go: nothing is overwritten unasked, and recorders that run at once do not mix their files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Run, Session, go_first, is_root, longpole, or_skip};

/// Exit status of `record` when it fails itself.
const RECORDER_FAILED: i32 = 125;
/// Recorders that are started at once.
const RECORDERS: usize = 8;

/// A session in which recording is permitted.
fn session() -> Result<Session, String> {
    if is_root() { Ok(Session::beside_others()) } else { Err("recording needs root".into()) }
}

fn record(session: &Session, options: &[&str], program: &[&str]) -> Run {
    let run = session.run(longpole().arg("record").args(options).arg("--").args(program));
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    run
}

/// The run was refused before its program began, which would have made the file `started`.
fn assert_refused(session: &Session, run: &Run, words: &[&str]) {
    assert_eq!(run.status.code(), Some(RECORDER_FAILED), "{}", run.stderr);
    assert!(!session.path().join("started").exists(), "the program ran: {}", run.stderr);
    for word in words {
        assert!(run.stderr.contains(word), "no {word} in\n{}", run.stderr);
    }
}

fn command_of(recording: &Path) -> Vec<String> {
    longpole_recording::RecordingFolder::open(recording).unwrap().1.command
}

/// The recordings below the session's folder.
fn recordings(session: &Session) -> BTreeSet<String> {
    let names = fs::read_dir(session.path()).unwrap().flatten().map(|entry| entry.file_name());
    names.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".longpole")).collect()
}

#[test]
fn folders_that_are_no_recordings_stay_whole() {
    let session = or_skip!(session());
    let project = session.path().join("proj");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("recording.json"), "{\"mine\":1}").unwrap();
    fs::write(project.join("thesis.tex"), "precious").unwrap();
    symlink(&project, session.path().join("link")).unwrap();
    for options in [&["-o", "proj"][..], &["--force", "-o", "proj"], &["--force", "-o", "link"]] {
        let run = record(&session, options, &["touch", "started"]);
        assert_refused(&session, &run, &["failed to create the recording", "hint: "]);
        assert_eq!(fs::read_to_string(project.join("thesis.tex")).unwrap(), "precious");
        assert_eq!(fs::read_to_string(project.join("recording.json")).unwrap(), "{\"mine\":1}");
        assert_eq!(fs::read_dir(&project).unwrap().count(), 2);
    }
    let mut here = longpole();
    here.current_dir(&project).args(["record", "--force", "-o", ".", "--", "touch", "started"]);
    assert_eq!(crate::support::run(&mut here).status.code(), Some(RECORDER_FAILED));
    assert_eq!(fs::read_dir(&project).unwrap().count(), 2);
}

#[test]
fn a_recording_is_replaced_only_with_force_and_other_files_in_it_stay() {
    let session = or_skip!(session());
    let path = session.path().join("x.longpole");
    let first = record(&session, &["-o", "x.longpole"], &["true"]);
    assert_eq!(first.status.code(), Some(0), "{}", first.stderr);
    fs::write(path.join("thesis.tex"), "precious").unwrap();
    let run = record(&session, &["-o", "x.longpole"], &["touch", "started"]);
    assert_refused(
        &session,
        &run,
        &["there is a recording already", "`--force`", "`-o x-2.longpole` is free"],
    );
    assert_eq!(command_of(&path), ["true"]);
    let run = record(&session, &["--force", "-o", "x.longpole"], &["false"]);
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    assert_eq!(command_of(&path), ["false"]);
    // In the very folder, too.
    let mut here = longpole();
    here.current_dir(&path).args(["record", "--force", "-o", ".", "--", "true"]);
    assert_eq!(crate::support::run(&mut here).status.code(), Some(0));
    assert_eq!(command_of(&path), ["true"]);
    assert_eq!(fs::read_to_string(path.join("thesis.tex")).unwrap(), "precious");
    let report = session.run(longpole().arg("report").arg(&path));
    assert!(report.status.success(), "{}", report.stderr);
}

#[test]
fn a_program_that_cannot_be_executed_leaves_no_recording_and_no_foreign_file_is_removed() {
    let session = or_skip!(session());
    let broken = session.path().join("broken");
    fs::write(&broken, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    let path = session.path().join("x.longpole");
    assert_eq!(record(&session, &["-o", "x.longpole"], &["true"]).status.code(), Some(0));
    fs::write(path.join("thesis.tex"), "precious").unwrap();
    let run = record(&session, &["--force", "-o", "x.longpole"], &["./broken"]);
    assert!(matches!(run.status.code(), Some(126 | 127)), "{}", run.stderr);
    assert_eq!(fs::read_to_string(path.join("thesis.tex")).unwrap(), "precious");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    let run = record(&session, &["-o", "y.longpole"], &["./broken"]);
    assert!(matches!(run.status.code(), Some(126 | 127)), "{}", run.stderr);
    assert!(!session.path().join("y.longpole").exists());
}

/// Starts recorders at once; each runs its number's program through the same shell, so that all have one default name.
fn start_all(session: &Session, options: &[&str]) -> Vec<Child> {
    let start = |number: usize| {
        let program = session.path().join(format!("program{number}"));
        fs::write(&program, format!("#!/bin/sh\n: > started{number}\nsleep 1\nexit {number}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut record = longpole();
        record.current_dir(session.path()).args(["record", "--quiet"]).args(options);
        record.args(["--", "/bin/sh", "-c"]).arg(format!("exec {}", program.display()));
        record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        go_first(&mut record).spawn().unwrap()
    };
    (1..=RECORDERS).map(start).collect()
}

fn statuses(recorders: Vec<Child>) -> Vec<i32> {
    let wait = |mut recorder: Child| recorder.wait().unwrap().code().unwrap();
    recorders.into_iter().map(wait).collect()
}

/// The number of the program that a recording is of, by the manifest, the exit status and the events, which agree.
fn number_of(session: &Session, recording: &Path) -> usize {
    let (_, manifest) = longpole_recording::RecordingFolder::open(recording).unwrap();
    let status = manifest.outcome.unwrap().exit_code.unwrap();
    let program = format!("program{status}");
    assert!(manifest.command.concat().ends_with(&program), "{:?}", manifest.command);
    let report =
        session.run(longpole().arg("report").arg(recording).args(["--view", "tree", "--format", "json"]));
    assert!(report.status.success(), "{}", report.stderr);
    for number in 1..=RECORDERS {
        let is_there = report.stdout.contains(&format!("program{number}"));
        assert_eq!(is_there, number == status as usize, "{}: {}", recording.display(), report.stdout);
    }
    status as usize
}

#[test]
fn eight_recorders_with_the_default_name_make_eight_whole_recordings() {
    let session = or_skip!(session());
    let statuses = statuses(start_all(&session, &[]));
    assert_eq!(statuses, (1..=RECORDERS as i32).collect::<Vec<_>>(), "each passes its program's status on");
    let names: BTreeSet<String> = std::iter::once("sh.longpole".to_owned())
        .chain((2..=RECORDERS).map(|number| format!("sh-{number}.longpole")))
        .collect();
    assert_eq!(recordings(&session), names);
    let numbers: BTreeSet<usize> =
        names.iter().map(|name| number_of(&session, &session.path().join(name))).collect();
    assert_eq!(numbers, (1..=RECORDERS).collect());
    // A recording that is left out is the newest one.
    let newest = record(&session, &["--quiet"], &["/bin/sh", "-c", "exit 77"]);
    assert_eq!(newest.status.code(), Some(77), "{}", newest.stderr);
    let report = session.run(longpole().args(["report", "--view", "tree", "--format", "json"]));
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(command_of(&session.path().join("sh-9.longpole"))[2], "exit 77");
    assert!(report["recording"].to_string().contains("exit 77"), "{:#}", report["recording"]);
}

#[test]
fn of_eight_recorders_with_one_name_one_records_and_the_others_start_no_program() {
    let session = or_skip!(session());
    let statuses = statuses(start_all(&session, &["-o", "one"]));
    let (refused, made): (Vec<i32>, Vec<i32>) =
        statuses.into_iter().partition(|&status| status == RECORDER_FAILED);
    assert_eq!((refused.len(), made.len()), (RECORDERS - 1, 1));
    let number = number_of(&session, &session.path().join("one"));
    assert_eq!(number as i32, made[0]);
    for other in 1..=RECORDERS {
        let started = session.path().join(format!("started{other}"));
        assert_eq!(started.exists(), other == number, "program {other}");
    }
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_lock_goes_with_a_killed_recorder() {
    let session = or_skip!(session());
    let script = "touch began; sleep 30";
    let mut first = longpole();
    first.current_dir(session.path()).args(["record", "-o", "x", "--", "/bin/sh", "-c", script]);
    first.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = go_first(&mut first).spawn().unwrap();
    wait_for("the program's start", || session.path().join("began").exists());
    // The recorder writes its first events after a second.
    let log = session.path().join("x/machine-0/events.log");
    let written =
        || fs::metadata(&log).is_ok_and(|log| log.len() > longpole_recording::LOG_HEADER_BYTES as u64);
    wait_for("what was recorded", written);
    for options in [&["-o", "x"][..], &["--force", "-o", "x"]] {
        let run = record(&session, options, &["touch", "started"]);
        assert_refused(&session, &run, &["another longpole is recording into it", "`-o x-2` is free"]);
    }
    first.kill().unwrap();
    first.wait().unwrap();
    // Its program lives on and holds nothing.
    let report = session.run(longpole().args(["report", "x"]));
    assert!(report.status.success(), "{}", report.stderr);
    let run = record(&session, &["-o", "x"], &["touch", "started"]);
    assert_refused(&session, &run, &["there is a recording already"]);
    let run = record(&session, &["--force", "-o", "x"], &["touch", "started"]);
    assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
    assert_eq!(command_of(&session.path().join("x"))[0], "touch");
}

#[test]
fn files_of_two_recordings_are_not_answered_from() {
    let session = or_skip!(session());
    for name in ["one", "other"] {
        let run = record(&session, &["-o", name], &["true"]);
        assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
    }
    let at = |name: &str| session.path().join(name);
    for log in ["events", "symbols", "series"] {
        let log = format!("machine-0/{log}.log");
        let own = fs::read(at("one").join(&log)).unwrap();
        fs::copy(at("other").join(&log), at("one").join(&log)).unwrap();
        let views = ["--view", "summary,metrics"];
        let report = session.run(longpole().args(["report", "one"]).args(views));
        assert_eq!(report.status.code(), Some(1), "{log}: {}", report.stdout);
        assert!(report.stderr.contains("belongs to another recording"), "{}", report.stderr);
        fs::write(at("one").join(&log), own).unwrap();
        let report = session.run(longpole().args(["report", "one"]).args(views));
        assert!(report.status.success(), "{}", report.stderr);
    }
}

#[test]
fn a_pipe_in_the_recording_is_refused_and_waits_for_nobody() {
    let session = or_skip!(session());
    assert_eq!(record(&session, &["-o", "x"], &["true"]).status.code(), Some(0));
    for name in ["machine-0/series.log", "machine-0/symbols.log", "machine-0/events.log", "recording.json"] {
        let path: PathBuf = session.path().join("x").join(name);
        let own = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let report = session.run(longpole().args(["report", "x", "--view", "summary,metrics"]));
        // Without its series the rest of a recording is answered from.
        let status = i32::from(!name.ends_with("series.log"));
        assert_eq!(report.status.code(), Some(status), "{name}: {}", report.stdout);
        fs::remove_file(&path).unwrap();
        fs::write(&path, own).unwrap();
    }
}

#[test]
fn an_import_replaces_only_with_force_and_numbers_its_default_name() {
    let session = or_skip!(session());
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/fixtures/plain.data");
    fs::copy(fixture, session.path().join("perf.data")).unwrap();
    let import = |options: &[&str]| session.run(longpole().args(["import", "perf.data"]).args(options));
    for name in ["perf.data.longpole", "perf.data-2.longpole"] {
        let run = import(&[]);
        assert!(run.status.success() && session.path().join(name).is_dir(), "{}", run.stderr);
    }
    let run = import(&["-o", "perf.data.longpole"]);
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("`--force`") && run.stderr.contains("perf.data-3.longpole"),
        "{}",
        run.stderr
    );
    let run = import(&["--force", "-o", "perf.data.longpole"]);
    assert!(run.status.success(), "{}", run.stderr);
}

#[test]
fn an_export_goes_into_an_empty_folder_or_over_an_export_with_force() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    longpole_testkit::Drawing::example().write(&at("x.longpole")).unwrap();
    let export = |options: &[&str]| {
        let mut export = longpole();
        export.current_dir(place.path()).args(["export", "x.longpole", "--to", "csv"]).args(options);
        crate::support::run(&mut export)
    };
    let run = export(&[]);
    assert!(run.status.success() && at("x-tables/columns.csv").is_file(), "{}", run.stderr);
    let run = export(&[]);
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    let says = ["there is an export already", "`--force`", "`-o x-tables-2` is free"];
    assert!(says.iter().all(|words| run.stderr.contains(words)), "{}", run.stderr);
    fs::write(at("x-tables/notes.txt"), "precious").unwrap();
    let run = export(&["--force"]);
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(fs::read_to_string(at("x-tables/notes.txt")).unwrap(), "precious");
    // Folders of others, whatever they hold; and links.
    fs::create_dir(at("proj")).unwrap();
    fs::write(at("proj/columns.csv"), "a,b\n").unwrap();
    fs::write(at("proj/profile.csv"), "precious").unwrap();
    symlink(at("x-tables"), at("link")).unwrap();
    for options in
        [&["-o", "proj"][..], &["--force", "-o", "proj"], &["--force", "-o", "link"], &["-o", "link/"]]
    {
        let run = export(options);
        assert_eq!(run.status.code(), Some(1), "{options:?}: {}", run.stderr);
        assert_eq!(fs::read_to_string(at("proj/profile.csv")).unwrap(), "precious");
        assert_eq!(fs::read_dir(at("proj")).unwrap().count(), 2);
    }
}
