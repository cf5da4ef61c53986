//! `processors`: processors × elapsed divided without rest (metrics.md §3; C §2.1).

use longpole_metrics::{DetailsDemand, ProcessorTime};
use longpole_trace::{Cause, Fold, Paths};

use crate::bar::bar;
use crate::findings::waiting_for;
use crate::input::{ReportOptions, ReportTables};
use crate::needs::RecordingNeed;
use crate::quantity::{count_of, percent, time_text};
use crate::report::{Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition};

const COLUMNS: [&str; 6] = ["machine", "processor", "activity", "cause", "seconds", "percent"];
const BAR: usize = 24;
/// Processors that have a line of text, unless the reader asks for more.
const LINES: usize = 64;

/// What a processor did, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProcessorActivity {
    Useful,
    Kernel,
    Spinning,
    Collector,
    Other,
    Ready,
    Idle,
}

impl ProcessorActivity {
    /// Its name in rows.
    fn name(self) -> &'static str {
        match self {
            ProcessorActivity::Useful => "useful",
            ProcessorActivity::Kernel => "kernel",
            ProcessorActivity::Spinning => "spinning",
            ProcessorActivity::Collector => "collector",
            ProcessorActivity::Other => "other programs",
            ProcessorActivity::Ready => "ready elsewhere",
            ProcessorActivity::Idle => "idle",
        }
    }
}

/// A part of a processor's time, nanoseconds; `cause` is what an idle one waited for.
#[derive(Clone, Debug, PartialEq)]
struct ProcessorPart {
    activity: ProcessorActivity,
    cause: &'static str,
    time: f64,
}

impl ProcessorPart {
    fn text(&self) -> String {
        match (self.activity, self.cause) {
            (ProcessorActivity::Useful, _) => "useful work of the program".to_owned(),
            (ProcessorActivity::Kernel, _) => "the kernel, on the program's behalf".to_owned(),
            (ProcessorActivity::Spinning, _) => "spinning".to_owned(),
            (ProcessorActivity::Collector, _) => "the collector, in the program".to_owned(),
            (ProcessorActivity::Other, _) => "other programs".to_owned(),
            (ProcessorActivity::Ready, _) => "a thread was ready elsewhere".to_owned(),
            (ProcessorActivity::Idle, cause) => format!("idle: {cause}"),
        }
    }
}

/// What is known beside the program's own threads.
#[derive(Clone, Copy)]
struct ProcessorFacts<'a> {
    input: &'a ReportTables<'a>,
    /// Share of useful work that is the kernel's.
    kernel: f64,
}

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "processors",
    about: "Where the time of the processors went: work, spinning, other programs, and what was waited for while they were idle.",
    fold: Fold::None,
    demand: |_| DetailsDemand { processors: true, ..DetailsDemand::default() },
    outside: &[OutsideAnswerKind::IdleProcessors],
    needs: |_| &[RecordingNeed::Switches],
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Processors, input, options, &COLUMNS);
    let times = input.details.processors.as_deref().unwrap_or_default();
    let known = ProcessorFacts { input, kernel: kernel_share(input) };
    let parts: Vec<Vec<ProcessorPart>> = times.iter().map(|time| known.parts(time)).collect();
    let mut all: Vec<ProcessorPart> = Vec::new();
    for part in parts.iter().flatten() {
        match all.iter_mut().find(|one| (one.activity, one.cause) == (part.activity, part.cause)) {
            Some(one) => one.time += part.time,
            None => all.push(part.clone()),
        }
    }
    sort(&mut all);
    let whole: u64 = times.iter().map(ProcessorTime::whole).sum();
    report.rows.extend(all.iter().map(|part| cells(Row::default(), part, whole as f64)));
    for (time, parts) in times.iter().zip(&parts) {
        let machine = input.program.machines.get(time.machine.index()).map_or("", |machine| &machine.name);
        let of = Row::default().text("machine", machine).count("processor", u64::from(time.processor));
        report.rows.extend(parts.iter().map(|part| cells(of.clone(), part, time.whole() as f64)));
    }
    report.sections.extend(head(input, times.len(), whole));
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Table(table(&all, whole)));
    report.sections.extend(each(times, &parts, options));
    report.sections.extend(known.warnings(times).into_iter().map(TextSection::Warning));
    report
}

fn cells(row: Row, part: &ProcessorPart, whole: f64) -> Row {
    let row = row.text("activity", part.activity.name());
    let row = if part.cause.is_empty() { row } else { row.text("cause", part.cause) };
    row.fraction("seconds", part.time).percent("percent", percent(part.time, whole))
}

/// Activities in their order, causes of idle time by their length.
fn sort(parts: &mut [ProcessorPart]) {
    parts.sort_by(|a, b| {
        a.activity.cmp(&b.activity).then(b.time.total_cmp(&a.time)).then_with(|| a.cause.cmp(b.cause))
    });
}

fn head(input: &ReportTables<'_>, count: usize, whole: u64) -> Vec<TextSection> {
    let title = format!(
        "Processors: {} × {} elapsed = {}",
        count_of(count as u64, "CPU"),
        time_text(input.analysis.elapsed),
        time_text(whole),
    );
    let remark = "Idle time is divided by what the thread waited for that made the processor busy next; where no thread followed, \
                  by what the first thread waited for.";
    vec![TextSection::Headline(title), TextSection::Remark(remark.to_owned())]
}

