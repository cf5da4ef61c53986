//! `longpole report`: one view of a recording on standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use longpole_answer::Question;
use longpole_metrics::{By, Weight};
use longpole_report::{Style, View};

use crate::answer::{Output, open, recording, refused};
use crate::curve;
use crate::failure::Failure;
use crate::metric_files::DefinitionArgs;

/// Answers from a recording.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// The recording; the newest one below the current folder when left out.
    pub recording: Option<PathBuf>,
    /// What to show.
    #[arg(long, default_value = "summary", value_parser = views_of, value_name = "VIEW",
        help = views_help())]
    pub view: Views,
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
    /// objects), a procedure, a thread or a process (view call-tree), a file (view source). `procedure:NAME` and so on
    /// say what it is.
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
    /// What has weight on the critical path: useful CPU time alone, or elapsed time.
    #[arg(long, value_enum, default_value_t)]
    pub weight: PathWeight,
    /// Whether threads that wait for a device or a page count as busy.
    #[arg(long, value_enum, default_value_t)]
    pub io: Io,
    /// In `waits`: also those that nobody wants explained. In `objects`: also locks that nobody waited for.
    #[arg(long)]
    pub all: bool,
    /// One row of the view `waits`, by its place, in full.
    #[arg(long, value_name = "N")]
    pub explain: Option<usize>,
    /// Instead of a view, a metric over time; several are shown on one time axis. `--view metrics` lists what there is.
    #[arg(long, value_name = "METRIC", conflicts_with_all = ["view", "explain"])]
    pub curve: Vec<String>,
    /// In `metrics`: this metric only; can be given several times. With `--by machine`, `process` or `thread`: of every
    /// node of the tree down to there.
    #[arg(long, value_name = "METRIC")]
    pub metric: Vec<String>,
    /// What the curves are of: program, machine:NAME, process:NAME, thread:NAME, procedure:NAME, object:NAME.
    #[arg(long, value_name = "NODE", default_value = "program", requires = "curve")]
    pub node: String,
    /// Bins of the curves.
    #[arg(long, value_name = "BINS", default_value_t = 100, requires = "curve",
        value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub bins: u32,
    #[command(flatten)]
    pub definitions: DefinitionArgs,
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

/// One or more views.
#[derive(Clone, Debug)]
pub struct Views(Vec<View>);

fn views_of(names: &str) -> Result<Views, String> {
    if names == "all" {
        return Ok(Views(View::ALL.to_vec()));
    }
    let view = |name: &str| name.trim().parse::<View>().map_err(|error| format!("failed to {error}"));
    names.split(',').map(view).collect::<Result<_, _>>().map(Views)
}

/// The views there are, for the help.
fn views_help() -> String {
    let names: Vec<&str> = View::ALL.iter().map(|view| view.name()).collect();
    let (last, before) = names.split_last().expect("there are views");
    format!("What to show: {} or {last}; several with commas between them, or all", before.join(", "))
}

impl ReportArgs {
    fn question(&self) -> Question {
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
        Question {
            phase: self.phase.clone(),
            of: self.of.clone(),
            by,
            top: self.top,
            weight,
            io_idle: self.io == Io::Idle,
            all: self.all,
            explain: self.explain,
            define: self.definitions.define.clone(),
            metrics: self.metric.clone(),
        }
    }
}

/// Writes the view that was asked for.
pub fn run(args: &ReportArgs) -> Result<()> {
    let folder = recording(args.recording.as_ref())?;
    let recording = open(&folder)?.with_metric_files(args.definitions.read()?);
    if !args.curve.is_empty() {
        return curve::run(&recording, args);
    }
    let Views(views) = &args.view;
    if args.format == Format::Csv && views.len() > 1 {
        return Err(one_table());
    }
    let views = if args.explain.is_some() { &[View::Waits] } else { views.as_slice() };
    let reports = recording.reports(views, &args.question()).map_err(refused)?;
    write(&Output::new(args.format, args.width).text(&reports))
}

/// The short answer that `record` ends with.
pub fn summary(recording: &Path, style: Style) -> Result<String> {
    let report = open(recording)?.report(View::Summary, &Question::default()).map_err(refused)?;
    Ok(report.text(&style))
}

fn one_table() -> anyhow::Error {
    Failure {
        status: 2,
        hints: vec!["`--format json` holds several views".into()],
        error: anyhow::anyhow!("write several views as CSV: a table has the columns of one view"),
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
