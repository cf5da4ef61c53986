//! `cargo xtask foreign`: test suites that are not ours pass under the agent as they do without it.
//!
//! Each suite runs bare and recorded with all hooks telling; what fails must be the same. A suite whose failures
//! differ runs once more, both ways: suites fail by chance, too.

mod outcome;
mod postgres;
mod suites;
mod surroundings;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::built::{self, BuildProfile};
use crate::steps::Steps;
use crate::tools;
use outcome::SuiteOutcome;
use suites::{SUITES, Suite};

/// Runs a suite's command as it is, or under the recorder.
pub struct SuiteRunner<'a> {
    /// The recorder; `None` for a bare run.
    longpole: Option<&'a Path>,
    /// A folder of this run's own.
    folder: &'a Path,
}

impl SuiteRunner<'_> {
    /// A command that runs `program` this way.
    fn command(&self, program: &str) -> Command {
        let mut command = match self.longpole {
            None => Command::new(program),
            Some(longpole) => {
                let mut command = Command::new(longpole);
                command.args(["record", "--quiet", "--collector", "agent", "-o"]);
                command.arg(self.folder.join("run.longpole")).arg("--").arg(program);
                command
            }
        };
        command.current_dir(self.folder).stdin(Stdio::null());
        command
    }

    /// Makes sure that the agent was in the program, and makes room for the next one.
    fn finish(&self) -> Result<()> {
        if self.longpole.is_none() {
            return Ok(());
        }
        let recording = self.folder.join("run.longpole");
        let manifest =
            std::fs::read_to_string(recording.join("recording.json")).context("read the recording")?;
        std::fs::remove_dir_all(&recording).context("remove the recording")?;
        if manifest.contains("the agent is not in") || manifest.contains("the agent was in none") {
            bail!("put the agent into the program: {manifest}");
        }
        Ok(())
    }
}

/// Runs the suites whose names are given; all without a name. Installs what they need where that may be done.
pub fn run(names: &[String], install: bool) -> Result<ExitCode> {
    if let Some(name) = names.iter().find(|name| SUITES.iter().all(|suite| suite.name != **name)) {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("find the suite {name}; there are {}", known.join(", "));
    }
    let chosen: Vec<&Suite> = SUITES
        .iter()
        .filter(|suite| names.is_empty() || names.iter().any(|name| name == suite.name))
        .collect();
    let mut steps = Steps::new();
    let mut skipped = Vec::new();
    run_all(&chosen, install, &mut steps, &mut skipped)?;
    Ok(steps.finish(&skipped))
}

/// Runs the quick suites, as a part of the tests.
pub fn run_quick(install: bool, steps: &mut Steps, skipped: &mut Vec<String>) -> Result<()> {
    let quick: Vec<&Suite> = SUITES.iter().filter(|suite| suite.is_quick).collect();
    run_all(&quick, install, steps, skipped)
}

fn run_all(suites: &[&Suite], install: bool, steps: &mut Steps, skipped: &mut Vec<String>) -> Result<()> {
    let longpole = built::longpole(BuildProfile::Dev)?;
    for suite in suites {
        if install && !(suite.is_here)() {
            tools::install(suite.packages);
        }
        if (suite.is_here)() {
            steps.step(&format!("foreign suite {}", suite.name), || compare(suite, &longpole));
        } else {
            skipped.push(format!(
                "foreign suite {}: apt-get install {}",
                suite.name,
                suite.packages.join(" ")
            ));
        }
    }
    Ok(())
}

/// Runs a suite both ways and holds the failures beside each other.
fn compare(suite: &Suite, longpole: &Path) -> Result<()> {
    const ATTEMPTS: u32 = 2;
    let mut difference = String::new();
    for _ in 0..ATTEMPTS {
        let bare = once(suite, None)?;
        let recorded = once(suite, Some(longpole))?;
        println!("    {}: {bare}; with the agent {recorded}", suite.name);
        difference = recorded.beyond(&bare);
        if difference.is_empty() && recorded.passed > 0 {
            return Ok(());
        }
    }
    bail!("pass {} under the agent: {difference}", suite.name)
}

fn once(suite: &Suite, longpole: Option<&Path>) -> Result<SuiteOutcome> {
    let folder = SuiteFolder::new(suite.name)?;
    let begin = Instant::now();
    let mut outcome = (suite.run)(&SuiteRunner { longpole, folder: &folder.0 })?;
    outcome.seconds = begin.elapsed().as_secs_f64();
    Ok(outcome)
}

/// A folder that everybody may enter, removed with this value.
struct SuiteFolder(PathBuf);

impl SuiteFolder {
    fn new(name: &str) -> Result<SuiteFolder> {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("longpole-foreign-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).with_context(|| format!("create {}", path.display()))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).context("open the folder")?;
        Ok(SuiteFolder(path))
    }
}

impl Drop for SuiteFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
