//! Programs that the agent cannot be in run as ever, and `record` says so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_testkit::skipped;

use crate::run::{compile, longpole, run};

/// Asserts that the program runs as without, and that `record` says why the agent is not in it and what to do.
fn assert_absent(program: &Path, reason: &str) {
    let bare = run(&mut Command::new(program));
    let folder = tempfile::tempdir().unwrap();
    let mut command = longpole();
    command.args(["record", "--collector", "agent", "-o"]).arg(folder.path().join("run.longpole"));
    let recorded = run(command.arg("--").arg(program));
    assert_eq!((recorded.status, &recorded.stdout), (bare.status, &bare.stdout));
    let said = recorded.stderr.strip_prefix(&bare.stderr).expect("the program's own words come first");
    let first = said.lines().next().unwrap_or_default();
    assert!(first.starts_with("longpole: the agent is not in") && first.contains(reason), "{said}");
    assert!(first.contains("--collector bpf") && first.contains("--collector process"), "{said}");
}

#[test]
fn statically_linked_programs() {
    assert_absent(&compile("plain.c", "-static", &["-static"]), "statically linked");
}

#[test]
fn go_programs() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("main.go");
    fs::write(&source, "package main\nimport \"os\"\nfunc main() { println(\"go\"); os.Exit(4) }\n").unwrap();
    let program = folder.path().join("main");
    let mut command = Command::new("go");
    command
        .arg("build")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .env("GOFLAGS", "-mod=mod")
        .env("GO111MODULE", "off");
    match command.env("GOCACHE", folder.path().join("cache")).output() {
        Ok(output) if output.status.success() => assert_absent(&program, "Go programs"),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => skipped("go is not installed"),
    }
}

#[test]
fn programs_with_the_rights_of_another_user() {
    // SAFETY: no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return skipped("only root can make a program with another user's rights");
    }
    const NOBODY: u32 = 65534;
    let program = compile("plain.c", "-setuid", &[]);
    std::os::unix::fs::chown(&program, Some(NOBODY), None).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    assert_absent(&program, "rights");
}

#[test]
fn programs_of_32_bits() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("small");
    fs::write(&program, small_program()).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    if Command::new(&program).status().is_err() {
        // A kernel without the 32-bit system calls runs no such program, with or without the agent.
        return;
    }
    assert_absent(&program, "64-bit");
}

/// A 32-bit program that ends with 7.
fn small_program() -> Vec<u8> {
    const BASE: u32 = 0x0804_8000;
    // mov eax, 1; mov ebx, 7; int 0x80
    const CODE: [u8; 12] = [0xb8, 1, 0, 0, 0, 0xbb, 7, 0, 0, 0, 0xcd, 0x80];
    let size = 52 + 32 + CODE.len() as u32;
    let mut bytes = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |number: u16, bytes: &mut Vec<u8>| bytes.extend(number.to_le_bytes());
    half(2, &mut bytes);
    half(3, &mut bytes);
    for word in [1, BASE + 84, 52, 0, 0] {
        bytes.extend(u32::to_le_bytes(word));
    }
    for number in [52, 32, 1, 0, 0, 0] {
        half(number, &mut bytes);
    }
    for word in [1, 0, BASE, BASE, size, size, 5, 0x1000] {
        bytes.extend(u32::to_le_bytes(word));
    }
    bytes.extend(CODE);
    bytes
}

/// A program for another C library has a loader of its own, which is not asked to load the agent.
#[test]
fn programs_with_another_c_library() {
    let musl = PathBuf::from("/usr/bin/musl-gcc");
    if !musl.exists() {
        return skipped("musl-gcc is not installed");
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/harmless/programs/plain.c");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("musl");
    let status = Command::new(musl).arg(source).arg("-o").arg(&program).status().unwrap();
    assert!(status.success());
    assert_absent(&program, "GNU C library");
    // Started by a program that has the agent, it finds the agent in its environment.
    crate::run::assert_same(Path::new("/bin/sh"), &["-c", &format!("{}; exit 9", program.display())]);
}
