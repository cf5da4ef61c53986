//! `source`: lines of source files with what they cost, suffered and caused (C figure 1a).

use std::cmp::Reverse;

use longpole_metrics::{Measures, Node, SourceLine, source_lines};
use longpole_trace::Fold;

use super::npt::npt;
use super::wholes::RunTotals;
use super::{ROWS_OF_TEXT, blocked, identity, synchronisation};
use crate::find::{FoundNodes, NameKind};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::WORK_NEEDS;
use crate::quantity::{count_of, percent, percent_text};
use crate::report::{Report, Row};
use crate::share::standard_error;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const COLUMNS: [&str; 20] = [
    "file",
    "line",
    "procedure",
    "module",
    "cpu_seconds",
    "cpu_percent",
    "cpu_inclusive_seconds",
    "npt_seconds",
    "npt_percent",
    "npt_inclusive_seconds",
    "critical_path_seconds",
    "critical_path_percent",
    "critical_path_error_percent",
    "critical_path_inclusive_seconds",
    "spin_seconds",
    "wait_seconds",
    "synchronisation_wait_seconds",
    "suffered_seconds",
    "caused_seconds",
    "observations",
];
/// Shares below this in every column are not shown in text, percent.
const SMALLEST: f64 = 0.05;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "source",
    about: "Source lines with what they cost, the waiting suffered there, and the waiting that they caused.",
    kinds: &[NameKind::File],
    fold: Fold::None,
    needs: |_| WORK_NEEDS,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Source, input, options, &COLUMNS);
    let wholes = RunTotals::of(input, options.weight);
    let mut lines = source_lines(input.analysis, input.paths, |_| true);
    if let Some(FoundNodes::File(file)) = &options.of {
        lines.retain(|line| input.paths.procedure_named_by(line.procedure).file == *file);
    }
    // What has no line stands behind the lines of equal weight.
    let key = |line: &SourceLine| {
        let own = &line.own;
        [wholes.on_path(own), own.cpu(), suffered(own), own.caused_wait, wholes.on_path(&line.inclusive)]
    };
    lines.sort_by_key(|line| (Reverse(key(line)), line.line == 0));
    let rows: Vec<(Row, String)> = lines.iter().map(|line| row(input, &wholes, line)).collect();
    report.rows = rows.iter().take(options.top.unwrap_or(usize::MAX)).map(|(row, _)| row.clone()).collect();
    report.drop_empty_columns(&COLUMNS[..6]);
    report.sections.push(TextSection::Headline(title(input, options, &lines)));
    report.sections.push(TextSection::Blank);
    report.sections.extend(text(rows, options));
    report
}

/// Waiting for others: blocked for them, or busy-waiting.
fn suffered(measures: &Measures) -> u64 {
    synchronisation(&measures.blocked) + measures.spinning
}

/// The cells of a line, and its name for people.
fn row(input: &ReportTables<'_>, wholes: &RunTotals, line: &SourceLine) -> (Row, String) {
    let SourceLine { procedure, line, own, inclusive } = line;
    let (row, procedure) = identity(input, Node::Procedure(*procedure));
    let file = row.words("file").rsplit('/').next().unwrap_or("").to_owned();
    let (row, name) = match line {
        0 => (row, procedure),
        line => (row.count("line", u64::from(*line)), format!("{file}:{line}  {procedure}")),
    };
    let path = percent(wholes.on_path(own) as f64, wholes.path);
    let row = row
        .time("cpu_seconds", own.cpu())
        .percent("cpu_percent", percent(own.cpu() as f64, wholes.cpu))
        .time("cpu_inclusive_seconds", inclusive.cpu())
        .fraction("npt_seconds", npt(own))
        .percent("npt_percent", percent(npt(own), wholes.npt))
        .fraction("npt_inclusive_seconds", npt(inclusive))
        .time("critical_path_seconds", wholes.on_path(own))
        .percent("critical_path_percent", path)
        .percent_if(
            "critical_path_error_percent",
            standard_error(path, input.analysis.effective_samples.critical),
        )
        .time("critical_path_inclusive_seconds", wholes.on_path(inclusive))
        .time("spin_seconds", own.spinning)
        .time("wait_seconds", blocked(own))
        .time("synchronisation_wait_seconds", synchronisation(&own.blocked))
        .time("suffered_seconds", suffered(own))
        .time("caused_seconds", own.caused_wait)
        .count("observations", own.observations);
    (row, name)
}

