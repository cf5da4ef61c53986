//! After `longpole setup`, by a user without any other right: what the capabilities must not give away, and what the
//! recorded program must not miss.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Nobody, Recording, Session, find, or_skip};

/// What `setup` gives: cap_syslog (34), cap_perfmon (38) and cap_bpf (39), permitted and effective.
const CAPABILITIES: [u32; 5] = [0x0200_0001, 0, 0, 1 << 2 | 1 << 6 | 1 << 7, 0];

/// The user nobody, whose longpole has its capabilities.
fn set_up(session: &Session) -> Result<Nobody<'_>, String> {
    let nobody = Nobody::in_session(session)?;
    let binary = session.path().join("longpole");
    let value: Vec<u8> = CAPABILITIES.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = std::ffi::CString::new(binary.as_os_str().as_bytes()).unwrap();
    let name = c"security.capability";
    // SAFETY: both texts end in a zero byte and the value's length is its own.
    let result =
        unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if result != 0 {
        return Err("this file system keeps no capabilities of files".into());
    }
    let doctor = nobody.run(nobody.longpole().arg("doctor"));
    let is_allowed = doctor.stdout.lines().any(|line| line.contains("bpf") && !line.contains("not"));
    if is_allowed { Ok(nobody) } else { Err(format!("capabilities do not help here: {}", doctor.stdout)) }
}

/// What `setup` keeps of the kernel's tracepoints for `perf`; removed where it was not there before.
struct KeptTracepoints {
    were_there: bool,
}

impl KeptTracepoints {
    fn of(session: &Session) -> KeptTracepoints {
        let were_there = Path::new(longpole_record::tracefs::COPY).exists();
        let run = session.run(Command::new(session.path().join("longpole")).arg("setup"));
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
    let session = Session::start();
    let nobody = or_skip!(set_up(&session));
    let (program, file, secret) = or_skip!(private_program(&session));
    let kept = KeptTracepoints::of(&session);
    for collector in ["bpf", "perf"] {
        let options = ["--collector", collector, "--stack-bytes", "8192"];
        let recording = nobody.record(&options, &[&program, &file]);
        assert!(recording.run.status.success(), "{collector}: {}", recording.run.stderr);
        let found = procedures(&recording);
        assert!(!found.iter().any(|name| name.contains("private_")), "{collector}: {found:?}");
        let threads = recording.report("threads", "thread");
        assert!(
            threads.sum_of("running_seconds") > 0.3,
            "{collector}: when it ran is told: {:#}",
            threads.value["rows"]
        );
        let log = fs::read(recording.path.join("machine-0/events.log")).unwrap();
        assert!(!log.windows(secret.len()).any(|window| window == secret.as_bytes()));
        // Without rights of another user it is told.
        let plain = session.path().join("plain");
        fs::copy(&program, &plain).unwrap();
        fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
        let open = session.path().join("open");
        fs::write(&open, "text").unwrap();
        let found = procedures(&nobody.record(&options, &[&plain, &open]));
        assert!(found.iter().any(|name| name.contains("private_work")), "{collector}: {found:?}");
    }
    drop(kept);
}

#[test]
fn the_recorder_leaves_no_core_and_shows_no_memory() {
    let session = Session::start();
    let nobody = or_skip!(set_up(&session));
    let (program, file, _) = or_skip!(private_program(&session));
    let mut record = nobody.longpole();
    record.args(["record", "--locks", "--force", "-o", "own.longpole", "--"]).arg(&program).arg(&file);
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
    let mut recorder =
        record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let events = nobody.home().join("own.longpole/machine-0/events.log");
    let begin = Instant::now();
    while !events.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the recording does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    for name in ["mem", "environ", "maps"] {
        let path = format!("/proc/{}/{name}", recorder.id());
        let read = nobody.run(nobody.command("head").args(["-c", "1", &path]));
        assert!(!read.status.success(), "{path} can be read");
    }
    // SAFETY: a signal to a process that this test started and nobody has waited for.
    unsafe { libc::kill(recorder.id().cast_signed(), libc::SIGABRT) };
    let status = recorder.wait().unwrap();
    assert!(!status.success());
    let cores: Vec<PathBuf> = files_below(nobody.home()).into_iter().filter(|path| is_core(path)).collect();
    assert!(cores.is_empty(), "{cores:?}");
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
    let session = Session::start();
    let nobody = or_skip!(set_up(&session));
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
    let session = Session::start();
    let nobody = or_skip!(set_up(&session));
    let program = or_skip!(session.build("lock_hog.c", &[]));
    let recording = nobody.record(&["--collector", "bpf", "--locks"], &[&program]);
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
