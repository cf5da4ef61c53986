//! Busy waits are told from work in code that real compilers made.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_event::BusyWaiting;
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

/// What was found at the addresses of a function.
struct Shares {
    spins: f64,
    may_wait: f64,
}

/// The functions of a program whose names begin so, each with the shares of its bytes that spin and that may wait.
fn waiting_shares(program: &Path, prefix: &str) -> Vec<(String, Shares)> {
    let bytes = std::fs::read(program).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let module = CodeModule::of_file(program).unwrap();
    let mut symboliser = Symboliser::new();
    let is_wanted = |symbol: &object::Symbol<'_, '_>| {
        let name = symbol.name().unwrap();
        name.starts_with(prefix) && !name.contains('.')
    };
    elf.symbols()
        .filter(is_wanted)
        .map(|symbol| {
            let addresses: Vec<u64> = (symbol.address()..symbol.address() + symbol.size()).collect();
            let names = symboliser.symbolise(&module, &addresses);
            let share = |waiting: BusyWaiting| {
                names.iter().filter(|named| named.waiting == waiting).count() as f64 / addresses.len() as f64
            };
            let shares = Shares { spins: share(BusyWaiting::Spins), may_wait: share(BusyWaiting::MayWait) };
            (symbol.name().unwrap().to_owned(), shares)
        })
        .collect()
}

/// One way to build a source file.
struct Build {
    compiler: &'static str,
    options: Vec<&'static str>,
}

fn builds_of_c() -> Vec<Build> {
    let levels = |compiler| LEVELS.map(|level| Build { compiler, options: vec![level] });
    compilers().into_iter().flat_map(levels).collect()
}

/// Functions that are not as the judge says, of all builds of a source file.
fn misjudged(
    source: &str,
    builds: &[Build],
    prefix: &str,
    mut judge: impl FnMut(&str, &Shares) -> bool,
) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for build in builds {
        let program = folder.path().join("program");
        compile(build.compiler, &code(source), &build.options, &program);
        let functions = waiting_shares(&program, prefix);
        assert!(!functions.is_empty(), "{} {:?} has no {prefix}", build.compiler, build.options);
        for (function, shares) in functions {
            if !judge(&function, &shares) {
                let Shares { spins, may_wait } = shares;
                wrong.push(format!(
                    "{} {:?} {function}: {:.0} % spins, {:.0} % may",
                    build.compiler,
                    build.options,
                    spins * 100.0,
                    may_wait * 100.0
                ));
            }
        }
    }
    wrong
}

fn is_wait(_: &str, shares: &Shares) -> bool {
    shares.spins > 0.1
}

#[test]
fn busy_waits_are_found_at_every_level_of_optimisation() {
    let wrong = misjudged("waits.c", &builds_of_c(), "wait_", is_wait);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn loops_that_compute_are_work_at_every_level_of_optimisation() {
    let wrong = misjudged("works.c", &builds_of_c(), "work_", |function, shares| {
        // The wait of this one spins, and the work beside it does not.
        if function == "work_rounds_of_ready" { shares.spins < 0.5 } else { shares.spins == 0.0 }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_code_does_not_decide_may_wait() {
    let wrong = misjudged("may_wait.c", &builds_of_c(), "may_", |_, shares| {
        shares.spins == 0.0 && shares.may_wait > 0.1
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn loops_of_cpp_are_judged_like_those_of_c() {
    let levels = |compiler| {
        LEVELS.map(|level| Build { compiler, options: vec![level, "-Wl,--no-as-needed", "-lstdc++"] })
    };
    let builds: Vec<Build> = compilers().into_iter().flat_map(levels).collect();
    let mut wrong = misjudged("waits.cpp", &builds, "wait_", is_wait);
    wrong.extend(misjudged("waits.cpp", &builds, "work_", |_, shares| shares.spins == 0.0));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn loops_of_rust_are_judged_like_those_of_c() {
    let build = |level| Build {
        compiler: "rustc",
        options: vec!["--edition=2024", "--crate-type=cdylib", "-C", level],
    };
    let builds: Vec<Build> = ["opt-level=1", "opt-level=2", "opt-level=3", "opt-level=s"].map(build).into();
    let mut wrong = misjudged("waits.rs", &builds, "wait_", is_wait);
    wrong.extend(misjudged("waits.rs", &builds, "work_", |_, shares| shares.spins == 0.0));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn loops_written_by_hand_are_judged_by_what_they_do() {
    let build = [Build { compiler: "gcc", options: vec!["-nostdlib", "-shared"] }];
    let mut wrong = misjudged("waits.s", &build, "wait_", is_wait);
    wrong.extend(misjudged("waits.s", &build, "work_", |_, shares| shares.spins == 0.0));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn to_read_the_time_for_a_loop_that_pauses_is_to_wait() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    compile("gcc", &code("waits.s"), &["-nostdlib", "-shared"], &program);
    let bytes = std::fs::read(&program).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let module = CodeModule::of_file(&program).unwrap();
    let waiting = |name: &str| {
        let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name)).expect("in the file");
        // A caller's address is that of the last byte of its call.
        Symboliser::new().symbolise(&module, &[symbol.address() + 4])[0].waiting
    };
    assert_eq!(waiting("call_time_stamp"), BusyWaiting::Spins);
    assert_eq!(waiting("call_time_stamp_at_work"), BusyWaiting::Work);
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
        symboliser
            .symbolise(&module, &addresses)
            .iter()
            .filter(|named| named.waiting == BusyWaiting::Spins)
            .count()
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
    let waits: Vec<u64> = addresses
        .iter()
        .zip(&names)
        .filter(|(_, named)| named.waiting == BusyWaiting::Spins)
        .map(|(at, _)| *at)
        .collect();
    assert!(waits.is_empty(), "{waits:x?}");
}
