//! `phases`: parallelism over time, and the parts of the run between which it changes (metrics.md §8).

use longpole_metrics::{Bin, DetailsDemand, MarkedRegion, Node, ParallelismCurve, Phases, ProposedPhase};
use longpole_trace::Procedure;

use super::{ROWS_OF_TEXT, identity};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::RecordingNeed;
use crate::phase::argument;
use crate::quantity::{count_of, percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::sparkline::upwards;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const COLUMNS: [&str; 14] = [
    "kind",
    "rank",
    "start_seconds",
    "end_seconds",
    "seconds",
    "percent",
    "effective_parallelism",
    "nominal_parallelism",
    "procedure",
    "module",
    "file",
    "procedure_percent",
    "entries",
    "argument",
];
/// Lines and columns of the drawing.
const HEIGHT: usize = 5;
const WIDTH: usize = 64;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "phases",
    about: "Parallelism over time, and the parts of the run between which it changes.",
    demand: |_| DetailsDemand { phases: true, ..DetailsDemand::default() },
    needs: |_| &[RecordingNeed::Switches],
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Phases, input, options, &COLUMNS);
    let Some(Phases { curve, phases, regions }) = &input.details.phases else { return report };
    // A phase of a phase counts from the begin of the run.
    let base = options.phase.map_or(0, |span| span.from);
    let rows: Vec<(Row, String)> = phases
        .iter()
        .enumerate()
        .map(|(index, phase)| row(input, options, (base, curve), (index, phase)))
        .collect();
    report.rows = rows.iter().map(|(row, _)| row.clone()).collect();
    let marked = marked(input, regions, (base, curve.elapsed));
    report.rows.extend(marked.iter().map(|(row, _)| row.clone()));
    report.rows.extend(bins(curve, base));
    report.sections.push(TextSection::Headline(headline(phases, curve)));
    if phases.is_empty() {
        return report;
    }
    report.sections.push(TextSection::Remark(
        "U is the number of threads that do useful work; it is nearly the same throughout a phase."
            .to_owned(),
    ));
    report.sections.push(TextSection::Blank);
    report.sections.extend(drawing(curve, phases).into_iter().map(TextSection::Line));
    report.sections.push(TextSection::Blank);
    let columns = vec![
        shown("phase", Show::Count("rank")),
        shown("begin", Show::Time("start_seconds")).optional(),
        shown("length", Show::Time("seconds")),
        shown("% of run", Show::Percent("percent")),
        shown("U", Show::Number("effective_parallelism")),
        shown("N", Show::Number("nominal_parallelism")).optional(),
        shown("--phase", Show::Words("argument")),
    ];
    report.sections.push(TextSection::Table(TextTable {
        columns,
        name_title: "most of its NPT".to_owned(),
        rows: rows.into_iter().take(options.top.unwrap_or(usize::MAX)).collect(),
    }));
    report.sections.extend(regions_table(marked, options));
    report.sections.push(TextSection::Blank);
    let advice =
        "Any view can be had of one phase alone, for example: longpole report --view npt --phase A..B";
    report.sections.push(TextSection::Remark(advice.to_owned()));
    report
}

fn headline(phases: &[ProposedPhase], curve: &ParallelismCurve) -> String {
    let elapsed = time_text(curve.elapsed);
    match phases {
        [] => "Phases: the run has no length.".to_owned(),
        [one] => format!(
            "Phases: one. Parallelism has no lasting change in the {elapsed}; on average {:.2} threads were busy",
            one.effective
        ),
        several => {
            let count = count_of(several.len() as u64, "part");
            format!("Phases: {count} of {elapsed} between which the number of busy threads changes")
        }
    }
}

