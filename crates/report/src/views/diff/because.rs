//! Why the elapsed time differs: the critical paths by elapsed time of two runs, divided among procedures and what they did.
//!
//! Invariant: the changes of the rows add up to the change of the elapsed time.

use std::collections::BTreeMap;

use longpole_metrics::{By, Node, PathWaitKind};
use longpole_trace::ProcedureId;

use super::BothRuns;
use super::pairs::{
    ComparedAmount, ComparedPair, ProcedureErrors, ProcedureName, largest_first, name_of_procedure, paired,
    with_procedure,
};
use crate::input::ReportTables;
use crate::quantity::count_of;
use crate::report::Row;
use crate::share::behind_path;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;

/// A part of the path: whose, and what it did; the part of which no procedure is known has no name.
type ComparedPathPart = (Option<ProcedureName>, &'static str);

/// What is work.
pub(super) const WORK: &str = "work";
/// What is time without a processor.
pub(super) const READY: &str = "ready";
/// What no call path is known of.
const UNKNOWN: &str = "not explained";

/// Rows of the text.
const ROWS: usize = 12;

/// What a wait on the path is, in a word for programs and in words for people.
fn wait_words(kind: PathWaitKind) -> (&'static str, String) {
    match kind {
        PathWaitKind::Ready => (READY, "waiting for a CPU".to_owned()),
        PathWaitKind::Spinning => ("spinning", "busy-waiting".to_owned()),
        PathWaitKind::Overhead => ("overhead", "the collector's own code".to_owned()),
        PathWaitKind::UnderWay => ("under way", "from one thread to the next".to_owned()),
        PathWaitKind::Blocked(cause) => (cause.name(), format!("waiting ({cause})")),
    }
}

/// Whether it tells anything that a procedure waits so, or where that happens is chance.
fn is_of_procedure(kind: PathWaitKind) -> bool {
    matches!(kind, PathWaitKind::Blocked(_) | PathWaitKind::Spinning)
}

/// The parts of both paths, those that changed first; the last row is of what has no call path.
pub(super) fn because(runs: BothRuns<'_, '_>) -> Vec<(Row, String)> {
    let mut words: BTreeMap<&'static str, String> = BTreeMap::from([(WORK, WORK.to_owned())]);
    let parts = runs.map(parts);
    for charge in runs.map(|run| &run.analysis.charges).into_iter().flatten() {
        words.extend(charge.measures.path_waits.keys().map(|&kind| wait_words(kind)));
    }
    let [before, after] = runs.map(|run| run.analysis.elapsed as f64);
    let sum = |parts: &BTreeMap<ComparedPathPart, ComparedAmount>| -> f64 {
        parts.values().map(|amount| amount.value).sum()
    };
    let rest = ComparedPair {
        before: ComparedAmount::exact(before - sum(&parts[0])),
        after: ComparedAmount::exact(after - sum(&parts[1])),
    };
    let row = |((procedure, kind), (pair, only)): (ComparedPathPart, (ComparedPair, &'static str))| {
        let row = Row::default().text("section", "because").text("kind", kind).text("only_in", only);
        let text = words.get(kind).map_or(kind, String::as_str);
        match &procedure {
            Some(name) => {
                let (row, name) = with_procedure(row, name);
                (pair.fill(row), format!("{name}: {text}"))
            }
            None => (pair.fill(row), text.to_owned()),
        }
    };
    let mut rows: Vec<(Row, String)> = paired(parts).into_iter().map(row).collect();
    largest_first(&mut rows);
    let unknown = Row::default().text("section", "because").text("kind", UNKNOWN);
    rows.push((rest.fill(unknown), UNKNOWN.to_owned()));
    rows
}

/// The path's time by procedure and what it did.
fn parts(run: &ReportTables<'_>) -> BTreeMap<ComparedPathPart, ComparedAmount> {
    let mut waited: BTreeMap<Option<ProcedureId>, f64> = BTreeMap::new();
    let mut parts: BTreeMap<ComparedPathPart, ComparedAmount> = BTreeMap::new();
    let mut add = |part: ComparedPathPart, amount: ComparedAmount| {
        if amount.value != 0.0 {
            parts.entry(part).or_default().add(amount);
        }
    };
    for charge in &run.analysis.charges {
        let procedure = run.paths.innermost(charge.path).map(|place| place.procedure);
        let name = procedure.map(|id| name_of_procedure(run, id));
        for (&kind, &time) in &charge.measures.path_waits {
            *waited.entry(procedure).or_default() += time as f64;
            let name = name.clone().filter(|_| is_of_procedure(kind));
            add((name, wait_words(kind).0), ComparedAmount::exact(time as f64));
        }
    }
    let length = run.analysis.critical_cpu.length as f64;
    let errors = ProcedureErrors::of(run, behind_path(run.analysis), length);
    for row in run.rows(By::Procedure) {
        let Node::Procedure(id) = row.node else { continue };
        let work = row.own.critical_elapsed as f64 - waited.get(&Some(id)).copied().unwrap_or(0.0);
        add((Some(name_of_procedure(run, id)), WORK), errors.amount(id, work));
    }
    parts
}

/// The changes of the path by kind, nanoseconds, those that are more than chance makes, the largest first; with the largest part of
/// it that goes the same way.
pub(super) fn by_kind<'a>(because: &'a [(Row, String)]) -> Vec<(&'a str, f64, &'a (Row, String))> {
    let change = |row: &Row| row.value("change_seconds").unwrap_or(0.0) * 1e9;
    let mut sums: BTreeMap<&'a str, ComparedPair> = BTreeMap::new();
    for (row, _) in because {
        let amount =
            |column, error: f64| ComparedAmount { value: row.value(column).unwrap_or(0.0) * 1e9, error };
        let error = row.value("change_error_seconds").unwrap_or(0.0) * 1e9;
        let sum = sums.entry(row.words("kind")).or_default();
        sum.before.add(amount("before_seconds", 0.0));
        sum.after.add(amount("after_seconds", error));
    }
    let largest = |kind: &str, sum: f64| {
        let of_kind = because.iter().filter(|(row, _)| row.words("kind") == kind);
        of_kind.max_by(|(a, _), (b, _)| (change(a) * sum).total_cmp(&(change(b) * sum)))
    };
    let told = |(kind, pair): (&'a str, ComparedPair)| {
        let change = pair.change();
        Some((kind, change, largest(kind, change).filter(|_| pair.is_changed())?))
    };
    let mut kinds: Vec<_> = sums.into_iter().filter_map(told).collect();
    kinds.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    kinds
}

/// The division as text: what changed, the rest in one line, and the sum.
pub(super) fn sections(because: &[(Row, String)], elapsed: &ComparedPair) -> Vec<TextSection> {
    let Some((unknown, parts)) = because.split_last() else { return Vec::new() };
    let is_changed = |(row, _): &&(Row, String)| row.words("verdict") != "none";
    let mut listed: Vec<(Row, String)> = parts.iter().filter(is_changed).take(ROWS).cloned().collect();
    let small = parts.len() - listed.len();
    if small > 0 {
        let (mut pair, mut variance) = ([0.0, 0.0], 0.0);
        for (row, _) in &parts[listed.len()..] {
            let value = |column| row.value(column).unwrap_or(0.0) * 1e9;
            pair = [pair[0] + value("before_seconds"), pair[1] + value("after_seconds")];
            variance += value("change_error_seconds").powi(2);
        }
        let row = Row::default()
            .fraction("before_seconds", pair[0])
            .fraction("after_seconds", pair[1])
            .fraction("change_seconds", pair[1] - pair[0]);
        let row = if variance > 0.0 { row.fraction("change_error_seconds", variance.sqrt()) } else { row };
        listed.push((row, count_of(small as u64, "part") + " with no or small changes"));
    }
    listed
        .push((unknown.0.clone().text("verdict", "told"), "not explained: no call path is known".to_owned()));
    listed.push((elapsed.fill(Row::default()).text("verdict", "told"), "the elapsed time".to_owned()));
    let columns = vec![
        shown("change", Show::Change("change_seconds", "change_error_seconds")),
        shown("before", Show::Time("before_seconds")),
        shown("after", Show::Time("after_seconds")),
    ];
    let title = "Why: the chain of work and waits that the elapsed time follows, in both runs".to_owned();
    vec![
        TextSection::Paragraph(title + ":"),
        TextSection::Table(TextTable { columns, name_title: "on the path".to_owned(), rows: listed }),
    ]
}
