//! Functions of Python have names, in programs as they are. The answer is in `programs/python_shares.py`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use longpole_trace::Cause;

use crate::support::{Collector, Recording, Session, find, first_that_holds, or_skip, programs, skipped};

/// What each function has of the CPU time, percent, if the work takes all of it.
const SHARES: [(&str, f64); 5] =
    [("solve", 40.0), ("burn", 20.0), ("by_key", 15.0), ("deeper", 15.0), ("produce", 10.0)];

fn recorded(session: &Session, python: &Path, options: &[&str], seconds: &str) -> Result<Recording, String> {
    let program = programs().join("python_shares.py");
    let mut command: Vec<&OsStr> = vec![python.as_os_str()];
    command.extend(options.iter().map(OsStr::new));
    command.extend([program.as_os_str(), seconds.as_ref()]);
    let recording = session.record(Collector::Bpf, &command)?;
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    Ok(recording)
}

/// Each function has its share, give or take `error` percent of the whole.
fn assert_shares(recording: &Recording, python: &Path, error: f64) {
    let profile = recording.report("profile", "procedure");
    for (function, expected) in SHARES {
        let is_it = |name: &str| name.starts_with(&format!("{function} python_shares.py"));
        let rows = profile.rows().filter(|row| row["procedure"].as_str().is_some_and(is_it));
        let shares: Vec<f64> = rows.filter_map(|row| row["percent"].as_f64()).collect();
        let &[share] = shares.as_slice() else {
            panic!(
                "{}: {function} has {} rows\n{}",
                python.display(),
                shares.len(),
                profile.table("procedure")
            );
        };
        let difference = (share - expected).abs();
        assert!(
            difference < error,
            "{}: {function} {share} %\n{}",
            python.display(),
            profile.table("procedure")
        );
    }
}

#[test]
fn functions_of_the_system_s_python_have_names_and_wait() {
    let session = Session::start();
    let python = or_skip!(find("/usr/bin/python3"));
    let recording = or_skip!(recorded(&session, &python, &[], "1.0"));
    assert_shares(&recording, &python, 7.0);
    let waits = recording.waits();
    waits.assert_seconds("wait_for joins the thread", 0.19, 1.0, |wait| {
        wait.is_in("wait_for python_shares.py") && wait.cause == Cause::Join
    });
    waits.assert_seconds("rest sleeps", 0.2, 1.0, |wait| {
        wait.is_in("rest python_shares.py") && matches!(wait.cause, Cause::Sleep | Cause::Timer)
    });
}

/// Each version keeps its frames elsewhere.
#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn functions_have_names_in_all_versions_of_python() {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let installed = std::fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = installed.map(|entry| entry.path().join("bin/python")).collect();
    versions.sort();
    if versions.is_empty() {
        return skipped("no other version of Python is installed by pyenv");
    }
    let session = Session::start();
    for python in versions {
        // With its own support of perf, functions have names twice, in the process and in a file: one is taken.
        let is_perf_aware = python.to_string_lossy().contains("/3.13");
        let options: &[&str] = if is_perf_aware { &["-X", "perf"] } else { &[] };
        let recording = or_skip!(recorded(&session, &python, options, "0.3"));
        assert_shares(&recording, &python, 14.0);
    }
}

/// Where each version of Python has its modules differs; the libraries that these call are the same.
#[test]
fn what_python_s_own_modules_do_belongs_to_the_function_that_calls_them() {
    let session = Session::start();
    let python = or_skip!(find("/usr/bin/python3"));
    let program = programs().join("python_digests.py");
    let command = [python.as_os_str(), program.as_os_str(), "0.6".as_ref()];
    let recording = or_skip!(session.record(Collector::Bpf, &command));
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    let profile = recording.report("profile", "procedure");
    let share =
        |function: &str| profile.sum("procedure", &format!("{function} python_digests.py"), "percent");
    let (digest, pack) = (share("digest"), share("pack"));
    // Half of the work each in one process, and half of it again for `digest` in two others.
    let told = format!("digest {digest} %, pack {pack} %\n{}", profile.table("procedure"));
    assert!(digest + pack > 85.0, "{told}");
    assert!((digest - 2.0 * pack).abs() < 8.0, "{told}");
    // The lock is one for both processes, and named by who takes it.
    let objects = recording.report("objects", "object");
    let semaphores: Vec<_> = objects.rows().filter(|row| row["kind"] == "semaphore").collect();
    assert_eq!(semaphores.len(), 1, "{semaphores:#?}");
    assert_eq!(semaphores[0]["object"], "semaphore in entry python_digests.py");
}

