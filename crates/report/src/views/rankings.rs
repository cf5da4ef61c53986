//! `rankings`: the metrics of one run side by side on one scale, and where they disagree (metrics.md §5; M §4).
//!
//! ```text
//!   gprof  ips2  path   NPT   row          each column adds up to 100: a metric's seconds as a share of the sum of its rows
//!    60.0  75.0  91.0  84.0   update       gprof counts spinning
//!    40.0  25.0   9.0  16.0 ≠ prepare      more than 10 points apart, by a factor of 2, and beyond their errors
//! ```

mod metric_columns;
mod truth;

use longpole_metrics::{By, DetailsDemand, MOST_ROWS, NoRowReplays, Node, RowReplays};

use super::{ROWS_OF_TEXT, identity, identity_columns, noun, refusal_text};
use crate::findings::threshold::{DISAGREEMENT, DISAGREEMENT_FACTOR};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::chain_needs;
use crate::quantity::{Scale, count_of, grouped, percent_text, time_text};
use crate::report::{Report, Row};
use crate::table::{Show, Shown, TextTable, shown};
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition};
use metric_columns::{
    ALL, GPROF, MetricColumn, NPT, PATH, REPLAY, RankingColumns, WAITED, ZEROING, metrics, replays,
};

/// The mark of rows about which metrics disagree; of the text only.
const MARK: &str = "mark";
/// Share below which a row is left out of the text, percent.
const SMALLEST: f64 = 0.05;
/// Disagreements that the text spells out.
const NAMED: usize = 3;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "rankings",
    about: "The metrics side by side on one scale, and where they disagree.",
    has_process_procedures: true,
    outside: &[OutsideAnswerKind::Zeroings],
    demand,
    needs: chain_needs,
    build,
    ..ViewDefinition::PLAIN
};

fn demand(options: &ReportOptions) -> DetailsDemand {
    DetailsDemand {
        contention: options.by == By::Object,
        gains: Some(options.gains()),
        replays: Some(options.by),
        replays_all: options.all,
        ..DetailsDemand::default()
    }
}

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let identity = identity_columns(options.by).iter().copied();
    let names = ["rank"].into_iter().chain(columns_of_all()).chain(identity).chain([
        "disagreement",
        "measured_gain_percent",
        "measured_low_percent",
        "measured_high_percent",
        "section",
        "metric",
    ]);
    let names = names.chain(truth::COEFFICIENTS).chain(truth::COEFFICIENTS_WITHOUT);
    let names: Vec<&str> = names.collect();
    let mut report = Report::new(View::Rankings, input, options, &names);
    let nodes = nodes(input, options.by);
    let metrics: Vec<MetricColumn> = metrics(input, options, &nodes);
    report.sections.push(TextSection::Headline(headline(options.by, &metrics)));
    report.sections.push(TextSection::Remark(run(input)));
    let measured = truth::measured(input, options.by, &nodes);
    let row = |at: usize| {
        let (row, name) = ranking_row(input, nodes[at], &metrics, at);
        (truth::with_measured(row, measured[at]), name)
    };
    let mut rows: Vec<(Row, String)> = (0..nodes.len())
        .map(row)
        .filter(|(row, _)| ALL.iter().any(|columns| row.value(columns.percent).is_some_and(|v| v != 0.0)))
        .collect();
    if rows.is_empty() {
        report.sections.extend([TextSection::Blank, TextSection::Paragraph(nothing(input, options.by))]);
        return report;
    }
    let leader = leader(&metrics);
    sort(&mut rows, leader);
    report.rows = rows.iter().take(options.top.unwrap_or(usize::MAX)).map(|(row, _)| row.clone()).collect();
    let correlations = truth::correlations(&rows, &metrics);
    report.rows.extend(correlations.iter().map(|(row, _)| row.clone()));
    report.drop_empty_columns(&["rank"]);
    report.sections.push(TextSection::Remark(reading(leader)));
    report.sections.push(TextSection::Blank);
    report.sections.extend(tables(&rows, &metrics, options));
    let zeroings = &input.outside_answers.zeroings;
    report.sections.extend(truth::sections(&rows, &metrics, (options.by, zeroings), correlations));
    report.sections.extend(remarks(input, &rows, &metrics).into_iter().map(TextSection::Remark));
    report
}

