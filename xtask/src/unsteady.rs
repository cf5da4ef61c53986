//! Tests that fail and pass alone: told by name, and no reason to stop a landing.
//!
//! End-to-end tests execute real programs, and a machine that others use can upset some of four hundred at any time. A defect fails
//! again. So each test that failed is executed once more with nothing of ours beside it; where others took much of the machine even
//! then, it gets another turn. Where many fail, none is repeated.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::machine_share::MachineTimes;

/// More failures than this are no bad luck.
const MOST_REPEATED: usize = 16;
/// A test that fails so often fails, whatever others did.
const MOST_TURNS: usize = 3;
/// A test fails on a calm machine only by a defect: where others take less than this share of it.
const CALM: f64 = 0.05;

/// Runs `cargo test` with these arguments, and those of the test program after `--`; gives the tests that failed at first and passed alone.
///
/// # Errors
/// Where tests fail again on a calm machine, or `MOST_TURNS` times (all of them are named); too many fail; or the command cannot be run.
pub fn run(arguments: &[&str], command: impl Fn(&[&str]) -> Command) -> Result<Vec<String>> {
    let Some(failed) = run_once(&mut command(arguments))? else { return Ok(Vec::new()) };
    if failed.is_empty() || failed.len() > MOST_REPEATED {
        bail!("run the tests: {} failed", failed.len());
    }
    let mut broken = Vec::new();
    for test in &failed {
        let mut repeated = arguments.to_vec();
        if !arguments.contains(&"--") {
            repeated.push("--");
        }
        repeated.extend(["--exact", test]);
        if let Some(turns) = turns_failed(test, || command(&repeated))? {
            broken.push(format!("{test} ({turns} times)"));
        }
    }
    if !broken.is_empty() {
        bail!("run the tests: these failed alone too: {}", broken.join(", "));
    }
    Ok(failed)
}

/// Repeats a test that failed, alone; how often it failed in all, `None` where it passed at last.
fn turns_failed(test: &str, command: impl Fn() -> Command) -> Result<Option<usize>> {
    for turn in 2..=MOST_TURNS {
        eprintln!("    {test} failed; once more, alone");
        let begin = MachineTimes::now()?;
        if run_once(&mut command())?.is_none() {
            return Ok(None);
        }
        let others = begin.share_of_others(&MachineTimes::now()?);
        eprintln!("    others took {:.0} % of the machine", 100.0 * others);
        if others < CALM {
            return Ok(Some(turn));
        }
    }
    Ok(Some(MOST_TURNS))
}

/// Runs tests, showing what they print; the names of those that failed, `None` where all passed.
fn run_once(command: &mut Command) -> Result<Option<Vec<String>>> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("start {command:?}"))?;
    let mut failed = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("it is piped")).split(b'\n') {
        let line = line.context("read what the tests print")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        failed.extend(failed_test(&line).map(str::to_owned));
    }
    let status = child.wait().context("wait for the tests")?;
    Ok((!status.success()).then_some(failed))
}

/// The test of which this line says that it failed.
fn failed_test(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.strip_suffix(" - should panic").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_test_that_passes_alone_is_told_and_one_that_keeps_failing_fails() {
        let unsteady = |arguments: &[&str]| match arguments {
            ["test"] => shell("echo 'test a::b ... FAILED'; echo 'test c ... ok'; exit 101"),
            ["test", "--", "--exact", "a::b"] => shell("echo 'test a::b ... ok'"),
            other => panic!("{other:?}"),
        };
        assert_eq!(run(&["test"], unsteady).unwrap(), ["a::b"]);
        let runs = std::cell::Cell::new(0);
        let broken = |_: &[&str]| {
            runs.set(runs.get() + 1);
            shell("echo 'test a::b ... FAILED'; exit 101")
        };
        let error = run(&["test"], broken).unwrap_err().to_string();
        assert!(error.contains("failed alone too: a::b ("), "{error}");
        assert!((2..=MOST_TURNS).contains(&runs.get()));
    }

    #[test]
    fn every_test_that_failed_is_repeated_and_all_that_fail_again_are_named() {
        let two = |arguments: &[&str]| match arguments {
            ["test"] => {
                shell("printf 'test a::b ... FAILED\\ntest c ... FAILED\\ntest d ... FAILED\\n'; exit 101")
            }
            ["test", "--", "--exact", "c"] => shell("echo 'test c ... ok'"),
            _ => shell("exit 101"),
        };
        let with_ignored = |arguments: &[&str]| match arguments {
            ["test", "--", "--ignored"] => shell("echo 'test c ... FAILED'; exit 101"),
            ["test", "--", "--ignored", "--exact", "c"] => shell("echo 'test c ... ok'"),
            other => panic!("{other:?}"),
        };
        assert_eq!(run(&["test", "--", "--ignored"], with_ignored).unwrap(), ["c"]);
        let error = run(&["test"], two).unwrap_err().to_string();
        assert!(error.contains("a::b") && error.contains("d (") && !error.contains("c ("), "{error}");
    }

    #[test]
    fn what_is_no_test_or_too_many_fails_at_once() {
        assert!(run(&["test"], |_: &[&str]| shell("exit 101")).is_err());
        let many = "for i in $(seq 17); do echo \"test t$i ... FAILED\"; done; exit 101";
        assert!(run(&["test"], |_: &[&str]| shell(many)).is_err());
        assert!(run(&["test"], |_: &[&str]| shell("true")).unwrap().is_empty());
    }
}
