//! Programs are recorded, and the recording is asked for what they are known to do.
//!
//! These tests need the permission to collect; without it they say so and do nothing.

#[allow(dead_code)] // each test file uses its part
mod recorded;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use longpole_event::{Blocking, CallDefinition, EventKind, FileKind, LossKind, Waker};
use longpole_record::{
    CollectorChoice, Error, FinishedRecording, LaunchError, RecordOptions, RecordTarget, probe, record,
};
use longpole_recording::Destination;
use recorded::Recorded;

const FUTEX: i32 = 202;

fn is_permitted() -> bool {
    let bpf = probe().into_iter().find(|collector| collector.name == "bpf").expect("it is one of them");
    match bpf.available {
        Ok(()) => true,
        Err(refusal) => {
            longpole_testkit::skipped(&format!("{}; {}", refusal.reason, refusal.remedy));
            false
        }
    }
}

fn options(folder: &Path, target: RecordTarget) -> RecordOptions {
    let output = Destination::Replace(folder.join("x.longpole"));
    RecordOptions { collector: CollectorChoice::Bpf, ..RecordOptions::new(output, target) }
}

fn run(folder: &Path, words: &[&str]) -> Result<FinishedRecording, Error> {
    let words = words.iter().map(OsString::from).collect();
    record(&options(folder, RecordTarget::Command(words)), &mut |_| {})
}

fn lockers(folder: &Path, flags: &[&str]) -> PathBuf {
    let program = folder.join("lockers");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lockers.c");
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O1", "-pthread", source, "-o"]).arg(&program).args(flags);
    assert!(gcc.status().expect("gcc starts").success());
    program
}

fn call(recorded: &Recorded, kind: &EventKind) -> Option<CallDefinition> {
    let (EventKind::Out { call, .. } | EventKind::Wake { call, .. }) = kind else { return None };
    call.map(|call| recorded.tables.calls[call.index()])
}

/// The checks that hold for both ways of compiling the program.
fn assert_lockers(finished: &FinishedRecording) {
    assert_eq!(finished.outcome.exit_code, Some(3));
    assert!(!finished.outcome.truncated);
    let recorded = Recorded::open(&finished.path);
    for (name, other) in [("first", "second"), ("second", "first")] {
        let mut waits = 0;
        for event in recorded.events.iter().filter(|event| recorded.name(event.thread) == name) {
            let EventKind::Out { blocking: Blocking::Interruptible, stack, .. } = event.kind else {
                continue;
            };
            if call(&recorded, &event.kind).is_some_and(|call| call.number == FUTEX) {
                let path = recorded.procedures(stack);
                let caller = path.iter().position(|name| *name == "locked_work");
                assert!(caller.is_some_and(|caller| path[caller + 1] == "worker"), "{path:?}");
                waits += 1;
            }
        }
        assert!(waits >= 5, "{name} waited {waits} times");
        let wakes = recorded.wakes(other, name);
        assert!(wakes.len() >= 5, "{other} woke {name} {} times", wakes.len());
        for wake in wakes {
            let path = recorded.procedures(wake);
            assert!(path.contains(&"locked_work") || path.contains(&"start_thread"), "{path:?}");
        }
    }
    let samples = recorded.samples();
    let user: Vec<_> = samples.iter().map(|stack| recorded.procedures(*stack)).collect();
    let in_compute: Vec<_> = user.iter().filter(|path| path.first() == Some(&"compute")).collect();
    // The share of the rest, of the kernel and the loader, depends on how busy the machine is.
    assert!(in_compute.len() >= 3, "{} of {} samples", in_compute.len(), samples.len());
    assert!(in_compute.iter().all(|path| path.contains(&"worker")), "{in_compute:?}");
    assert_lives(&recorded);
}