fn columns_of_all() -> impl Iterator<Item = &'static str> {
    let of = |columns: &&RankingColumns| {
        let range: &[&str] =
            if columns.title == REPLAY.title { &["gain_low_seconds", "gain_high_seconds"] } else { &[] };
        [Some(columns.percent), Some(columns.seconds), columns.error]
            .into_iter()
            .flatten()
            .chain(range.iter().copied())
    };
    ALL.iter().flat_map(of)
}

/// What rows are about, in the order of the nodes.
fn nodes(input: &ReportTables<'_>, by: By) -> Vec<Node> {
    match (by, &input.details.gains) {
        (By::Object, Some(gains)) => gains.gains.iter().map(|gain| gain.node).collect(),
        _ => input.rows(by).iter().map(|row| row.node).collect(),
    }
}

/// A row with its share of each metric, and what disagrees about it.
fn ranking_row(input: &ReportTables<'_>, node: Node, metrics: &[MetricColumn], at: usize) -> (Row, String) {
    let (mut row, name) = identity(input, node);
    let mut compared: Vec<(&'static str, f64, f64)> = Vec::new();
    for metric in metrics {
        let Some((value, _)) = metric.values[at] else { continue };
        row = row.fraction(metric.columns.seconds, value);
        let Some((share, error)) = metric.share(at, metric.sum()) else { continue };
        row = row.percent(metric.columns.percent, share);
        if let Some(column) = metric.columns.error {
            row = row.percent_if(column, error);
        }
        compared.push((metric.columns.title, share, error.unwrap_or(0.0)));
    }
    if let Some((_, gain)) = replays(input).and_then(|found| found.gains.iter().find(|(own, _)| *own == node))
    {
        row = row.fraction("gain_low_seconds", gain.low).fraction("gain_high_seconds", gain.high);
    }
    let row = match disagreement(&compared) {
        Some(text) => row.text("disagreement", text).text(MARK, "≠"),
        None => row,
    };
    (row, name)
}

/// The metrics that are furthest apart, where they are too far apart.
fn disagreement(shares: &[(&'static str, f64, f64)]) -> Option<String> {
    let least = shares.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    // Of several that are equal the first one is named.
    let most = shares.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let apart = most.1 - least.1;
    let is_far = apart >= DISAGREEMENT
        && most.1 >= DISAGREEMENT_FACTOR * least.1
        && apart > 2.0 * most.2.hypot(least.2);
    is_far.then(|| format!("{} {}, {} {}", most.0, share_text(most.1), least.0, share_text(least.1)))
}

fn share_text(share: f64) -> String {
    if share.abs() < SMALLEST { "0 %".to_owned() } else { format!("{share:.1} %") }
}

/// The metric that sorts: of those that say anything, the one that predicts best.
fn leader(metrics: &[MetricColumn]) -> &'static RankingColumns {
    let order = [&REPLAY, &ZEROING, &PATH, &NPT, &WAITED];
    let says = |columns: &&&'static RankingColumns| {
        let is_it = |metric: &&MetricColumn| metric.columns.title == columns.title;
        metrics.iter().find(is_it).is_some_and(|metric| !metric.is_negligible && metric.sum() > 0.0)
    };
    order.iter().find(says).copied().unwrap_or(&GPROF)
}

/// Sorts by the leading metric, then by the critical path, then by CPU time.
fn sort(rows: &mut [(Row, String)], leader: &RankingColumns) {
    let keys = [leader.seconds, ZEROING.seconds, PATH.seconds, GPROF.seconds, WAITED.seconds];
    let values = |row: &Row| keys.map(|key| row.value(key).unwrap_or(f64::MIN));
    rows.sort_by(|(a, one), (b, other)| {
        let (a, b) = (values(a), values(b));
        let by_value = b.iter().zip(&a).map(|(b, a)| b.total_cmp(a)).find(|order| order.is_ne());
        by_value.unwrap_or_else(|| one.cmp(other))
    });
    for (at, (row, _)) in rows.iter_mut().enumerate() {
        *row = std::mem::take(row).count("rank", at as u64 + 1);
    }
}

fn headline(by: By, metrics: &[MetricColumn]) -> String {
    let count = metrics.len();
    let rows = count_of(2, noun(by));
    let rows = rows.trim_start_matches("2 ");
    format!("Rankings: {count} metrics of the same {rows}, each in % of its own sum")
}

/// The run as a whole: what the shares are shares of.
fn run(input: &ReportTables<'_>) -> String {
    let totals = input.totals();
    let elapsed = input.analysis.elapsed;
    let cpu = totals.running + totals.spinning;
    let system = crate::folded::kernel_time(input);
    let ratio = if elapsed > 0 { totals.running as f64 / elapsed as f64 } else { 0.0 };
    format!(
        "{} elapsed; speed-up {ratio:.2} on {} (useful CPU time ÷ elapsed); {} user and {} system time.",
        time_text(elapsed),
        count_of(input.program.cpus().into(), "CPU"),
        time_text(cpu.saturating_sub(system)),
        time_text(system),
    )
}

fn reading(leader: &RankingColumns) -> String {
    format!(
        "Sorted by {}. ≠: two metrics are at least {DISAGREEMENT:.0} points and a factor of {DISAGREEMENT_FACTOR:.0} apart, and more than two standard errors.",
        leader.title
    )
}

fn nothing(input: &ReportTables<'_>, by: By) -> String {
    match by {
        By::Object if super::blocked(input.totals()) == 0 => {
            "No thread waited for a lock or another object.".to_owned()
        }
        By::Object => {
            "Threads waited, but the recording does not say for which objects: `--view waits` has the places."
                .to_owned()
        }
        _ if input.totals().cpu() == 0 => "No CPU time was recorded, so no metric has a value.".to_owned(),
        _ => "Too few samples to divide the CPU time among rows: `--by thread` is exact.".to_owned(),
    }
}

/// Shares, and the same rows in seconds.
fn tables(rows: &[(Row, String)], metrics: &[MetricColumn], options: &ReportOptions) -> Vec<TextSection> {
    let limit = options.top.unwrap_or(ROWS_OF_TEXT);
    let is_shown = |(row, _): &&(Row, String)| {
        let share = |metric: &MetricColumn| row.value(metric.columns.percent).unwrap_or(0.0).abs();
        options.top.is_some() || metrics.iter().any(|metric| share(metric) >= SMALLEST)
    };
    let listed: Vec<(Row, String)> = rows.iter().filter(is_shown).take(limit).cloned().collect();
    let used: Vec<&'static RankingColumns> =
        metrics.iter().filter(|metric| metric.sum() > 0.0).map(|metric| metric.columns).collect();
    let compared = metrics.iter().filter(|metric| metric.sum() > 0.0 && !metric.is_negligible);
    let compared: Vec<&'static RankingColumns> = compared.map(|metric| metric.columns).collect();
    let mut shares: Vec<Shown> =
        compared.iter().map(|columns| shown(columns.title, Show::Percent(columns.percent))).collect();
    if listed.iter().any(|(row, _)| !row.words(MARK).is_empty()) {
        shares.push(shown("", Show::Words(MARK)));
    }
    let scale = Scale::of(metrics.iter().map(MetricColumn::sum).fold(0.0, f64::max) / 1e9);
    let times = used.iter().map(|columns| shown(columns.title, Show::TimeIn(columns.seconds, scale)));
    let table = |columns, title: &str, rows| {
        TextSection::Table(TextTable { columns, name_title: title.to_owned(), rows })
    };
    let sums =
        metrics.iter().fold(Row::default(), |row, metric| row.fraction(metric.columns.seconds, metric.sum()));
    let in_seconds = listed.iter().cloned().chain([(sums, "sum".to_owned())]).collect();
    let mut sections = vec![table(shares, noun(options.by), listed.clone())];
    let hidden = rows.len() - listed.len();
    if hidden > 0 {
        let all = rows.len();
        sections.push(TextSection::Remark(format!("{} more (--top {all}).", count_of(hidden as u64, "row"))));
    }
    sections.extend([
        TextSection::Blank,
        table(times.collect(), &format!("the same in {}", scale.unit), in_seconds),
    ]);
    sections
}

/// Where metrics disagree, what has no column and why, and how sure the shares are.
fn remarks(input: &ReportTables<'_>, rows: &[(Row, String)], metrics: &[MetricColumn]) -> Vec<String> {
    let mut remarks = Vec::new();
    let disagreeing: Vec<&(Row, String)> =
        rows.iter().filter(|(row, _)| !row.words("disagreement").is_empty()).collect();
    let named: Vec<String> = disagreeing
        .iter()
        .take(NAMED)
        .map(|(row, name)| format!("`{name}` ({})", row.words("disagreement")))
        .collect();
    match disagreeing.len() {
        0 => remarks.push("The metrics do not disagree about any row.".to_owned()),
        count => {
            let more = if count > NAMED { format!(", and {} more", count - NAMED) } else { String::new() };
            remarks.push(format!(
                "They disagree about {}{more}; `--view guidance` says which metric to trust.",
                named.join(", ")
            ));
        }
    }
    let silent = |metric: &MetricColumn| match (metric.is_negligible, metric.sum() > 0.0) {
        (_, false) => Some(format!("{} has no value: no row gains anything", metric.columns.title)),
        (true, true) => {
            let sum = time_text(metric.sum().round() as u64);
            Some(format!("{} is not compared: it sums to {sum} only", metric.columns.title))
        }
        _ => None,
    };
    if metrics.iter().filter(|metric| !metric.is_negligible && metric.sum() > 0.0).count() < 2 {
        remarks.clear();
    }
    remarks.extend(metrics.iter().filter_map(silent).map(|text| format!("{text}.")));
    remarks.extend(replay_remark(input));
    remarks.extend(largest_error(rows, metrics));
    remarks
}

/// What the replay is of, or why there is none.
fn replay_remark(input: &ReportTables<'_>) -> Option<String> {
    let why = match input.details.replays.as_ref()? {
        Ok(RowReplays { gains, error }) => {
            let most = if gains.len() == MOST_ROWS {
                format!(" the {MOST_ROWS} largest rows only;")
            } else {
                String::new()
            };
            let off = percent_text(100.0 * error.abs());
            return Some(format!(
                "replay is of{most} the elapsed time; unchanged, it is {off} off the recording. Its ranges are in --format json."
            ));
        }
        Err(NoRowReplays::Refused(refusal)) => refusal_text(refusal),
        Err(NoRowReplays::Part) => "a part of a run is not replayed".to_owned(),
        Err(NoRowReplays::Long(events)) => {
            format!("the recording has {} events; `--all` replays it", grouped(*events))
        }
        Err(NoRowReplays::Kind) => {
            "it leaves out procedures, lines, threads, processes and objects, not rows of this kind"
                .to_owned()
        }
    };
    Some(format!("No replay: {why}."))
}

fn largest_error(rows: &[(Row, String)], metrics: &[MetricColumn]) -> Option<String> {
    let of = |row: &Row| {
        let errors = metrics.iter().filter_map(|metric| row.value(metric.columns.error?));
        errors.fold(0.0, f64::max)
    };
    let largest = rows.iter().map(|(row, _)| of(row)).fold(0.0, f64::max);
    (largest >= SMALLEST)
        .then(|| format!("One standard error of a share is at most {largest:.1} points here."))
}

#[cfg(test)]
mod tests;
