//! `cargo xtask foreign`: test suites that are not ours pass while they are recorded as they do bare.
//!
//! Each suite runs bare and recorded by each collector that is asked for, by default with all of the agent's hooks telling;
//! what fails must be the same. A suite whose failures differ runs once more, both ways: suites fail by chance, too.

mod outcome;
mod postgres;
mod suites;
mod surroundings;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::built::{self, BuildProfile};
use crate::collector_options::CollectorOptions;
use crate::steps::Steps;
use crate::tools;
use outcome::SuiteOutcome;
use suites::{SUITES, Suite};

/// Runs a suite's command as it is, or under the recorder.
pub struct SuiteRunner<'a> {
    /// The recorder and how it collects; `None` for a bare run.
    recorder: Option<(&'a Path, CollectorOptions)>,
    /// A folder of this run's own.
    folder: &'a Path,
}

impl SuiteRunner<'_> {
    /// A command that runs `program` this way.
    fn command(&self, program: &str) -> Command {
        let mut command = match self.recorder {
            None => Command::new(program),
            Some((longpole, way)) => {
                let mut command = Command::new(longpole);
                command.args(["record", "--quiet"]).args(way.options).arg("-o");
                command.arg(self.folder.join("run.longpole")).arg("--").arg(program);
                command
            }
        };
        command.current_dir(self.folder).stdin(Stdio::null());
        command
    }

    /// Whether the recorder is one for the system administrator.
    fn needs_root(&self) -> bool {
        self.recorder.is_some_and(|(_, way)| way.needs_root)
    }

    /// Makes sure that the program was recorded, by the agent with the agent in it, and makes room for the next one.
    fn finish(&self) -> Result<()> {
        let Some((_, way)) = self.recorder else { return Ok(()) };
        let recording = self.folder.join("run.longpole");
        let manifest =
            std::fs::read_to_string(recording.join("recording.json")).context("read the recording")?;
        std::fs::remove_dir_all(&recording).context("remove the recording")?;
        let lacks_agent =
            manifest.contains("the agent is not in") || manifest.contains("the agent was in none");
        if way.title == CollectorOptions::AGENT.title && lacks_agent {
            bail!("put the agent into the program: {manifest}");
        }
        Ok(())
    }
}

/// Runs the suites whose names are given, all without a name, by these collectors. Installs what they need where that
/// may be done.
pub fn run(names: &[String], collectors: &[String], install: bool) -> Result<ExitCode> {
    if let Some(name) = names.iter().find(|name| SUITES.iter().all(|suite| suite.name != **name)) {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("find the suite {name}; there are {}", known.join(", "));
    }
    let chosen: Vec<&Suite> = SUITES
        .iter()
        .filter(|suite| names.is_empty() || names.iter().any(|name| name == suite.name))
        .collect();
    let ways: Vec<CollectorOptions> =
        collectors.iter().map(|title| CollectorOptions::of_title(title)).collect::<Result<_>>()?;
    let mut steps = Steps::new();
    let mut skipped = Vec::new();
    for way in ways {
        run_all(&chosen, way, install, &mut steps, &mut skipped)?;
    }
    Ok(steps.finish(&skipped))
}

/// Runs the quick suites, as a part of the tests.
pub fn run_quick(install: bool, steps: &mut Steps, skipped: &mut Vec<String>) -> Result<()> {
    let quick: Vec<&Suite> = SUITES.iter().filter(|suite| suite.is_quick).collect();
    run_all(&quick, CollectorOptions::AGENT, install, steps, skipped)
}

fn run_all(
    suites: &[&Suite],
    way: CollectorOptions,
    install: bool,
    steps: &mut Steps,
    skipped: &mut Vec<String>,
) -> Result<()> {
    let longpole = built::longpole(BuildProfile::Dev)?;
    for suite in suites {
        if install && !(suite.is_here)() {
            tools::install(suite.packages);
        }
        if (suite.is_here)() {
            steps.step(&format!("foreign suite {} by {}", suite.name, way.title), || {
                compare(suite, (&longpole, way))
            });
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
fn compare(suite: &Suite, recorder: (&Path, CollectorOptions)) -> Result<()> {
    const ATTEMPTS: u32 = 2;
    let mut difference = String::new();
    for _ in 0..ATTEMPTS {
        let bare = once(suite, None)?;
        let recorded = once(suite, Some(recorder))?;
        println!("    {}: {bare}; recorded {recorded}", suite.name);
        difference = recorded.beyond(&bare);
        if difference.is_empty() && recorded.passed > 0 {
            return Ok(());
        }
    }
    bail!("pass {} while it is recorded: {difference}", suite.name)
}

fn once(suite: &Suite, recorder: Option<(&Path, CollectorOptions)>) -> Result<SuiteOutcome> {
    let folder = SuiteFolder::new(suite.name)?;
    let begin = Instant::now();
    let mut outcome = (suite.run)(&SuiteRunner { recorder, folder: &folder.0 })?;
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