fn table(all: &[ProcessorPart], whole: u64) -> TextTable {
    let row = |part: &ProcessorPart| {
        let share = percent(part.time, whole as f64);
        (cells(Row::default(), part, whole as f64).text("bar", bar(share, BAR)), part.text())
    };
    TextTable {
        columns: vec![
            shown("%", Show::Percent("percent")),
            shown("time", Show::Time("seconds")),
            shown("", Show::Words("bar")),
        ],
        name_title: "all processors".to_owned(),
        rows: all.iter().map(row).collect(),
    }
}

/// A line for each processor.
fn each(times: &[ProcessorTime], parts: &[Vec<ProcessorPart>], options: &ReportOptions) -> Vec<TextSection> {
    let most = options.top.unwrap_or(LINES);
    let row = |(time, parts): (&ProcessorTime, &Vec<ProcessorPart>)| {
        let sum = |activities: &[ProcessorActivity]| {
            let of = parts.iter().filter(|part| activities.contains(&part.activity));
            percent(of.map(|part| part.time).sum(), time.whole() as f64)
        };
        let row = Row::default()
            .count("processor", u64::from(time.processor))
            .percent("useful", sum(&[ProcessorActivity::Useful]))
            .percent("kernel", sum(&[ProcessorActivity::Kernel]))
            .percent("spinning", sum(&[ProcessorActivity::Spinning, ProcessorActivity::Collector]))
            .percent("other", sum(&[ProcessorActivity::Other]))
            .percent("ready", sum(&[ProcessorActivity::Ready]))
            .percent("idle", sum(&[ProcessorActivity::Idle]));
        let idle = parts.iter().filter(|part| part.activity == ProcessorActivity::Idle);
        let longest = idle.max_by(|a, b| a.time.total_cmp(&b.time));
        (row, longest.map_or(String::new(), |part| part.cause.to_owned()))
    };
    let table = TextTable {
        columns: vec![
            shown("CPU", Show::Count("processor")),
            shown("useful %", Show::Percent("useful")),
            shown("kernel %", Show::Percent("kernel")),
            shown("spin %", Show::Percent("spinning")),
            shown("others %", Show::Percent("other")),
            shown("ready %", Show::Percent("ready")),
            shown("idle %", Show::Percent("idle")),
        ],
        name_title: "idle most".to_owned(),
        rows: times.iter().zip(parts).take(most).map(row).collect(),
    };
    vec![TextSection::Blank, TextSection::Table(table)]
}

/// Share of the program's useful work that was in the kernel, by the procedures that it is charged to.
fn kernel_share(input: &ReportTables<'_>) -> f64 {
    let is_kernel = |paths: &Paths, path| {
        paths
            .innermost(path)
            .is_some_and(|place| paths.procedure_named_by(place.procedure).module == "[kernel]")
    };
    let (mut kernel, mut all) = (0, 0);
    for charge in &input.analysis.charges {
        all += charge.measures.running;
        if is_kernel(input.paths, charge.path) {
            kernel += charge.measures.running;
        }
    }
    if all == 0 { 0.0 } else { kernel as f64 / all as f64 }
}

impl ProcessorFacts<'_> {
    /// The processor's time, without rest.
    fn parts(self, time: &ProcessorTime) -> Vec<ProcessorPart> {
        let useful = time.useful as f64;
        let kernel = useful * self.kernel;
        let free = time.free() as f64;
        let other = self.other(time).unwrap_or(0.0).clamp(0.0, free);
        // Who is ready has no processor mostly because others have it.
        let ready = time.ready as f64;
        let left = (ready - other).max(0.0);
        let idle = free - ready;
        let shrink = if idle > 0.0 { (idle - (other - ready).max(0.0)).max(0.0) / idle } else { 0.0 };
        let of = |activity, time| ProcessorPart { activity, cause: "", time };
        let mut parts = vec![
            of(ProcessorActivity::Useful, useful - kernel),
            of(ProcessorActivity::Kernel, kernel),
            of(ProcessorActivity::Spinning, time.spinning as f64),
            of(ProcessorActivity::Collector, time.overhead as f64),
            of(ProcessorActivity::Other, other),
            of(ProcessorActivity::Ready, left),
        ];
        let mut idle = |cause, time: u64| {
            parts.push(ProcessorPart {
                activity: ProcessorActivity::Idle,
                cause,
                time: time as f64 * shrink,
            });
        };
        for (&waited, &cause) in time.waiting.iter().zip(Cause::ALL) {
            idle(waiting_for(cause), waited);
        }
        idle("nothing else to do at a time", time.serial);
        idle("not known any more", time.unexplained);
        parts.retain(|part| part.time > 0.0);
        sort(&mut parts);
        parts
    }

    /// What other programs took of the processor, by the kernel's account of its idle time; nanoseconds.
    fn other(self, time: &ProcessorTime) -> Option<f64> {
        let idle = self.input.outside_answers.idle_processors.iter();
        let mut idle = idle.filter(|idle| idle.machine == time.machine && idle.processor == time.processor);
        let own = (time.useful + time.spinning + time.overhead) as f64;
        Some(time.whole() as f64 - own - idle.next()?.seconds * 1e9)
    }

    /// What the recording does not tell.
    fn warnings(self, times: &[ProcessorTime]) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.input.evidence.collector == "agent" {
            warnings.push("The agent alone does not tell on which processor a thread ran: each has the first that was free.".to_owned());
        }
        if times.iter().any(|time| self.other(time).is_none()) {
            warnings.push("What other programs did is not known (record with `--collect kernel`): it counts as idle, or as ready.".to_owned());
        }
        if self.kernel == 0.0 && self.input.totals().running > 0 {
            warnings.push(
                "No call path ends in the kernel: its work for the program counts as useful.".to_owned(),
            );
        }
        warnings
    }
}
