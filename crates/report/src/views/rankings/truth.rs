//! What leaving rows out was measured to gain, beside the metrics, and how well each of them guides (metrics.md §5; M §4).
//!
//! ```text
//!   gprof   path  zeroing   measured              row
//!    50.4   43.9     49.3   45.2 (44.1 to 46.0)   digest       a share of the metric's sum; the gain in % of the run
//!
//!            Pearson  Spearman  without digest: Pearson  Spearman
//!   gprof       0.98      1.00                     0.91      0.87
//! ```

use longpole_metrics::{By, ChangeSubject, Node, NodeRow};
use longpole_trials::{pearson, spearman};

use super::metric_columns::MetricColumn;
use crate::input::{MeasuredZeroing, ReportTables};
use crate::report::Row;
use crate::table::{Show, Shown, TextTable, shown};
use crate::text::TextSection;
use crate::views::noun;

/// Words of the text only.
const MEASURED: &str = "measured_text";
const WITH: [&str; 2] = ["pearson_text", "spearman_text"];
const WITHOUT: [&str; 2] = ["pearson_without_text", "spearman_without_text"];

/// A procedure whose callees have at most this part of its time is measured as its own work is.
const OF_CALLEES: f64 = 0.02;

/// What each row was measured to gain; in the order of the nodes.
pub(super) fn measured<'a>(
    input: &'a ReportTables<'_>,
    by: By,
    nodes: &[Node],
) -> Vec<Option<&'a MeasuredZeroing>> {
    let zeroings = &input.outside_answers.zeroings;
    let of = |&node: &Node| zeroings.iter().rev().find(|zeroing| is_of(input, by, &zeroing.subject, node));
    nodes.iter().map(of).collect()
}

/// Whether leaving this out is leaving the row out.
fn is_of(input: &ReportTables<'_>, by: By, subject: &ChangeSubject, node: Node) -> bool {
    match (subject, node) {
        (ChangeSubject::Procedure(of), Node::Procedure(id)) => *of == id,
        (ChangeSubject::Inclusive(of), Node::Procedure(id)) => *of == id && calls_nothing(input, by, node),
        (ChangeSubject::Objects(of), Node::Object(id)) => of.contains(&id),
        (ChangeSubject::Threads(of), Node::Thread(id)) => *of == [id],
        (ChangeSubject::Processes(of), Node::Process(id)) => *of == [id],
        _ => false,
    }
}

/// Whether nearly all that is done on the procedure's behalf is its own work.
fn calls_nothing(input: &ReportTables<'_>, by: By, node: Node) -> bool {
    let is_small = |row: &NodeRow| {
        let (own, all) = (row.own.cpu() as f64, row.inclusive.cpu() as f64);
        all - own <= OF_CALLEES * all
    };
    input.rows(by).iter().find(|row| row.node == node).is_some_and(is_small)
}

/// The row with what it was measured to gain, if it was.
pub(super) fn with_measured(row: Row, zeroing: Option<&MeasuredZeroing>) -> Row {
    let Some(zeroing) = zeroing else { return row };
    let range = zeroing.interval.map_or_else(String::new, |(low, high)| format!(" ({low:.1} to {high:.1})"));
    row.percent("measured_gain_percent", zeroing.percent)
        .percent_if("measured_low_percent", zeroing.interval.map(|interval| interval.0))
        .percent_if("measured_high_percent", zeroing.interval.map(|interval| interval.1))
        .text(MEASURED, format!("{:.1}{range}", zeroing.percent))
}

/// The measured rows, and the correlation of each metric with them.
pub(super) fn sections(
    rows: &[(Row, String)],
    metrics: &[MetricColumn],
    (by, all): (By, &[MeasuredZeroing]),
) -> Vec<TextSection> {
    if all.is_empty() {
        return Vec::new();
    }
    let gain = |row: &Row| row.value("measured_gain_percent");
    let mut listed: Vec<(Row, String)> =
        rows.iter().filter(|(row, _)| gain(row).is_some()).cloned().collect();
    listed.sort_by(|(a, _), (b, _)| gain(b).unwrap_or(0.0).total_cmp(&gain(a).unwrap_or(0.0)));
    let mut sections = vec![TextSection::Blank];
    if listed.is_empty() {
        sections.push(TextSection::Remark(
            "What `longpole zero` measured is not of these rows: a procedure that calls others was left out with them."
                .to_owned(),
        ));
        return sections;
    }
    sections.push(TextSection::Remark(
        "Measured by `longpole zero`: what the run gains without a row, in % of the run, and the interval that holds this median in 95 of 100 cases."
            .to_owned(),
    ));
    let says = |metric: &&MetricColumn| metric.sum() > 0.0 && !metric.is_negligible;
    let mut columns: Vec<Shown> = metrics
        .iter()
        .filter(says)
        .map(|metric| shown(metric.columns.title, Show::Percent(metric.columns.percent)))
        .collect();
    columns.push(shown("measured", Show::Words(MEASURED)));
    // A gain of too few runs to have an interval guides nobody.
    let known: Vec<(Row, String)> =
        listed.iter().filter(|(row, _)| row.value("measured_low_percent").is_some()).cloned().collect();
    sections.push(TextSection::Table(TextTable { columns, name_title: noun(by).to_owned(), rows: listed }));
    sections.push(TextSection::Blank);
    match known.len() {
        0..3 => sections.push(TextSection::Remark(format!(
            "How well each metric guides needs three rows whose gain has an interval; here is {}.",
            known.len()
        ))),
        _ => sections.extend(correlations(&known, metrics.iter().filter(says))),
    }
    sections
}

/// The correlation of each metric with the gains of these rows, the largest first.
fn correlations<'a>(
    known: &[(Row, String)],
    metrics: impl Iterator<Item = &'a MetricColumn>,
) -> Vec<TextSection> {
    let row_of = |metric: &MetricColumn| {
        let mut row = Row::default();
        for (rows, [linear, ranked]) in [(known, WITH), (&known[1..], WITHOUT)] {
            let pair = |(row, _): &(Row, String)| {
                Some((row.value(metric.columns.percent)?, row.value("measured_gain_percent")?))
            };
            let pairs: Vec<(f64, f64)> = rows.iter().filter_map(pair).collect();
            row = row.text(linear, coefficient(pearson(&pairs))).text(ranked, coefficient(spearman(&pairs)));
        }
        (row, metric.columns.title.to_owned())
    };
    let columns = vec![
        shown("Pearson", Show::Words(WITH[0])),
        shown("Spearman", Show::Words(WITH[1])),
        shown("Pearson without", Show::Words(WITHOUT[0])),
        shown("Spearman without", Show::Words(WITHOUT[1])),
    ];
    let rows = metrics.map(row_of).collect();
    vec![
        TextSection::Remark(format!(
            "Correlation of each metric with the {} measured gains that have an interval; then without `{}`, which gains most.",
            known.len(),
            known[0].1
        )),
        TextSection::Table(TextTable { columns, name_title: "metric".to_owned(), rows }),
    ]
}

fn coefficient(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}
