//! `longpole export`: a recording's answers in a form for others.

mod reports;
mod series;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use longpole_answer::{Question, Recording};

use crate::answer::{open, recording};
use crate::failure::print;
use crate::metric_files::DefinitionArgs;
use crate::view::{places, refused};

/// Writes the answers into files that need no longpole.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// The recording; the newest one below the current folder when left out.
    pub recording: Option<PathBuf>,
    /// What to write.
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: Form,
    /// The file, or the folder for tables [default: the recording's name in the current folder, with `.html`, with
    /// `-tables`].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where source files are now: FROM=TO for a folder that has moved, or a folder to look below; can be given several
    /// times.
    #[arg(long = "source-dir", value_name = "[FROM=]DIR")]
    pub source_dirs: Vec<String>,
    /// Of tables: the part of the run, as `report` takes it. Series are written whole.
    #[arg(long, value_name = "A..B")]
    pub phase: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArgs,
}

/// Forms of export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// The page of `longpole view` with its answers, as one file for any browser.
    Html,
    /// A folder of tables: a CSV file for each view, `series.csv` with every value that was collected from outside, and
    /// `columns.csv`, which says what the columns mean.
    Csv,
    /// The same as Parquet files.
    Parquet,
}

/// Writes the file or folder, and its name on standard output.
pub fn run(args: &ExportArgs) -> Result<()> {
    let folder = recording(args.recording.as_ref())?;
    let recording = open(&folder)?.with_metric_files(args.definitions.read()?);
    let end = if args.to == Form::Html { ".html" } else { "-tables" };
    let output = args.output.clone().unwrap_or_else(|| default_output(&folder, end));
    match args.to {
        Form::Html => page(args, recording, &output)?,
        Form::Csv => write_tables(args, &recording, &output, longpole_tables::Form::Csv)?,
        Form::Parquet => write_tables(args, &recording, &output, longpole_tables::Form::Parquet)?,
    }
    print(&format!("{}\n", output.display()))
}

fn page(args: &ExportArgs, recording: Recording, output: &Path) -> Result<()> {
    let sources = places(&args.source_dirs)?;
    let page = longpole_server::export(recording, sources).map_err(refused)?;
    std::fs::write(output, page).with_context(|| format!("write {}", output.display()))
}

/// Every view and every series as a table of its own.
fn write_tables(
    args: &ExportArgs,
    recording: &Recording,
    output: &Path,
    form: longpole_tables::Form,
) -> Result<()> {
    // Before anything is computed: a build without Parquet says so at once.
    let mut tables = tables::Tables::create(output, form)?;
    let question = Question {
        phase: args.phase.clone(),
        define: args.definitions.define.clone(),
        ..Question::default()
    };
    reports::write(recording, &question, &mut tables)?;
    series::write(recording, &mut tables)?;
    tables.finish()
}

/// `NAME` and this end, in the current folder.
fn default_output(recording: &Path, end: &str) -> PathBuf {
    let whole = recording.canonicalize().unwrap_or_else(|_| recording.to_owned());
    let mut name = whole.file_stem().unwrap_or("recording".as_ref()).to_owned();
    name.push(end);
    name.into()
}
