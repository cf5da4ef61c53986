//! Rows ranked by one measure, with its shares, errors and ties.

use std::cmp::{Ordering, Reverse};

use longpole_metrics::{By, Measures, Node, NodeRow as Charged};

use super::{ROWS_OF_TEXT, identity, is_estimated, noun};
use crate::folded::FoldedWork;
use crate::input::{ReportOptions, ReportTables, Sort};
use crate::name::is_starter;
use crate::quantity::{percent, percent_text};
use crate::report::Row;
use crate::share::{Estimate, PrecisionBehind, places, places_of};
use crate::table::{Shown, TIED, TextTable};
use crate::text::TextSection;

/// Columns that every ranking begins with.
pub(super) const RANKED: [&str; 6] =
    ["rank", "seconds", "percent", "error_percent", "inclusive_seconds", "inclusive_percent"];

/// A measure that ranks rows.
pub(super) struct RankingMeasure<'a> {
    /// What a row got, nanoseconds.
    pub of: &'a dyn Fn(&Measures) -> f64,
    /// What shares are shares of, nanoseconds.
    pub whole: f64,
    /// What the shares of procedures are estimated from.
    pub behind: PrecisionBehind<'a>,
}

/// One row of a ranking.
pub(super) struct RankedRow {
    pub charged: Charged,
    pub row: Row,
    pub name: String,
}

impl RankedRow {
    fn share(&self) -> f64 {
        self.row.value("percent").unwrap_or(0.0)
    }
}

/// Share below which a row got next to nothing itself, percent.
const SMALLEST: f64 = 0.05;

/// Ranks the rows that the measure charged anything, or that `keeps` wants besides: by the share that is asked for,
/// then by the other one, then by their node.
pub(super) fn ranking(
    input: &ReportTables<'_>,
    options: &ReportOptions,
    measure: &RankingMeasure<'_>,
    keeps: impl Fn(&Charged) -> bool,
) -> Vec<RankedRow> {
    let (by, sort) = (options.by, options.sort);
    let is_ranked =
        |row: &&Charged| (measure.of)(&row.own) + (measure.of)(&row.inclusive) > 0.0 || keeps(row);
    let mut charged: Vec<Charged> = input.rows(by).iter().filter(is_ranked).cloned().collect();
    charged.sort_by(|a, b| {
        let times = |row: &Charged| ((measure.of)(&row.own), (measure.of)(&row.inclusive));
        by_times(sort, times(a), times(b)).then(a.node.cmp(&b.node))
    });
    let ranking = |row: &Charged| percent((measure.of)(sort.of(&row.own, &row.inclusive)), measure.whole);
    let shares: Vec<f64> = charged.iter().map(ranking).collect();
    let estimate = Estimate::of(input, by, measure.behind, measure.whole);
    let places = match (sort, &estimate) {
        (Sort::Inclusive, Some(_)) => places(&shares, Some(measure.behind.1)),
        _ => {
            let nodes: Vec<_> = charged.iter().zip(&shares).map(|(row, &share)| (row.node, share)).collect();
            places_of(&nodes, estimate.as_ref())
        }
    };
    let ranked = charged.into_iter().zip(places);
    let rank = |(charged, place): (Charged, u64)| {
        let share = percent((measure.of)(&charged.own), measure.whole);
        let error = estimate.as_ref().and_then(|estimate| estimate.error(charged.node, share));
        rank(input, (sort, place, error), measure, charged)
    };
    let mut ranked: Vec<RankedRow> = ranked.map(rank).collect();
    mark_ties(&mut ranked);
    ranked
}

/// The order of rows with these own and inclusive times, the largest first.
pub(super) fn by_times(sort: Sort, one: (f64, f64), other: (f64, f64)) -> Ordering {
    let (own, inclusive) = (other.0.total_cmp(&one.0), other.1.total_cmp(&one.1));
    match sort {
        Sort::Own => own.then(inclusive),
        Sort::Inclusive => inclusive.then(own),
    }
}

/// Marks rows that share their place, for text.
pub(super) fn mark_ties(ranked: &mut [RankedRow]) {
    let places: Vec<Option<f64>> = ranked.iter().map(|ranked| ranked.row.value("rank")).collect();
    for (at, ranked) in ranked.iter_mut().enumerate() {
        let is_same = |other: Option<&Option<f64>>| places[at].is_some() && other == Some(&places[at]);
        if is_same(places.get(at + 1)) || is_same(at.checked_sub(1).and_then(|before| places.get(before))) {
            ranked.row = std::mem::take(&mut ranked.row).count(TIED, 1);
        }
    }
}