fn row(
    input: &ReportTables<'_>,
    options: &ReportOptions,
    (base, curve): (u64, &ParallelismCurve),
    (index, phase): (usize, &ProposedPhase),
) -> (Row, String) {
    let length = phase.to - phase.from;
    let is_first = phase.from == 0 && base == 0;
    let is_last = phase.to == curve.elapsed && options.phase.is_none_or(|span| span.to == span.of);
    let ends = ((!is_first).then_some(base + phase.from), (!is_last).then_some(base + phase.to));
    let row = Row::default()
        .text("kind", "phase")
        .count("rank", index as u64 + 1)
        .time("start_seconds", base + phase.from)
        .time("end_seconds", base + phase.to)
        .time("seconds", length)
        .percent("percent", percent(length as f64, curve.elapsed as f64))
        .threads("effective_parallelism", phase.effective)
        .threads("nominal_parallelism", phase.nominal)
        .text("argument", argument(ends, curve.width));
    let Some((procedure, time)) = phase.most else { return (row, "nobody is busy".to_owned()) };
    let share = percent(time, phase.npt);
    let (identity, name) = identity(input, Node::Procedure(procedure));
    let row = ["procedure", "module", "file"]
        .into_iter()
        .fold(row, |row, column| row.text(column, identity.words(column)))
        .percent("procedure_percent", share);
    (row, format!("{name} {}", percent_text(share)))
}

/// What the program itself marked.
fn marked(
    input: &ReportTables<'_>,
    regions: &[MarkedRegion],
    (base, elapsed): (u64, u64),
) -> Vec<(Row, String)> {
    let row = |region: &MarkedRegion| {
        let name = &input.paths.procedure_named_by(region.region).name;
        let row = Row::default()
            .text("kind", "region")
            .text("procedure", name)
            .text("module", Procedure::REGION)
            .time("start_seconds", base + region.from)
            .time("end_seconds", base + region.to)
            .time("seconds", region.time)
            .percent("percent", percent((region.to - region.from) as f64, elapsed as f64))
            .count("entries", region.entries)
            .text("argument", format!("'region:{name}'"));
        (row, name.clone())
    };
    regions.iter().map(row).collect()
}

fn regions_table(rows: Vec<(Row, String)>, options: &ReportOptions) -> Vec<TextSection> {
    if rows.is_empty() {
        return Vec::new();
    }
    let limit = options.top.unwrap_or(ROWS_OF_TEXT);
    let hidden = rows.len().saturating_sub(limit);
    let columns = vec![
        shown("entered", Show::Count("entries")),
        shown("thread time", Show::Time("seconds")),
        shown("begin", Show::Time("start_seconds")),
        shown("end", Show::Time("end_seconds")),
        shown("% of run", Show::Percent("percent")).optional(),
    ];
    let title = "Regions and tasks that the program marked, from the first begin to the last end; `--phase NAME` shows one alone:";
    let rows = rows.into_iter().take(limit).collect();
    let table = TextTable { columns, name_title: "region".to_owned(), rows };
    let more = TextSection::Remark(format!("{} (--top)", count_of(hidden as u64, "more region")));
    let shown = [TextSection::Blank, TextSection::Remark(title.to_owned()), TextSection::Table(table)];
    shown.into_iter().chain((hidden > 0).then_some(more)).collect()
}

/// The curve, for programs that draw it.
fn bins(curve: &ParallelismCurve, base: u64) -> impl Iterator<Item = Row> {
    curve.bins.iter().enumerate().map(move |(index, bin)| {
        let begin = base + index as u64 * curve.width;
        Row::default()
            .text("kind", "bin")
            .time("start_seconds", begin)
            .time("end_seconds", begin + bin.length)
            .time("seconds", bin.length)
            .threads("effective_parallelism", bin.effective)
            .threads("nominal_parallelism", bin.nominal)
    })
}

