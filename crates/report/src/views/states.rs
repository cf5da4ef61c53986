//! `states`: the state table (metrics.md §3; Q table 1).

use std::collections::BTreeMap;

use longpole_metrics::{By, Condition, DetailsDemand, Node, Spread, Spreads, StateRow, StateTable};

use super::{ROWS_OF_TEXT, identity, identity_columns, noun};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::RecordingNeed;
use crate::quantity::{percent, time_text};
use crate::report::{Report, Row};
use crate::sparkline::upwards;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const MEASURES: [&str; 13] = [
    "rank",
    "state",
    "cause",
    "seconds",
    "state_percent",
    "inclusive_seconds",
    "mean_nominal",
    "nominal_p10",
    "nominal_p50",
    "nominal_p90",
    "mean_effective",
    "nominal_level_seconds",
    "effective_level_seconds",
];
/// States below this share of a row's time stand in no text.
const SMALLEST: f64 = 1.0;
/// Part of all thread time below which a row stands in no text.
const LEAST: f64 = 0.000_5;
/// Levels that a drawn spread tells apart; the last stands for all above it too.
const DRAWN: usize = 9;

/// A node with its own normalised processor time and its states.
struct RankedStates<'a> {
    node: Node,
    npt: f64,
    time: u64,
    states: &'a StateRow,
}

fn ranked<'a>(input: &ReportTables<'_>, states: &'a StateTable, by: By) -> Vec<RankedStates<'a>> {
    let npt: BTreeMap<Node, f64> = match by {
        By::Object => BTreeMap::new(),
        by => input.rows(by).iter().map(|row| (row.node, row.own.npt())).collect(),
    };
    let mut ranked: Vec<RankedStates<'a>> = states
        .rows
        .iter()
        .map(|(&node, states)| {
            let npt = npt.get(&node).copied().unwrap_or(0.0);
            RankedStates { node, npt, time: time_of(states), states }
        })
        .collect();
    ranked.sort_by(|a, b| {
        let times = b.time.cmp(&a.time).then_with(|| b.inclusive().cmp(&a.inclusive()));
        b.npt.total_cmp(&a.npt).then(times).then(a.node.cmp(&b.node))
    });
    ranked
}

impl RankedStates<'_> {
    fn inclusive(&self) -> u64 {
        self.states.inclusive.values().map(|spreads| spreads.nominal.time()).sum()
    }
}

/// Thread time in all states.
fn time_of(states: &StateRow) -> u64 {
    let is_thread_time = |(condition, _): &(&Condition, &Spreads)| **condition != Condition::Wanted;
    states.own.iter().filter(is_thread_time).map(|(_, spreads)| spreads.nominal.time()).sum()
}

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "states",
    about: "How long procedures, threads or objects were in each state, and how many threads could run meanwhile.",
    has_levels: true,
    demand: |options| DetailsDemand { states: Some(options.by), ..DetailsDemand::default() },
    needs: |_| &[RecordingNeed::Switches],
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let names: Vec<&str> = MEASURES.iter().chain(identity_columns(options.by)).copied().collect();
    let mut report = Report::new(View::States, input, options, &names);
    let Some(states) = &input.details.states else { return report };
    let ranked = ranked(input, states, options.by);
    let whole: u64 = ranked.iter().map(|ranked| ranked.time).sum();
    let mut shown_rows = Vec::new();
    for (at, ranked) in ranked.iter().enumerate() {
        let (identity, name) = identity(input, ranked.node);
        for (index, (condition, spreads)) in by_time(ranked.states).into_iter().enumerate() {
            let row = row(identity.clone(), ranked, condition, spreads).count("rank", at as u64 + 1);
            let label = if index == 0 { name.clone() } else { format!("  {name}") };
            let is_large = row.value("state_percent").is_none_or(|share| share >= SMALLEST);
            if is_large && ranked.time.max(ranked.npt as u64) as f64 >= whole as f64 * LEAST {
                let drawn = row
                    .clone()
                    .text("condition", label_of(condition))
                    .text("nominal", drawn(&spreads.nominal))
                    .text("effective", drawn(&spreads.effective));
                shown_rows.push((drawn, label));
            }
            report.rows.push(row);
        }
    }
    report.rows.truncate(options.top.unwrap_or(usize::MAX));
    report.drop_empty_columns(&names[..2]);
    report.sections.extend(head(options.by));
    report.sections.push(TextSection::Blank);
    if shown_rows.is_empty() {
        report.sections.push(TextSection::Paragraph(nothing(input, options.by)));
        return report;
    }
    report.sections.extend(table(shown_rows, options));
    report
}

/// The states of a row, the longest first.
fn by_time(states: &StateRow) -> Vec<(Condition, &Spreads)> {
    let mut by_time: Vec<(Condition, &Spreads)> =
        states.own.iter().map(|(&condition, spreads)| (condition, spreads)).collect();
    by_time.sort_by_key(|(condition, spreads)| (std::cmp::Reverse(spreads.nominal.time()), *condition));
    by_time
}