fn rank(
    input: &ReportTables<'_>,
    (sort, place, error): (Sort, u64, Option<f64>),
    measure: &RankingMeasure<'_>,
    charged: Charged,
) -> RankedRow {
    let (row, name) = identity(input, charged.node);
    let [own, inclusive] = [&charged.own, &charged.inclusive].map(measure.of);
    let row = placed(row, (sort, place, error), (own, inclusive), measure.whole);
    let folded = FoldedWork::of(input, charged.node, own, measure.of);
    RankedRow { charged, row: folded.add_to(input, row), name: name + &folded.suffix() }
}

/// Fills the columns [`RANKED`] of a row: its own share, its place, and its own and inclusive times, which
/// are parts of `whole`. Estimated shares have errors.
pub(super) fn placed(
    row: Row,
    (sort, place, error): (Sort, u64, Option<f64>),
    (own, inclusive): (f64, f64),
    whole: f64,
) -> Row {
    let share = percent(own, whole);
    // What got nothing itself has no place; it stands below for what was done on its behalf.
    let row = if *sort.of(&own, &inclusive) > 0.0 { row.count("rank", place) } else { row };
    let row = if share > 0.0 { row.percent_if("error_percent", error) } else { row };
    row.fraction("seconds", own)
        .percent("percent", share)
        .fraction("inclusive_seconds", inclusive)
        .percent("inclusive_percent", percent(inclusive, whole))
}

/// Takes the rows that were asked for into the report's rows.
pub(super) fn taken(ranked: &[RankedRow], options: &ReportOptions) -> Vec<Row> {
    ranked.iter().take(options.top.unwrap_or(usize::MAX)).map(|ranked| ranked.row.clone()).collect()
}

/// The table of a ranking, and what it leaves out: rows beyond the limit, and, unless they were asked for,
/// rows that got next to nothing themselves and that every program has on all its paths.
pub(super) fn table(
    input: &ReportTables<'_>,
    ranked: &[RankedRow],
    columns: Vec<Shown>,
    options: &ReportOptions,
) -> Vec<TextSection> {
    let limit = options.top.unwrap_or(ROWS_OF_TEXT);
    let title = noun(options.by);
    let is_folded = |ranked: &RankedRow| match ranked.charged.node {
        Node::Procedure(id) | Node::Line(id, _) => input.folding.is_folded(id),
        _ => false,
    };
    let tells = |ranked: &&RankedRow| {
        let is_passed = is_folded(ranked) || is_starter(ranked.row.words("procedure"));
        options.top.is_some() || ranked.share() >= SMALLEST || !is_passed
    };
    let shown: Vec<&RankedRow> = ranked.iter().filter(tells).take(limit).collect();
    let rows = shown.iter().map(|ranked| (ranked.row.clone(), ranked.name.clone())).collect();
    let mut sections = vec![TextSection::Table(TextTable { columns, name_title: title.to_owned(), rows })];
    let hidden = ranked.len() - shown.len();
    if hidden > 0 {
        let share = |ranked: &RankedRow| ranked.share();
        let rest =
            ranked.iter().map(share).sum::<f64>() - shown.iter().map(|ranked| share(ranked)).sum::<f64>();
        let rest = percent_text(if rest < 0.05 { 0.0 } else { rest });
        let all = ranked.len();
        sections.push(TextSection::Remark(format!("{hidden} more rows with {rest} in all (--top {all})")));
    }
    sections
}

/// What no row has, because no call path was known, as a remark.
pub(super) fn unattributed(ranked: &[RankedRow], by: By) -> Option<TextSection> {
    let given: f64 = ranked.iter().filter_map(|ranked| ranked.row.value("percent")).sum();
    let missing = 100.0 - given;
    let is_told = is_estimated(by) && !ranked.is_empty() && missing > 0.5;
    is_told.then(|| {
        TextSection::Remark(format!("{} has no call path and stands in no row.", percent_text(missing)))
    })
}

/// Sorts by time from the longest down, equal times by key.
pub(super) fn longest_first<K: Ord + Copy>(times: &mut [(K, u64)]) {
    times.sort_by_key(|&(key, time)| (Reverse(time), key));
}