/// A lock of Python is a semaphore of the C library, and all else is made of such locks.
#[test]
fn what_python_s_library_has_for_waiting_has_its_kind() {
    let session = Session::start();
    let python = or_skip!(find("/usr/bin/python3"));
    let program = programs().join("python_waits.py");
    let recording = or_skip!(session.record(Collector::Bpf, &[&python, &program]));
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    let waits = recording.waits();
    let expected = [
        ("in_lock", Cause::Lock),
        ("in_tree_lock", Cause::Lock),
        ("in_gate", Cause::Semaphore),
        ("put_jobs", Cause::Message),
        ("at_barrier", Cause::Barrier),
        ("for_event", Cause::Condition),
        ("result_of_pool", Cause::Condition),
        ("for_both", Cause::Join),
    ];
    for (function, cause) in expected {
        waits.assert_seconds(function, 0.005, 1.0, |wait| {
            wait.cause == cause && wait.is_in(&format!("{function} python_waits.py"))
        });
    }
    // The interpreter's own lock is waited for here and there, and files are read.
    let others =
        waits.seconds(|wait| wait.cause == Cause::Semaphore && !wait.is_in("in_gate python_waits.py"));
    assert_eq!(others, 0.0);
}

/// Recordings of which one has a range that holds.
const ATTEMPTS: usize = 3;

/// What a program gains without one of its functions, which its argument leaves out, is in the range that is told with this error, in points;
/// and the execution says more than `least` percent. The first recording of which that holds.
fn assert_gain_without(
    session: &Session,
    program: &str,
    (function, least): (&str, f64),
    close: f64,
) -> Result<Recording, String> {
    let python = find("/usr/bin/python3")?;
    let path = programs().join(program);
    let run_without = |what: &str| session.least_seconds(&python, &[path.to_str().unwrap(), what]);
    first_that_holds(ATTEMPTS, || {
        let truth = 100.0 * (1.0 - run_without(function) / run_without(""));
        let recording = match session.record(Collector::Bpf, &[&python, &path]) {
            Ok(recording) => recording,
            not_permitted => return Ok(not_permitted),
        };
        let (gain, range) = recording.gain_without(&format!("{function} {program}"), close);
        let holds = gain > least && range.contains(&truth);
        if holds { Ok(Ok(recording)) } else { Err(format!("{range:.0?}, {gain:.0}; in truth {truth:.0} %")) }
    })
}

/// Since Python 3.11 `time.sleep` tells the kernel until when, which follows from when it is called.
#[test]
fn a_sleep_of_python_begins_when_the_work_before_it_is_done() {
    let session = Session::start();
    let recording = or_skip!(assert_gain_without(&session, "python_naps.py", ("digest", 25.0), 6.0));
    recording.waits().assert_seconds("settle sleeps", 0.4, 1.0, |wait| {
        wait.cause == Cause::Sleep && wait.is_in("settle python_naps.py")
    });
}

/// A thread asks for the interpreter's lock anew every few milliseconds; these are no times of the program.
#[test]
fn waits_for_the_interpreter_follow_from_who_has_it() {
    let session = Session::start();
    or_skip!(assert_gain_without(&session, "python_parse.py", ("parse", 50.0), 8.0));
}

/// The return address of vfork is in a register while the kernel creates the process.
#[test]
fn processes_that_a_function_creates_belong_to_it() {
    let session = Session::start();
    or_skip!(assert_gain_without(&session, "python_children.py", ("convert", 40.0), 8.0));
}

/// Of 2,000 tasks one at a time, most of what is done is to hand them over.
#[test]
fn work_that_is_handed_to_processes_in_small_pieces_is_to_be_passed_in_larger_ones() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let python = or_skip!(find("python3"));
    let program = programs().join("python_tasks.py");
    let command = |at_a_time: &str, steps: &str| {
        [python.as_os_str(), program.as_os_str(), at_a_time.as_ref(), steps.as_ref()].map(OsStr::to_owned)
    };
    // Where others take the processors, the row is lost in their part.
    let most = first_that_holds(5, || {
        let recording = session.record(Collector::Bpf, &command("1", "200"))?;
        let summary = recording.report("summary", "procedure");
        let change = summary.all_changes().find(|change| change["remedy"] == "pass more at once").cloned();
        change
            .and_then(|change| change["gain_high_percent"].as_f64())
            .ok_or_else(|| summary.value.to_string())
    });
    assert!(most > 20.0, "{most} %");
    let recording = or_skip!(session.record(Collector::Bpf, &command("100", "6000")));
    let summary = recording.report("summary", "procedure");
    let rows = summary.changes("pass more at once");
    let in_large_pieces = rows.filter_map(|change| change["gain_high_percent"].as_f64()).fold(0.0, f64::max);
    assert!(
        in_large_pieces < most / 2.0,
        "{in_large_pieces} % of tasks in large pieces, {most} % in small ones"
    );
}
