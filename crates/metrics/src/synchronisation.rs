//! What synchronising itself takes, per lock and barrier (metrics.md §3): the CPU time of the calls with their kernel part,
//! the spinning in them, and the waits.
//!
//! ```text
//!   CPU time      put > pthread_mutex_lock 3, put > pthread_mutex_unlock 2, put 5
//!   known         threads waited for `table_lock` at put, 4 in all
//!   table_lock    calls 5, waits 4: costs 9
//! ```
//! A sample in a call does not say which object the call is about; its *site* (procedure and line of the caller) does, where
//! threads waited, handed over or told of a hold there. First the same line counts, then the same procedure, then those that
//! it calls: a call at a procedure's end is a jump, which leaves no trace of the procedure. Calls of a site
//! with several objects are divided in proportion to the uses of each there. A site where no object is known has a row
//! of its own.
//!
//! Time: one step per charge and site. Memory: per (object, site).
//!
//! What moves from processor to processor with the lock are the lines of memory that are used with it, too. Who waits for them is
//! charged to the instructions between the calls; where the calls are at least a tenth of a procedure's own time, all of that
//! time counts as used with the lock in a second, larger gain.
//!
//! It cannot see cache misses of larger procedures that the lock's data cause, nor inlined locks of the program.

use std::collections::BTreeMap;

use longpole_trace::{
    Cause, Folding, ObjectId, ObjectKind, Objects, PathId, Paths, PlaceId, ProcedureId, SynchronisationCalls,
};
use rustc_hash::FxHashMap;

use crate::analysis::{Analysis, Charge};
use crate::contention::Contention;
use crate::holds::LockHolds;

/// Time in calls that synchronise, from one site, as it was charged; nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteCost {
    /// Where the site is.
    pub site: PlaceId,
    /// Kind of the object that the calls are about.
    pub kind: ObjectKind,
    /// The path that the time is charged to.
    pub owner: PathId,
    /// CPU time.
    pub running: u64,
    /// CPU time spent busy-waiting.
    pub spinning: u64,
}

/// What synchronising by the objects of one kind and name takes, or at one procedure where no object is known; nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct SynchronisationCost {
    /// Kind of the objects, or of the calls.
    pub kind: ObjectKind,
    /// The objects; empty where no object is known.
    pub objects: Vec<ObjectId>,
    /// Where most of the calls come from; `None` where no sample was in a call.
    pub site: Option<PlaceId>,
    /// CPU time of the calls, with their kernel part.
    pub running: f64,
    /// CPU time spent busy-waiting in the calls, where threads did not tell of it as waits.
    pub spinning: f64,
    /// Waits.
    pub waited: u64,
    /// By the path that it is charged to: the parts of that path's CPU time and spinning that the calls are.
    pub parts: BTreeMap<PathId, CallPart>,
    /// How much shorter the run executed anew is without all of this; `None` where it was not executed.
    pub gain: Option<f64>,
    /// The same without the own work of procedures that do little beside locking, too: what they do with the lock.
    pub gain_with_sections: Option<f64>,
}

/// Which parts of the time at a path are calls that synchronise, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallPart {
    /// Of the useful CPU time.
    pub running: f64,
    /// Of the busy-waiting.
    pub spinning: f64,
}

/// Part of a procedure's own CPU time in calls that synchronise from which on the rest is what it does with the lock.
const SECTION: f64 = 0.1;

impl CallPart {
    /// Whether the procedure does little beside locking.
    pub(crate) fn is_section(self) -> bool {
        self.running >= SECTION
    }
}

impl SynchronisationCost {
    /// Processor time and waiting, of all threads together, nanoseconds.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.running + self.spinning + self.waited as f64
    }
}