#[test]
fn source_files_are_kept_where_that_is_asked_for() {
    if !is_permitted() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("busy.c");
    let text = "int main(void) { for (volatile long i = 0; i < 200000000; i++) { } return 0; }\n";
    std::fs::write(&source, text).unwrap();
    let program = folder.path().join("busy");
    let mut gcc = Command::new("gcc");
    assert!(gcc.args(["-g", "-O1", "-o"]).arg(&program).arg(&source).status().expect("gcc starts").success());
    let target = || RecordTarget::Command(vec![program.clone().into()]);
    let kept = |sources| {
        let source_dirs = vec![folder.path().to_owned()];
        // A folder of its own: a program that another test starts in this process has the lock of the first until it is executed.
        let into = folder.path().join(if sources { "with" } else { "without" });
        std::fs::create_dir(&into).unwrap();
        let options = RecordOptions { sources, source_dirs, ..options(&into, target()) };
        let finished = record(&options, &mut |_| {}).unwrap();
        longpole_recording::RecordingFolder::open(&finished.path).unwrap().0
    };
    assert_eq!(kept(false).sources().unwrap(), None);
    let recording = kept(true);
    std::fs::remove_file(&source).unwrap();
    let name = source.display().to_string();
    assert_eq!(recording.source(&name).unwrap().as_deref(), Some(text.as_bytes()));
    let names: Vec<String> =
        recording.sources().unwrap().unwrap().files.into_iter().map(|file| file.path).collect();
    assert!(names.contains(&name), "{names:?}");
}

/// Every thread starts once and ends once, and where it started says who created it.
fn assert_lives(recorded: &Recorded) {
    for thread in (0..recorded.tables.threads.len()).map(longpole_event::ThreadId::from_index) {
        let of_thread = || recorded.events.iter().filter(move |event| event.thread == thread);
        assert_eq!(of_thread().filter(|event| event.kind == EventKind::Exit).count(), 1);
        assert_eq!(of_thread().filter(|event| matches!(event.kind, EventKind::Start { .. })).count(), 1);
        let EventKind::Start { creator, stack } = of_thread().next().expect("an event").kind else {
            panic!("the first event of {thread:?} is its start");
        };
        assert_eq!(creator.is_some(), thread.0 > 0);
        if ["first", "second"].contains(&recorded.name(thread)) {
            assert!(recorded.procedures(stack).contains(&"main"));
        }
    }
}

#[test]
fn contended_locks_are_found_with_frame_pointers() {
    let folder = tempfile::tempdir().unwrap();
    if is_permitted() {
        let program = lockers(folder.path(), &["-fno-omit-frame-pointer"]);
        assert_lockers(&run(folder.path(), &[program.to_str().unwrap()]).unwrap());
    }
}

#[test]
fn contended_locks_are_found_without_frame_pointers() {
    let folder = tempfile::tempdir().unwrap();
    if is_permitted() {
        let program = lockers(folder.path(), &["-fomit-frame-pointer"]);
        assert_lockers(&run(folder.path(), &[program.to_str().unwrap()]).unwrap());
    }
}

#[test]
fn contended_locks_are_found_in_a_static_program() {
    let folder = tempfile::tempdir().unwrap();
    if is_permitted() {
        let program = lockers(folder.path(), &["-static", "-fno-omit-frame-pointer"]);
        assert_lockers(&run(folder.path(), &[program.to_str().unwrap()]).unwrap());
    }
}

#[test]
fn a_pipeline_is_a_tree_of_processes_that_wait_for_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    if !is_permitted() {
        return;
    }
    let finished =
        run(folder.path(), &["sh", "-c", "(sleep 0.1; echo x) | cat > /dev/null; exit 9"]).unwrap();
    assert_eq!(finished.outcome.exit_code, Some(9));
    let recorded = Recorded::open(&finished.path);
    let programs: Vec<_> = recorded
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Exec { program } => recorded.tables.text(program).rsplit('/').next(),
            _ => None,
        })
        .collect();
    assert!(programs.contains(&"sleep") && programs.contains(&"cat"), "{programs:?}");
    assert!(recorded.tables.processes.len() >= 3);
    assert!(recorded.tables.processes[1..].iter().all(|process| process.parent.is_some()));
    let reads_pipe = |event: &&longpole_event::Event| {
        recorded.name(event.thread) == "cat"
            && call(&recorded, &event.kind)
                .is_some_and(|call| call.number == 0 && call.file == FileKind::Pipe && call.arguments[0] == 0)
    };
    let waits: Vec<_> = recorded.events.iter().filter(reads_pipe).collect();
    assert!(!waits.is_empty());
    let wait = waits[0];
    let wake = recorded.events.iter().find(|event| event.thread == wait.thread && event.time > wait.time);
    let Some(EventKind::Wake { waker: Waker::Thread(waker), .. }) = wake.map(|event| event.kind) else {
        panic!("the reader was woken by a recorded thread: {wake:?}");
    };
    assert_eq!(recorded.name(waker), "sh");
}

