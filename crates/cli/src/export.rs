//! `longpole export`: a recording's answers in a form for others.

mod folder;
mod reports;
mod series;
mod tables;
mod whole;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use longpole_answer::{Question, Recording};
use longpole_report::CellText;

use crate::answer::{open, recording};
use crate::metric_files::DefinitionArgs;
use crate::terminal;
use crate::view::{places, refused};

/// Writes the answers into files that need no longpole.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// The recording; the newest one below the current folder when left out.
    pub recording: Option<PathBuf>,
    /// Of the page: the recording of the program before a change: the page compares the two, as `longpole diff` does.
    #[arg(long, value_name = "BEFORE")]
    pub against: Option<PathBuf>,
    /// What to write.
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: ExportForm,
    /// The file, or the folder for tables [default: the recording's name in the current folder, with `.html`, with
    /// `-tables`].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the tables of an export that is in the folder; other files there stay.
    #[arg(long)]
    pub force: bool,
    /// Folder with source files, or FROM=TO for one that has moved; without it only those that the recording holds are
    /// exported. Can be given several times.
    #[arg(long = "source-dir", value_name = "[FROM=]DIR")]
    pub source_dirs: Vec<String>,
    /// Of CSV: texts as they are, cells that begin with `=`, `+`, `-` or `@` without an apostrophe, control characters
    /// without escapes.
    #[arg(long)]
    pub raw_cells: bool,
    /// Of tables: the part of the run, as `report` takes it. Series are written whole.
    #[arg(long, value_name = "A..B")]
    pub phase: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArgs,
}

/// Forms of export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportForm {
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
    if args.against.is_some() && args.to != ExportForm::Html {
        bail!(
            "compare in tables: --against is for --to html; `longpole diff BEFORE AFTER --format csv` has all rows"
        );
    }
    let folder = recording(args.recording.as_ref())?;
    let recording = open(&folder)?.with_metric_files(args.definitions.read()?);
    let end = if args.to == ExportForm::Html { ".html" } else { "-tables" };
    let output = args.output.clone().unwrap_or_else(|| default_output(&folder, end));
    match args.to {
        ExportForm::Html => page(args, recording, &output)?,
        ExportForm::Csv => write_tables(args, &recording, &output, longpole_tables::TableForm::Csv)?,
        ExportForm::Parquet => write_tables(args, &recording, &output, longpole_tables::TableForm::Parquet)?,
    }
    terminal::print_line(&output.display().to_string())
}

fn page(args: &ExportArgs, recording: Recording, output: &Path) -> Result<()> {
    let sources = places(&args.source_dirs)?;
    let before = args.against.as_ref().map(|path| open(path)).transpose()?;
    let page = longpole_server::export(recording, before, sources).map_err(refused)?;
    whole::write(output, &page.text).with_context(|| format!("write {}", output.display()))?;
    page.sources.iter().for_each(|file| terminal::remark(&format!("the page has the source file {file}")));
    Ok(())
}

/// Every view and every series as a table of its own.
fn write_tables(
    args: &ExportArgs,
    recording: &Recording,
    output: &Path,
    form: longpole_tables::TableForm,
) -> Result<()> {
    folder::permit(output, args.force)?;
    // Before anything is computed: a build without Parquet says so at once.
    let is_raw = args.raw_cells || form == longpole_tables::TableForm::Parquet;
    let cells = if is_raw { CellText::Raw } else { CellText::Plain };
    let mut tables = tables::ExportedTables::create(output, form, cells)?;
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
