//! `callers`: who calls one procedure and what it calls (metrics.md §2).

use std::cmp::Reverse;

use longpole_metrics::{By, CallCounts, DetailsDemand, Neighbour, Node, neighbours};
use longpole_trace::{Fold, ProcedureId};

use super::{ROWS_OF_TEXT, blocked, identity};
use crate::find::{FoundNodes, NameKind};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::WORK_NEEDS;
use crate::quantity::{percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const COLUMNS: [&str; 9] = [
    "relation",
    "percent",
    "cpu_seconds",
    "cpu_inclusive_seconds",
    "wait_inclusive_seconds",
    "calls",
    "procedure",
    "module",
    "file",
];

/// How a row is related to the procedure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallRelation {
    Caller,
    Itself,
    Callee,
}

impl CallRelation {
    fn name(self) -> &'static str {
        match self {
            CallRelation::Caller => "caller",
            CallRelation::Itself => "self",
            CallRelation::Callee => "callee",
        }
    }
}

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "callers",
    about: "One procedure with those that call it and those that it calls.",
    kinds: &[NameKind::Procedure, NameKind::Region],
    fold: Fold::None,
    demand: |_| DetailsDemand { calls: true, ..DetailsDemand::default() },
    needs: |_| WORK_NEEDS,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Callers, input, options, &COLUMNS);
    let chosen = match options.of {
        Some(FoundNodes::Procedure(id)) => Some(id),
        _ => most_worked(input),
    };
    let Some(procedure) = chosen else {
        report.sections.push(TextSection::Paragraph("No procedure has any CPU time.".to_owned()));
        return report;
    };
    let found = neighbours(input.analysis, input.paths, procedure);
    let whole = found.all.inclusive.cpu() as f64;
    let counts = input.input().details.calls.as_ref();
    let count = |caller: Option<ProcedureId>, callee| calls(counts, caller, callee);
    let callers = found.callers.iter().map(|(&caller, sums)| {
        let (row, name) = row(input, CallRelation::Caller, caller, (sums, whole));
        (with_calls(row, count(caller, procedure)), name)
    });
    let callees = found.callees.iter().map(|(&callee, sums)| {
        let (row, name) = row(input, CallRelation::Callee, Some(callee), (sums, whole));
        (with_calls(row, count(Some(procedure), callee)), name)
    });
    let (itself, name) = row(input, CallRelation::Itself, Some(procedure), (&found.all, whole));
    let itself = with_calls(itself, calls_of(counts, procedure));
    let (callers, callees) = (sorted(callers.collect()), sorted(callees.collect()));
    let share = percent(whole, input.totals().cpu() as f64);
    report.sections.push(TextSection::Headline(format!(
        "Callers and callees of {name}: {} of CPU time, {} of all, {} of it in itself",
        time_text(found.all.inclusive.cpu()),
        percent_text(share),
        percent_text(percent(found.all.own.cpu() as f64, whole)),
    )));
    for (title, rows) in [("called by", &callers), ("calls", &callees)] {
        report.sections.push(TextSection::Blank);
        report.sections.push(table(title, rows, options));
    }
    let own = std::iter::once((itself, String::new()));
    report.rows = callers.into_iter().chain(own).chain(callees).map(|(row, _)| row).collect();
    report.drop_empty_columns(&COLUMNS);
    report
}

/// The procedure with the most CPU time of its own.
fn most_worked(input: &ReportTables<'_>) -> Option<ProcedureId> {
    let rows = input.rows(By::Procedure).iter().filter(|row| row.own.cpu() > 0);
    let most = rows.max_by_key(|row| (row.own.cpu(), Reverse(row.node)))?;
    match most.node {
        Node::Procedure(id) => Some(id),
        _ => None,
    }
}

fn calls(counts: Option<&CallCounts>, caller: Option<ProcedureId>, callee: ProcedureId) -> u64 {
    counts.and_then(|counts| counts.get(&(caller, callee))).copied().unwrap_or(0)
}

