//! Recordings of the last part of a run: bounded, saved at any moment, and right. And disks that are full.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use longpole_trace::Cause;

use crate::support::{
    Answer, Collector, Recording, Run, Session, find, go_first, is_root, longpole, or_skip,
};

const MEBIBYTE: u64 = 1 << 20;

fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        // It was dropped meanwhile.
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

fn start(session: &Session, options: &[&str], program: &[&str]) -> Child {
    let mut record = longpole();
    record.current_dir(session.path()).args(["record", "--collector", "bpf", "-o", "x.longpole"]);
    record.args(options).arg("--").args(program);
    record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    go_first(&mut record).spawn().unwrap()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn has_segment(session: &Session, number: u32) -> bool {
    session.path().join(format!("x.longpole/machine-0/events-{number}.log")).exists()
}

fn assert_whole(recording: &Recording) -> Answer {
    let evidence = recording.report("evidence", "procedure");
    for defect in ["torn_bytes", "damaged_chunks", "undecodable_chunks"] {
        assert_eq!(evidence.sum("name", defect, "count"), 0.0, "{defect}: {:#}", evidence.value["rows"]);
    }
    evidence
}

fn says(recording: &Recording, text: &str) -> bool {
    let mut report = longpole();
    let run = crate::support::run(report.arg("report").arg(&recording.path));
    assert!(run.status.success(), "{}", run.stderr);
    run.stdout.contains(text)
}

#[test]
fn the_last_part_of_a_run_is_right() {
    let session = Session::alone();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("last_seconds.c", &[]));
    let mut record = longpole();
    record
        .args(["record", "--keep-last", "0.5s", "--collector", "bpf", "-o", "x.longpole", "--"])
        .arg(&program);
    let run = session.run(&mut record);
    assert!(run.status.success(), "{}", run.stderr);
    let recording = Recording::at(&session.path().join("x.longpole"));
    assert_whole(&recording);
    let critical = recording.report("critical-path", "procedure");
    let elapsed = critical.number("recording", "elapsed_seconds");
    // A segment is an eighth of what is kept, or as long as one round of a recorder that got no processor.
    assert!((0.5..1.5).contains(&elapsed), "{elapsed} s are kept");
    assert!(critical.percent("late_work") > 90.0, "{:#}", critical.value["rows"]);
    assert_eq!(critical.percent("early_work"), 0.0);
    let waits = recording.waits();
    waits.assert_seconds("the waiter waits for the holder", 0.8 * elapsed, 1.0, |wait| {
        wait.thread == "waiter" && wait.cause == Cause::Lock && wait.is_ended_by("holder")
    });
    let tree = recording.report("call-tree", "procedure");
    assert!(
        tree.rows().any(|row| row.values().any(|cell| cell == "start_threads")),
        "{:#}",
        tree.value["rows"]
    );
    assert!(says(&recording, "The recording is of the last part of the run"), "the answer says so");
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn a_recording_stays_below_its_bound() {
    let session = Session::alone();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("ping_pong.c", &[]));
    let mut record = start(&session, &["--max-size", "1M"], &[program.to_str().unwrap(), "300000"]);
    let path = session.path().join("x.longpole");
    let mut largest = 0;
    while record.try_wait().unwrap().is_none() {
        largest = largest.max(size(&path));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(record.wait().unwrap().success());
    assert!(largest.max(size(&path)) <= MEBIBYTE, "{largest} bytes while recording, {} then", size(&path));
    let recording = Recording::at(&path);
    let evidence = assert_whole(&recording);
    assert!(evidence.number("evidence", "events") > 1000.0, "{}", evidence.value["evidence"]);
    assert!(says(&recording, "The recording is of the last part of the run"), "something was dropped");
}

#[test]
fn a_snapshot_is_a_recording_and_the_recorder_goes_on() {
    let session = Session::alone();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("last_seconds.c", &[]));
    let record = start(&session, &["--keep-last", "0.3s"], &[program.to_str().unwrap()]);
    wait_until("the third segment", || has_segment(&session, 3));
    let run = session.run(longpole().arg("snapshot").arg(record.id().to_string()));
    assert!(run.status.success(), "{}", run.stderr);
    let path = PathBuf::from(run.stdout.trim());
    assert_eq!(path.file_name().unwrap(), "x-snapshot.longpole");
    let snapshot = Recording::at(&path);
    assert_whole(&snapshot);
    assert!(snapshot.report("profile", "procedure").percent("early_work") > 50.0, "it was saved early");
    let ended = record.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success() && told.contains("the snapshot is "), "{told}");
    let whole = Recording::at(&session.path().join("x.longpole"));
    assert_whole(&whole);
    assert!(whole.report("profile", "procedure").percent("late_work") > 50.0);
    // The copy does not change with what it was made of.
    assert!(snapshot.report("profile", "procedure").percent("early_work") > 50.0);
    let refused = session.run(longpole().args(["snapshot", &std::process::id().to_string()]));
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("--keep-last"), "{}", refused.stderr);
}

