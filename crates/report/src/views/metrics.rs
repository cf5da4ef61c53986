//! `metrics`: every metric of a node, those from outside and the derived ones first (metrics.md §8; I §3–5).

use longpole_series::{MetricClass, MetricValue, NodeMetrics};

use crate::amount::amount_text;
use crate::input::{ReportOptions, ReportTables};
use crate::quantity::count_of;
use crate::report::{Report, Row};
use crate::sparkline::sparkline;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition};

const COLUMNS: [&str; 14] = [
    "metric",
    "title",
    "class",
    "origin",
    "node",
    "calculation",
    "value",
    "unit",
    "minimum",
    "maximum",
    "course",
    "course_unit",
    "curve",
    "notes",
];
/// Characters of a curve.
const WIDTH: usize = 40;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "metrics",
    about: "Every metric of a node over the run: from outside, derived, built in.",
    outside: &[OutsideAnswerKind::Figures],
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Metrics, input, options, &COLUMNS);
    let nodes = &input.outside_answers.figures;
    let is_shown = |figure: &MetricValue| options.all || is_telling(figure);
    let of_node = |of: &NodeMetrics| of.figures.iter().map(|figure| row(of, figure)).collect::<Vec<_>>();
    report.rows = nodes.iter().flat_map(of_node).collect();
    report.sections.push(TextSection::Headline(headline(nodes)));
    if report.rows.is_empty() {
        let why = "There is no metric with a value: `longpole record` collects series from outside unless it is told `--collect none`.";
        report.sections.push(TextSection::Paragraph(why.to_owned()));
    }
    let (tables, left_out) = match nodes.as_slice() {
        [one] => (by_class(one, is_shown), one.figures.iter().filter(|figure| !is_shown(figure)).count()),
        several => (by_metric(several), 0),
    };
    report
        .sections
        .extend(tables.into_iter().flat_map(|table| [TextSection::Blank, TextSection::Table(table)]));
    let left_out = (left_out > 0).then(|| {
        format!(
            "{} that were 0 throughout are left out (--all shows them).",
            count_of(left_out as u64, "metric")
        )
    });
    let curves = "Curves go from the begin to the end, each from 0 to its own largest value.".to_owned();
    report.sections.push(TextSection::Blank);
    report.sections.extend(left_out.into_iter().chain([curves]).map(TextSection::Remark));
    let mut notes: Vec<&String> = nodes
        .iter()
        .flat_map(|of| of.notes.iter().chain(of.figures.iter().flat_map(|figure| &figure.notes)))
        .collect();
    notes.sort_unstable();
    notes.dedup();
    report.evidence.notes.extend(notes.iter().map(|&note| note.clone()));
    report.sections.extend(notes.into_iter().map(|note| TextSection::Warning(note.clone())));
    report
}

/// Tables of one node's metrics.
fn by_class(of: &NodeMetrics, is_shown: impl Fn(&MetricValue) -> bool) -> Vec<TextTable> {
    let classes = [MetricClass::Derived, MetricClass::External, MetricClass::BuiltIn];
    let table_of = |class: MetricClass| {
        let shown = of.figures.iter().filter(|figure| figure.class == class && is_shown(figure));
        let rows: Vec<_> = shown.map(|figure| (as_text(of, figure), figure.metric.clone())).collect();
        (!rows.is_empty()).then(|| table(format!("{} metric", class.name()), rows))
    };
    classes.into_iter().filter_map(table_of).collect()
}

/// A table for each metric with the nodes below each other.
fn by_metric(nodes: &[NodeMetrics]) -> Vec<TextTable> {
    let mut metrics: Vec<&str> = Vec::new();
    for figure in nodes.iter().flat_map(|of| &of.figures) {
        if !metrics.contains(&figure.metric.as_str()) {
            metrics.push(&figure.metric);
        }
    }
    let table_of = |metric: &str| {
        let rows = nodes.iter().filter_map(|of| {
            let figure = of.figures.iter().find(|figure| figure.metric == metric)?;
            Some((as_text(of, figure), format!("{}{}", "  ".repeat(of.depth), of.name)))
        });
        table(metric.to_owned(), rows.collect())
    };
    metrics.into_iter().map(table_of).collect()
}

fn headline(nodes: &[NodeMetrics]) -> String {
    let [NodeMetrics { name, figures, .. }] = nodes else {
        return format!("Metrics of {} of the tree", count_of(nodes.len() as u64, "node"));
    };
    let count = |class| figures.iter().filter(|figure| figure.class == class).count();
    format!(
        "Metrics of {name}: {} derived, {} from outside, {} built in",
        count(MetricClass::Derived),
        count(MetricClass::External),
        count(MetricClass::BuiltIn)
    )
}

/// Whether the metric ever was anything but 0.
fn is_telling(figure: &MetricValue) -> bool {
    figure.class == MetricClass::Derived || figure.range().is_some_and(|range| range != (0.0, 0.0))
}

fn row(of: &NodeMetrics, figure: &MetricValue) -> Row {
    let row = Row::default()
        .text("metric", &figure.metric)
        .text("title", &figure.title)
        .text("class", figure.class.name())
        .text("origin", &figure.origin)
        .text("node", &of.node)
        .text("calculation", figure.calculation)
        .amount("value", figure.value)
        .text("unit", &figure.unit)
        .amount("minimum", figure.range().map(|range| range.0))
        .amount("maximum", figure.range().map(|range| range.1))
        .numbers("course", figure.course.clone())
        .text("course_unit", &figure.course_unit)
        .text("curve", sparkline(&figure.course, WIDTH));
    row.text("notes", figure.notes.join("; "))
}

/// The same with amounts as people read them.
fn as_text(of: &NodeMetrics, figure: &MetricValue) -> Row {
    let text =
        |value: Option<f64>, unit: &str| value.map_or("—".to_owned(), |value| amount_text(value, unit));
    let most = figure.range().map(|range| range.1);
    row(of, figure)
        .text("value", text(figure.value, &figure.unit))
        .text("maximum", text(most, &figure.course_unit))
}

fn table(name_title: String, rows: Vec<(Row, String)>) -> TextTable {
    let columns = vec![
        shown("value", Show::Words("value")),
        shown("", Show::Words("calculation")).optional(),
        shown("at most", Show::Words("maximum")).optional(),
        shown("curve", Show::Words("curve")),
    ];
    TextTable { columns, name_title, rows }
}
