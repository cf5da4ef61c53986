//! `longpole report`: one view of a recording on standard output.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use longpole_answer::{
    Choice, CommunicationOptions, DeviceWaits, Question, Recording, SimulatedCosts, UnitProtocol,
};
use longpole_metrics::{By, Order, Weight};
use longpole_report::{Fold, Sort, Style, View, visible};

use crate::answer::{Output, open, recording, refused};
use crate::arguments::choice;
use crate::curve;
use crate::failure::Failure;
use crate::metric_files::DefinitionArgs;
use crate::simulate::costs;

/// Bytes of the longest answer that is remembered.
const LARGEST_KEPT: usize = 4 << 20;

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
    #[arg(long, value_parser = choice::<By>(), default_value = By::default().word())]
    pub by: By,
    /// What ranks procedures and lines: their own share, or with all that was done on their behalf.
    #[arg(long, value_parser = choice::<Sort>(), default_value = Sort::default().word())]
    pub sort: Sort,
    /// Which procedures are folded into the procedure that called them [default: libraries; none in call-tree, callers and source].
    #[arg(long, value_parser = choice::<Fold>())]
    pub fold: Option<Fold>,
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
    #[arg(long, value_parser = choice::<Weight>(), default_value = Weight::Cpu.word())]
    pub weight: Weight,
    /// Whether threads that wait for a device or a page count as busy.
    #[arg(long, value_parser = choice::<DeviceWaits>(), default_value = DeviceWaits::default().word())]
    pub io: DeviceWaits,
    /// Which hand-offs of locks are arcs of the graph, for the critical path by CPU time, slack and zeroing.
    #[arg(long, value_parser = choice::<Order>(), default_value = Order::default().word())]
    pub order: Order,
    /// In `waits`: also those that nobody wants explained. In `objects`: also locks that nobody waited for.
    /// In `rankings`: the replay also of recordings with more than a million events.
    #[arg(long)]
    pub all: bool,
    /// One row of the view `waits`, by its place, in full; of the view `communication` where that is asked for.
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
    /// In `communication`, `sharing`, `patterns` and `causality`: bytes of a unit, a power of two [default: 64 of lines, 4096 of pages].
    #[arg(long, value_name = "BYTES", value_parser = unit_bytes)]
    pub unit: Option<u64>,
    /// The same: how copies of units are kept coherent [default: lines; of a simulated run, as it was].
    #[arg(long, value_parser = choice::<UnitProtocol>())]
    pub protocol: Option<UnitProtocol>,
    /// The same: what operations cost, as of `longpole simulate`.
    #[arg(long, value_name = "COSTS", value_parser = costs)]
    pub cost: Option<SimulatedCosts>,
    #[command(flatten)]
    pub definitions: DefinitionArgs,
    /// How to write it.
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// Texts of CSV as they are: cells that begin with `=`, `+`, `-` or `@` without an apostrophe, control characters
    /// without escapes.
    #[arg(long)]
    pub raw_cells: bool,
    /// Width of the text; that of the terminal when left out.
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
    /// Compute from what was recorded alone: delete what was kept of it in its folder `cache`, and keep nothing there.
    #[arg(long)]
    pub no_cache: bool,
}

pub fn unit_bytes(text: &str) -> Result<u64, String> {
    let bytes =
        text.parse().ok().filter(|bytes: &u64| bytes.is_power_of_two() && (8..=1 << 20).contains(bytes));
    bytes.ok_or_else(|| "a power of two from 8 to 1048576".to_owned())
}

/// Forms of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
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
    let view = |name: &str| {
        name.trim().parse::<View>().map_err(|error| visible(&format!("failed to {error}")).into_owned())
    };
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
        Question {
            phase: self.phase.clone(),
            of: self.of.clone(),
            by: self.by,
            sort: self.sort,
            fold: self.fold,
            top: self.top,
            weight: self.weight,
            io: self.io,
            order: self.order,
            all: self.all,
            explain: self.explain,
            define: self.definitions.define.clone(),
            metrics: self.metric.clone(),
            communication: CommunicationOptions {
                protocol: self.protocol,
                unit: self.unit,
                costs: self.cost.unwrap_or_default(),
            },
        }
    }
}

/// Writes the view that was asked for.
pub fn run(args: &ReportArgs) -> Result<()> {
    let folder = recording(args.recording.as_ref())?;
    let recording = open(&folder)?.with_metric_files(args.definitions.read()?);
    let recording = if args.no_cache { recording.without_cache() } else { recording };
    if !args.curve.is_empty() {
        let heading = Output::new(args.format, args.width).heading(&folder);
        return curve::run(&recording, args, &heading);
    }
    let Views(views) = &args.view;
    if args.format == OutputFormat::Csv && views.len() > 1 {
        return Err(one_table());
    }
    let views = match args.explain {
        Some(_) if views.contains(&View::Communication) && !views.contains(&View::Waits) => {
            &[View::Communication]
        }
        Some(_) => &[View::Waits],
        None => views.as_slice(),
    };
    let output = Output::new(args.format, args.width).with_raw_cells(args.raw_cells);
    let text = remembered(&recording, views, &args.question(), &output)?;
    // The process ends: to give back each piece of a long recording's tables is time for nothing.
    std::mem::forget(recording);
    output.print(&folder, &text)
}

/// The short answer that `record` ends with.
pub fn summary(recording: &Path, style: Style) -> Result<String> {
    let output = Output { style, ..Output::new(OutputFormat::Text, None) };
    remembered(&open(recording)?, &[View::Summary], &Question::default(), &output)
}

/// What the views say, in the form wanted: as it was said before, where it was. Of long recordings answers are remembered.
fn remembered(recording: &Recording, views: &[View], question: &Question, output: &Output) -> Result<String> {
    let cache = recording.cache();
    let key = format!("text {views:?} {question:?} {output:?}");
    if let Some(text) = cache.as_ref().and_then(|cache| cache.get(&key)) {
        return Ok(text);
    }
    let text = output.text(&recording.reports(views, question).map_err(refused)?);
    let is_kept = recording.is_long() && text.len() <= LARGEST_KEPT;
    if let Some(cache) = cache.filter(|_| is_kept) {
        cache.put(&key, &text);
    }
    Ok(text)
}

fn one_table() -> anyhow::Error {
    Failure {
        status: 2,
        hints: vec!["`--format json` holds several views".into()],
        error: anyhow::anyhow!("write several views as CSV: a table has the columns of one view"),
    }
    .into()
}
