//! The recording that was named, reports in the form wanted, and what a refused question is told.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use longpole_answer::{Error, Recording};
use longpole_recording::Folder;
use longpole_report::{Report, Style};

use crate::failure::Failure;
use crate::report::Format;

/// How a report is written.
#[derive(Clone, Copy)]
pub struct Output {
    pub format: Format,
    pub style: Style,
}

impl Output {
    /// For standard output, at this width or the terminal's.
    pub fn new(format: Format, width: Option<usize>) -> Output {
        let style = Style::of_stdout();
        let style = match width {
            Some(width) => Style { width: Style::plain(width).width, ..style },
            None => style,
        };
        Output { format, style }
    }

    /// The reports as text in the form wanted: one object or, of several, an array in JSON; one table in CSV.
    pub fn text(&self, reports: &[Report]) -> String {
        let each = |text: &dyn Fn(&Report) -> String| reports.iter().map(text).collect::<Vec<_>>();
        match (self.format, reports) {
            (Format::Text, _) => each(&|report| report.text(&self.style)).join("\n"),
            (Format::Json, [report]) => report.json(),
            (Format::Json, _) => format!("[\n{}]\n", each(&|report| report.json()).join(",\n")),
            (Format::Csv, _) => each(&Report::csv).concat(),
        }
    }
}

/// The recording that was named, else the newest one.
pub fn recording(named: Option<&PathBuf>) -> Result<PathBuf> {
    match named {
        Some(folder) => Ok(folder.clone()),
        None => Folder::newest_below(Path::new(".")).context("find a recording below the current folder"),
    }
}

/// The recording in a folder, ready for questions.
pub fn open(folder: &Path) -> Result<Recording> {
    Recording::open(folder).map_err(refused)
}

/// A question without an answer, with what to do about it.
pub fn refused(error: Error) -> anyhow::Error {
    let hints = error.hints();
    Failure { status: 1, hints, error: error.into() }.into()
}
