//! After `longpole setup`, by a user without any other right: what the capabilities must not give away, and what the
//! recorded program must not miss.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use longpole_record::setup::{GrantedAtStart, grant, install, privileged_file};

use crate::support::{Nobody, Recording, Session, find, or_skip};

/// What has the capabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holder {
    /// The privileged process (`setup`).
    PrivilegedProcess,
    /// The recorder (`setup --perf`).
    Recorder,
}

/// The user nobody, whose longpole was set up.
fn set_up(session: &Session, holder: Holder) -> Result<Nobody<'_>, String> {
    let nobody = Nobody::in_session(session)?;
    let binary = session.path().join("longpole");
    let done = match holder {
        Holder::PrivilegedProcess => install(&binary).map(drop),
        Holder::Recorder => {
            let _ = fs::remove_file(privileged_file(&binary));
            grant(&binary, GrantedAtStart::Effective)
        }
    };
    done.map_err(|error| format!("this file system keeps no capabilities of files: {error}"))?;
    let doctor = nobody.run(nobody.longpole().arg("doctor"));
    let is_allowed = doctor.stdout.lines().any(|line| line.starts_with("  bpf") && !line.contains("not"));
    if is_allowed { Ok(nobody) } else { Err(format!("capabilities do not help here: {}", doctor.stdout)) }
}

/// What `setup` keeps of the kernel's tracepoints for `perf`; removed where it was not there before.
struct KeptTracepoints {
    were_there: bool,
}

impl KeptTracepoints {
    fn of(session: &Session) -> KeptTracepoints {
        let were_there = Path::new(longpole_record::tracefs::COPY).exists();
        let run = session.run(Command::new(session.path().join("longpole")).args(["setup", "--perf"]));
        assert!(run.status.success(), "{}", run.stderr);
        KeptTracepoints { were_there }
    }
}

impl Drop for KeptTracepoints {
    fn drop(&mut self) {
        if !self.were_there {
            let _ = fs::remove_dir_all(longpole_record::tracefs::COPY);
        }
    }
}

const PRIVATE: &str = r#"
#include <string.h>
#include <stdlib.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile char text[64];
__attribute__((noinline)) void private_work(double seconds)
{
    char secret[64];
    for (int at = 0; at < 64; at++)
        secret[at] = text[at];
    struct timespec now;
    volatile unsigned long sum = 0;
    do {
        for (int step = 0; step < 100000; step++)
            sum += secret[step & 63];
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec + now.tv_nsec * 1e-9 < seconds);
}
__attribute__((noinline)) void private_sleep(void) { usleep(20000); }
int main(int count, char **words)
{
    FILE *file = fopen(words[1], "r");
    if (!file || !fgets((char *)text, sizeof(text), file))
        return 3;
    for (int round = 0; round < 5; round++) {
        private_work(0.1 * (round + 1));
        private_sleep();
    }
    return 0;
}
"#;

/// A program with root's rights, and a file that only root reads: its text is on the program's stack.
fn private_program(session: &Session) -> Result<(PathBuf, PathBuf, String), String> {
    let source = session.path().join("private.c");
    let (program, file) = (session.path().join("private"), session.path().join("secret"));
    fs::write(&source, PRIVATE).unwrap();
    let mut compiler = Command::new(find("cc")?);
    let built = session.run(compiler.args(["-g", "-O1", "-o"]).arg(&program).arg(&source));
    if !built.status.success() {
        return Err(built.stderr);
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    // Put together here, so that no other process has it in its memory.
    let secret: String = (0..40).map(|at| char::from(b'a' + (at * 7 % 26) as u8)).collect();
    fs::write(&file, &secret).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    Ok((program, file, secret))
}

fn procedures(recording: &Recording) -> Vec<String> {
    let rows = recording.report_with("profile", "procedure", &["--fold", "none"]);
    rows.rows().filter_map(|row| row.get("procedure")?.as_str().map(str::to_owned)).collect()
}

#[test]
fn a_privileged_program_s_places_are_not_recorded() {
    let session = Session::alone();
    let nobody = or_skip!(set_up(&session, Holder::PrivilegedProcess));
    let (program, file, secret) = or_skip!(private_program(&session));
    let places = PrivatePlaces { session: &session, nobody: &nobody, program, file, secret };
    places.are_withheld_by("bpf");
    let kept = KeptTracepoints::of(&session);
    places.are_withheld_by("bpf");
    places.are_withheld_by("perf");
    drop(kept);
}

/// While the recorder is stopped others' switches fill the rings, so that no record tells that the program was executed.
#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn a_privileged_program_s_places_are_not_recorded_where_its_start_was_lost() {
    let session = Session::alone();
    let nobody = or_skip!(set_up(&session, Holder::PrivilegedProcess));
    let (program, file, secret) = or_skip!(private_program(&session));
    let rapid = or_skip!(session.build("rapid_pairs.c", &[]));
    let places = PrivatePlaces { session: &session, nobody: &nobody, program, file, secret };
    let kept = KeptTracepoints::of(&session);
    let before = format!("kill -STOP $PPID; (sleep 0.6; kill -CONT $PPID) & '{}' 300;", rapid.display());
    for collector in ["bpf", "perf"] {
        places.are_not_recorded_by(collector, Some(&before));
    }
    drop(kept);
}