/// U over time as columns, the numbers of the phases below.
fn drawing(curve: &ParallelismCurve, phases: &[ProposedPhase]) -> Vec<String> {
    let columns: Vec<f64> = (0..WIDTH).map(|column| mean(curve, column)).collect();
    let most = columns.iter().fold(0.0, |most, &mean| f64::max(most, mean)).ceil().max(1.0);
    let cell = |mean: f64, line: usize| {
        let eighths = (mean / most * (HEIGHT * 8) as f64).round() as usize;
        upwards(eighths.saturating_sub(line * 8))
    };
    let mut lines: Vec<String> = (0..HEIGHT)
        .rev()
        .map(|line| {
            let label = match line {
                _ if line + 1 == HEIGHT => format!("{most:.0}"),
                0 => "U".to_owned(),
                _ => String::new(),
            };
            let cells: String = columns.iter().map(|&mean| cell(mean, line)).collect();
            format!("{label:>6} │{}", cells.trim_end())
        })
        .collect();
    let ruler: String = (0..WIDTH)
        .map(|column| {
            let middle = (2 * column as u64 + 1) * curve.elapsed / (2 * WIDTH as u64);
            let phase = phases.iter().position(|phase| middle < phase.to).unwrap_or(phases.len() - 1);
            char::from_digit(phase as u32 + 1, 10).unwrap_or('+')
        })
        .collect();
    lines.push(format!("{:>6} │{ruler}", "phase"));
    lines
}

/// Mean of U in one column of the drawing.
fn mean(curve: &ParallelismCurve, column: usize) -> f64 {
    let at = |column: usize| column as f64 * curve.elapsed as f64 / WIDTH as f64;
    let (from, to) = (at(column), at(column + 1));
    let part = |(index, bin): (usize, &Bin)| {
        let begin = (index as u64 * curve.width) as f64;
        let shared = (to.min(begin + bin.length as f64) - from.max(begin)).max(0.0);
        shared * bin.effective
    };
    if to > from { curve.bins.iter().enumerate().map(part).sum::<f64>() / (to - from) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{CROWDED, DrawnRun, REGIONS, SERIAL_THEN_PARALLEL};
    use crate::input::ReportOptions;
    use crate::phase::Span;
    use crate::view::View;

    #[test]
    fn each_phase_has_its_procedure_and_its_argument() {
        let report = DrawnRun::of(SERIAL_THEN_PARALLEL).report(View::Phases, &ReportOptions::default());
        let phases: Vec<_> = report
            .rows
            .iter()
            .filter(|row| row.words("kind") == "phase")
            .map(|row| {
                let busy = row.value("effective_parallelism").unwrap();
                (row.words("procedure"), row.words("argument"), busy.round() as u64)
            })
            .collect();
        assert_eq!(
            phases,
            [("load", "..200ms", 1), ("compute", "200ms..300ms", 2), ("compute", "300ms..", 1),]
        );
    }

    #[test]
    fn regions_of_the_program_are_listed() {
        let scene = DrawnRun::of(REGIONS);
        let report = scene.report(View::Phases, &ReportOptions::default());
        let regions: Vec<_> = report.rows.iter().filter(|row| row.words("kind") == "region").collect();
        let told = |column| regions.iter().map(|row| row.value(column)).collect::<Vec<_>>();
        assert_eq!(told("entries"), [Some(1.0), Some(2.0)]);
        assert_eq!(regions[1].words("argument"), "'region:tile'");
        insta::assert_snapshot!("phases_with_regions", scene.text(View::Phases, 100));
    }

    #[test]
    fn a_run_without_changes_is_one_phase() {
        let text = DrawnRun::of(CROWDED).text(View::Phases, 80);
        assert!(text.contains("Phases: one."), "{text}");
    }

    #[test]
    fn phases_of_a_phase_count_from_the_begin_of_the_run() {
        let scene = DrawnRun::of(SERIAL_THEN_PARALLEL);
        let of = scene.timelines.program.elapsed_nanoseconds;
        let span = Span::new("", of / 4, of * 3 / 4, of).unwrap();
        let report =
            scene.report(View::Phases, &ReportOptions { phase: Some(span), ..ReportOptions::default() });
        let first = &report.rows[0];
        assert_eq!(first.value("start_seconds"), Some(span.from as f64 / 1e9));
        assert!(first.words("argument").starts_with("102.5ms.."), "{}", first.words("argument"));
    }
}
