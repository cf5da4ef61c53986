//! `critical-path`: who is on the longest chain of work that depends on each other (metrics.md §4).

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_metrics::{CriticalPath, Measures, Weight};

use super::identity_columns;
use super::ranking::{RANKED, RankedRow, RankingMeasure, longest_first, ranking, table, taken, unattributed};
use crate::input::{ReportOptions, ReportTables};
use crate::name;
use crate::needs::chain_needs;
use crate::quantity::{count_of, percent, percent_text, time_text};
use crate::report::Report;
use crate::share::behind_path;
use crate::table::{Show, Shown, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const MEASURES: [&str; 4] = [
    "critical_path_seconds",
    "critical_path_percent",
    "critical_path_elapsed_seconds",
    "critical_path_elapsed_percent",
];
/// Kinds of hand-off that are named.
const HAND_OFFS_TOLD: usize = 4;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "critical-path",
    about: "Who is on the longest chain of work that depends on each other.",
    has_levels: true,
    counts_work_only: true,
    needs: chain_needs,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let analysis = input.analysis;
    let path = analysis.critical(options.weight);
    let measured = |measures: &Measures| measures.critical(options.weight) as f64;
    let measure = RankingMeasure { of: &measured, whole: path.length as f64, behind: behind_path(analysis) };
    let mut ranked = ranking(input, options, &measure, |row| row.own.critical_elapsed > 0);
    ranked.iter_mut().for_each(|ranked| add_both_weights(ranked, input));
    let names: Vec<&str> =
        RANKED.iter().chain(&MEASURES).chain(identity_columns(options.by)).copied().collect();
    let mut report = Report::new(View::CriticalPath, input, options, &names);
    report.rows = taken(&ranked, options);
    report.sections.push(TextSection::Headline(title(input, options.weight, path)));
    report.sections.extend(path_sections(input, path));
    report.sections.push(TextSection::Blank);
    if path.length == 0 {
        report
            .sections
            .push(TextSection::Paragraph("The path is empty: no work was recorded on it.".to_owned()));
        return report;
    }
    report.sections.extend(table(input, &ranked, text_columns(options.weight), options));
    report.sections.extend(unattributed(&ranked, options.by));
    report
}

/// The row's time on the paths of both weights.
fn add_both_weights(ranked: &mut RankedRow, input: &ReportTables<'_>) {
    let own = &ranked.charged.own;
    let share = |time: u64, path: &CriticalPath| percent(time as f64, path.length as f64);
    let cpu = share(own.critical_cpu, &input.analysis.critical_cpu);
    let elapsed = share(own.critical_elapsed, &input.analysis.critical_elapsed);
    ranked.row = std::mem::take(&mut ranked.row)
        .time("critical_path_seconds", own.critical_cpu)
        .percent("critical_path_percent", cpu)
        .time("critical_path_elapsed_seconds", own.critical_elapsed)
        .percent("critical_path_elapsed_percent", elapsed);
}

fn text_columns(weight: Weight) -> Vec<Shown> {
    let other = match weight {
        Weight::Cpu => shown("elapsed %", Show::Percent("critical_path_elapsed_percent")),
        Weight::Elapsed => shown("CPU path %", Show::Percent("critical_path_percent")),
    };
    vec![
        shown("#", Show::Rank),
        shown("% of path", Show::Estimate("percent", "error_percent")),
        shown("self", Show::Time("seconds")),
        shown("incl %", Show::Percent("inclusive_percent")),
        shown("incl", Show::Time("inclusive_seconds")).optional(),
        other.optional(),
    ]
}

fn title(input: &ReportTables<'_>, weight: Weight, path: &CriticalPath) -> String {
    let (length, elapsed) = (time_text(path.length), time_text(input.analysis.elapsed));
    match weight {
        Weight::Cpu => {
            let share = percent_text(percent(path.length as f64, input.analysis.elapsed as f64));
            format!("Critical path: {length} of useful CPU time ({share} of {elapsed} elapsed)")
        }
        Weight::Elapsed => {
            format!("Critical path by elapsed time: {length}, waits that nobody's work explains included")
        }
    }
}

/// Where the path runs, and where it changes threads.
fn path_sections(input: &ReportTables<'_>, path: &CriticalPath) -> Vec<TextSection> {
    let mut sections = Vec::new();
    let mut by_thread: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let mut hand_offs: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for segment in &path.segments {
        *by_thread.entry(segment.thread).or_default() += segment.to.since(segment.from);
    }
    for pair in path.segments.windows(2).filter(|pair| pair[0].thread != pair[1].thread) {
        let label = |thread: ThreadId| input.program.threads[thread.index()].name.as_str();
        *hand_offs.entry((label(pair[0].thread), label(pair[1].thread))).or_default() += 1;
    }
    if let Some(text) = threads_text(input, by_thread) {
        sections.push(TextSection::Remark(text));
    }
    let total: u64 = hand_offs.values().sum();
    if total > 0 {
        let mut kinds: Vec<_> = hand_offs.into_iter().collect();
        longest_first(&mut kinds);
        let rest: u64 = kinds.iter().skip(HAND_OFFS_TOLD).map(|(_, count)| count).sum();
        let mut texts: Vec<String> = kinds
            .iter()
            .take(HAND_OFFS_TOLD)
            .map(|((from, to), count)| format!("{from} → {to} ({count})"))
            .collect();
        if rest > 0 {
            texts.push(format!("others ({rest})"));
        }
        sections.push(TextSection::Remark(format!("{}: {}.", count_of(total, "hand-off"), texts.join(", "))));
    }
    sections
}

fn threads_text(input: &ReportTables<'_>, by_thread: BTreeMap<ThreadId, u64>) -> Option<String> {
    let whole: u64 = by_thread.values().sum();
    let count = by_thread.len();
    let mut threads: Vec<(ThreadId, u64)> = by_thread.into_iter().collect();
    longest_first(&mut threads);
    let texts: Vec<String> = threads
        .iter()
        .take(3)
        .map(|&(thread, time)| {
            let share = percent_text(percent(time as f64, whole as f64));
            format!("{share} on {}", name::thread(input.program, thread))
        })
        .collect();
    let rest = if count > 3 { format!(", the rest on {} more", count - 3) } else { String::new() };
    (count > 0).then(|| format!("It runs {}{rest}.", texts.join(", ")))
}
