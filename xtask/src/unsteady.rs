//! Tests that fail once and pass alone: told by name, and no reason to stop a landing.
//!
//! End-to-end tests execute real programs, and a machine that others use can upset one of three hundred at any time. A defect fails
//! twice. So each test that failed is executed once more with nothing beside it. Where many fail, none is repeated.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// More failures than this are no bad luck.
const MOST_REPEATED: usize = 4;

/// Runs `cargo test` with these arguments; gives the tests that failed at first and passed alone.
///
/// # Errors
/// Where a test fails twice, or too many fail, or the command cannot be run.
pub fn run(arguments: &[&str], command: impl Fn(&[&str]) -> Command) -> Result<Vec<String>> {
    let Some(failed) = run_once(&mut command(arguments))? else { return Ok(Vec::new()) };
    if failed.is_empty() || failed.len() > MOST_REPEATED {
        bail!("run the tests: {} failed", failed.len());
    }
    for test in &failed {
        eprintln!("    {test} failed; once more, alone");
        let mut repeated = arguments.to_vec();
        repeated.extend(["--", "--exact", test]);
        if run_once(&mut command(&repeated))?.is_some() {
            bail!("run {test}: it failed twice");
        }
    }
    Ok(failed)
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
    fn a_test_that_passes_alone_is_told_and_one_that_fails_twice_fails() {
        let unsteady = |arguments: &[&str]| match arguments {
            ["test"] => shell("echo 'test a::b ... FAILED'; echo 'test c ... ok'; exit 101"),
            ["test", "--", "--exact", "a::b"] => shell("echo 'test a::b ... ok'"),
            other => panic!("{other:?}"),
        };
        assert_eq!(run(&["test"], unsteady).unwrap(), ["a::b"]);
        let broken = |_: &[&str]| shell("echo 'test a::b ... FAILED'; exit 101");
        assert!(run(&["test"], broken).unwrap_err().to_string().contains("failed twice"));
    }

    #[test]
    fn what_is_no_test_or_too_many_fails_at_once() {
        assert!(run(&["test"], |_: &[&str]| shell("exit 101")).is_err());
        let many = "for i in 1 2 3 4 5 6; do echo \"test t$i ... FAILED\"; done; exit 101";
        assert!(run(&["test"], |_: &[&str]| shell(many)).is_err());
        assert!(run(&["test"], |_: &[&str]| shell("true")).unwrap().is_empty());
    }
}