fn row(identity: Row, ranked: &RankedStates<'_>, condition: Condition, spreads: &Spreads) -> Row {
    let Spreads { nominal, effective } = spreads;
    let inclusive = ranked.states.inclusive.get(&condition).map_or(0, |spreads| spreads.nominal.time());
    let cause = match condition {
        Condition::Blocked(cause) => cause.name(),
        _ => "",
    };
    // Of an object, the time for which it is wanted is not thread time.
    let share = (condition != Condition::Wanted).then(|| percent(nominal.time() as f64, ranked.time as f64));
    identity
        .text("state", condition.name())
        .text("cause", cause)
        .time("seconds", nominal.time())
        .percent_if("state_percent", share)
        .time("inclusive_seconds", inclusive)
        .mean("mean_nominal", nominal.mean())
        .count("nominal_p10", u64::from(nominal.quantile(0.1)))
        .count("nominal_p50", u64::from(nominal.quantile(0.5)))
        .count("nominal_p90", u64::from(nominal.quantile(0.9)))
        .mean("mean_effective", effective.mean())
        .times("nominal_level_seconds", by_level(nominal).into_iter())
        .times("effective_level_seconds", by_level(effective).into_iter())
}

/// Times by level, from 0.
fn by_level(spread: &Spread) -> Vec<u64> {
    let levels = spread.levels().last().map_or(0, |&(level, _)| level as usize + 1);
    let mut times = vec![0; levels];
    spread.levels().iter().for_each(|&(level, time)| times[level as usize] = time);
    times
}

fn label_of(condition: Condition) -> &'static str {
    match condition {
        Condition::Blocked(cause) => cause.name(),
        other => other.name(),
    }
}

/// A spread as a row of bars, one per level from 0: `▁█▃ `.
fn drawn(spread: &Spread) -> String {
    let mut shares = [0_u64; DRAWN];
    for &(level, time) in spread.levels() {
        shares[(level as usize).min(DRAWN - 1)] += time;
    }
    let whole = spread.time().max(1) as f64;
    let bar = |&time: &u64| match time {
        0 => '·',
        time => upwards((time as f64 / whole * 8.0) as usize + 1),
    };
    shares.iter().map(bar).collect()
}

fn head(by: By) -> Vec<TextSection> {
    let title = format!(
        "States of each {}, and how many threads could run (N) and were busy (U) meanwhile",
        noun(by)
    );
    let remark = match by {
        By::Object => {
            "Causes: thread time of waits for the object. Wanted: time for which one thread or more waited for it. Bars: shares of the time with 0, 1, 2 … 8 and more threads."
        }
        _ => {
            "A cause stands for blocked time. Bars: shares of the state's time with 0, 1, 2 … 8 and more threads. In the order of normalised processor time."
        }
    };
    vec![TextSection::Headline(title), TextSection::Remark(remark.to_owned())]
}

fn table(rows: Vec<(Row, String)>, options: &ReportOptions) -> Vec<TextSection> {
    let columns = vec![
        shown("state", Show::Words("condition")),
        shown("time", Show::Time("seconds")),
        shown("% of own", Show::Percent("state_percent")),
        shown("N", Show::Mean("mean_nominal")),
        shown("N 0-8+", Show::Words("nominal")),
        shown("U", Show::Mean("mean_effective")).optional(),
        shown("U 0-8+", Show::Words("effective")).optional(),
    ];
    let limit = options.top.unwrap_or(ROWS_OF_TEXT);
    let all = rows.len();
    let rows: Vec<_> = rows.into_iter().take(limit).collect();
    let mut sections =
        vec![TextSection::Table(TextTable { columns, name_title: noun(options.by).to_owned(), rows })];
    if all > limit {
        sections.push(TextSection::Remark(format!("{} more rows (--top {all})", all - limit)));
    }
    sections
}

fn nothing(input: &ReportTables<'_>, by: By) -> String {
    let elapsed = time_text(input.analysis.elapsed);
    match by {
        By::Object => format!("In {elapsed} no thread waited for an object that the recording names."),
        _ => format!("No state of any {} is known in {elapsed}.", noun(by)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{DrawnRun, LOCK_HOG};

    fn rows(by: By) -> Vec<Row> {
        DrawnRun::of(LOCK_HOG).report(View::States, &ReportOptions { by, ..ReportOptions::default() }).rows
    }

    #[test]
    fn the_states_of_a_thread_add_up_to_its_life() {
        let rows = rows(By::Thread);
        for name in ["hog", "polite1", "polite2"] {
            let of_thread = rows.iter().filter(|row| row.words("thread") == name);
            let sum: f64 = of_thread.clone().filter_map(|row| row.value("seconds")).sum();
            let shares: f64 = of_thread.filter_map(|row| row.value("state_percent")).sum();
            assert!((sum - 0.32).abs() < 1e-9 && (shares - 100.0).abs() < 1e-3, "{name} {sum} {shares}");
        }
    }

    #[test]
    fn a_spread_is_drawn_from_nobody_to_many() {
        let rows = rows(By::Object);
        let wanted = rows.iter().find(|row| row.words("state") == "wanted").unwrap();
        // While anybody waits, the hog runs and one other at most.
        assert_eq!(wanted.value("seconds"), Some(0.22));
        assert_eq!(wanted.value("nominal_p90"), Some(2.0));
        assert!(wanted.value("mean_nominal").unwrap() < 2.0);
    }
}
