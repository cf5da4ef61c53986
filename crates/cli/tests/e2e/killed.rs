//! Killed at any moment, program or recorder: what was recorded opens, and nothing hangs.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Recording, Run, Session, go_first, longpole, or_skip};

/// Ways to record with the agent.
const WAYS: [&[&str]; 2] = [&["--collector", "agent"], &["--collector", "bpf", "--locks"]];
/// Moments after the recorder's start: before the program, in its first steps, in its midst.
const MOMENTS: [u64; 4] = [10, 60, 400, 1300];
/// From this moment on the recorder writes, once a second.
const WRITTEN: u64 = 1300;
/// Bytes of a log in which nothing is yet.
const EMPTY_LOG: u64 = longpole_recording::LOG_HEADER_BYTES as u64;

fn start(session: &Session, options: &[&str], output: &Path, script: &str) -> Child {
    let mut record = longpole();
    record.current_dir(session.path()).args(["record", "--force", "-o"]).arg(output).args(options);
    record.args(["--", "/bin/sh", "-c", script]);
    record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    go_first(&mut record).spawn().unwrap()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The report of whatever is there: an answer, or a plain word that there is none.
fn report(session: &Session, path: &Path) -> Run {
    let run = session.run(longpole().arg("report").arg(path));
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert!(run.status.success() || run.stderr.starts_with("longpole: "), "{}{}", run.stdout, run.stderr);
    run
}

#[test]
fn a_recorder_killed_at_any_moment_leaves_the_program_alone_and_a_readable_recording() {
    let session = Session::beside_others();
    let program = or_skip!(session.build("lock_hog.c", &[]));
    for options in WAYS {
        for moment in MOMENTS {
            let (ended, output) = (session.path().join("ended"), session.path().join("x.longpole"));
            let _ = fs::remove_file(&ended);
            let _ = fs::remove_dir_all(&output);
            let script = format!("touch began; {} && touch ended", program.display());
            let _ = fs::remove_file(session.path().join("began"));
            let mut record = start(&session, options, &output, &script);
            std::thread::sleep(Duration::from_millis(moment));
            if moment >= WRITTEN {
                let log = output.join("machine-0/events.log");
                wait_until("what was recorded", || {
                    fs::metadata(&log).is_ok_and(|file| file.len() > EMPTY_LOG)
                });
            }
            record.kill().unwrap();
            record.wait().unwrap();
            // A program that has begun goes on to its end, with the agent in it and nobody to read it.
            std::thread::sleep(Duration::from_millis(100));
            if session.path().join("began").exists() {
                wait_until("the program's end", || ended.exists());
            }
            let run = report(&session, &output);
            if moment >= WRITTEN {
                assert!(run.status.success(), "{options:?} at {moment} ms: {}", run.stderr);
            }
        }
    }
}

#[test]
fn a_program_killed_at_any_moment_leaves_a_whole_recording() {
    let session = Session::beside_others();
    let program = or_skip!(session.build("lock_hog.c", &[]));
    for options in WAYS {
        for moment in MOMENTS {
            let output = session.path().join("x.longpole");
            let script = format!("echo $$ > pid; exec {}", program.display());
            let file = session.path().join("pid");
            let _ = fs::remove_file(&file);
            let mut record = start(&session, options, &output, &script);
            let pid = || fs::read_to_string(&file).ok()?.trim().parse::<i32>().ok();
            wait_until("the program's start", || pid().is_some());
            std::thread::sleep(Duration::from_millis(moment.min(700)));
            // SAFETY: plain system call on a process that this test started and nobody has waited for.
            unsafe { libc::kill(pid().unwrap(), libc::SIGKILL) };
            assert_eq!(record.wait().unwrap().code(), Some(128 + 9), "{options:?} at {moment} ms");
            assert!(report(&session, &output).status.success(), "{options:?} at {moment} ms");
            let summary = Recording::at(&output).report("evidence", "procedure");
            assert_eq!(summary.sum("name", "torn_bytes", "count"), 0.0);
        }
    }
}