/// The time in calls that synchronise, by site.
pub(crate) fn site_costs(charges: &[Charge], paths: &Paths, folding: &Folding) -> Vec<SiteCost> {
    let calls = SynchronisationCalls::new(paths);
    let mut sums: BTreeMap<(PlaceId, ObjectKind, PathId), (u64, u64)> = BTreeMap::new();
    for Charge { path, measures, .. } in charges {
        let Some(call) = calls.of(*path) else { continue };
        let Some(site) = paths.innermost_id(folding.owner(call.site)) else { continue };
        let sum = sums.entry((site, call.kind, folding.owner(*path))).or_default();
        *sum = (sum.0 + measures.running, sum.1 + measures.spinning);
    }
    sums.retain(|_, sum| *sum != (0, 0));
    let cost = |((site, kind, owner), (running, spinning))| SiteCost { site, kind, owner, running, spinning };
    sums.into_iter().map(cost).collect()
}

/// What the cost of a row is known from.
pub(crate) struct CostSources<'a> {
    pub paths: &'a Paths,
    pub objects: &'a Objects,
    pub analysis: &'a Analysis,
    pub contention: &'a Contention,
    pub holds: &'a LockHolds,
}

impl CostSources<'_> {
    /// The costs, the largest first.
    pub fn costs(&self) -> Vec<SynchronisationCost> {
        let (mut rows, row_of) = self.rows_of_objects();
        let uses = Uses::of(self, &row_of);
        let mut times: BTreeMap<PathId, (f64, f64)> = BTreeMap::new();
        for charge in &self.analysis.charges {
            let sum = times.entry(charge.path).or_default();
            sum.0 += charge.measures.running as f64;
            sum.1 += charge.measures.spinning as f64;
        }
        let is_told = self.holds.is_told();
        let mut by_place: FxHashMap<(usize, PlaceId), f64> = FxHashMap::default();
        let mut unknown: BTreeMap<(ObjectKind, ProcedureId), usize> = BTreeMap::new();
        for cost in &self.analysis.synchronisation {
            let procedure = self.paths.all_places()[cost.site.0 as usize].procedure;
            let mut shares = uses.at(self, &rows, cost);
            if shares.is_empty() {
                let next = rows.len();
                let row = *unknown.entry((cost.kind, procedure)).or_insert(next);
                if row == next {
                    rows.push(SynchronisationCost::of(cost.kind, Vec::new(), 0));
                }
                shares.push((row, 1.0));
            }
            let whole = times.get(&cost.owner).copied().unwrap_or_default();
            for (row, share) in shares {
                let spinning = if is_told && !rows[row].objects.is_empty() { 0 } else { cost.spinning };
                let time = (share * cost.running as f64, share * spinning as f64);
                rows[row].add(cost.owner, time, whole);
                *by_place.entry((row, cost.site)).or_default() += time.0 + time.1;
            }
        }
        for (index, row) in rows.iter_mut().enumerate() {
            let of_row = by_place.iter().filter(|((of, _), _)| *of == index);
            let most = of_row.max_by(|(a, one), (b, other)| one.total_cmp(other).then(b.1.cmp(&a.1)));
            row.site = most.map(|(&(_, place), _)| place);
        }
        rows.retain(|row| row.total() > 0.0);
        rows.sort_by(|a, b| b.total().total_cmp(&a.total()));
        rows
    }

    /// A row for each kind and name of objects that order threads, and the rows of all objects.
    fn rows_of_objects(&self) -> (Vec<SynchronisationCost>, Vec<Option<usize>>) {
        let mut named: BTreeMap<(ObjectKind, &str), usize> = BTreeMap::new();
        let mut rows: Vec<SynchronisationCost> = Vec::new();
        let all = self.objects.all().iter().enumerate();
        let row_of = all.map(|(index, object)| {
            if !has_cost(object.kind) {
                return None;
            }
            let row = *named.entry((object.kind, &object.name)).or_insert(rows.len());
            if row == rows.len() {
                rows.push(SynchronisationCost::of(object.kind, Vec::new(), 0));
            }
            rows[row].objects.push(ObjectId(index as u32));
            rows[row].waited += self.contention.objects[index].waited();
            Some(row)
        });
        let row_of = row_of.collect();
        (rows, row_of)
    }
}

