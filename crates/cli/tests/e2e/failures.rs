//! Bad input and bad luck: what longpole says, what status it ends with, and that nothing recorded is lost.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{
    Collector, Recording, Run, Session, find, go_first, heed_interrupts, is_root, longpole, or_skip,
};

/// Exit status of `record` when it fails itself; any other is the program's.
const RECORDER_FAILED: i32 = 125;
/// Exit status of the other commands when they fail.
const FAILED: i32 = 1;

/// A program whose path is `/bin/sh`, with a script.
fn shell(script: &str) -> [String; 3] {
    ["/bin/sh".into(), "-c".into(), script.into()]
}

fn record_shell(session: &Session, script: &str) -> Result<Recording, String> {
    session.record(Collector::Bpf, &shell(script))
}

/// Runs `longpole record` without expecting a recording.
fn record_only(session: &Session, command: &[&str]) -> Result<Run, String> {
    if !is_root() {
        return Err("recording needs root".into());
    }
    Ok(session.run(longpole().args(["record", "-o", "x.longpole", "--"]).args(command)))
}

fn assert_no_panic(run: &Run) {
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert_eq!(run.status.signal(), None, "{}", run.stderr);
}

#[test]
fn the_exit_status_of_the_program_is_passed_on() {
    let session = Session::beside_others();
    let recording = or_skip!(record_shell(&session, "exit 42"));
    assert_eq!(recording.run.status.code(), Some(42), "{}", recording.run.stderr);
}

#[test]
fn processes_that_outlive_the_first_one_are_told() {
    let session = Session::beside_others();
    let told = |script: &str| {
        let recording = record_shell(&session, script)?;
        Ok::<_, String>(recording.report("summary", "procedure").value["evidence"]["notes"].to_string())
    };
    // It ends with the test's session.
    let outlived = or_skip!(told("sleep 20 & sleep 0.2"));
    assert!(outlived.contains("1 process of the program (sleep 20) was still there"), "{outlived}");
    let whole = or_skip!(told("sleep 0.1 & wait"));
    assert!(!whole.contains("was still there when its first one ended"), "{whole}");
}

#[test]
fn a_program_killed_by_a_signal_gives_128_and_the_signal() {
    let session = Session::beside_others();
    let recording = or_skip!(record_shell(&session, "kill -TERM $$"));
    assert_eq!(recording.run.status.code(), Some(128 + 15), "{}", recording.run.stderr);
}

#[test]
fn a_program_that_fails_is_told_in_the_answer() {
    let session = Session::beside_others();
    let recording = or_skip!(record_shell(&session, "exit 3"));
    assert_eq!(recording.run.status.code(), Some(3), "{}", recording.run.stderr);
    assert!(recording.run.stderr.contains("ended with exit status 3"), "{}", recording.run.stderr);
}

#[test]
fn a_missing_program_gives_127_and_is_named() {
    let session = Session::beside_others();
    for name in ["/no/such/program", "no-such-program"] {
        let run = or_skip!(record_only(&session, &[name]));
        assert_eq!(run.status.code(), Some(127), "{}", run.stderr);
        assert!(run.stderr.contains(name), "{}", run.stderr);
        assert_no_panic(&run);
    }
}

#[test]
fn a_file_that_cannot_be_executed_gives_126_and_is_named() {
    let session = Session::beside_others();
    fs::write(session.path().join("plain"), "text").unwrap();
    fs::create_dir(session.path().join("folder")).unwrap();
    for name in ["./plain", "./folder"] {
        let run = or_skip!(record_only(&session, &[name]));
        assert_eq!(run.status.code(), Some(126), "{}", run.stderr);
        assert!(run.stderr.contains(name), "{}", run.stderr);
        assert_no_panic(&run);
    }
}

