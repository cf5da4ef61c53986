//! OpenMP programs with the agent in them: who of a team works, who spins until the others are done, and under which
//! path a task's work goes; for gcc's runtime, for LLVM's, and for LLVM's in the place of gcc's.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Answer, Recording, Session, find, is_root, longpole, or_skip, programs};

/// Percentage points by which a share may be off.
const CLOSE: f64 = 5.0;

/// How often the critical section of `openmp_spin.c` is entered.
const UPDATES: u64 = 12;

/// An OpenMP runtime, and how programs come to it.
#[derive(Clone, Copy, PartialEq)]
enum Runtime {
    Gcc,
    Llvm,
    /// A program of gcc's with LLVM's runtime preloaded.
    LlvmForGcc,
}

/// Where Debian and Ubuntu keep LLVM's runtime.
fn libomp() -> Result<PathBuf, String> {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = folders
        .filter(|folder| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("llvm-")))
        .map(|folder| folder.join("lib/libomp.so.5"))
        .filter(|library| library.is_file())
        .collect();
    found.sort();
    found.pop().ok_or_else(|| "libomp is not installed".into())
}

/// A clang that has OpenMP's headers.
fn clang() -> Result<PathBuf, String> {
    let library = libomp()?;
    let own = library.ancestors().nth(2).map(|folder| folder.join("bin/clang"));
    own.filter(|clang| clang.is_file()).ok_or_else(|| "clang is not installed".into())
}

fn build(session: &Session, runtime: Runtime, source: &str) -> Result<PathBuf, String> {
    let (compiler, flag) = match runtime {
        Runtime::Llvm => (clang()?, "-fopenmp=libomp"),
        Runtime::Gcc | Runtime::LlvmForGcc => (find("gcc")?, "-fopenmp"),
    };
    let program = session.path().join(Path::new(source).with_extension(""));
    let mut command = Command::new(compiler);
    command.args(["-O2", "-g", "-w", flag]).arg(programs().join(source)).arg("-o").arg(&program);
    let run = session.run(&mut command);
    assert!(run.status.success(), "{command:?}: {}", run.stderr);
    Ok(program)
}

fn record(session: &Session, runtime: Runtime, options: &[&str], source: &str) -> Result<Recording, String> {
    let program = build(session, runtime, source)?;
    if !is_root() {
        return Err("the collector bpf needs root".into());
    }
    let path = session.path().join("openmp.longpole");
    let mut command = longpole();
    command.args(["record", "-q", "--force", "-o"]).arg(&path).args(options).arg("--").arg(program);
    if runtime == Runtime::LlvmForGcc {
        command.env("LD_PRELOAD", libomp()?);
    }
    // No wait gets off its processor.
    let run = session.run(command.env("OMP_WAIT_POLICY", "active"));
    assert!(run.status.success(), "{}{}", run.stdout, run.stderr);
    Ok(Recording { path, run })
}

/// The answers that `openmp_spin.c` works out.
fn spinning_is_no_work(runtime: Runtime) {
    let session = Session::start();
    let options = ["--collector", "bpf", "--locks"];
    let recording = or_skip!(record(&session, runtime, &options, "openmp_spin.c"));
    let objects = recording.report("objects", "object");
    // On an idle machine in each of the six loops; on a busy one a thread may come when the other has left the section.
    let section = objects.rows().find(|row| row.get("acquisitions").is_some_and(|it| it == UPDATES));
    let section = section.unwrap_or_else(|| panic!("no section: {:#}", objects.value["rows"]));
    let contended = section["contended_acquisitions"].as_f64().expect("a number");
    assert!(
        (1.0..=6.0).contains(&contended),
        "{:#}\n{contended} waits for the section",
        objects.value["rows"]
    );
    let path = recording.report("critical-path", "procedure");
    // That the section is on the path twice in such a loop only its hand-overs tell: one thread's share alone were 16.7 %. Who
    // waits for the section came while the other was in it: the path goes through what was left of the other's stay, 0 to 20 ms.
    let lengths =
        [0.0, contended].map(|twice| (6.0 + twice) * 20.0).map(|updates| (updates, 600.0 + updates));
    let [fewest, most] = lengths;
    for (procedure, low, high) in [
        ("long_half", 360.0 / most.1, 360.0 / fewest.1),
        ("serial_part", 240.0 / most.1, 240.0 / fewest.1),
        ("update_total", fewest.0 / fewest.1, most.0 / most.1),
    ] {
        path.assert_percent(procedure, 50.0 * (low + high), 50.0 * (high - low) + CLOSE);
    }
    let profile = recording.report("profile", "procedure");
    for worker in ["long_half", "short_half", "serial_part", "update_total"] {
        let spun = profile.sum("procedure", worker, "spin_seconds");
        // A sample before the wait began may tell of the first moments of it.
        assert!(spun < 0.02, "{}\n{worker} spins {spun} s", profile.table("procedure"));
    }
    // All the rest of the CPU time is spinning: 0.72 s on an idle machine; on a busy one, who waits gives way.
    let worked: f64 = profile.sum_of("running_seconds");
    assert!((worked - 0.96).abs() < 0.1, "{worked} s of work, not 0.96");
    // 80 ms of each loop wait for another region, and 20 more for the end of one or for the section, whoever was first there.
    let next = waited(&objects, "the next parallel region");
    let both = next + waited(&objects, "the end of a parallel region");
    assert!(next > 0.1 && both > 0.4, "{next} s and {both} s: {:#}", objects.value["rows"]);
    if runtime == Runtime::Gcc {
        assert_eq!(objects.sum("object", "critical section total", "acquisitions"), 12.0);
        let waited = waited(&objects, "critical section total");
        assert!(waited > 0.01 * contended, "{:#}\n{waited} s", objects.value["rows"]);
    }
}

fn waited(objects: &Answer, name: &str) -> f64 {
    objects.sum("object", name, "seconds")
}

/// The answers that `openmp_tasks.c` works out.
fn tasks_are_their_makers_work(runtime: Runtime) {
    let session = Session::start();
    let options = ["--collector", "bpf", "--locks"];
    let recording = or_skip!(record(&session, runtime, &options, "openmp_tasks.c"));
    let profile = recording.report("profile", "procedure");
    let inclusive = |procedure| profile.sum("procedure", procedure, "inclusive_seconds");
    for (procedure, seconds) in
        [("make_small", 0.06), ("make_large", 0.18), ("sum_up", 0.06), ("OpenMP task", 0.24)]
    {
        let found = inclusive(procedure);
        let table = || profile.table("procedure");
        assert!((found - seconds).abs() < 0.015, "{}\n{procedure}: {found} s, not {seconds}", table());
    }
}

macro_rules! runtimes {
    ($($name:ident: $runtime:expr),* $(,)?) => {$(
        mod $name {
            use super::*;

            #[test]
            fn spinning_is_no_work() {
                super::spinning_is_no_work($runtime);
            }

            #[test]
            fn tasks_are_their_makers_work() {
                super::tasks_are_their_makers_work($runtime);
            }
        }
    )*};
}

runtimes![gcc: Runtime::Gcc, llvm: Runtime::Llvm, llvm_for_gcc: Runtime::LlvmForGcc];