fn title(input: &ReportTables<'_>, options: &ReportOptions, lines: &[SourceLine]) -> String {
    let count = count_of(lines.iter().filter(|line| line.line > 0).count() as u64, "line");
    let cpu = |of: &mut dyn Iterator<Item = &SourceLine>| of.map(|line| line.own.cpu()).sum::<u64>() as f64;
    let whole = input.totals().cpu() as f64;
    match &options.of {
        Some(FoundNodes::File(file)) => {
            let share = percent_text(percent(cpu(&mut lines.iter()), whole));
            format!("Source of {file}: {count} with {share} of the CPU time")
        }
        _ => {
            let share = percent(cpu(&mut lines.iter().filter(|line| line.line > 0)), whole);
            format!("Source: {count}; {} of the CPU time has a line", percent_text(share))
        }
    }
}

/// The hottest lines.
fn text(rows: Vec<(Row, String)>, options: &ReportOptions) -> Vec<TextSection> {
    let all = rows.len();
    let is_told = |row: &Row| {
        let shares = ["critical_path_percent", "npt_percent", "cpu_percent"];
        let times = ["suffered_seconds", "caused_seconds"];
        shares.iter().any(|column| row.value(column) >= Some(SMALLEST))
            || times.iter().any(|column| row.value(column) > Some(0.0))
    };
    let limit = options.top.unwrap_or(ROWS_OF_TEXT);
    let rows: Vec<(Row, String)> = rows.into_iter().filter(|(row, _)| is_told(row)).take(limit).collect();
    if rows.is_empty() {
        return vec![TextSection::Paragraph("No line was charged anything.".to_owned())];
    }
    let hidden = all - rows.len();
    let columns = vec![
        shown("% of path", Show::Estimate("critical_path_percent", "critical_path_error_percent")),
        shown("% of NPT", Show::Percent("npt_percent")),
        shown("CPU", Show::Time("cpu_seconds")),
        shown("suffered", Show::Time("suffered_seconds")).optional(),
        shown("caused", Show::Time("caused_seconds")).optional(),
    ];
    let mut sections = vec![TextSection::Table(TextTable { columns, name_title: "line".to_owned(), rows })];
    if hidden > 0 {
        let more = count_of(hidden as u64, "more row");
        sections.push(TextSection::Remark(format!("{more} with less (--top {all})")));
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{DrawnRun, LOCK_HOG, PROCESSES, SPINNER};

    fn report(scene: &DrawnRun, of: Option<FoundNodes>) -> Report {
        scene.report(View::Source, &ReportOptions { of, ..ReportOptions::default() })
    }

    fn sum(report: &Report, column: &str) -> f64 {
        report.rows.iter().filter_map(|row| row.value(column)).sum()
    }

    #[test]
    fn lines_add_up_to_the_profile_and_the_other_tables() {
        for drawing in [LOCK_HOG, PROCESSES, SPINNER] {
            let scene = DrawnRun::of(drawing);
            let lines = report(&scene, None);
            let other = |view| scene.report(view, &ReportOptions::default());
            let (profile, npt, path) = (other(View::Profile), other(View::Npt), other(View::CriticalPath));
            for (column, table, same) in [
                ("cpu_seconds", &profile, "seconds"),
                ("spin_seconds", &profile, "spin_seconds"),
                ("wait_seconds", &profile, "wait_seconds"),
                ("synchronisation_wait_seconds", &profile, "synchronisation_wait_seconds"),
                ("npt_seconds", &npt, "seconds"),
                ("critical_path_seconds", &path, "seconds"),
                ("critical_path_percent", &path, "percent"),
            ] {
                let (one, other) = (sum(&lines, column), sum(table, same));
                assert!((one - other).abs() < 1e-3, "{column}: {one} and {other}");
            }
            let suffered = sum(&lines, "synchronisation_wait_seconds") + sum(&lines, "spin_seconds");
            assert!((sum(&lines, "suffered_seconds") - suffered).abs() < 1e-8);
        }
    }

    #[test]
    fn the_lines_of_one_file_are_those_that_all_lines_have_of_it() {
        let mut scene = DrawnRun::of(LOCK_HOG);
        scene.move_to_file("update", "/src/hog.c");
        scene.move_to_file("hog", "/src/hog.c");
        scene.move_to_file("short_update", "/src/polite.c");
        let all = report(&scene, None);
        let one = report(&scene, Some(FoundNodes::File("/src/hog.c".into())));
        let of_file: Vec<Row> =
            all.rows.into_iter().filter(|row| row.words("file") == "/src/hog.c").collect();
        assert_eq!(one.rows, of_file);
        let lines: Vec<Option<f64>> = one.rows.iter().map(|row| row.value("line")).collect();
        assert_eq!(lines, [Some(30.0), Some(5.0)]);
        let text = one.text(&crate::style::Style::plain(100));
        assert!(
            text.contains("hog.c:30  update") && text.contains("Source of /src/hog.c: 2 lines"),
            "{text}"
        );
    }
}
