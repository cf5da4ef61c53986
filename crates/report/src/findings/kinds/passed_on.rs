//! Objects that threads pass on to others that do the same: a lock that workers keep while they work, a turn to write.
//!
//! ```text
//!   worker 1   wait | convert ===== | give back
//!   worker 2          wait ......................| convert ===== | give back      who waits, and who ends the wait: the same procedure
//! ```
//! What one of them does another one could do as well. Where one side waits and the other one tells (a queue, a reply) the procedures are
//! different ones.

use std::collections::BTreeSet;

use longpole_metrics::Contention;
use longpole_trace::{ObjectId, PathId, PlaceId, ProcedureId};

use crate::input::ReportTables;

/// After all places.
const LAST: PlaceId = PlaceId(u32::MAX);

/// Whether those who wait for these objects, and those who end the waits, mostly do the same, so that either may do it.
pub(super) fn is_passed_on(input: &ReportTables<'_>, objects: &[ObjectId]) -> bool {
    let Some(contention) = &input.input().details.contention else { return false };
    let waiting: BTreeSet<ProcedureId> = sites(contention, objects)
        .filter_map(|(path, _)| Some(input.paths.innermost(path)?.procedure))
        .collect();
    let (mut all, mut by_waiting) = (0, 0);
    let handed = objects.iter().flat_map(|&id| contention.handovers.range((id, None)..=(id, Some(LAST))));
    for (&(_, place), handover) in handed {
        let place = place.and_then(|place| input.paths.all_places().get(place.0 as usize));
        let is_waiting = place.is_some_and(|place| waiting.contains(&place.procedure));
        all += handover.count;
        by_waiting += if is_waiting { handover.count } else { 0 };
    }
    all > 0 && 2 * by_waiting >= all
}

/// Where threads wait for these objects, and how often.
pub(super) fn sites<'a>(
    contention: &'a Contention,
    objects: &'a [ObjectId],
) -> impl Iterator<Item = (PathId, u64)> + 'a {
    let of = |&id: &ObjectId| contention.sites.range((id, PathId(0))..=(id, PathId(u32::MAX)));
    objects.iter().flat_map(of).map(|(&(_, path), &count)| (path, count))
}
