//! The programs of `fixtures`, and what every recording of `lockers.c` has to tell.

use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_event::Blocking;

use crate::recorded::Recorded;

/// Builds a program with frame pointers and debug information.
pub fn build(folder: &Path, name: &str) -> PathBuf {
    let program = folder.join(name);
    let source = format!("{}/tests/fixtures/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let status = Command::new("gcc")
        .args(["-g", "-O1", "-fno-omit-frame-pointer", "-pthread", &source, "-o"])
        .arg(&program)
        .status()
        .expect("gcc starts");
    assert!(status.success());
    program
}

/// It waits for something, rather than for a processor.
pub fn is_wait(blocking: Blocking) -> bool {
    blocking == Blocking::Interruptible
}

/// Its two threads wait for each other at the mutex, and compute.
pub fn assert_known_answer(recorded: &Recorded) {
    for (name, other) in [("first", "second"), ("second", "first")] {
        // Each of the 20 rounds sleeps with the mutex; most wait for it before.
        let waits = recorded.stacks_at_outs(name, is_wait);
        assert!((20..=60).contains(&waits.len()), "{name} waits {} times", waits.len());
        let in_locked_work =
            waits.iter().filter(|stack| recorded.procedures(**stack).contains(&"locked_work")).count();
        assert!(in_locked_work * 10 >= waits.len() * 9, "{in_locked_work} of {} are placed", waits.len());
        let on_futex = recorded.futex_waits(name);
        assert!(on_futex >= 2, "{name} waits {on_futex} times on a futex");
        let wakes = recorded.wakes(name, other);
        assert!(wakes.len() >= 2, "{name} wakes {other} {} times", wakes.len());
        assert!(wakes.iter().all(|stack| recorded.procedures(*stack).contains(&"worker")));
        assert!(recorded.running(name) > 1_000_000);
    }
    let samples = recorded.samples();
    let in_compute = samples.iter().filter(|stack| recorded.procedures(**stack).contains(&"compute")).count();
    assert!(in_compute >= 10, "{in_compute} of {} samples", samples.len());
    assert!(recorded.manifest.outcome.is_some_and(|outcome| !outcome.truncated));
}
