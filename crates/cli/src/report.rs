//! `longpole report`: one view of a recording on standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use longpole_metrics::{By, Weight, analyse, details};
use longpole_recording::Folder;
use longpole_report::{Input, Names, Options, Style, View, build};
use longpole_trace::{Timelines, Trace};

use crate::failure::Failure;
use crate::phase::Run;

/// Answers from a recording.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// The recording; the newest one below the current folder when left out.
    pub recording: Option<PathBuf>,
    /// What to show.
    #[arg(long, default_value = "summary", value_parser = view_of, value_name = "VIEW",
        help = views_help())]
    pub view: View,
    /// What a row is.
    #[arg(long, value_enum, default_value_t)]
    pub by: RowKind,
    /// Rows to show (text: 20; JSON and CSV: all).
    #[arg(long, value_name = "ROWS")]
    pub top: Option<usize>,
    /// The part of the run to report on: A..B in seconds or percent (`1.5s..3s`, `20%..60%`, `..2s`, `50%..`), or a
    /// procedure: from its first to its last observation.
    #[arg(long, value_name = "A..B")]
    pub phase: Option<String>,
    /// The one thing to report on, by its name: a procedure, an object or a thread (view parallelism), an object (view
    /// objects). `procedure:NAME` and so on say what it is.
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
    /// What has weight on the critical path: useful CPU time alone, or elapsed time.
    #[arg(long, value_enum, default_value_t)]
    pub weight: PathWeight,
    /// Whether threads that wait for a device or a page count as busy.
    #[arg(long, value_enum, default_value_t)]
    pub io: Io,
    /// In `waits`: also those that nobody wants explained.
    #[arg(long)]
    pub all: bool,
    /// One row of the view `waits`, by its place, in full.
    #[arg(long, value_name = "N")]
    pub explain: Option<usize>,
    /// How to write it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Width of the text; that of the terminal when left out.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

/// Kinds of row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RowKind {
    /// Procedures.
    #[default]
    Procedure,
    /// Lines of procedures.
    Line,
    /// Threads.
    Thread,
    /// Processes.
    Process,
    /// Machines.
    Machine,
    /// Locks and other objects that threads wait for.
    Object,
}

/// Weights of the critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PathWeight {
    /// Useful CPU time.
    #[default]
    Cpu,
    /// Elapsed time: also io, sleep, waiting for a CPU, messages.
    Elapsed,
}

/// What waiting for devices is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Io {
    /// Work of the device on the thread's behalf.
    #[default]
    Busy,
    /// Idleness.
    Idle,
}

/// Forms of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One object.
    Json,
    /// Rows.
    Csv,
}

fn view_of(name: &str) -> Result<View, String> {
    name.parse().map_err(|error: longpole_report::Error| format!("failed to {error}"))
}

/// The views there are, for the help.
fn views_help() -> String {
    let names: Vec<&str> = View::ALL.iter().map(|view| view.name()).collect();
    let (last, before) = names.split_last().expect("there are views");
    format!("What to show: {} or {last}", before.join(", "))
}

impl ReportArgs {
    fn options(&self) -> Options {
        let by = match self.by {
            RowKind::Procedure => By::Procedure,
            RowKind::Line => By::Line,
            RowKind::Thread => By::Thread,
            RowKind::Process => By::Process,
            RowKind::Machine => By::Machine,
            RowKind::Object => By::Object,
        };
        let weight = match self.weight {
            PathWeight::Cpu => Weight::Cpu,
            PathWeight::Elapsed => Weight::Elapsed,
        };
        Options {
            by,
            top: self.top,
            weight,
            io_idle: self.io == Io::Idle,
            all: self.all,
            explain: self.explain,
            ..Options::default()
        }
    }

    fn part(&self) -> Part<'_> {
        Part { phase: self.phase.as_deref(), of: self.of.as_deref() }
    }

    fn style(&self) -> Style {
        let style = Style::of_stdout();
        match self.width {
            Some(width) => Style { width: Style::plain(width).width, ..style },
            None => style,
        }
    }
}

/// Writes the view that was asked for.
pub fn run(args: &ReportArgs) -> Result<()> {
    let folder = match &args.recording {
        Some(folder) => folder.clone(),
        None => newest()?,
    };
    let output = Output { format: args.format, style: args.style() };
    let view = if args.explain.is_some() { View::Waits } else { args.view };
    write(&render(&folder, view, args.part(), args.options(), output)?)
}

/// The short answer that `record` ends with.
pub fn summary(recording: &Path, style: Style) -> Result<String> {
    let output = Output { format: Format::Text, style };
    render(recording, View::Summary, Part::default(), Options::default(), output)
}

fn newest() -> Result<PathBuf> {
    Folder::newest_below(Path::new(".")).context("find a recording below the current folder")
}

/// The part of a recording that a report is about, as its user names it.
#[derive(Clone, Copy, Default)]
struct Part<'a> {
    phase: Option<&'a str>,
    of: Option<&'a str>,
}

/// How a report is written.
#[derive(Clone, Copy)]
struct Output {
    format: Format,
    style: Style,
}

fn render(folder: &Path, view: View, part: Part<'_>, options: Options, output: Output) -> Result<String> {
    let failed = || format!("read the recording {}", folder.display());
    let trace = Trace::open(folder)?;
    let run = Run::new(&trace, part.phase)?;
    let names = Names { program: run.program(), paths: run.paths(), objects: run.objects() };
    let of = part.of.map(|of| view.find(of, &names)).transpose()?;
    let options = Options { phase: run.span(), of, ..options };
    let choices = longpole_metrics::Options { io_idle: options.io_idle };
    let mut analysis = analyse(&run, &choices).with_context(failed)?;
    let samples = trace.evidence().samples;
    if samples > 0 {
        // The samples of a phase are not counted apart; they come with the CPU time.
        let samples = samples as f64 * run.cpu_share();
        analysis.effective_samples = analysis.effective_samples.at_most(samples.round() as u64);
    }
    let details = details(&run, &choices, &view.demand(&options), &analysis).with_context(failed)?;
    let input = Input {
        program: run.program(),
        paths: run.paths(),
        objects: run.objects(),
        analysis: &analysis,
        details: &details,
        evidence: &run.evidence(),
    };
    let report = build(view, &input, &options);
    if let Some(number) = options.explain.filter(|_| report.rows.is_empty()) {
        return Err(no_such_wait(number));
    }
    Ok(match output.format {
        Format::Text => report.text(&output.style),
        Format::Json => report.json(),
        Format::Csv => report.csv(),
    })
}

fn no_such_wait(number: usize) -> anyhow::Error {
    Failure {
        status: 1,
        hints: vec!["`longpole report --view waits --all` lists the waits, the first one is 1".into()],
        error: anyhow::anyhow!("explain wait {number}: the view `waits` has no such row"),
    }
    .into()
}

/// Writes text to standard output. A reader that stops early is no error.
pub fn write(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("write to standard output"),
    }
}
