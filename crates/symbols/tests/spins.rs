//! Busy waits are told from work in code that real compilers made.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_symbols::{CodeModule, Symboliser};
use object::{Object, ObjectSection, ObjectSymbol};

const LEVELS: [&str; 6] = ["-O0", "-O1", "-O2", "-O3", "-Os", "-Og"];

fn code(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/code").join(name)
}

/// The compilers of this machine; gcc must be there.
fn compilers() -> Vec<&'static str> {
    let works =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|run| run.status.success());
    let found: Vec<_> = ["gcc", "clang"].into_iter().filter(works).collect();
    assert!(found.contains(&"gcc"), "these tests need gcc");
    found
}

fn compile(compiler: &str, source: &Path, options: &[&str], program: &Path) {
    let run = Command::new(compiler).args(options).arg(source).arg("-o").arg(program).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// The functions of a program whose names begin so, each with the share of its bytes that spin.
fn spinning_shares(program: &Path, prefix: &str) -> Vec<(String, f64)> {
    let bytes = std::fs::read(program).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let module = CodeModule::of_file(program).unwrap();
    let mut symboliser = Symboliser::new();
    let functions = elf.symbols().filter(|symbol| symbol.name().unwrap().starts_with(prefix));
    functions
        .map(|symbol| {
            let addresses: Vec<u64> = (symbol.address()..symbol.address() + symbol.size()).collect();
            let names = symboliser.symbolise(&module, &addresses);
            let spinning = names.iter().filter(|named| named.spins).count();
            (symbol.name().unwrap().to_owned(), spinning as f64 / addresses.len() as f64)
        })
        .collect()
}

fn for_every_build(source: &str, prefix: &str, mut judge: impl FnMut(&str, f64) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut judged = 0;
    for compiler in compilers() {
        for level in LEVELS {
            let program = folder.path().join("program");
            compile(compiler, &code(source), &[level], &program);
            for (function, share) in spinning_shares(&program, prefix) {
                judged += 1;
                if !judge(&function, share) {
                    wrong.push(format!("{compiler} {level} {function}: {:.0} %", share * 100.0));
                }
            }
        }
    }
    assert!(judged >= 20 * LEVELS.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn busy_waits_are_found_at_every_level_of_optimisation() {
    for_every_build("waits.c", "wait_", |_, share| share > 0.1);
}

#[test]
fn loops_that_compute_are_work_at_every_level_of_optimisation() {
    for_every_build("works.c", "work_", |_, share| share == 0.0);
}

/// Shared libraries of this machine, in which whole functions are looked through.
fn library(name: &str) -> Option<PathBuf> {
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.is_file())
}

#[test]
fn the_spin_lock_of_libc_spins_and_its_string_functions_do_not() {
    let libc = library("libc.so.6").expect("a C library");
    let bytes = std::fs::read(&libc).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let module = CodeModule::of_file(&libc).unwrap();
    let mut symboliser = Symboliser::new();
    let mut spinning = |name: &str| {
        let symbol = elf.dynamic_symbols().find(|symbol| symbol.name() == Ok(name)).expect("in libc");
        let addresses: Vec<u64> = (symbol.address()..symbol.address() + symbol.size()).collect();
        symboliser.symbolise(&module, &addresses).iter().filter(|named| named.spins).count()
    };
    assert!(spinning("pthread_spin_lock") > 0);
    for name in ["qsort", "strtol", "memmem", "malloc", "free", "vfprintf", "regexec", "glob", "getenv"] {
        assert_eq!(spinning(name), 0, "{name}");
    }
}

#[test]
fn a_library_of_pure_computation_has_no_wait() {
    let Some(libz) = library("libz.so.1") else {
        eprintln!("skipped: this machine has no libz.so.1");
        return;
    };
    let bytes = std::fs::read(&libz).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let text = elf.section_by_name(".text").expect("code");
    let addresses: Vec<u64> = (text.address()..text.address() + text.size()).step_by(2).collect();
    let names = Symboliser::new().symbolise(&CodeModule::of_file(&libz).unwrap(), &addresses);
    let waits: Vec<u64> =
        addresses.iter().zip(&names).filter(|(_, named)| named.spins).map(|(at, _)| *at).collect();
    assert!(waits.is_empty(), "{waits:x?}");
}
