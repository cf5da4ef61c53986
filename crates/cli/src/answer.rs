//! An answer from a recording: opens it, analyses what was asked for, and writes the report in the form wanted.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use longpole_metrics::{Analysis, Details, analyse};
use longpole_recording::Folder;
use longpole_report::{Input, Options, Report, Style};
use longpole_trace::{Timelines, Trace};

use crate::phase::Run;
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
}

/// What is asked of a recording.
#[derive(Clone)]
pub struct Question<'a> {
    pub folder: &'a Path,
    pub phase: Option<&'a str>,
    pub options: Options,
    pub output: Output,
}

/// The recording, or its phase, analysed.
pub struct Asked<'a> {
    pub run: &'a Run<'a>,
    pub analysis: &'a Analysis,
    pub choices: longpole_metrics::Options,
    pub options: Options,
}

impl Asked<'_> {
    /// The report that `build` makes of this and the details.
    pub fn build(&self, details: &Details, build: impl FnOnce(&Input<'_>, &Options) -> Report) -> Report {
        let input = Input {
            program: self.run.program(),
            paths: self.run.paths(),
            objects: self.run.objects(),
            analysis: self.analysis,
            details,
            evidence: &self.run.evidence(),
        };
        build(&input, &self.options)
    }
}

/// The reports that `report` makes, as text in the form wanted: one object or, of several, an array in JSON; one table
/// in CSV.
pub fn answer(
    question: &Question<'_>,
    report: impl FnOnce(&Asked<'_>) -> Result<Vec<Report>>,
) -> Result<String> {
    let Question { folder, phase, options, output } = question;
    let trace = Trace::open(folder)?;
    let run = Run::new(&trace, *phase)?;
    let options = Options { phase: run.span(), ..options.clone() };
    let choices = longpole_metrics::Options { io_idle: options.io_idle };
    let mut analysis = analyse(&run, &choices).with_context(|| unreadable(folder))?;
    // What threads said of where they are counts like what a timer found.
    let samples = trace.evidence().samples + trace.evidence().told_observations;
    if samples > 0 {
        // The samples of a phase are not counted apart; they come with the CPU time.
        let samples = samples as f64 * run.cpu_share();
        analysis.effective_samples = analysis.effective_samples.at_most(samples.round() as u64);
    }
    let reports = report(&Asked { run: &run, analysis: &analysis, choices, options })?;
    let each = |text: &dyn Fn(&Report) -> String| reports.iter().map(text).collect::<Vec<_>>();
    Ok(match (output.format, reports.as_slice()) {
        (Format::Text, _) => each(&|report| report.text(&output.style)).join("\n"),
        (Format::Json, [report]) => report.json(),
        (Format::Json, _) => format!("[\n{}]\n", each(&|report| report.json()).join(",\n")),
        (Format::Csv, _) => each(&Report::csv).concat(),
    })
}

/// What failed when a recording's events could not be read.
pub fn unreadable(folder: &Path) -> String {
    format!("read the recording {}", folder.display())
}

/// The recording that was named, else the newest one.
pub fn recording(named: Option<&PathBuf>) -> Result<PathBuf> {
    match named {
        Some(folder) => Ok(folder.clone()),
        None => Folder::newest_below(Path::new(".")).context("find a recording below the current folder"),
    }
}
