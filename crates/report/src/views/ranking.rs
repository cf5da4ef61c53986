//! Rows ranked by one measure, with its shares, errors and ties.

use std::cmp::Reverse;

use longpole_metrics::{By, Measures, Row as Charged};

use super::{ROWS_OF_TEXT, identity, is_estimated};
use crate::input::{Options, Source};
use crate::name::is_starter;
use crate::quantity::{percent, percent_text};
use crate::report::Row;
use crate::share::{places, standard_error};
use crate::table::{Shown, TIED, Table};
use crate::text::Section;

/// Columns that every ranking begins with.
pub(super) const RANKED: [&str; 6] =
    ["rank", "seconds", "percent", "error_percent", "inclusive_seconds", "inclusive_percent"];

/// A measure that ranks rows.
pub(super) struct Measure<'a> {
    /// What a row got, nanoseconds.
    pub of: &'a dyn Fn(&Measures) -> f64,
    /// What shares are shares of, nanoseconds.
    pub whole: f64,
    /// Effective observations behind the shares of procedures.
    pub samples: f64,
}

impl Measure<'_> {
    /// Effective observations behind the shares of rows of this kind; `None` when they are exact.
    pub(super) fn samples_of(&self, by: By) -> Option<f64> {
        is_estimated(by).then_some(self.samples)
    }
}

/// One row of a ranking.
pub(super) struct Ranked {
    pub charged: Charged,
    pub row: Row,
    pub name: String,
}

impl Ranked {
    fn share(&self) -> f64 {
        self.row.value("percent").unwrap_or(0.0)
    }
}

/// Share below which a row got next to nothing itself, percent.
const SMALLEST: f64 = 0.05;

/// Ranks the rows that the measure charged anything, or that `keeps` wants besides: by their own share,
/// then by their inclusive one, then by their node.
pub(super) fn ranking(
    input: &Source<'_>,
    by: By,
    measure: &Measure<'_>,
    keeps: impl Fn(&Charged) -> bool,
) -> Vec<Ranked> {
    let is_ranked =
        |row: &&Charged| (measure.of)(&row.own) + (measure.of)(&row.inclusive) > 0.0 || keeps(row);
    let mut charged: Vec<Charged> = input.rows(by).iter().filter(is_ranked).cloned().collect();
    charged.sort_by(|a, b| {
        let key = |row: &Charged| [(measure.of)(&row.own), (measure.of)(&row.inclusive)];
        let [(own_a, all_a), (own_b, all_b)] = [a, b].map(|row| key(row).into());
        own_b.total_cmp(&own_a).then(f64::total_cmp(&all_b, &all_a)).then(a.node.cmp(&b.node))
    });
    let shares: Vec<f64> = charged.iter().map(|row| percent((measure.of)(&row.own), measure.whole)).collect();
    let places = places(&shares, measure.samples_of(by));
    let ranked = charged.into_iter().zip(shares).zip(places);
    let mut ranked: Vec<Ranked> =
        ranked.map(|((charged, share), place)| rank(input, by, measure, charged, (share, place))).collect();
    mark_ties(&mut ranked);
    ranked
}

/// Marks rows that share their place, for text.
pub(super) fn mark_ties(ranked: &mut [Ranked]) {
    let places: Vec<Option<f64>> = ranked.iter().map(|ranked| ranked.row.value("rank")).collect();
    for (at, ranked) in ranked.iter_mut().enumerate() {
        let is_same = |other: Option<&Option<f64>>| places[at].is_some() && other == Some(&places[at]);
        if is_same(places.get(at + 1)) || is_same(at.checked_sub(1).and_then(|before| places.get(before))) {
            ranked.row = std::mem::take(&mut ranked.row).count(TIED, 1);
        }
    }
}

fn rank(
    input: &Source<'_>,
    by: By,
    measure: &Measure<'_>,
    charged: Charged,
    (share, place): (f64, u64),
) -> Ranked {
    let (row, name) = identity(input, charged.node);
    let [own, inclusive] = [&charged.own, &charged.inclusive].map(measure.of);
    let row = placed(row, (share, place), (own, inclusive), measure.whole, measure.samples_of(by));
    Ranked { charged, row, name }
}

/// Fills the columns [`RANKED`] of a row: its own share with its place, and its own and inclusive times, which
/// are parts of `whole`. Shares are estimated from `samples`, or exact.
pub(super) fn placed(
    row: Row,
    (share, place): (f64, u64),
    (own, inclusive): (f64, f64),
    whole: f64,
    samples: Option<f64>,
) -> Row {
    let error = samples.and_then(|samples| standard_error(share, samples));
    // What got nothing itself has no place; it stands below for what was done on its behalf.
    let row = if share > 0.0 { row.count("rank", place).percent_if("error_percent", error) } else { row };
    row.fraction("seconds", own)
        .percent("percent", share)
        .fraction("inclusive_seconds", inclusive)
        .percent("inclusive_percent", percent(inclusive, whole))
}

/// Takes the rows that were asked for into the report's rows.
pub(super) fn taken(ranked: &[Ranked], options: &Options) -> Vec<Row> {
    ranked.iter().take(options.top.unwrap_or(usize::MAX)).map(|ranked| ranked.row.clone()).collect()
}

/// The table of a ranking, and what it leaves out: rows beyond the limit, and, unless they were asked for,
/// rows that got next to nothing themselves and that every program has on all its paths.
pub(super) fn table(ranked: &[Ranked], columns: Vec<Shown>, title: &str, options: &Options) -> Vec<Section> {
    let limit = options.top.unwrap_or(ROWS_OF_TEXT);
    let tells = |ranked: &&Ranked| {
        options.top.is_some() || ranked.share() >= SMALLEST || !is_starter(ranked.row.words("procedure"))
    };
    let shown: Vec<&Ranked> = ranked.iter().filter(tells).take(limit).collect();
    let rows = shown.iter().map(|ranked| (ranked.row.clone(), ranked.name.clone())).collect();
    let mut sections = vec![Section::Table(Table { columns, name_title: title.to_owned(), rows })];
    let hidden = ranked.len() - shown.len();
    if hidden > 0 {
        let share = |ranked: &Ranked| ranked.share();
        let rest =
            ranked.iter().map(share).sum::<f64>() - shown.iter().map(|ranked| share(ranked)).sum::<f64>();
        let rest = percent_text(if rest < 0.05 { 0.0 } else { rest });
        let all = ranked.len();
        sections.push(Section::Remark(format!("{hidden} more rows with {rest} in all (--top {all})")));
    }
    sections
}

/// What no row has, because no call path was known, as a remark.
pub(super) fn unattributed(ranked: &[Ranked], by: By) -> Option<Section> {
    let given: f64 = ranked.iter().filter_map(|ranked| ranked.row.value("percent")).sum();
    let missing = 100.0 - given;
    let is_told = is_estimated(by) && !ranked.is_empty() && missing > 0.5;
    is_told
        .then(|| Section::Remark(format!("{} has no call path and stands in no row.", percent_text(missing))))
}

/// Sorts by time from the longest down, equal times by key.
pub(super) fn longest_first<K: Ord + Copy>(times: &mut [(K, u64)]) {
    times.sort_by_key(|&(key, time)| (Reverse(time), key));
}
