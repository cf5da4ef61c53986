//! Parts of the run that the program itself marked (metrics.md §8): how often each region or task was entered, when
//! first, when left last, and how long threads were in it.
//!
//! ```text
//!   T1  main → r | main → r → bar | main | … → r      entered twice; in it 2 + 1, from 0 to 4
//! ```
//! A thread is in a region where its logical path passes through it: so a thread that was made in a region is, all its
//! time, but has not entered it.
//!
//! Time: constant per change of path. Memory: per region; per distinct path in one, its regions.

use std::collections::BTreeMap;

use longpole_event::{ThreadId, Time};
use longpole_graph::Sweep;
use longpole_trace::{ObservationKind, PathId, Paths, ProcedureId, Program, State};
use rustc_hash::FxHashMap;

/// A region or task; times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkedRegion {
    /// What stands for it on paths.
    pub region: ProcedureId,
    /// How often threads entered it.
    pub entries: u64,
    /// When a thread was in it first.
    pub from: u64,
    /// When a thread was in it last.
    pub to: u64,
    /// Time for which threads were in it, all together.
    pub time: u64,
}

#[derive(Clone, Debug, Default)]
struct RegionThread {
    path: Option<PathId>,
    since: u64,
    is_there: bool,
}

/// The sweep of regions.
#[derive(Debug)]
pub(crate) struct RegionSums<'a> {
    paths: &'a Paths,
    prefixes: Vec<PathId>,
    has_regions: bool,
    of_paths: FxHashMap<PathId, Vec<ProcedureId>>,
    per_thread: Vec<RegionThread>,
    found: BTreeMap<ProcedureId, MarkedRegion>,
}

impl<'a> RegionSums<'a> {
    pub fn new(program: &Program, paths: &'a Paths) -> Self {
        RegionSums {
            paths,
            prefixes: program.threads.iter().map(|thread| thread.prefix).collect(),
            has_regions: paths.procedures().iter().any(longpole_trace::Procedure::is_region),
            of_paths: FxHashMap::default(),
            per_thread: vec![RegionThread::default(); program.threads.len()],
            found: BTreeMap::new(),
        }
    }

    /// The regions, in the order of their first time, once the sweep is finished.
    pub fn into_regions(self) -> Vec<MarkedRegion> {
        let mut regions: Vec<MarkedRegion> = self.found.into_values().collect();
        regions.sort_by_key(|region| (region.from, region.region));
        regions
    }

    /// The regions that a path passes through.
    fn regions_of(&mut self, path: PathId) -> Vec<ProcedureId> {
        if !self.has_regions {
            return Vec::new();
        }
        let paths = self.paths;
        let found = self.of_paths.entry(path).or_insert_with(|| {
            let procedures = paths.places_of(path).map(|place| place.procedure);
            let mut found: Vec<_> =
                procedures.filter(|&id| paths.procedure_named_by(id).is_region()).collect();
            found.sort_unstable();
            found.dedup();
            found
        });
        found.clone()
    }

    /// Adds the time since the thread's path is what it is.
    fn pass(&mut self, thread: ThreadId, now: u64) {
        let Some(of_thread) = self.per_thread.get_mut(thread.index()).filter(|of_thread| of_thread.is_there)
        else {
            return;
        };
        let since = std::mem::replace(&mut of_thread.since, now);
        let Some(path) = of_thread.path else { return };
        for region in self.regions_of(path) {
            if let Some(found) = self.found.get_mut(&region) {
                found.time += now - since;
                found.to = found.to.max(now);
            }
        }
    }

    /// The thread is at this path from now on.
    fn move_to(&mut self, thread: ThreadId, now: u64, path: PathId) {
        if thread.index() >= self.per_thread.len() || self.per_thread[thread.index()].path == Some(path) {
            return;
        }
        self.pass(thread, now);
        let prefix = self.prefixes[thread.index()];
        let before = self.per_thread[thread.index()].path.replace(path);
        let before = self.regions_of(before.unwrap_or(prefix));
        for region in self.regions_of(path) {
            let new = MarkedRegion { region, entries: 0, from: now, to: now, time: 0 };
            let found = self.found.entry(region).or_insert(new);
            found.entries += u64::from(!before.contains(&region));
            found.to = found.to.max(now);
        }
    }
}

impl Sweep for RegionSums<'_> {
    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let now = time.nanoseconds();
        if before == State::Absent
            && let (Some(of_thread), Some(&prefix)) =
                (self.per_thread.get_mut(thread.index()), self.prefixes.get(thread.index()))
        {
            (of_thread.is_there, of_thread.since) = (true, now);
            if of_thread.path.is_none() {
                self.move_to(thread, now, prefix);
            }
        }
        if state == State::Absent {
            self.pass(thread, now);
            if let Some(of_thread) = self.per_thread.get_mut(thread.index()) {
                of_thread.is_there = false;
            }
        }
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, _: ObservationKind) {
        self.move_to(thread, time.nanoseconds(), path);
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.per_thread.len() {
            self.pass(ThreadId::from_index(index), end.nanoseconds());
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{MemoryTimelines, draw};

    use super::*;

    fn regions(made: &MemoryTimelines) -> Vec<(String, u64, (u64, u64), u64)> {
        let mut sums = RegionSums::new(&made.program, &made.paths);
        let Ok(()) = longpole_graph::sweep(made, false, &mut sums);
        let told = |found: MarkedRegion| {
            let name = made.paths.procedure_named_by(found.region).name.clone();
            (name, found.entries, (found.from, found.to), found.time)
        };
        sums.into_regions().into_iter().map(told).collect()
    }

    #[test]
    fn a_region_is_counted_where_paths_come_into_it() {
        // Seen in it at 4 and 6, out of it at 8; in it at 9, out of it at 10: 4 + 1. `bar` is in it too.
        let made = draw(
            "A = main
             R = main > {load}
             B = main > {load} > bar
             T1 AARRBBAARA
             T1@6 look",
        );
        assert_eq!(regions(&made), [("load".to_owned(), 2, (4, 10), 5)]);
    }

    #[test]
    fn a_thread_made_in_a_region_is_in_it_and_has_not_entered_it() {
        let made = draw(
            "R = main > {load}
             T1 RRRR
             T2 __WW
             T1@2 -> T2 create",
        );
        let found = regions(&made);
        assert_eq!((found[0].1, found[0].2), (1, (2, 4)));
        assert_eq!(found[0].3, 2 + 2);
    }

    #[test]
    fn a_run_without_marks_has_none() {
        assert!(regions(&draw("T1 AABB")).is_empty());
    }
}