/// A program into which the user may not look.
struct PrivatePlaces<'a> {
    session: &'a Session,
    nobody: &'a Nobody<'a>,
    program: PathBuf,
    file: PathBuf,
    secret: String,
}

impl PrivatePlaces<'_> {
    fn are_withheld_by(&self, collector: &str) {
        let recording = self.are_not_recorded_by(collector, None);
        let threads = recording.report("threads", "thread");
        assert!(
            threads.sum_of("running_seconds") > 0.3,
            "{collector}: when it ran is told: {:#}",
            threads.value["rows"]
        );
        self.are_told_by(collector);
    }

    /// `before`: what a shell does before it executes the program.
    fn are_not_recorded_by(&self, collector: &str, before: Option<&str>) -> Recording {
        let PrivatePlaces { nobody, program, file, secret, .. } = self;
        let options = ["--collector", collector, "--stack-bytes", "8192"];
        let script = before.map(|before| format!("{before} exec \"$0\" \"$1\""));
        let shell =
            script.iter().flat_map(|script| [Path::new("/bin/sh"), Path::new("-c"), Path::new(script)]);
        let command: Vec<&Path> = shell.chain([program.as_path(), file.as_path()]).collect();
        let recording = nobody.record(&options, &command);
        assert!(recording.run.status.success(), "{collector}: {}", recording.run.stderr);
        let found = procedures(&recording);
        assert!(!found.iter().any(|name| name.contains("private_")), "{collector}: {found:?}");
        let log = fs::read(recording.path.join("machine-0/events.log")).unwrap();
        assert!(!log.windows(secret.len()).any(|window| window == secret.as_bytes()));
        recording
    }

    fn are_told_by(&self, collector: &str) {
        let PrivatePlaces { session, nobody, program, .. } = self;
        let options = ["--collector", collector, "--stack-bytes", "8192"];
        // Without rights of another user it is.
        let plain = session.path().join("plain");
        fs::copy(program, &plain).unwrap();
        fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
        let open = session.path().join("open");
        fs::write(&open, "text").unwrap();
        let record = || Ok(nobody.record(&options, &[&plain, &open]));
        let recording = if collector == "perf" { Recording::made_whole(record) } else { record() };
        let found = procedures(&recording.unwrap());
        assert!(found.iter().any(|name| name.contains("private_work")), "{collector}: {found:?}");
    }
}

/// A recorder in the background.
struct Background {
    recorder: Child,
}

impl Background {
    /// Records a command of the user into `own.longpole`, with core files of any length allowed, and waits until it writes.
    fn start(nobody: &Nobody<'_>, words: &[&str]) -> Background {
        let _ = fs::remove_dir_all(nobody.home().join("own.longpole"));
        let mut record = nobody.longpole();
        record.args(["record", "-o", "own.longpole"]).args(words);
        let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        let unlimited = move || {
            // SAFETY: a plain system call.
            match unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const limit) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: the closure makes one system call.
        unsafe { record.pre_exec(unlimited) };
        let recorder =
            record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let background = Background { recorder };
        let events = nobody.home().join("own.longpole/machine-0/events.log");
        wait_for("the recording does not begin", || fs::metadata(&events).is_ok_and(|file| file.len() > 500));
        background
    }

    fn pid(&self) -> u32 {
        self.recorder.id()
    }

    /// The recorder's privileged process.
    fn privileged_process(&self) -> u32 {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.pid())).unwrap();
        let children = children.split_ascii_whitespace().map(|pid| pid.parse::<u32>().unwrap());
        let is_it = |pid: &u32| name_of(*pid).is_some_and(|name| name.starts_with("longpole-priv"));
        children.into_iter().find(is_it).expect("the recorder has a privileged process")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.recorder.kill();
        let _ = self.recorder.wait();
    }
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn name_of(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok()
}

fn send(pid: u32, signal: i32) {
    // SAFETY: a signal to a process that a recorder of this test has started, or to that one.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0);
}

