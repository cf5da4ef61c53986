//! `threads`: the time of every thread in every state.

use longpole_event::ThreadId;
use longpole_metrics::{By, Node, ThreadStates};
use longpole_trace::Cause;

use super::{ROWS_OF_TEXT, blocked_names, identity, identity_columns, with_waits};
use crate::input::{ReportOptions, ReportTables};
use crate::name;
use crate::needs::RecordingNeed;
use crate::quantity::{percent, time_text};
use crate::report::{Report, Row};
use crate::share::places;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const MEASURES: [&str; 14] = [
    "rank",
    "seconds",
    "percent",
    "critical_path_seconds",
    "critical_path_percent",
    "npt_seconds",
    "npt_percent",
    "running_seconds",
    "spin_seconds",
    "ready_seconds",
    "wait_seconds",
    "switches",
    "start_seconds",
    "end_seconds",
];

/// Shown where the collector took any.
const OVERHEAD: &str = "overhead_seconds";

struct ThreadRow {
    row: Row,
    name: String,
    cpu: u64,
}

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "threads",
    about: "Every thread with the time it spent in each state.",
    needs: |_| &[RecordingNeed::Switches],
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut entries = entries(input);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.cpu));
    let whole: u64 = entries.iter().map(|entry| entry.cpu).sum();
    let shares: Vec<f64> = entries.iter().map(|entry| percent(entry.cpu as f64, whole as f64)).collect();
    for ((entry, place), &share) in entries.iter_mut().zip(places(&shares, None)).zip(&shares) {
        entry.row = std::mem::take(&mut entry.row).count("rank", place).percent("percent", share);
    }
    let identity = identity_columns(By::Thread);
    let names: Vec<&str> = MEASURES
        .iter()
        .chain(identity)
        .copied()
        .chain(["created_by", OVERHEAD])
        .chain(blocked_names())
        .collect();
    let mut report = Report::new(View::Threads, input, options, &names);
    report.rows =
        entries.iter().take(options.top.unwrap_or(usize::MAX)).map(|entry| entry.row.clone()).collect();
    report.drop_empty_columns(&[&MEASURES[..], identity, &["created_by"]].concat());
    // The agent alone does not see processors.
    let how = if input.evidence.collector == "agent" {
        "which is what was neither waiting nor, by the kernel's accounts, ready"
    } else {
        "all times are exact"
    };
    report.sections.push(TextSection::Headline(format!("Threads: {} of CPU time; {how}", time_text(whole))));
    report.sections.push(TextSection::Blank);
    report.sections.extend(table(&entries, options));
    report
}

fn entries(input: &ReportTables<'_>) -> Vec<ThreadRow> {
    let charged = input.rows(By::Thread);
    let totals = input.totals();
    let npt_whole = super::npt::npt(totals);
    let mut entries: Vec<ThreadRow> =
        (0..input.program.threads.len()).map(|at| entry(input, ThreadId::from_index(at))).collect();
    for row in charged {
        let Node::Thread(id) = row.node else { continue };
        let Some(entry) = entries.get_mut(id.index()) else { continue };
        let critical = row.own.critical_cpu;
        let npt = super::npt::npt(&row.own);
        entry.row = std::mem::take(&mut entry.row)
            .time("critical_path_seconds", critical)
            .percent(
                "critical_path_percent",
                percent(critical as f64, input.analysis.critical_cpu.length as f64),
            )
            .fraction("npt_seconds", npt)
            .percent("npt_percent", percent(npt, npt_whole));
    }
    entries
}

fn entry(input: &ReportTables<'_>, id: ThreadId) -> ThreadRow {
    let thread = &input.program.threads[id.index()];
    let nothing = ThreadStates::default();
    let states = input.analysis.threads.get(id.index()).unwrap_or(&nothing);
    let (mut row, name) = identity(input, Node::Thread(id));
    let cpu = states.running + states.spinning;
    row = row
        .time("seconds", cpu)
        .time("running_seconds", states.running)
        .time("spin_seconds", states.spinning)
        .time("ready_seconds", states.ready)
        .time("wait_seconds", states.blocked.iter().sum())
        .time("critical_path_seconds", 0)
        .percent("critical_path_percent", 0.0)
        .time("npt_seconds", 0)
        .percent("npt_percent", 0.0)
        .count("switches", states.switches)
        .time("start_seconds", thread.start.nanoseconds())
        .text("cause", longest_cause(&states.blocked));
    if states.overhead > 0 {
        row = row.time(OVERHEAD, states.overhead);
    }
    if let Some(end) = thread.end {
        row = row.time("end_seconds", end.nanoseconds());
    }
    if let Some(creator) = thread.creator {
        row = row.text("created_by", name::thread(input.program, creator));
    }
    ThreadRow { row: with_waits(row, &states.blocked), name, cpu }
}

/// What the thread was blocked for most.
fn longest_cause(blocked: &[u64]) -> &'static str {
    let causes = Cause::ALL.iter().zip(blocked).filter(|(_, time)| **time > 0);
    causes
        .max_by_key(|&(cause, &time)| (time, std::cmp::Reverse(*cause)))
        .map_or("", |(cause, _)| cause.name())
}

fn table(entries: &[ThreadRow], options: &ReportOptions) -> Vec<TextSection> {
    let limit = options.top.unwrap_or(ROWS_OF_TEXT);
    let has = |column: &str| entries.iter().any(|entry| entry.row.value(column) > Some(0.0));
    let mut columns = vec![
        shown("CPU", Show::Time("seconds")),
        shown("% of CPU", Show::Percent("percent")).optional(),
        shown("% of path", Show::Percent("critical_path_percent")),
    ];
    if has("spin_seconds") {
        columns.push(shown("spinning", Show::Time("spin_seconds")));
    }
    if has("ready_seconds") {
        columns.push(shown("ready", Show::Time("ready_seconds")));
    }
    if has(OVERHEAD) {
        columns.push(shown("collector", Show::Time(OVERHEAD)).optional());
    }
    columns.push(shown("blocked", Show::Time("wait_seconds")));
    columns.push(shown("most for", Show::Words("cause")));
    columns.push(shown("switches", Show::Count("switches")).optional());
    let rows = entries.iter().take(limit).map(|entry| (entry.row.clone(), entry.name.clone())).collect();
    let mut sections = vec![TextSection::Table(TextTable { columns, name_title: "thread".to_owned(), rows })];
    if entries.len() > limit {
        let rest: u64 = entries[limit..].iter().map(|entry| entry.cpu).sum();
        let (count, rest) = (entries.len() - limit, time_text(rest));
        sections.push(TextSection::Remark(format!(
            "{count} more threads with {rest} of CPU time in all (--top {})",
            entries.len()
        )));
    }
    sections
}