#[test]
fn output_and_input_of_the_program_are_its_own() {
    let session = Session::alone();
    if !is_root() {
        return crate::support::skipped("recording needs root");
    }
    let mut command = longpole();
    command.current_dir(session.path()).args(["record", "-o", "x.longpole", "--", "cat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"some input\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.starts_with(b"some input\n"), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Starts `longpole record` in a process group of its own, as a shell does with a job.
fn start(session: &Session, command: &[&str]) -> Result<Child, String> {
    if !is_root() {
        return Err("recording needs root".into());
    }
    let errors = fs::File::create(session.path().join("stderr")).unwrap();
    let mut record = longpole();
    record.current_dir(session.path()).args(["record", "-o", "x.longpole", "--"]).args(command);
    record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    Ok(go_first(heed_interrupts(&mut record)).spawn().unwrap())
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_interrupt_from_the_terminal_ends_the_program_and_the_recording_is_whole() {
    let session = Session::alone();
    let script = "touch started; while :; do :; done";
    let mut record = or_skip!(start(&session, &["/bin/sh", "-c", script]));
    wait_for("the program's start", || session.path().join("started").exists());
    std::thread::sleep(Duration::from_millis(700));
    // SAFETY: plain system call on the group that `start` made.
    unsafe { libc::kill(-record.id().cast_signed(), libc::SIGINT) };
    let status = record.wait().unwrap();
    assert_eq!(status.code(), Some(128 + 2));
    let recording = Recording::at(&session.path().join("x.longpole"));
    let summary = recording.report("summary", "procedure");
    let elapsed = summary.number("recording", "elapsed_seconds");
    assert!(elapsed > 0.6, "{elapsed} s recorded");
    let manifest = fs::read_to_string(recording.path.join("recording.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["outcome"]["signal"], 2);
    assert_eq!(manifest["outcome"]["truncated"], false);
}

#[test]
fn the_program_outlives_a_killed_recorder_and_what_was_recorded_opens() {
    let session = Session::alone();
    let script = "touch started; i=0; while [ $i -lt 400 ]; do sleep 0.01; i=$((i+1)); done; touch ended";
    let mut record = or_skip!(start(&session, &["/bin/sh", "-c", script]));
    wait_for("the program's start", || session.path().join("started").exists());
    std::thread::sleep(Duration::from_millis(2500));
    record.kill().unwrap();
    record.wait().unwrap();
    assert!(!session.path().join("ended").exists(), "the program ran too short for this test");
    wait_for("the program's end", || session.path().join("ended").exists());
    let recording = Recording::at(&session.path().join("x.longpole"));
    let threads = recording.report("threads", "thread");
    let elapsed = threads.number("recording", "elapsed_seconds");
    assert!(elapsed > 0.8, "all but the last second is there, found {elapsed} s");
    let text = session.run(longpole().arg("report").arg(&recording.path));
    let says = text.stdout.contains("recorder")
        || text.stdout.contains("cut short")
        || text.stdout.contains("ends before");
    assert!(says, "the summary does not say that the recording is cut short:\n{}", text.stdout);
}

/// A small file system, unmounted at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(session: &Session, size: &str) -> Result<SmallDisk, String> {
        let folder = session.path().join("disk");
        fs::create_dir(&folder).unwrap();
        let mut mount = Command::new(find("mount")?);
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&folder);
        let run = session.run(&mut mount);
        if run.status.success() {
            Ok(SmallDisk(folder))
        } else {
            Err(format!("no mount here: {}", run.stderr))
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_program() {
    let session = Session::beside_others();
    let program = or_skip!(session.build("ping_pong.c", &[]));
    let disk = or_skip!(SmallDisk::mount(&session, "192k"));
    let path = disk.0.join("x.longpole");
    let mut record = longpole();
    record.args(["record", "-o"]).arg(&path).arg("--").arg(&program).arg("200000");
    let run = session.run(&mut record);
    assert_no_panic(&run);
    assert!(run.stdout.contains("nanoseconds_per_switch"), "the program ran to its end: {}", run.stderr);
    let complains = run.stderr.contains("No space left") || run.stderr.contains("disk");
    assert!(complains, "stderr does not name the full disk:\n{}", run.stderr);
    let threads = Recording::at(&path).report("threads", "thread");
    assert!(threads.number("evidence", "events") > 1000.0, "{}", threads.value["evidence"]);
}

#[test]
fn a_user_without_permission_is_told_why_and_what_helps() {
    let session = Session::beside_others();
    if !is_root() {
        return crate::support::skipped("giving up root needs root");
    }
    let setpriv = or_skip!(find("setpriv"));
    // Where cargo keeps the binary, another user may not look.
    let binary = session.path().join("longpole");
    fs::copy(longpole().get_program(), &binary).unwrap();
    let home = session.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o777)).unwrap();
    for collector in ["bpf", "perf"] {
        let mut command = Command::new(&setpriv);
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "-all"]);
        command.arg(&binary).args(["record", "--collector", collector, "-o"]);
        command.arg(home.join("x.longpole")).args(["--", "true"]);
        let run = session.run(&mut command);
        assert_no_panic(&run);
        assert_eq!(run.status.code(), Some(RECORDER_FAILED), "{}", run.stderr);
        assert!(run.stderr.contains("longpole setup") || run.stderr.contains("sudo"), "{}", run.stderr);
        assert!(run.stderr.contains(collector), "the collector is named:\n{}", run.stderr);
    }
}

/// A recording of a short run, for tests that damage it.
fn sample(session: &Session) -> Result<Recording, String> {
    let program = session.build("barrier_imbalance.c", &[])?;
    session.record(Collector::Bpf, &[&program])
}

fn copy_folder(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn report(session: &Session, path: &Path) -> Run {
    let run = session.run(longpole().arg("report").arg(path));
    assert_no_panic(&run);
    run
}

#[test]
fn a_truncated_recording_opens_up_to_its_end_and_says_so() {
    let session = Session::beside_others();
    let recording = or_skip!(sample(&session));
    let log = "machine-0/events.log";
    let whole = fs::read(recording.path.join(log)).unwrap();
    let copy = session.path().join("cut.longpole");
    for percent in [0, 1, 10, 50, 90, 99] {
        copy_folder(&recording.path, &copy);
        fs::write(copy.join(log), &whole[..whole.len() * percent / 100]).unwrap();
        let run = report(&session, &copy);
        let answer = format!("{}{}", run.stdout, run.stderr);
        assert!(!answer.trim().is_empty(), "cut to {percent} %: no word");
        if run.status.success() {
            let evidence = session.run(longpole().arg("report").arg(&copy).args(["--view", "evidence"]));
            assert!(evidence.status.success(), "{}", evidence.stderr);
        }
    }
}

#[test]
fn damage_at_any_byte_is_counted_or_named_and_never_a_panic() {
    let session = Session::beside_others();
    let recording = or_skip!(sample(&session));
    let copy = session.path().join("damaged.longpole");
    for log in ["machine-0/events.log", "machine-0/symbols.log", "recording.json"] {
        let whole = fs::read(recording.path.join(log)).unwrap();
        for step in 0..12 {
            copy_folder(&recording.path, &copy);
            let mut bytes = whole.clone();
            let position = (whole.len() - 1) * step / 11;
            bytes[position] ^= 0x2b;
            fs::write(copy.join(log), bytes).unwrap();
            let run = report(&session, &copy);
            assert!(
                run.status.success() || run.status.code() == Some(FAILED),
                "{log} byte {position}: {:?} {}",
                run.status,
                run.stderr
            );
        }
    }
}

#[test]
fn a_recording_of_a_newer_version_is_refused_with_both_versions() {
    let session = Session::beside_others();
    let recording = or_skip!(sample(&session));
    let file = recording.path.join("recording.json");
    let written = format!("\"format_version\": {}", longpole_recording::FORMAT_VERSION);
    let text = fs::read_to_string(&file).unwrap().replacen(&written, "\"format_version\": 999", 1);
    fs::write(&file, text).unwrap();
    let run = report(&session, &recording.path);
    assert_eq!(run.status.code(), Some(FAILED));
    assert!(run.stderr.contains("999"), "{}", run.stderr);
}

#[test]
fn what_is_no_recording_is_named_as_such() {
    let session = Session::beside_others();
    let file = session.path().join("notes.txt");
    fs::write(&file, "not a recording").unwrap();
    for path in [file, session.path().join("nowhere"), session.path().to_owned()] {
        let run = report(&session, &path);
        assert_eq!(run.status.code(), Some(FAILED), "{}", run.stderr);
        assert!(run.stderr.contains(&*path.to_string_lossy()), "{}", run.stderr);
    }
    let run = session.run(longpole().arg("report"));
    assert_eq!(run.status.code(), Some(FAILED), "no recording below the current folder: {}", run.stderr);
    assert_no_panic(&run);
}

#[test]
fn perf_data_without_the_needed_events_names_the_missing_one() {
    let session = Session::beside_others();
    let perf = or_skip!(find("perf"));
    let mut command = Command::new(perf);
    let data = session.path().join("perf.data");
    command
        .args(["record", "-q", "--no-buildid", "--no-buildid-cache", "-e", "cpu-clock", "-g", "-o"])
        .arg(&data)
        .args(["--", "true"]);
    let made = session.run(&mut command);
    if !made.status.success() {
        return crate::support::skipped(&format!("perf record: {}", made.stderr));
    }
    let run = session.run(longpole().arg("import").arg(&data).args(["-o", "x.longpole"]));
    assert_no_panic(&run);
    assert_eq!(run.status.code(), Some(FAILED), "{}", run.stderr);
    assert!(run.stderr.contains("sched:sched_switch"), "{}", run.stderr);
    assert!(run.stderr.contains("perf record -e"), "the command that helps is there: {}", run.stderr);
}

#[test]
fn a_program_that_ends_at_once_gets_an_answer_that_says_why_it_is_short() {
    let session = Session::beside_others();
    let recording = or_skip!(record_shell(&session, "exit 0"));
    let run = report(&session, &recording.path);
    assert!(run.status.success(), "{}", run.stderr);
    assert!(run.stdout.contains("short") || run.stdout.contains("observation"), "{}", run.stdout);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let session = Session::alone();
    let recording = or_skip!(sample(&session));
    let mut command = longpole();
    command.arg("report").arg(&recording.path).args(["--view", "tree"]).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    assert!(output.status.success() || output.status.signal() == Some(libc::SIGPIPE), "{:?}", output.status);
}
