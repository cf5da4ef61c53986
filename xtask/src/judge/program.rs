//! What a judged program is: how its versions are made, and which changes are predicted and then made truly.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::built::target;
use crate::programs;
use crate::steps::succeed;

/// What makes a program hard to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// At least twice as many threads as processors want to run.
    Crowded,
    /// A few more threads than processors want to run at times.
    MoreThreads,
    /// Threads wait busily.
    Spinning,
    /// A lock is what limits it, or nearly so.
    LockBound,
    /// Bound by synchronisation, as the paper's sparse Choleski.
    Synchronised,
    /// In phases, some of them serial, as the paper's join in shared memory.
    Phased,
    /// One program on much data without synchronisation until its end, as the paper's cache simulator.
    Spmd,
    /// Not written for this.
    Real,
}

impl ProgramKind {
    /// As the page has it.
    pub fn title(self) -> &'static str {
        match self {
            ProgramKind::Crowded => "crowded",
            ProgramKind::MoreThreads => "more threads than processors",
            ProgramKind::Spinning => "spinning",
            ProgramKind::LockBound => "lock-bound",
            ProgramKind::Synchronised => "bound by synchronisation",
            ProgramKind::Phased => "phased",
            ProgramKind::Spmd => "SPMD",
            ProgramKind::Real => "real",
        }
    }
}

/// Where a program comes from.
#[derive(Clone, Copy, Debug)]
pub enum JudgedSource {
    /// `programs/NAME.c` or `.cpp`, compiled with these flags and run in this environment.
    Compiled {
        file: &'static str,
        flags: &'static [&'static str],
        environment: &'static [(&'static str, &'static str)],
    },
    /// A binary of `programs/crates/`; what it leaves out is in its environment.
    Crate { binary: &'static str },
    /// A program of `programs/go/`; what it leaves out is in its environment.
    Go { file: &'static str },
    /// A line for the shell, run in a folder in which `prepare` was run before.
    Installed { prepare: &'static str, line: &'static str },
}

/// How the changed program is made.
#[derive(Clone, Copy, Debug)]
pub enum ChangedVersion {
    /// The procedure that the change names is compiled with its work at the change's factor (`programs/work.h`); a program of crates
    /// leaves it out.
    Scaled,
    /// Compiled with these flags beside the program's.
    Flags(&'static [&'static str]),
    /// Another line for the shell.
    Line(&'static str),
}

/// A change that is predicted, and made.
#[derive(Clone, Copy, Debug)]
pub struct JudgedChange {
    pub name: &'static str,
    /// As `longpole what-if --set` takes it.
    pub set: &'static str,
    pub version: ChangedVersion,
}

/// Which rows of a report a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedRow {
    /// What a row is.
    pub by: &'static str,
    /// The field with its share.
    pub share: &'static str,
    pub name: &'static str,
}

/// A program that is judged.
#[derive(Clone, Copy, Debug)]
pub struct JudgedProgram {
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    pub kinds: &'static [ProgramKind],
    /// Why predictions miss, where that is known.
    pub why: &'static str,
    pub source: JudgedSource,
    pub changes: &'static [JudgedChange],
}

impl JudgedChange {
    /// What of a report's rows the change is about; `None` if it is about an object.
    pub fn row(&self) -> Option<JudgedRow> {
        let (what, _) = self.set.rsplit_once('=')?;
        let (by, share, name) = match what.split_once(':')? {
            ("self", name) => ("procedure", "percent", name),
            ("procedure", name) => ("procedure", "inclusive_percent", name),
            ("process", name) => ("process", "percent", name),
            _ => return None,
        };
        Some(JudgedRow { by, share, name })
    }

    /// What the time is multiplied by.
    pub fn factor(&self) -> Result<f64> {
        let factor = self.set.rsplit_once('=').and_then(|(_, factor)| factor.parse().ok());
        factor.with_context(|| format!("find a factor in {}", self.set))
    }