#[test]
fn who_has_capabilities_leaves_no_core_and_shows_no_memory() {
    for holder in [Holder::Recorder, Holder::PrivilegedProcess] {
        let session = Session::alone();
        let nobody = or_skip!(set_up(&session, holder));
        let (program, file, _) = or_skip!(private_program(&session));
        let run = format!("{} {};", program.display(), file.display());
        let mut background = Background::start(&nobody, &["--locks", "--", "sh", "-c", &run.repeat(4)]);
        let holding = match holder {
            Holder::Recorder => background.pid(),
            Holder::PrivilegedProcess => background.privileged_process(),
        };
        for name in ["mem", "environ", "maps"] {
            let path = format!("/proc/{holding}/{name}");
            let read = nobody.run(nobody.command("head").args(["-c", "1", &path]));
            assert!(!read.status.success(), "{holder:?}: {path} can be read");
        }
        send(holding, libc::SIGABRT);
        let status = background.recorder.wait().unwrap();
        assert_eq!(status.success(), holder == Holder::PrivilegedProcess, "{holder:?}: {status}");
        let cores: Vec<PathBuf> =
            files_below(nobody.home()).into_iter().filter(|path| is_core(path)).collect();
        assert!(cores.is_empty(), "{holder:?}: {cores:?}");
    }
}

/// The capabilities of a process: in effect, and permitted.
fn capabilities(pid: u32) -> [u64; 2] {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    ["CapEff:", "CapPrm:"].map(|name| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap()
    })
}

#[test]
fn nothing_has_capabilities_while_the_program_runs() {
    let session = Session::alone();
    let nobody = or_skip!(set_up(&session, Holder::PrivilegedProcess));
    let script = "while :; do /bin/true; done";
    let background = Background::start(&nobody, &["--collector", "bpf", "--", "sh", "-c", script]);
    assert_eq!(capabilities(background.pid()), [0, 0], "the recorder");
    assert_eq!(capabilities(background.privileged_process()), [0, 0], "the privileged process");
    let program = fs::read_to_string(format!("/proc/{0}/task/{0}/children", background.pid())).unwrap();
    for pid in program.split_ascii_whitespace().map(|pid| pid.parse::<u32>().unwrap()) {
        assert_eq!(capabilities(pid), [0, 0], "a child of the recorder: {:?}", name_of(pid));
    }
    program.split_ascii_whitespace().for_each(|pid| send(pid.parse().unwrap(), libc::SIGKILL));
}

#[test]
fn a_recorder_or_a_privileged_process_that_is_killed_leaves_a_recording_that_opens() {
    let session = Session::alone();
    let nobody = or_skip!(set_up(&session, Holder::PrivilegedProcess));
    let processes = "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done";
    let wait = "while [ ! -e killed ]; do sleep 0.05; done";
    let script = format!("{processes}; {wait}; {processes}; sleep 1; echo whole >done");
    let [killed, done] = ["killed", "done"].map(|name| nobody.home().join(name));
    for is_recorder in [true, false] {
        for file in [&killed, &done] {
            let _ = fs::remove_file(file);
        }
        let mut background = Background::start(&nobody, &["--collector", "bpf", "--", "sh", "-c", &script]);
        let privileged = background.privileged_process();
        std::thread::sleep(Duration::from_millis(300));
        send(if is_recorder { background.pid() } else { privileged }, libc::SIGKILL);
        fs::write(&killed, "").unwrap();
        let status = background.recorder.wait().unwrap();
        assert_eq!(status.success(), !is_recorder, "{status}");
        wait_for("the privileged process goes on", || {
            name_of(privileged).is_none_or(|name| !name.starts_with("longpole-priv"))
        });
        wait_for("the program did not end by itself", || done.exists());
        let recording = nobody.home().join("own.longpole");
        let report = nobody.run(nobody.longpole().args(["report", "--view", "threads"]).arg(&recording));
        assert!(report.status.success() && report.stdout.contains("sh"), "{}", report.stderr);
        if !is_recorder {
            let evidence =
                nobody.run(nobody.longpole().args(["report", "--view", "evidence"]).arg(&recording));
            let text = evidence.stdout.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains("privileged process, which has ended"), "{text}");
        }
    }
}

