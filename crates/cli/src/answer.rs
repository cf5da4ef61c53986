//! The recording that was named, reports in the form wanted, and what a refused question is told.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use longpole_answer::{Error, Recording};
use longpole_recording::RecordingFolder;
use longpole_report::{CellText, Report, Style, visible};

use crate::failure::Failure;
use crate::report::OutputFormat;
use crate::terminal;

/// How a report is written.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub format: OutputFormat,
    pub style: Style,
    pub cells: CellText,
}

impl Output {
    /// For standard output, at this width or the terminal's.
    pub fn new(format: OutputFormat, width: Option<usize>) -> Output {
        let style = Style::of_stdout();
        let style = match width {
            Some(width) => Style { width: Style::plain(width).width, ..style },
            None => style,
        };
        Output { format, style, cells: CellText::Plain }
    }

    /// The same with texts of CSV as they are, if wanted.
    pub fn with_raw_cells(self, is_raw: bool) -> Output {
        Output { cells: if is_raw { CellText::Raw } else { CellText::Plain }, ..self }
    }

    /// Writes what was made of the recording in a folder to standard output.
    pub fn print(&self, folder: &Path, text: &str) -> Result<()> {
        // Apart: an answer of hundreds of megabytes is copied for no heading.
        terminal::print(&self.heading(folder))?;
        match (self.format, self.cells) {
            (OutputFormat::Csv, CellText::Raw) => terminal::print_raw(text),
            _ => terminal::print(text),
        }
    }

    /// What text begins with: the recording that it is about. Other forms are data only.
    pub fn heading(&self, recording: &Path) -> String {
        match self.format {
            OutputFormat::Text => format!("Recording: {}\n\n", visible(&recording.to_string_lossy())),
            OutputFormat::Json | OutputFormat::Csv => String::new(),
        }
    }

    /// The reports as text in the form wanted: one object or, of several, an array in JSON; one table in CSV.
    pub fn text(&self, reports: &[Report]) -> String {
        // One after the other into one text: of several copies of all, a long answer is most of the memory.
        let all = |between: &str, text: &dyn Fn(&Report) -> String| {
            let mut joined = String::new();
            for (index, report) in reports.iter().enumerate() {
                joined += if index > 0 { between } else { "" };
                joined += &text(report);
            }
            joined
        };
        match (self.format, reports) {
            (OutputFormat::Text, _) => all("\n", &|report| report.text(&self.style)),
            (OutputFormat::Json, [report]) => report.json(),
            (OutputFormat::Json, _) => {
                let mut text = all(",\n", &Report::json);
                text.insert_str(0, "[\n");
                text + "]\n"
            }
            (OutputFormat::Csv, _) => all("", &|report| report.csv(self.cells)),
        }
    }
}

/// The recording that was named, else the newest one.
pub fn recording(named: Option<&PathBuf>) -> Result<PathBuf> {
    match named {
        Some(folder) => Ok(folder.clone()),
        None => {
            RecordingFolder::newest_below(Path::new(".")).context("find a recording below the current folder")
        }
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