impl SynchronisationCost {
    fn of(kind: ObjectKind, objects: Vec<ObjectId>, waited: u64) -> Self {
        let parts = BTreeMap::new();
        SynchronisationCost {
            kind,
            objects,
            site: None,
            running: 0.0,
            spinning: 0.0,
            waited,
            parts,
            gain: None,
            gain_with_sections: None,
        }
    }

    fn add(&mut self, owner: PathId, (running, spinning): (f64, f64), whole: (f64, f64)) {
        self.running += running;
        self.spinning += spinning;
        let part = |time: f64, whole: f64| if whole > 0.0 { time / whole } else { 0.0 };
        let sum = self.parts.entry(owner).or_default();
        sum.running = (sum.running + part(running, whole.0)).min(1.0);
        sum.spinning = (sum.spinning + part(spinning, whole.1)).min(1.0);
    }
}

/// Whether waits for such an object are a cost of synchronising.
fn has_cost(kind: ObjectKind) -> bool {
    let orders = matches!(kind.cause(), Cause::Lock | Cause::Condition | Cause::Barrier | Cause::Semaphore);
    (orders && kind != ObjectKind::FileLock) || kind == ObjectKind::Futex
}

/// How often the objects of each row were used at each place: waits, hand-overs and told acquisitions.
struct Uses {
    at_place: BTreeMap<PlaceId, BTreeMap<usize, u64>>,
    in_procedure: BTreeMap<ProcedureId, BTreeMap<usize, u64>>,
    /// By the caller of the procedure.
    in_called: BTreeMap<ProcedureId, BTreeMap<usize, u64>>,
}

impl Uses {
    fn of(sources: &CostSources<'_>, row_of: &[Option<usize>]) -> Uses {
        let mut uses =
            Uses { at_place: BTreeMap::new(), in_procedure: BTreeMap::new(), in_called: BTreeMap::new() };
        let mut add = |object: ObjectId, place: Option<PlaceId>, count: u64| {
            let (Some(row), Some(place)) = (row_of[object.index()], place) else { return };
            let procedure = sources.paths.all_places()[place.0 as usize].procedure;
            *uses.at_place.entry(place).or_default().entry(row).or_default() += count;
            *uses.in_procedure.entry(procedure).or_default().entry(row).or_default() += count;
        };
        for (&(object, path), &count) in &sources.contention.sites {
            add(object, sources.paths.innermost_id(path), count);
        }
        for (&(object, place), handover) in &sources.contention.handovers {
            add(object, place, handover.count);
        }
        for (&(object, place), held) in &sources.holds.places {
            add(object, place, held.acquisitions);
        }
        for (&(object, path), &count) in &sources.contention.sites {
            let caller = sources.paths.caller(path).and_then(|caller| sources.paths.innermost(caller));
            let (Some(row), Some(caller)) = (row_of[object.index()], caller) else { continue };
            *uses.in_called.entry(caller.procedure).or_default().entry(row).or_default() += count;
        }
        uses
    }