#[test]
fn the_answer_is_that_of_a_recorder_with_capabilities() {
    let session = Session::alone();
    let nobody = or_skip!(set_up(&session, Holder::PrivilegedProcess));
    let program = or_skip!(session.build("lock_hog.c", &[]));
    let of = |recording: &Recording| {
        let objects = recording.report("objects", "object");
        let threads = recording.report("threads", "thread");
        let names = procedures(recording);
        assert!(names.iter().any(|name| name.contains("work")), "{names:?}");
        (objects.sum_of("waits"), threads.sum_of("running_seconds"), threads.sum_of("blocked_seconds"))
    };
    let options = ["--collector", "bpf"];
    let by_process = of(&nobody.record(&options, &[&program]));
    let nobody = or_skip!(set_up(&session, Holder::Recorder));
    let by_recorder = of(&nobody.record(&options, &[&program]));
    let is_close = |one: f64, other: f64| (one - other).abs() <= 0.1 * one.max(other) + 0.02;
    assert!(
        is_close(by_process.0, by_recorder.0)
            && is_close(by_process.1, by_recorder.1)
            && is_close(by_process.2, by_recorder.2),
        "{by_process:?} {by_recorder:?}"
    );
}

#[test]
fn another_version_s_file_is_refused() {
    let session = Session::alone();
    let nobody = or_skip!(set_up(&session, Holder::PrivilegedProcess));
    let file = privileged_file(&session.path().join("longpole"));
    // A file of its own in that place: the one that is there may still be executed.
    let other = file.with_extension("other");
    fs::copy(&file, &other).unwrap();
    fs::OpenOptions::new().append(true).open(&other).unwrap().write_all(&[0]).unwrap();
    fs::rename(&other, &file).unwrap();
    let run = nobody.run(nobody.longpole().args(["record", "--collector", "bpf", "--", "true"]));
    assert!(!run.status.success());
    assert!(
        run.stderr.contains("another version") && run.stderr.contains("longpole setup"),
        "{}",
        run.stderr
    );
}

#[test]
fn names_of_the_kernel_s_procedures_are_there() {
    let session = Session::alone();
    let nobody = or_skip!(set_up(&session, Holder::PrivilegedProcess));
    let script = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done";
    let recording = nobody.record(&["--collector", "bpf"], &["sh", "-c", script]);
    let found = procedures(&recording);
    assert!(found.iter().any(|name| name == "do_exit" || name == "load_elf_binary"), "{found:?}");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

fn is_core(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"core"))
}

#[test]
fn the_program_has_its_whole_environment() {
    let session = Session::alone();
    for holder in [Holder::PrivilegedProcess, Holder::Recorder] {
        has_its_whole_environment(&or_skip!(set_up(&session, holder)));
    }
}

fn has_its_whole_environment(nobody: &Nobody<'_>) {
    let script = "echo \"$LD_LIBRARY_PATH,$TMPDIR,$GCONV_PATH,$MALLOC_ARENA_MAX,$LD_PRELOAD,$PLAIN\"";
    for options in [&["--collector", "bpf"][..], &["--collector", "bpf", "--collect", "none"], &["--locks"]] {
        let mut record = nobody.longpole();
        record.args(["record", "--force", "-o", "own.longpole"]).args(options);
        record.args(["--", "sh", "-c", script]);
        record.env("LD_LIBRARY_PATH", "/nowhere").env("TMPDIR", "/tmp").env("GCONV_PATH", "/g");
        record.env("MALLOC_ARENA_MAX", "2").env("LD_PRELOAD", "libc.so.6").env("PLAIN", "x");
        let run = nobody.run(&mut record);
        assert!(run.status.success(), "{options:?}: {}", run.stderr);
        let line = run.stdout.lines().next().unwrap_or_default();
        let is_whole = line.starts_with("/nowhere,/tmp,/g,2,") && line.ends_with("libc.so.6,x");
        assert!(is_whole, "{options:?}: {line}\n{}", run.stderr);
    }
}

#[test]
fn the_agent_is_in_the_program() {
    let session = Session::alone();
    let program = or_skip!(session.build("lock_hog.c", &[]));
    for holder in [Holder::PrivilegedProcess, Holder::Recorder] {
        has_the_agent(&session, &or_skip!(set_up(&session, holder)), &program);
    }
}

fn has_the_agent(session: &Session, nobody: &Nobody<'_>, program: &Path) {
    let recording = nobody.record(&["--collector", "bpf", "--locks"], &[program]);
    assert!(!recording.run.stderr.contains("the agent"), "{}", recording.run.stderr);
    let objects = recording.report("objects", "object");
    let acquisitions = objects.sum_of("acquisitions");
    assert!(acquisitions >= 15.0, "{acquisitions}: {:#}", objects.value["rows"]);
    // It ends with its recorder.
    let left = nobody.run(nobody.command("pgrep").args(["-f", "hold-memory"]));
    let own = session.path().join("longpole");
    let is_ours = |pid: &&str| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == own);
    let ours: Vec<&str> = left.stdout.lines().filter(is_ours).collect();
    assert!(ours.is_empty(), "{ours:?}");
}
