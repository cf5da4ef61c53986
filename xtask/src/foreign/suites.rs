//! The suites, and how each is run.
//!
//! What no Debian package brings is not here: SQLite's threaded tests, PostgreSQL's regression tests, LLVM's and gcc's OpenMP
//! tests. A server with pgbench and a program of our own stand in for the last two.

use std::process::Command;

use anyhow::{Context, Result};

use super::outcome::SuiteOutcome;
use super::{SuiteRunner, postgres, surroundings};
use crate::steps::{root, succeed_silently};
use crate::tools::find;

/// A test suite of somebody else's.
pub struct Suite {
    /// Its name.
    pub name: &'static str,
    /// Debian packages that bring it.
    pub packages: &'static [&'static str],
    /// Short enough to be run by the tests.
    pub is_quick: bool,
    /// Whether it is installed.
    pub is_here: fn() -> bool,
    /// Runs it.
    pub run: fn(&SuiteRunner<'_>) -> Result<SuiteOutcome>,
}

const PYTHON: &str = "/usr/bin/python3";
/// Where the suite has no package for all versions, it has one for the version.
const PYTHON_PACKAGES: &[&str] =
    &["python3", "libpython3-testsuite", "libpython3.11-testsuite", "libpython3.13-testsuite"];

/// All of them.
pub const SUITES: &[Suite] = &[
    python("python-threading", true, |way| unittest(way, "test_threading")),
    python("python-concurrent-futures", false, |way| unittest(way, "test_concurrent_futures")),
    python("python-multiprocessing-fork", false, |way| unittest(way, "test_multiprocessing_fork")),
    python("python-signal", false, |way| unittest(way, "test_signal")),
    python("python-subprocess", false, |way| unittest(way, "test_subprocess")),
    python("python-faulthandler", false, |way| unittest(way, "test_faulthandler")),
    python("python-queue", false, |way| unittest(way, "test_queue")),
    python("python-fork", false, |way| unittest(way, "test_fork1")),
    python("python-posix", false, |way| unittest(way, "test_posix")),
    python("python-asyncio", false, |way| unittest(way, "test_asyncio")),
    Suite {
        name: "surroundings",
        packages: &["gcc", "libjemalloc2", "libmimalloc2.0"],
        is_quick: true,
        is_here: surroundings::is_here,
        run: surroundings::run,
    },
    Suite {
        name: "redis",
        packages: &["redis-server", "redis-tools"],
        is_quick: false,
        is_here: || find("redis-server").is_some() && find("redis-benchmark").is_some(),
        run: surroundings::redis,
    },
    Suite {
        name: "node",
        packages: &["nodejs"],
        is_quick: false,
        is_here: || find("node").is_some(),
        run: surroundings::node,
    },
    Suite {
        name: "stress-ng",
        packages: &["stress-ng"],
        is_quick: true,
        is_here: || find("stress-ng").is_some(),
        run: |way| stress(way, &["pthread", "mutex", "sem", "futex", "seccomp"]),
    },
    Suite {
        name: "stress-ng-more",
        packages: &["stress-ng"],
        is_quick: false,
        is_here: || find("stress-ng").is_some(),
        run: |way| stress(way, MORE_STRESSORS),
    },
    Suite {
        name: "java",
        packages: &["default-jdk-headless"],
        is_quick: true,
        is_here: || find("javac").is_some(),
        run: java,
    },
    Suite {
        name: "postgres",
        packages: &["postgresql", "postgresql-contrib"],
        is_quick: false,
        is_here: || find("initdb").is_some() && find("pgbench").is_some() && find("psql").is_some(),
        run: postgres::run,
    },
    Suite {
        name: "openmp-gcc",
        packages: &["gcc"],
        is_quick: true,
        is_here: || find("gcc").is_some(),
        run: |way| openmp(way, "gcc"),
    },
    Suite {
        name: "openmp-llvm",
        packages: &["clang", "libomp-dev"],
        is_quick: false,
        is_here: || {
            find("clang").is_some() && std::path::Path::new("/usr/lib/llvm-14/lib/libomp.so").exists()
        },
        run: |way| openmp(way, "clang"),
    },
];

const MORE_STRESSORS: &[&str] = &[
    "fork",
    "vfork",
    "clone",
    "epoll",
    "poll",
    "signal",
    "sigsuspend",
    "context",
    "longjmp",
    "bad-altstack",
    "sigsegv",
    "eventfd",
    "fifo",
    "flock",
    "nanosleep",
    "dynlib",
    "stack",
    "sigq",
    "mq",
    "membarrier",
];

const fn python(
    name: &'static str,
    is_quick: bool,
    run: fn(&SuiteRunner<'_>) -> Result<SuiteOutcome>,
) -> Suite {
    Suite { name, packages: PYTHON_PACKAGES, is_quick, is_here: has_python_tests, run }
}

fn has_python_tests() -> bool {
    let script = "import test.test_threading";
    Command::new(PYTHON).args(["-c", script]).output().is_ok_and(|output| output.status.success())
}

fn unittest(way: &SuiteRunner<'_>, module: &str) -> Result<SuiteOutcome> {
    let output =
        way.command(PYTHON).args(["-m", "test", "--verbose", module]).output().context("run python")?;
    way.finish()?;
    let text = [output.stdout, output.stderr].concat();
    Ok(SuiteOutcome::of_unittest(&String::from_utf8_lossy(&text), output.status.code()))
}

/// Each stressor checks what it computes (`--verify`).
fn stress(way: &SuiteRunner<'_>, stressors: &[&str]) -> Result<SuiteOutcome> {
    let mut lines = String::new();
    for stressor in stressors {
        let mut command = way.command("stress-ng");
        command.arg(format!("--{stressor}")).args(["2", "--timeout", "2", "--verify"]);
        let output = command.output().context("run stress-ng")?;
        let text =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        let is_well = output.status.success() && !text.contains("fail:");
        lines += &format!("{stressor} {}\n", if is_well { "passed" } else { "failed" });
        way.finish()?;
    }
    Ok(SuiteOutcome::of_lines(&lines, None))
}

fn java(way: &SuiteRunner<'_>) -> Result<SuiteOutcome> {
    let source = root().join("xtask/src/foreign/Locks.java");
    succeed_silently(Command::new("javac").arg("-d").arg(way.folder).arg(source))?;
    let output = way.command("java").args(["-cp", ".", "Locks"]).output().context("run java")?;
    way.finish()?;
    Ok(SuiteOutcome::of_lines(&String::from_utf8_lossy(&output.stdout), output.status.code()))
}

fn openmp(way: &SuiteRunner<'_>, compiler: &str) -> Result<SuiteOutcome> {
    let program = way.folder.join("openmp");
    let source = root().join("xtask/src/foreign/openmp.c");
    succeed_silently(Command::new(compiler).args(["-O2", "-fopenmp", "-o"]).arg(&program).arg(source))?;
    let mut lines = String::new();
    let mut status = None;
    for policy in ["passive", "active"] {
        let mut command = way.command(program.to_str().context("name the program")?);
        let output =
            command.env("OMP_WAIT_POLICY", policy).env("OMP_NUM_THREADS", "4").output().context("run it")?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            lines += &format!("{policy} {line}\n");
        }
        status = status.max(output.status.code());
        way.finish()?;
    }
    Ok(SuiteOutcome::of_lines(&lines, status))
}