    /// The rows that calls of a site are about, with the share of each.
    fn at(
        &self,
        sources: &CostSources<'_>,
        rows: &[SynchronisationCost],
        cost: &SiteCost,
    ) -> Vec<(usize, f64)> {
        let procedure = sources.paths.all_places()[cost.site.0 as usize].procedure;
        let (in_procedure, in_called) = (self.in_procedure.get(&procedure), self.in_called.get(&procedure));
        let places = [self.at_place.get(&cost.site), in_procedure, in_called];
        let fits: [&dyn Fn(ObjectKind) -> bool; 2] = [&|kind| kind == cost.kind, &|kind| {
            kind == ObjectKind::Futex || kind.cause() == cost.kind.cause()
        }];
        for uses in places.into_iter().flatten() {
            for fits in fits {
                let fitting = || uses.iter().filter(|&(&row, _)| fits(rows[row].kind));
                let all: u64 = fitting().map(|(_, count)| count).sum();
                if all > 0 {
                    return fitting().map(|(&row, &count)| (row, count as f64 / all as f64)).collect();
                }
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::draw;
    use longpole_trace::{Fold, FoldedTimelines, Folding, Timelines};

    use super::*;
    use crate::{DetailsDemand, MetricOptions, analyse, details};

    /// Kind, name of the first object, calls and waits of each row.
    fn costs(drawing: &str) -> Vec<(&'static str, String, f64, u64)> {
        let made = draw(drawing);
        let Ok(analysis) = analyse(&made, &MetricOptions::default());
        let folding = Folding::new(made.paths(), Fold::default());
        let analysis = analysis.folded(made.paths(), &folding);
        let folded = FoldedTimelines::new(&made, &folding);
        let demand = DetailsDemand { contention: true, ..DetailsDemand::default() };
        let Ok(details) = details(&folded, &MetricOptions::default(), &demand, &analysis);
        let name = |cost: &SynchronisationCost| match cost.objects.first() {
            Some(&object) => made.objects().get(object).name.clone(),
            None => {
                let place = made.paths().all_places()[cost.site.expect("calls have a site").0 as usize];
                format!("in {}", made.paths().procedure_named_by(place.procedure).name)
            }
        };
        let row = |cost: &SynchronisationCost| (cost.kind.name(), name(cost), cost.running, cost.waited);
        details.synchronisation.iter().map(row).collect()
    }

    const PATHS: &str = "unit 1000
1 = mutex m
2 = mutex n
P = main > put:3
L = main > put:5 > pthread_mutex_lock
U = main > put:9 > pthread_mutex_unlock
G = main > get:3
M = main > get:4 > pthread_mutex_lock
";

    #[test]
    fn calls_belong_to_the_object_that_threads_waited_for_in_the_same_procedure() {
        // Two columns in calls at `put`, three of waiting for m there.
        let rows = costs(&format!("{PATHS}T1 PPPPPP111PLU\nT2 GGGGGGGGGGGG\nT2@9 -> T1 unlock"));
        assert_eq!(rows, [("mutex", "m".to_owned(), 2000.0, 3000)]);
    }

    #[test]
    fn calls_of_an_object_that_nobody_waited_for_have_a_row_of_their_own() {
        let rows = costs(&format!("{PATHS}T1 PPLLUPPP\nT2 GGGGGMGG"));
        let row = |name: &str, calls| ("mutex", name.to_owned(), calls, 0);
        assert_eq!(rows, [row("in put", 3000.0), row("in get", 1000.0)]);
    }

    #[test]
    fn calls_of_a_procedure_with_two_locks_are_divided_by_their_uses() {
        let rows = costs(&format!(
            "{PATHS}T1 P1P1P1P2PLLLL\nT2 GGGGGGGGGGGGG\nT2@2 -> T1 unlock\nT2@4 -> T1 unlock\nT2@6 -> T1 unlock\nT2@8 -> T1 unlock"
        ));
        let row = |name: &str, calls, waited| ("mutex", name.to_owned(), calls, waited);
        assert_eq!(rows, [row("m", 3000.0, 3000), row("n", 1000.0, 1000)]);
    }

    #[test]
    fn a_call_that_is_a_jump_belongs_to_what_the_caller_calls() {
        let drawing = "unit 1000\n1 = mutex m\nP = main > work > put\nU = main > work > pthread_mutex_unlock
T1 PP1PUU\nT2 PPPPPP\nT2@3 -> T1 unlock";
        assert_eq!(costs(drawing), [("mutex", "m".to_owned(), 2000.0, 1000)]);
    }
}