fn calls_of(counts: Option<&CallCounts>, procedure: ProcedureId) -> u64 {
    let of_it = counts.into_iter().flatten().filter(|((_, callee), _)| *callee == procedure);
    of_it.map(|(_, count)| count).sum()
}

fn with_calls(row: Row, calls: u64) -> Row {
    if calls == 0 { row } else { row.count("calls", calls) }
}

fn row(
    input: &ReportTables<'_>,
    relation: CallRelation,
    procedure: Option<ProcedureId>,
    (sums, whole): (&Neighbour, f64),
) -> (Row, String) {
    let (row, name) = match procedure {
        Some(id) => identity(input, Node::Procedure(id)),
        None => (Row::default(), "(nothing)".to_owned()),
    };
    let row = row
        .text("relation", relation.name())
        .percent("percent", percent(sums.inclusive.cpu() as f64, whole))
        .time("cpu_seconds", sums.own.cpu())
        .time("cpu_inclusive_seconds", sums.inclusive.cpu())
        .time("wait_inclusive_seconds", blocked(&sums.inclusive));
    (row, name)
}

/// The largest first, by name where they are equal.
fn sorted(mut rows: Vec<(Row, String)>) -> Vec<(Row, String)> {
    let key = |row: &Row| row.value("cpu_inclusive_seconds").unwrap_or(0.0);
    rows.sort_by(|(a, one), (b, other)| key(b).total_cmp(&key(a)).then_with(|| one.cmp(other)));
    rows
}

fn table(title: &str, rows: &[(Row, String)], options: &ReportOptions) -> TextSection {
    let mut columns = vec![
        shown("% of it", Show::Percent("percent")),
        shown("incl", Show::Time("cpu_inclusive_seconds")),
        shown("self", Show::Time("cpu_seconds")),
        shown("waited", Show::Time("wait_inclusive_seconds")).optional(),
    ];
    if rows.iter().any(|(row, _)| row.value("calls").is_some()) {
        columns.push(shown("calls", Show::Count("calls")));
    }
    let limit = options.top.unwrap_or(ROWS_OF_TEXT);
    let rows = rows.iter().take(limit).cloned().collect();
    TextSection::Table(TextTable { columns, name_title: title.to_owned(), rows })
}

#[cfg(test)]
mod tests {
    use crate::find::FoundNodes;
    use crate::fixture::{DrawnRun, LOCK_HOG};
    use crate::input::ReportOptions;
    use crate::view::View;

    #[test]
    fn a_procedure_stands_between_its_callers_and_its_callees() {
        let scene = DrawnRun::of(
            "A = main > serve > parse\nB = main > load > parse\nC = main > serve > parse > copy\nT1 AAAABBCC",
        );
        let of = Some(FoundNodes::Procedure(scene.timelines.procedure("parse")));
        let report = scene.report(View::Callers, &ReportOptions { of, ..ReportOptions::default() });
        let rows: Vec<_> = report
            .rows
            .iter()
            .map(|row| {
                (row.words("relation").to_owned(), row.words("procedure").to_owned(), row.value("percent"))
            })
            .collect();
        let row = |relation: &str, name: &str, percent| (relation.to_owned(), name.to_owned(), Some(percent));
        assert_eq!(
            rows,
            [
                row("caller", "serve", 75.0),
                row("caller", "load", 25.0),
                row("self", "parse", 100.0),
                row("callee", "copy", 25.0)
            ]
        );
    }

    #[test]
    fn without_a_name_it_is_about_the_procedure_with_the_most_work() {
        let report = DrawnRun::of(LOCK_HOG).report(View::Callers, &ReportOptions::default());
        let own = report.rows.iter().find(|row| row.words("relation") == "self").unwrap();
        assert!(!own.words("procedure").is_empty());
    }
}