#[test]
fn a_recorder_killed_at_any_moment_leaves_the_last_part() {
    let session = Session::alone();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("last_seconds.c", &[]));
    for segment in [0, 2, 12] {
        let _ = fs::remove_dir_all(session.path().join("x.longpole"));
        let mut record = start(&session, &["--keep-last", "0.3s"], &[program.to_str().unwrap()]);
        // A recorder that gets no processor makes fewer segments, each longer, and ends before this one.
        wait_until("the segment", || has_segment(&session, segment) || record.try_wait().unwrap().is_some());
        record.kill().unwrap();
        record.wait().unwrap();
        let path = session.path().join("x.longpole");
        let run = session.run(longpole().arg("report").arg(&path));
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        if segment > 2 {
            assert!(run.status.success(), "{}", run.stderr);
            let rows = Recording::at(&path).report("profile", "procedure");
            assert!(
                rows.percent("early_work") + rows.percent("late_work") > 50.0,
                "{:#}",
                rows.value["rows"]
            );
        }
    }
}

/// Runs commands where `disk` is a small file system that nobody else sees.
fn on_small_disk(session: &Session, size: &str, script: &str) -> Result<Run, String> {
    if !is_root() {
        return Err("mounting needs root".into());
    }
    let disk = session.path().join("disk");
    fs::create_dir_all(&disk).unwrap();
    let mut command = Command::new(find("unshare")?);
    let script = format!("set -e; mount -t tmpfs -o size={size} tmpfs disk; set +e; {script}");
    command.args(["--mount", "sh", "-c", &script]).env("NO_COLOR", "1");
    command.env("LONGPOLE", longpole().get_program());
    let run = session.run(&mut command);
    if run.stderr.contains("mount:") || run.stderr.contains("unshare:") { Err(run.stderr) } else { Ok(run) }
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn a_full_disk_is_what_the_answer_begins_with() {
    let session = Session::beside_others();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("ping_pong.c", &[]));
    let program = program.display();
    for size in ["1m", "200k"] {
        let script = format!(
            "$LONGPOLE record --collect none -o disk/x -- {program} 400000 >out; echo status $?; \
             $LONGPOLE report disk/x"
        );
        let run = or_skip!(on_small_disk(&session, size, &script));
        assert!(run.stdout.starts_with("status 0\n"), "{size}: {}{}", run.stdout, run.stderr);
        let answer = &run.stdout["status 0\n".len()..];
        let first = answer.lines().take(4).map(str::trim).collect::<Vec<_>>().join(" ");
        assert!(first.contains("No space left on device"), "{size}: {answer}\n{}", run.stderr);
    }
}

#[test]
fn a_disk_without_room_for_any_event_is_named() {
    let session = Session::beside_others();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("ping_pong.c", &[]));
    let program = program.display();
    // Room for the manifest and the heads of the logs.
    let script = format!(
        "$LONGPOLE record --collect none -o disk/x -- {program} 200000 >out; echo status $?; $LONGPOLE report disk/x"
    );
    let run = or_skip!(on_small_disk(&session, "92k", &script));
    assert!(run.stdout.starts_with("status 0\n"), "{}{}", run.stdout, run.stderr);
    let told = format!("{}{}", run.stdout, run.stderr.rsplit("longpole: ").next().unwrap_or_default());
    assert!(told.contains("No space left on device"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn an_export_that_fails_leaves_no_torn_file() {
    let session = Session::beside_others();
    let recording = or_skip!(
        session.build("lock_hog.c", &[]).and_then(|program| { session.record(Collector::Bpf, &[&program]) })
    );
    let path = recording.path.display();
    for (form, output) in [("html", "disk/x.html"), ("csv", "disk/tables")] {
        let script =
            format!("$LONGPOLE export {path} --to {form} -o {output}; echo status $?; find disk -type f");
        let run = or_skip!(on_small_disk(&session, "16k", &script));
        assert!(run.stdout.starts_with("status 1\n"), "{form}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("No space left"), "{form}: {}", run.stderr);
        let torn: Vec<&str> = run.stdout.lines().skip(1).filter(|file| !file.ends_with(".csv")).collect();
        assert!(torn.is_empty(), "{form}: {torn:?}");
    }
}
