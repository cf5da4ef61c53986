//! Programs of a user without any privilege: what the process collector tells of them, and what it does not pretend to know.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{
    Nobody, Recording, Session, assert_forms, assert_laws, deny_perf_events, go_first, or_skip,
};

/// Percentage points by which a share of CPU time may be off.
const CLOSE: f64 = 3.0;
const RECORDER_FAILED: i32 = 125;

fn record(nobody: &Nobody, source: &str, flags: &[&str]) -> Result<Recording, String> {
    Nobody::may_have_perf_events()?;
    let program = nobody.session().build(source, flags)?;
    let recording = nobody.record(&["--collector", "process"], &[&program]);
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    assert_laws(&recording);
    Ok(recording)
}

fn count(recording: &Recording, name: &str) -> f64 {
    recording.report("evidence", "procedure").sum("name", name, "count")
}

#[test]
fn work_and_states_of_a_user_s_own_program_are_known() {
    let session = Session::alone();
    let nobody = or_skip!(Nobody::in_session(&session));
    let recording = or_skip!(record(&nobody, "lock_hog.c", &[]));
    let critical = recording.report("critical-path", "procedure");
    critical.assert_percent("hog_table", 92.3, CLOSE);
    let threads = recording.report("threads", "thread");
    let cpu = |thread: &str| threads.sum("thread", thread, "running_seconds");
    assert!((0.95..1.05).contains(&cpu("hog")), "{} s, not 0.975 s", cpu("hog"));
    let waits = recording.waits();
    waits.assert_seconds("the polite threads wait", 0.9, 2.0, |wait| wait.thread == "polite");
    assert_eq!(count(&recording, "lost events"), 0.0);
    assert_eq!(count(&recording, "contradictions"), 0.0);
    assert_forms(&recording.path);
}

#[test]
fn nobody_is_named_where_nobody_was_seen() {
    let session = Session::alone();
    let nobody = or_skip!(Nobody::in_session(&session));
    if Path::new(longpole_record::tracefs::COPY).exists() {
        return crate::support::skipped("`longpole setup` has let users see futex calls here");
    }
    // Nothing can be preloaded into a program that is statically linked.
    let recording = or_skip!(record(&nobody, "barrier_imbalance.c", &["-static"]));
    recording.report("profile", "thread").assert_share("thread", "heavy", 75.0, CLOSE);
    let waits = recording.waits();
    let is_light = |thread: &str| thread == "light";
    waits.assert_seconds("light waits", 0.45, 1.0, |wait| is_light(&wait.thread) && wait.ended_by.is_none());
    assert_eq!(waits.seconds(|wait| is_light(&wait.thread) && wait.ended_by.is_some()), 0.0);
    assert!(count(&recording, "unmatched wakes") >= 5.0);
    let summary = recording.report("summary", "procedure");
    let notes = summary.value["evidence"]["notes"].to_string();
    assert!(notes.contains("no wakes were recorded"), "{notes}");
    let guidance = session
        .run(crate::support::longpole().arg("report").arg(&recording.path).args(["--view", "guidance"]));
    assert!(guidance.stdout.contains("Follow normalised processor time"), "{}", guidance.stdout);
}

#[test]
fn processes_and_threads_are_followed_from_their_creation() {
    let session = Session::alone();
    let nobody = or_skip!(Nobody::in_session(&session));
    let recording = or_skip!(record(&nobody, "fork_exec_tree.c", &[]));
    let threads = recording.report("threads", "thread");
    assert_eq!(threads.number("recording", "processes"), 7.0, "{:#}", threads.value["rows"]);
    assert_eq!(count(&recording, "contradictions"), 0.0);
}

#[test]
fn the_ladder_ends_with_what_is_permitted_and_says_what_was_not() {
    let session = Session::alone();
    let nobody = or_skip!(Nobody::in_session(&session));
    or_skip!(Nobody::may_have_perf_events());
    let recording = nobody.record(&[], &["true"]);
    let evidence = recording.report("evidence", "procedure").value["evidence"].clone();
    assert_eq!(evidence["collector"], "process");
    let notes = evidence["notes"].to_string();
    assert!(notes.contains("not collected by bpf") && notes.contains("not collected by perf"), "{notes}");
    let doctor = nobody.run(nobody.longpole().arg("doctor"));
    let line = doctor.stdout.lines().find(|line| line.trim_start().starts_with("process"));
    assert!(line.is_some_and(|line| line.contains("`record` takes it")), "{}", doctor.stdout);
}

#[test]
fn a_running_process_is_attached_to() {
    let session = Session::alone();
    let nobody = or_skip!(Nobody::in_session(&session));
    or_skip!(Nobody::may_have_perf_events());
    let program = or_skip!(session.build("more_threads_than_cpus.c", &[]));
    let mut running = go_first(nobody.command(&program).stdout(Stdio::null())).spawn().unwrap();
    let tasks = format!("/proc/{}/task", running.id());
    let begin = Instant::now();
    while fs::read_dir(&tasks).map_or(0, Iterator::count) < 9 && begin.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let path = nobody.home().join("attached.longpole");
    let mut record = nobody.longpole();
    record.args(["record", "--collector", "process", "-p", &running.id().to_string(), "-o"]).arg(&path);
    let run = nobody.run(&mut record);
    running.wait().unwrap();
    assert!(run.status.success(), "{}", run.stderr);
    let recording = Recording::at(&path);
    assert_eq!(recording.report("threads", "thread").number("recording", "threads"), 9.0);
    recording.report("profile", "procedure").assert_percent("grind", 100.0, CLOSE);
    assert_eq!(count(&recording, "contradictions"), 0.0);
}

#[test]
fn a_filter_of_system_calls_is_told_as_such() {
    let session = Session::alone();
    let nobody = or_skip!(Nobody::in_session(&session));
    or_skip!(Nobody::may_have_perf_events());
    for error in [libc::EPERM, libc::EACCES, libc::ENOSYS] {
        let mut record = nobody.longpole();
        record.args(["record", "--collector", "process", "-o", "x.longpole", "--", "true"]);
        deny_perf_events(&mut record, error);
        let run = nobody.run(&mut record);
        assert_eq!(run.status.code(), Some(RECORDER_FAILED), "{}", run.stderr);
        assert!(run.stderr.contains("seccomp") && run.stderr.contains("process"), "{}", run.stderr);
    }
}

#[test]
fn a_program_with_another_user_s_rights_is_told_as_such_and_runs_as_ever() {
    let session = Session::alone();
    let nobody = or_skip!(Nobody::in_session(&session));
    or_skip!(Nobody::may_have_perf_events());
    let program = or_skip!(session.build("pure_computation.c", &[]));
    const DAEMON: u32 = 1;
    std::os::unix::fs::chown(&program, Some(DAEMON), None).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let recording = nobody.record(&["--collector", "process"], &[&program]);
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    let evidence = recording.report("evidence", "procedure").value["evidence"].clone();
    assert!(evidence["notes"].to_string().contains("setuid"), "{evidence}");
    assert!(evidence["lost_events"].as_u64() > Some(0), "{evidence}");
}
