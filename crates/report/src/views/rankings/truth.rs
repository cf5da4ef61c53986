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

/// The same as numbers.
pub(super) const COEFFICIENTS: [&str; 2] = ["pearson", "spearman"];
pub(super) const COEFFICIENTS_WITHOUT: [&str; 2] = ["pearson_without", "spearman_without"];
/// Fewer measured rows say nothing about a metric.
const LEAST_KNOWN: usize = 3;

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
    correlations: Vec<(Row, String)>,
) -> Vec<TextSection> {
    if all.is_empty() {
        return Vec::new();
    }
    let listed = listed(rows);
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
    let mut columns: Vec<Shown> = metrics
        .iter()
        .filter(says)
        .map(|metric| shown(metric.columns.title, Show::Percent(metric.columns.percent)))
        .collect();
    columns.push(shown("measured", Show::Words(MEASURED)));
    let known = known(&listed);
    sections.push(TextSection::Table(TextTable { columns, name_title: noun(by).to_owned(), rows: listed }));
    sections.push(TextSection::Blank);
    match known.len() {
        0..LEAST_KNOWN => sections.push(TextSection::Remark(format!(
            "How well each metric guides needs three rows whose gain has an interval; here is {}.",
            known.len()
        ))),
        _ => sections.extend(correlation_sections(&known, correlations)),
    }
    sections
}

fn says(metric: &&MetricColumn) -> bool {
    metric.sum() > 0.0 && !metric.is_negligible
}

/// The rows whose gain was measured, the largest gain first.
fn listed(rows: &[(Row, String)]) -> Vec<(Row, String)> {
    let gain = |row: &Row| row.value("measured_gain_percent");
    let mut listed: Vec<(Row, String)> =
        rows.iter().filter(|(row, _)| gain(row).is_some()).cloned().collect();
    listed.sort_by(|(a, _), (b, _)| gain(b).unwrap_or(0.0).total_cmp(&gain(a).unwrap_or(0.0)));
    listed
}

/// Those with an interval: a gain of too few runs to have one guides nobody.
fn known(listed: &[(Row, String)]) -> Vec<(Row, String)> {
    listed.iter().filter(|(row, _)| row.value("measured_low_percent").is_some()).cloned().collect()
}

/// How well each metric guides: its correlation with the measured gains of these rows, with all that are known and without the largest; none
/// where too few are known.
pub(super) fn correlations(rows: &[(Row, String)], metrics: &[MetricColumn]) -> Vec<(Row, String)> {
    let known = known(&listed(rows));
    if known.len() < LEAST_KNOWN {
        return Vec::new();
    }
    let row_of = |metric: &MetricColumn| {
        let title = metric.columns.title;
        let mut row = Row::default().text("section", "correlation").text("metric", title);
        for (rows, keys, [linear, ranked]) in
            [(&known[..], COEFFICIENTS, WITH), (&known[1..], COEFFICIENTS_WITHOUT, WITHOUT)]
        {
            let pair = |(row, _): &(Row, String)| {
                Some((row.value(metric.columns.percent)?, row.value("measured_gain_percent")?))
            };
            let pairs: Vec<(f64, f64)> = rows.iter().filter_map(pair).collect();
            let found = [pearson(&pairs), spearman(&pairs)];
            for (key, value) in keys.into_iter().zip(found) {
                row = row.percent_if(key, value);
            }
            row = row.text(linear, coefficient(found[0])).text(ranked, coefficient(found[1]));
        }
        (row, title.to_owned())
    };
    metrics.iter().filter(says).map(row_of).collect()
}

fn correlation_sections(known: &[(Row, String)], rows: Vec<(Row, String)>) -> Vec<TextSection> {
    let columns = vec![
        shown("Pearson", Show::Words(WITH[0])),
        shown("Spearman", Show::Words(WITH[1])),
        shown("Pearson without", Show::Words(WITHOUT[0])),
        shown("Spearman without", Show::Words(WITHOUT[1])),
    ];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::DrawnRun;
    use crate::input::ReportOptions;
    use crate::style::Style;
    use crate::view::View;

    #[test]
    fn each_metric_says_how_well_it_guides() {
        // A 36 then B 36; C 36 beside A on two threads: gprof 25, 25, 50; path 50, 50, 0.
        let drawing = "cpus 4\nA = A:1\nB = B:1\nC = C:1\nT1 AAABBB\nT2 CCCccc\nT3 CCCccc\nT1@6 -> T2 signal\nT1@6 -> T3 signal";
        let mut run = DrawnRun::of(drawing);
        let zeroing = |name: &str, percent: f64| MeasuredZeroing {
            subject: ChangeSubject::Procedure(run.timelines.procedure(name)),
            percent,
            interval: Some((percent - 1.0, percent + 1.0)),
        };
        let zeroings = vec![zeroing("A", 50.0), zeroing("B", 40.0), zeroing("C", 5.0)];
        run.outside_answers.zeroings = zeroings;
        let report = run.report(View::Rankings, &ReportOptions::default());
        let of = |metric: &str| {
            let row = report.rows.iter().find(|row| row.words("metric") == metric).unwrap();
            assert_eq!(row.words("section"), "correlation");
            assert!(row.value("pearson_without").is_none(), "two are too few");
            ["pearson", "spearman"].map(|key| row.value(key).unwrap())
        };
        // -666.7 ÷ √(416.7 × 1116.7), and 1333.3 ÷ √(1666.7 × 1116.7); of the ranks 1.5 ÷ √(1.5 × 2).
        assert_eq!(of("gprof"), [-0.9774, -0.866]);
        assert_eq!(of("path"), [0.9774, 0.866]);
        assert!(report.text(&Style::plain(200)).contains("then without `A`"));
        run.outside_answers.zeroings.pop();
        let report = run.report(View::Rankings, &ReportOptions::default());
        assert!(report.rows.iter().all(|row| row.words("section").is_empty()), "two are too few");
    }
}