    /// The flags that change a compiled program.
    fn flags(&self) -> Result<Vec<String>> {
        Ok(match self.version {
            ChangedVersion::Flags(flags) => flags.iter().map(|&flag| flag.to_owned()).collect(),
            ChangedVersion::Scaled => {
                let name = self.row().with_context(|| format!("scale {}", self.set))?.name;
                vec![format!("-DSCALED=\"{name}\""), format!("-DFACTOR={}", self.factor()?)]
            }
            ChangedVersion::Line(_) => Vec::new(),
        })
    }
}

/// A version of a program that can be run.
pub struct BuiltVersion {
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    environment: Vec<(&'static str, &'static str)>,
}

impl BuiltVersion {
    /// The command that runs it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder).envs(self.environment.iter().copied());
        command
    }

    /// The command that runs it under another one, which takes it at its end.
    pub fn command_under(&self, mut over: Command) -> Command {
        over.arg(&self.program).args(&self.arguments).current_dir(&self.folder);
        over.envs(self.environment.iter().copied());
        over
    }
}

impl JudgedProgram {
    /// The program as it is, and with each change, in their order.
    pub fn build(&self, folder: &Path) -> Result<(BuiltVersion, Vec<BuiltVersion>)> {
        std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        match self.source {
            JudgedSource::Installed { prepare, .. } => {
                succeed(Command::new("sh").args(["-c", prepare]).current_dir(folder))?;
            }
            JudgedSource::Crate { .. } => programs::build_crates(&crates())?,
            JudgedSource::Go { file } => {
                programs::build_go(folder, file)?;
            }
            JudgedSource::Compiled { .. } => {}
        }
        let unchanged = self.version(&folder.join("unchanged"), None)?;
        let changed = self
            .changes
            .iter()
            .enumerate()
            .map(|(index, change)| self.version(&folder.join(format!("change-{index}")), Some(change)));
        Ok((unchanged, changed.collect::<Result<_>>()?))
    }

    fn version(&self, folder: &Path, change: Option<&JudgedChange>) -> Result<BuiltVersion> {
        match self.source {
            JudgedSource::Compiled { file, flags, environment } => {
                std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
                let mut all: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
                all.extend(change.map(JudgedChange::flags).transpose()?.unwrap_or_default());
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                let program = programs::build(folder, file, &all)?;
                let environment = environment.to_vec();
                Ok(BuiltVersion { program, arguments: Vec::new(), folder: folder.to_owned(), environment })
            }
            JudgedSource::Crate { binary } => {
                leaving_out(crates().join("release").join(binary), parent(folder)?, change)
            }
            JudgedSource::Go { file } => {
                let folder = parent(folder)?;
                leaving_out(folder.join(file), folder, change)
            }
            JudgedSource::Installed { line, .. } => {
                let line = match change.map(|change| change.version) {
                    Some(ChangedVersion::Line(changed)) => changed,
                    _ => line,
                };
                let arguments = vec!["-c".to_owned(), line.to_owned()];
                let folder = parent(folder)?.to_owned();
                Ok(BuiltVersion { program: "/bin/bash".into(), arguments, folder, environment: Vec::new() })
            }
        }
    }
}

/// The folder of all versions of a program.
fn parent(folder: &Path) -> Result<&Path> {
    folder.parent().context("find the program's folder")
}

/// A program that is told in its environment what to leave out.
fn leaving_out(program: PathBuf, folder: &Path, change: Option<&JudgedChange>) -> Result<BuiltVersion> {
    let name = |change: &JudgedChange| {
        // Go's procedures are named by their package too.
        let name = change.row().with_context(|| format!("leave {} out", change.set))?.name;
        Ok::<_, anyhow::Error>(("LEAVE_OUT", name.strip_prefix("main.").unwrap_or(name)))
    };
    let environment = change.map(name).transpose()?.into_iter().collect();
    Ok(BuiltVersion { program, arguments: Vec::new(), folder: folder.to_owned(), environment })
}

/// Where the programs of crates are built.
fn crates() -> PathBuf {
    target().join("judge/crates")
}
