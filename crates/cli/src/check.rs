//! `longpole check`: a gate for continuous integration.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longpole_answer::Recording;
use longpole_report::{CheckCondition, CheckOutcome, visible};

use crate::answer::{Output, open, refused};
use crate::failure::Failure;
use crate::report::OutputFormat;
use crate::terminal;

/// Exit status of a check in which a condition holds.
const FAILED: u8 = 3;

/// Whether a program has become worse, by several recordings of each side.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Recordings to check: of the program as it is now, several runs of the same command.
    #[arg(value_name = "REC", required = true)]
    pub recordings: Vec<PathBuf>,
    /// Recordings to compare them with: of the program as it was.
    #[arg(long, value_name = "BASE", num_args = 1.., required = true)]
    pub against: Vec<PathBuf>,
    /// What fails the check; can be given several times.
    ///
    /// METRIC[.NAME] > LIMIT or < LIMIT. METRIC is elapsed, critical_path, npt, cpu or wait; NAME a procedure (with all that it calls),
    /// self:PROCEDURE, an object (wait only), thread:NAME or process:NAME; LIMIT a change, as +5% or +20ms, or a time, as 1.5s.
    #[arg(long, value_name = "CONDITION", required = true, value_parser = condition, allow_hyphen_values = true)]
    pub fail_if: Vec<CheckCondition>,
    /// How to write it.
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// Width of the text; that of the terminal when left out.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

fn condition(text: &str) -> Result<CheckCondition, String> {
    CheckCondition::parse(text).map_err(|error| visible(&format!("failed to {error}")).into_owned())
}

/// Writes what became of the conditions; the status says whether one holds.
pub fn run(args: &CheckArgs) -> Result<ExitCode> {
    let output = Output::new(args.format, args.width);
    for (at, path) in args.recordings.iter().enumerate() {
        let is_same = |other: &&PathBuf| match (path.canonicalize(), other.canonicalize()) {
            (Ok(path), Ok(other)) => path == other,
            _ => false,
        };
        if args.against.iter().chain(&args.recordings[..at]).any(|other| is_same(&other)) {
            return Err(twice(path));
        }
    }
    let all = |paths: &[PathBuf]| paths.iter().map(|path| open(path)).collect::<Result<Vec<_>>>();
    let check = Recording::check(&all(&args.recordings)?, &all(&args.against)?, &args.fail_if);
    let check = check.map_err(refused)?;
    terminal::print(&output.text(&[check.report]))?;
    let is_failed = check.outcomes.contains(&CheckOutcome::Failed);
    Ok(if is_failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

fn twice(path: &std::path::Path) -> anyhow::Error {
    Failure {
        status: 2,
        hints: vec!["record the program several times; each recording counts once".into()],
        error: anyhow::anyhow!("compare {}: it is named twice", path.display()),
    }
    .into()
}
