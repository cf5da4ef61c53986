//! Programs that never end: `--duration` ends the recording and not the program, and what holds a program that cannot go on
//! is named, whether it was started or attached to.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Recording, Session, go_first, longpole, or_skip};

/// A process that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The recorder, while what it started goes on.
struct Recorder {
    process: Ended,
    told: PathBuf,
    path: PathBuf,
}

impl Recorder {
    /// `longpole record --duration 2 PROGRAM ARGUMENT`, up to where it has told its answer.
    fn start(session: &Session, options: &[&str], command: [&str; 2]) -> Recorder {
        let (told, path) = (session.path().join("told"), session.path().join("stuck.longpole"));
        let mut record = longpole();
        record
            .args(["record", "--force", "--duration", "2", "-o"])
            .arg(&path)
            .args(options)
            .arg("--")
            .args(command);
        record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(std::fs::File::create(&told).unwrap());
        let recorder = Recorder { process: Ended(go_first(&mut record).spawn().unwrap()), told, path };
        wait_until("the answer", || recorder.told().contains("the recording is "));
        recorder
    }

    fn told(&self) -> String {
        std::fs::read_to_string(&self.told).unwrap()
    }

    /// The answer, once the program has been ended by a signal that the recorder was sent.
    fn end(mut self) -> (String, Recording) {
        // What becomes of the program is said though nobody looks at a terminal.
        wait_until("that the program goes on", || self.told().contains("the program goes on as process "));
        let child = &mut self.process.0;
        assert!(child.try_wait().unwrap().is_none(), "the program goes on: {}", self.told());
        // SAFETY: a plain system call on our own child.
        unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(128 + libc::SIGTERM), "{}", self.told());
        (self.told(), Recording::at(&self.path))
    }
}

/// The answer about `programs/deadlock.c`, started in this way and recorded for two seconds.
fn recorded(session: &Session, program: &Path, way: &str) -> String {
    let (told, recording) = Recorder::start(session, &[], [program.to_str().unwrap(), way]).end();
    let summary = recording.report("summary", "procedure");
    let headline = summary.value["headline"].as_str().map(str::to_owned);
    assert!(headline.is_none_or(|headline| unwrapped(&told).contains(&headline)), "{told}");
    unwrapped(&told)
}

/// Text whose lines were broken at any blank.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Asserts that the text has all of these.
fn assert_has(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "no {part:?} in\n{text}"));
}

/// What a name is followed by: the thread's number.
fn without_numbers(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.strip_prefix('#') {
        Some(rest) => rest.trim_start_matches(|mark: char| mark.is_ascii_digit()).to_owned(),
        None => format!(" {word}"),
    });
    words.collect::<String>().trim_start().to_owned()
}

#[test]
fn a_deadlock_of_two_is_named_with_its_locks_threads_and_places() {
    let session = Session::alone();
    let program = or_skip!(session.build("deadlock.c", &[]));
    let told = without_numbers(&recorded(&session, &program, "two"));
    assert_has(
        &told,
        &[
            "Deadlock: ",
            "waits for `journal`, which `second` holds",
            "waits for `accounts`, which `first` holds",
        ],
    );
    assert_has(
        &told,
        &["`first`: waiting for a lock (`journal`) in `take_second` from `transfer` from `worker`"],
    );
    assert_has(
        &told,
        &["`second`: waiting for a lock (`accounts`) in `take_second` from `transfer` from `worker`"],
    );
}

#[test]
fn a_deadlock_of_three_and_one_of_a_thread_with_itself_are_cycles() {
    let session = Session::alone();
    let program = or_skip!(session.build("deadlock.c", &[]));
    let told = without_numbers(&recorded(&session, &program, "three"));
    assert_has(&told, &["Deadlock: ", "`first` waits for `journal`, which `second` holds"]);
    assert_has(&told, &["`second` waits for `index_lock`, which `third` holds"]);
    assert_has(&told, &["`third` waits for `accounts`, which `first` holds"]);
    let told = without_numbers(&recorded(&session, &program, "self"));
    assert_has(&told, &["Deadlock: `deadlock` waits for `accounts`, which itself holds"]);
}

#[test]
fn a_condition_that_nobody_signals_and_a_lock_that_is_kept_are_no_deadlocks() {
    let session = Session::alone();
    let program = or_skip!(session.build("deadlock.c", &[]));
    let told = without_numbers(&recorded(&session, &program, "signal"));
    assert!(!told.contains("Deadlock"), "{told}");
    assert_has(
        &told,
        &["Nothing can go on: ", "`waiter` is waiting for a condition to be signalled (`filled`)"],
    );
    let told = without_numbers(&recorded(&session, &program, "held"));
    assert!(!told.contains("Deadlock") && !told.contains("Nothing can go on"), "{told}");
    assert_has(&told, &["`accounts` is never given back", "`deadlock` waits for it in `take_second`"]);
    assert_has(&told, &["`holder`, which holds it and is waiting for a signal in `holder`"]);
}

#[test]
fn a_program_that_is_killed_in_a_deadlock_is_said_to_have_been_in_one() {
    let session = Session::alone();
    let program = or_skip!(session.build("deadlock.c", &[]));
    let path = session.path().join("killed.longpole");
    let mut record = longpole();
    record
        .args(["record", "--force", "-o"])
        .arg(&path)
        .args(["--", "timeout", "-s", "ABRT", "2"])
        .arg(&program);
    let run = session.run(record.arg("two"));
    assert_has(
        &without_numbers(&unwrapped(&run.stderr)),
        &["Deadlock: ", "waits for `journal`, which `deadlock two: second` holds"],
    );
}

#[test]
fn threads_that_wait_before_the_recorder_comes_are_shown_with_place_and_object() {
    let session = Session::alone();
    // Without unwinding by frame pointers, and with it.
    for (flags, way) in [(&[][..], "two"), (&["-fno-omit-frame-pointer"], "two"), (&["-O0"], "signal")] {
        let program = or_skip!(session.build("deadlock.c", flags));
        let mut command = std::process::Command::new(&program);
        let child = Ended(command.arg(way).stdout(Stdio::null()).spawn().unwrap());
        let pid = child.0.id();
        wait_until("the wait", || all_wait_at_futexes(pid));
        let path = session.path().join("attached.longpole");
        let mut record = longpole();
        let pid = pid.to_string();
        record.args(["record", "--force", "--pid", &pid, "--duration", "1", "-o"]).arg(&path);
        let run = session.run(&mut record);
        assert!(run.status.success(), "{}", run.stderr);
        let told = without_numbers(&unwrapped(&run.stderr));
        match way {
            "two" => {
                assert_has(&told, &["Deadlock: ", "`first` waits for `journal`, which `second` holds"]);
                assert_has(
                    &told,
                    &["`first`: waiting for a lock (`journal`) in `take_second` from `transfer`"],
                );
            }
            _ => {
                assert_has(&told, &["(`filled`) in `waits_for_filled`", "(`end of thread waiter`) in `with`"])
            }
        }
        let states = Recording::at(&path).report("states", "thread");
        let blocked = states.sum("state", "blocked", "seconds");
        assert!(blocked > 1.9, "two threads and more wait for all of a second: {blocked} s");
    }
}

/// Whether every thread of the process is in a futex call.
fn all_wait_at_futexes(pid: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    let calls: Vec<String> = tasks
        .flatten()
        .map(|task| std::fs::read_to_string(task.path().join("syscall")).unwrap_or_default())
        .collect();
    calls.len() > 1 && calls.iter().all(|call| call.starts_with("202 "))
}
