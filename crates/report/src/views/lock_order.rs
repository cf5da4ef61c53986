//! In which order locks were acquired (metrics.md §3): of one object what was held with it, and of all those that were
//! acquired in both orders.

use std::collections::{BTreeMap, BTreeSet};

use longpole_trace::ObjectId;

use crate::input::ReportTables;
use crate::quantity::count_of;
use crate::report::Row;
use crate::table::{Show, TextTable, shown};

/// Pairs of locks that are told of.
const MOST: usize = 3;

/// The locks that were acquired in both orders, a sentence each: threads that do so at once wait for ever.
pub(super) fn inversions(input: &ReportTables<'_>) -> Vec<String> {
    let Some(holds) = &input.details.holds else { return Vec::new() };
    let name = |id: ObjectId| input.objects.get(id).name.as_str();
    let in_both = holds.orders.keys().filter(|(outer, inner)| {
        outer < inner && holds.orders.contains_key(&(*inner, *outer)) && name(*outer) != name(*inner)
    });
    // Locks of one name may be many: one sentence is enough.
    let pair = |one: ObjectId, other: ObjectId| (name(one).min(name(other)), name(one).max(name(other)));
    let names: BTreeSet<(&str, &str)> = in_both.map(|&(outer, inner)| pair(outer, inner)).collect();
    let sentence = |(one, other): &(&str, &str)| {
        format!(
            "`{one}` was acquired while `{other}` was held, and `{other}` while `{one}` was: threads that do so at once wait for each other for ever"
        )
    };
    let mut sentences: Vec<String> = names.iter().take(MOST).map(sentence).collect();
    if names.len() > MOST {
        sentences.push(format!(
            "{} more are acquired in both orders",
            count_of((names.len() - MOST) as u64, "pair")
        ));
    }
    sentences
}

/// What threads held already when they acquired one of these, and what they acquired while they held it.
pub(super) fn with_others(input: &ReportTables<'_>, ids: &[ObjectId]) -> Option<(&'static str, TextTable)> {
    let holds = input.details.holds.as_ref()?;
    let mut sums: BTreeMap<(&str, String), u64> = BTreeMap::new();
    let name = |id: ObjectId| input.objects.get(id).name.clone();
    for (&(outer, inner), &acquisitions) in &holds.orders {
        if ids.contains(&inner) {
            *sums.entry(("before", name(outer))).or_default() += acquisitions;
        }
        if ids.contains(&outer) {
            *sums.entry(("after", name(inner))).or_default() += acquisitions;
        }
    }
    let row = |((order, other), acquisitions): ((&str, String), u64)| {
        let words = if order == "before" { "held already" } else { "acquired meanwhile" };
        let row = Row::default()
            .text("section", "order")
            .text("order", order)
            .text("words", words)
            .text("other", &other)
            .count("acquisitions", acquisitions);
        (row, other)
    };
    let columns = vec![shown("", Show::Words("words")), shown("times", Show::Count("acquisitions"))];
    let rows: Vec<_> = sums.into_iter().map(row).collect();
    let table = (!rows.is_empty()).then(|| TextTable { columns, name_title: "lock".to_owned(), rows })?;
    Some(("Locks that the same thread held with it:", table))
}
