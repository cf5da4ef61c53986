//! What `test`, `check`, `fuzz` and `docs` do, in which order.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::steps::{Steps, cargo, root, succeed};
use crate::{bpf, built, census, foreign, layering, page, tools, unsteady};

/// File, below the target folder, to which tests add a line when they skip.
const SKIPS: &str = "target/skipped-tests";

/// The checks that run nothing of ours.
fn static_checks(steps: &mut Steps) {
    steps.step("format", || succeed(&mut cargo(&["fmt", "--all", "--check"])));
    steps.step("layering", layering::check);
    steps.step("type names", census::check);
    steps.step("lints", || {
        succeed(&mut cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
    });
}

/// The check that needs a compiler for it.
fn bpf_check(steps: &mut Steps) {
    steps.step("bpf object", bpf::check);
}

/// `cargo xtask check`.
pub fn check() -> Result<ExitCode> {
    let mut steps = Steps::new();
    static_checks(&mut steps);
    bpf_check(&mut steps);
    Ok(steps.finish(&[]))
}

/// Tests at one time for each processor: many wait, and those that measure have the machine for themselves.
const TESTS_PER_CPU: usize = 2;

/// `cargo xtask test`: everything; the slow end-to-end tests where they are asked for.
pub fn test(install: bool, slow: bool) -> Result<ExitCode> {
    let mut steps = Steps::new();
    // What is installed comes over the network, and is unpacked by one processor.
    let tools = std::thread::spawn(move || tools::provide(install));
    static_checks(&mut steps);
    let missing = tools.join().expect("installing does not panic");
    bpf_check(&mut steps);
    let skips = root().join(SKIPS);
    fs::create_dir_all(root().join("target")).context("create the target folder")?;
    fs::write(&skips, "").with_context(|| format!("write {}", skips.display()))?;
    // A run that is meant to be complete says so by CI=true: then a test that would skip fails.
    let complete = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (TESTS_PER_CPU * cpus).to_string();
    let test = |arguments: &[&str]| {
        let mut command = cargo(arguments);
        command.env("LONGPOLE_SKIPS", &skips).env("RUST_TEST_THREADS", &threads);
        if complete {
            command.env("LONGPOLE_NO_SKIPS", "1");
        }
        command
    };
    let mut unsteady = Vec::new();
    steps.step("unit and property tests", || {
        succeed(&mut test(&["test", "--workspace", "--locked", "--quiet", "--no-fail-fast"]))
    });
    steps.step("every interleaving of the agent's memory", || {
        let model = [
            "test",
            "--package",
            "longpole-ring",
            "--lib",
            "--release",
            "--locked",
            "--target-dir",
            "target/loom",
        ];
        succeed(cargo(&model).env("RUSTFLAGS", "--cfg loom"))
    });
    steps.step("end-to-end tests", || {
        let ignored: &[&str] = if slow { &["--", "--include-ignored"] } else { &[] };
        let arguments = [&["test", "--no-fail-fast"], &built::END_TO_END[..], ignored].concat();
        unsteady = unsteady::run(&arguments, test)?;
        Ok(())
    });
    let mut skipped: Vec<String> =
        fs::read_to_string(&skips).context("read the skipped tests")?.lines().map(str::to_owned).collect();
    page::test(&mut steps, &mut skipped, complete);
    foreign::run_quick(install, &mut steps, &mut skipped)?;
    skipped.sort();
    skipped.dedup();
    if !missing.is_empty() {
        eprintln!("missing here: {}", missing.join("; "));
    }
    for name in unsteady {
        eprintln!("unsteady: {name} failed beside other tests, and passed alone");
    }
    Ok(steps.finish(&skipped))
}

/// `cargo xtask docs`: the pages that are made from the code, made anew.
pub fn docs() -> Result<ExitCode> {
    let mut steps = Steps::new();
    steps.step("generated pages", || {
        succeed(cargo(&["test", "--package", "longpole-report", "--quiet"]).env("UPDATE", "1"))
    });
    Ok(steps.finish(&[]))
}
