//! What synchronising itself takes, in rows of objects (metrics.md §3).

use longpole_metrics::SynchronisationCost;
use longpole_trace::ObjectId;

use crate::input::ReportTables;
use crate::name;
use crate::report::Row;

/// How much they cost, see [`with_cost`].
pub(super) const COSTS: [&str; 2] = ["cost_seconds", "call_cpu_seconds"];

/// The cost of the objects of one kind and name, of which this is one.
pub(super) fn cost_of<'a>(input: &ReportTables<'a>, object: ObjectId) -> Option<&'a SynchronisationCost> {
    let details = input.input().details;
    details.synchronisation.iter().find(|cost| cost.objects.contains(&object))
}

/// Costs of calls that synchronise, about objects that are not known.
pub(super) fn costs_of_calls<'a>(input: &ReportTables<'a>) -> impl Iterator<Item = &'a SynchronisationCost> {
    let details = input.input().details;
    details.synchronisation.iter().filter(|cost| cost.objects.is_empty())
}

/// The row with its cost ([`COSTS`]).
pub(super) fn with_cost(row: Row, cost: &SynchronisationCost) -> Row {
    row.fraction("cost_seconds", cost.total()).fraction("call_cpu_seconds", cost.running + cost.spinning)
}

/// `mutex in Cache::get`: what calls are about where the object is not known.
pub(super) fn calls_name(input: &ReportTables<'_>, cost: &SynchronisationCost) -> String {
    let place = cost.site.map(|place| input.paths.all_places()[place.0 as usize]);
    let procedure = place.map(|place| name::procedure(input.paths, input.program, place.procedure));
    format!("{} in {}", cost.kind.name(), procedure.as_deref().unwrap_or("[unknown]"))
}
