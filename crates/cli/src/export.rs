//! `longpole export`: a recording's answers in a form for others.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::answer::{open, recording};
use crate::failure::print;
use crate::view::{places, refused};

/// Writes the answers into a file that needs no longpole.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// The recording; the newest one below the current folder when left out.
    pub recording: Option<PathBuf>,
    /// What to write.
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: Form,
    /// The file [default: the recording's name in the current folder].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where source files are now: FROM=TO for a folder that has moved, or a folder to look below; can be given several
    /// times.
    #[arg(long = "source-dir", value_name = "[FROM=]DIR")]
    pub source_dirs: Vec<String>,
}

/// Forms of export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// The page of `longpole view` with its answers, as one file for any browser.
    Html,
}

/// Writes the file, and its name on standard output.
pub fn run(args: &ExportArgs) -> Result<()> {
    let folder = recording(args.recording.as_ref())?;
    let sources = places(&args.source_dirs)?;
    let Form::Html = args.to;
    let page = longpole_server::export(open(&folder)?, sources).map_err(refused)?;
    let output = args.output.clone().unwrap_or_else(|| default_output(&folder));
    std::fs::write(&output, page).with_context(|| format!("write {}", output.display()))?;
    print(&format!("{}\n", output.display()))
}

/// `NAME.html` in the current folder.
fn default_output(recording: &Path) -> PathBuf {
    let whole = recording.canonicalize().unwrap_or_else(|_| recording.to_owned());
    let mut name = whole.file_stem().unwrap_or("recording".as_ref()).to_owned();
    name.push(".html");
    name.into()
}
