//! Builds programs, and runs them with the agent and without.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The folder of what is built, for all tests.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

pub fn build(source: &str) -> PathBuf {
    compile(source, "", &[])
}

pub fn build_library(source: &str) -> PathBuf {
    compile(source, ".so", &["-shared", "-fPIC"])
}

/// Compiles one of `programs/`.
pub fn compile(source: &str, ending: &str, flags: &[&str]) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/harmless/programs");
    let (stem, language) = source.split_once('.').expect("a source has an ending");
    let program = folder().join(format!("{stem}{ending}"));
    let mut command = Command::new(if language == "c" { "gcc" } else { "g++" });
    command
        .args(["-O1", "-g", "-w", "-pthread"])
        .args(flags)
        .arg(sources.join(source))
        .arg("-o")
        .arg(&program);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// What a run shows to the world.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn longpole() -> Command {
    let binary = std::env::var_os("LONGPOLE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_longpole").into());
    let mut command = Command::new(binary);
    command.env("NO_COLOR", "1");
    command
}

/// Runs a command; a signal is told as a shell and `longpole record` do.
pub fn run(command: &mut Command) -> Shown {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let status = output.status;
    let status = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).expect("it ended");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Shown { status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The ways to have the agent in a program that this user may use.
fn ways() -> Vec<&'static [&'static str]> {
    // SAFETY: no arguments.
    let is_root = unsafe { libc::geteuid() } == 0;
    let mut ways: Vec<&[&str]> = vec![&["--collector", "agent"]];
    if is_root {
        ways.push(&["--collector", "bpf", "--locks"]);
    }
    ways
}

/// Asserts that a program shows the same with the agent as without, and that the agent was in it.
pub fn assert_same(program: &Path, arguments: &[&str]) {
    let bare = run(Command::new(program).args(arguments));
    for way in ways() {
        let recording = tempfile::tempdir().unwrap();
        let recording = recording.path().join("run.longpole");
        let mut command = longpole();
        command.args(["record", "--quiet"]).args(way).arg("-o").arg(&recording).arg("--");
        let recorded = run(command.arg(program).args(arguments));
        assert_eq!(recorded, bare, "{} by {way:?}", program.display());
        assert_connected(&recording, program);
    }
}

/// The recording says nothing of an agent that is missing.
fn assert_connected(recording: &Path, program: &Path) {
    let manifest = fs::read_to_string(recording.join("recording.json")).unwrap();
    let is_absent = manifest.contains("the agent is not in") || manifest.contains("the agent was in none");
    assert!(!is_absent, "{}: {manifest}", program.display());
}

/// Bytes of the library, measured while a program runs with it.
pub fn file_size() -> u64 {
    let mut command = longpole();
    let script = "stat -c %s ${LD_PRELOAD%%:*}";
    let recording = tempfile::tempdir().unwrap();
    command
        .args(["record", "--quiet", "--collector", "agent", "-o"])
        .arg(recording.path().join("run.longpole"));
    run(command.args(["--", "sh", "-c", script])).stdout.trim().parse().unwrap()
}
