//! A run of named steps: each is timed, all are tried, and the last line says how it went.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// The repository's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

/// The cargo that runs this.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// Runs a command to its end; anything but success is an error that names it.
pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("start {command:?}"))?;
    if !status.success() {
        bail!("run {command:?}: {status}");
    }
    Ok(())
}

/// The same for what only prepares: what it prints is shown where it fails.
pub fn succeed_silently(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    if !output.status.success() {
        bail!("run {command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// The steps done so far.
pub struct Steps {
    begin: Instant,
    done: usize,
    failed: Vec<String>,
}

impl Steps {
    /// No steps yet.
    pub fn new() -> Self {
        Steps { begin: Instant::now(), done: 0, failed: Vec::new() }
    }

    /// Does one step; its failure is reported and kept, and the next step is still tried.
    pub fn step(&mut self, name: &str, action: impl FnOnce() -> Result<()>) {
        eprintln!("==> {name}");
        let begin = Instant::now();
        let result = action();
        let seconds = begin.elapsed().as_secs_f64();
        self.done += 1;
        match result {
            Ok(()) => eprintln!("    {name}: passed in {seconds:.1} s"),
            Err(error) => {
                eprintln!("    {name}: FAILED after {seconds:.1} s: failed to {error:#}");
                self.failed.push(name.to_owned());
            }
        }
    }

    /// Prints the last line and gives the exit status.
    pub fn finish(self, skipped: &[String]) -> ExitCode {
        let seconds = self.begin.elapsed().as_secs_f64();
        for line in skipped {
            eprintln!("skipped: {line}");
        }
        let passed = self.done - self.failed.len();
        let skips =
            if skipped.is_empty() { "nothing".to_owned() } else { format!("{} tests", skipped.len()) };
        if self.failed.is_empty() {
            println!("xtask: passed: {passed} of {passed} steps, {skips} skipped, {seconds:.0} s");
            return ExitCode::SUCCESS;
        }
        let names = self.failed.join(", ");
        println!(
            "xtask: FAILED: {names} ({passed} of {} steps passed, {skips} skipped, {seconds:.0} s)",
            self.done
        );
        ExitCode::FAILURE
    }
}
