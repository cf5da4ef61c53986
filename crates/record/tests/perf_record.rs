//! What the installed `perf` records, imported and asked for what the program is known to do.

mod recorded;

use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_event::Blocking;
use longpole_record::import::import;
use recorded::Recorded;

const EVENTS: &str = "sched:sched_switch,sched:sched_waking,cpu-clock";

fn build(folder: &Path) -> PathBuf {
    let program = folder.join("lockers");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lockers.c");
    let status = Command::new("gcc")
        .args(["-g", "-O1", "-fno-omit-frame-pointer", "-pthread", source, "-o"])
        .arg(&program)
        .status()
        .expect("gcc starts");
    assert!(status.success());
    program
}

/// Records the program with perf; `None` with the reason printed where perf cannot.
fn record(folder: &Path, options: &[&str]) -> Option<PathBuf> {
    let program = build(folder);
    let file = folder.join("perf.data");
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", EVENTS]).args(options).arg("-o").arg(&file).arg(program);
    let Ok(output) = perf.output() else {
        eprintln!("skipped: perf is not installed");
        return None;
    };
    if output.status.code() != Some(3) {
        eprintln!(
            "skipped: perf may not record tracepoints here: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        return None;
    }
    Some(file)
}

fn recorded(folder: &Path, options: &[&str]) -> Option<Recorded> {
    let file = record(folder, options)?;
    let output = folder.join("imported.longpole");
    let imported = import(&file, &output).expect("an import");
    assert_eq!(imported.path, output);
    Some(Recorded::open(&output))
}

fn is_wait(blocking: Blocking) -> bool {
    blocking == Blocking::Interruptible
}

fn assert_known_answer(recorded: &Recorded) {
    for (name, other) in [("first", "second"), ("second", "first")] {
        // Each of the 20 rounds sleeps with the mutex; most wait for it before.
        let waits = recorded.stacks_at_outs(name, is_wait);
        assert!((20..=60).contains(&waits.len()), "{name} waits {} times", waits.len());
        let in_locked_work =
            waits.iter().filter(|stack| recorded.procedures(**stack).contains(&"worker")).count();
        assert!(in_locked_work * 10 >= waits.len() * 9, "{in_locked_work} of {} are placed", waits.len());
        let on_futex = |stack: &&Option<_>| {
            recorded.procedures(**stack).iter().any(|name| name.starts_with("futex_wait"))
        };
        assert!(waits.iter().filter(on_futex).count() >= 5);
        let wakes = recorded.wakes(name, other);
        assert!(wakes.len() >= 5, "{name} wakes {other} {} times", wakes.len());
        assert!(wakes.iter().all(|stack| recorded.procedures(*stack).contains(&"worker")));
        assert!(recorded.running(name) > 1_000_000);
    }
    let samples = recorded.samples();
    let in_compute = samples.iter().filter(|stack| recorded.procedures(**stack).contains(&"compute")).count();
    assert!(in_compute >= 10, "{in_compute} of {} samples", samples.len());
    assert_eq!(recorded.manifest.machines[0].collector.name, "import");
    assert!(recorded.manifest.outcome.is_some_and(|outcome| !outcome.truncated));
}

#[test]
fn a_recording_of_the_program_alone_tells_what_it_did() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(recorded) = recorded(folder.path(), &["-g"]) {
        assert_known_answer(&recorded);
    }
}

#[test]
fn a_compressed_recording_of_the_machine_tells_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(recorded) = recorded(folder.path(), &["-a", "-z", "-g"]) {
        assert_known_answer(&recorded);
    }
}

#[test]
fn dumped_stacks_name_the_caller_of_the_lock_where_frame_pointers_lose_it() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(recorded) = recorded(folder.path(), &["-a", "--call-graph", "dwarf,4096"]) {
        assert_known_answer(&recorded);
        let waits = recorded.stacks_at_outs("first", is_wait);
        let placed =
            waits.iter().filter(|stack| recorded.procedures(**stack).contains(&"locked_work")).count();
        assert!(placed * 10 >= waits.len() * 9, "{placed} of {} in locked_work", waits.len());
    }
}