#[test]
fn a_sleep_is_ended_by_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    if !is_permitted() {
        return;
    }
    let finished = run(folder.path(), &["sleep", "0.05"]).unwrap();
    let recorded = Recorded::open(&finished.path);
    let slept = recorded.events.iter().position(|event| {
        call(&recorded, &event.kind).is_some_and(|call| call.number == 230)
            && matches!(event.kind, EventKind::Out { blocking: Blocking::Interruptible, .. })
    });
    let slept = slept.expect("the program sleeps");
    let next = &recorded.events[slept + 1];
    assert!(matches!(next.kind, EventKind::Wake { waker, .. } if waker.is_interrupt()), "{next:?}");
    assert!(next.time.since(recorded.events[slept].time) > 40_000_000);
}

#[test]
fn a_running_program_is_attached_to() {
    let folder = tempfile::tempdir().unwrap();
    if !is_permitted() {
        return;
    }
    let script = "sh -c 'while :; do :; done' & echo started; while :; do sleep 0.02; done";
    let mut program = Command::new("setsid")
        .args(["sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell starts");
    std::io::Read::read(program.stdout.as_mut().unwrap(), &mut [0; 8]).unwrap();
    let mut options = options(folder.path(), RecordTarget::Process(program.id()));
    options.duration = Some(Duration::from_millis(400));
    let finished = record(&options, &mut |_| {});
    let is_alive = program.try_wait().unwrap().is_none();
    let group = format!("-{}", program.id());
    Command::new("kill").args(["-9", "--", &group]).status().unwrap();
    program.wait().unwrap();
    let finished = finished.unwrap();
    assert!(is_alive, "the program outlives the recording");
    assert!(finished.manifest.machines[0].collector.attached);
    let length = finished.outcome.end_nanoseconds - finished.outcome.begin_nanoseconds;
    assert!((400_000_000..3_000_000_000).contains(&length), "{length} ns");
    let recorded = Recorded::open(&finished.path);
    assert!(
        recorded.running("sh") > 20_000_000,
        "the busy child was there before: {}",
        recorded.running("sh")
    );
    let sleeps = (0..recorded.tables.threads.len())
        .filter(|index| recorded.name(longpole_event::ThreadId::from_index(*index)) == "sleep");
    assert!(sleeps.count() >= 2, "new children are seen");
}

#[test]
fn what_cannot_start_is_told_apart_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let missing = run(folder.path(), &["no-such-program-anywhere"]);
    assert!(matches!(missing, Err(Error::Launch(LaunchError::NotFound { .. }))));
    let text = folder.path().join("text");
    std::fs::write(&text, "no program\n").unwrap();
    let refused = run(folder.path(), &[text.to_str().unwrap()]);
    assert!(matches!(refused, Err(Error::Launch(LaunchError::NotExecutable { .. }))));
    assert!(!folder.path().join("x.longpole").exists());
    let none = record(&options(folder.path(), RecordTarget::Process(u32::MAX / 2)), &mut |_| {});
    assert!(matches!(none, Err(Error::NoProcess { .. })));
}

#[test]
fn a_program_that_ends_at_once_is_recorded_whole() {
    let folder = tempfile::tempdir().unwrap();
    if !is_permitted() {
        return;
    }
    let finished = run(folder.path(), &["true"]).unwrap();
    assert_eq!(finished.outcome.exit_code, Some(0));
    let recorded = Recorded::open(&finished.path);
    assert_lives(&recorded);
    assert!(recorded.events.iter().any(|event| matches!(event.kind, EventKind::Exec { .. })));
    let cost = recorded.manifest.machines[0].cost.expect("the cost is told");
    assert!(cost.recorder_peak_bytes > 0 && cost.kernel_runs.is_some_and(|runs| runs > 0));
    let lost =
        |event: &longpole_event::Event| matches!(event.kind, EventKind::Lost { kind: LossKind::Events, .. });
    assert!(!recorded.events.iter().any(lost));
}
