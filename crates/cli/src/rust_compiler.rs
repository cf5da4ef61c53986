//! `longpole rustc` and `longpole cargo`: Rust's compiler, so that the program tells of its accesses to memory.
//!
//! The compiler's own interface for that is unstable, so a stable compiler is asked to permit it (`RUSTC_BOOTSTRAP`). The
//! library comes before the C library in the link, as its functions stand in for those. The standard library is the
//! precompiled one, which tells of nothing.

use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::compiler::execute_command;
use crate::terminal;

/// Commands of cargo that build for a target.
const BUILDING: [&str; 9] = ["build", "b", "run", "r", "test", "t", "bench", "rustc", "install"];

/// Runs the compiler.
pub fn run_rustc(arguments: &[OsString]) -> Result<ExitCode> {
    let rustc = program("LONGPOLE_RUSTC", "rustc");
    let mut command = Command::new(&rustc);
    command.args(arguments).args(flags(&rustc)?).env("RUSTC_BOOTSTRAP", "1");
    execute_command(&mut command)
}

/// Runs cargo. What it builds for itself (build scripts, procedural macros) is left as it is: with a target that is named,
/// flags are for the program only.
pub fn run_cargo(arguments: &[OsString]) -> Result<ExitCode> {
    say_what_it_builds(arguments);
    let rustc = program("RUSTC", "rustc");
    let mut arguments = arguments.to_vec();
    let names_target = arguments.iter().any(|one| one == "--target" || begins(one, "--target="));
    let building = arguments.iter().position(|one| BUILDING.iter().any(|name| one == name));
    if let Some(at) = building.filter(|_| !names_target && std::env::var_os("CARGO_BUILD_TARGET").is_none()) {
        arguments.splice(at + 1..at + 1, ["--target".into(), host(&rustc)?.into()]);
    }
    let mut all = OsString::new();
    for flag in callers_flags().into_iter().chain(flags(&rustc)?) {
        if !all.is_empty() {
            all.push("\u{1f}");
        }
        all.push(flag);
    }
    let mut command = Command::new(program("LONGPOLE_CARGO", "cargo"));
    command.args(arguments).env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", all);
    execute_command(&mut command)
}

/// A user who means to record a build gets one, and no recording.
fn say_what_it_builds(arguments: &[OsString]) {
    let command: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    terminal::remark(&format!(
        "cargo compiles for `longpole record --access`; to record cargo itself: `longpole record cargo {}`",
        command.join(" ")
    ));
}

fn begins(argument: &OsStr, with: &str) -> bool {
    argument.as_encoded_bytes().starts_with(with.as_bytes())
}

fn program(variable: &str, usual: &str) -> OsString {
    std::env::var_os(variable).filter(|value| !value.is_empty()).unwrap_or_else(|| usual.into())
}

/// The flags that cargo would have taken from the environment.
fn callers_flags() -> Vec<OsString> {
    let of = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let encoded = of("CARGO_ENCODED_RUSTFLAGS");
    let flags = encoded.map(|flags| flags.split('\u{1f}').map(OsString::from).collect());
    let plain = || of("RUSTFLAGS").map(|flags| flags.split_whitespace().map(OsString::from).collect());
    flags.or_else(plain).unwrap_or_default()
}

/// What makes the compiler call a function at each access, and link the library that has these.
fn flags(rustc: &OsStr) -> Result<Vec<OsString>> {
    let folder = longpole_record::access_library_folder().context("keep the library of accesses")?;
    let mut flags: Vec<OsString> = [
        "-g",
        // cargo strips what it did not ask for itself.
        "-Cstrip=none",
        "-Zsanitizer=thread",
        "-Zexternal-clangrt",
        // Else the read of `x += 1` is left out.
        "-Cllvm-args=-tsan-instrument-read-before-write",
        "-Zpre-link-arg=-Wl,--push-state,--no-as-needed",
    ]
    .map(OsString::from)
    .into();
    // Newer compilers refuse a standard library that was compiled without.
    if answer(rustc, &["-C", "help"])?.contains("unsafe-allow-abi-mismatch") {
        flags.push("-Cunsafe-allow-abi-mismatch=sanitizer".into());
    }
    for option in ["-L", "-Wl,-rpath,"] {
        let mut flag = OsString::from("-Zpre-link-arg=");
        flag.push(option);
        flag.push(&folder);
        flags.push(flag);
    }
    flags.extend(
        ["-Zpre-link-arg=-l:liblongpole-access.so", "-Zpre-link-arg=-Wl,--pop-state"].map(OsString::from),
    );
    Ok(flags)
}

/// The machine that the compiler runs on.
fn host(rustc: &OsStr) -> Result<String> {
    let version = answer(rustc, &["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("learn from the compiler what machine this is")
}

fn answer(rustc: &OsStr, arguments: &[&str]) -> Result<String> {
    let output = Command::new(rustc).args(arguments).output();
    let output = output.with_context(|| format!("run the compiler `{}`", rustc.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
