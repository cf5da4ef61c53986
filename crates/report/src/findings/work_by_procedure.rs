//! Which threads work in which procedures.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_trace::ProcedureId;

use super::threshold::{BALANCED, ONE_THREAD};
use crate::input::ReportTables;
use crate::quantity::percent;

/// Useful CPU time of each procedure by the threads that have any, nanoseconds.
pub(crate) struct WorkByProcedure(BTreeMap<ProcedureId, BTreeMap<ThreadId, u64>>);

impl WorkByProcedure {
    pub(super) fn of(input: &ReportTables<'_>) -> WorkByProcedure {
        let mut work: BTreeMap<ProcedureId, BTreeMap<ThreadId, u64>> = BTreeMap::new();
        for charge in input.analysis.charges.iter().filter(|charge| charge.measures.running > 0) {
            if let Some(place) = input.paths.innermost(charge.path) {
                let threads = work.entry(place.procedure).or_default();
                *threads.entry(charge.thread).or_default() += charge.measures.running;
            }
        }
        WorkByProcedure(work)
    }

    /// Of each procedure, by thread.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ProcedureId, &BTreeMap<ThreadId, u64>)> {
        self.0.iter().map(|(&procedure, threads)| (procedure, threads))
    }

    /// Of the procedure, by all threads.
    pub(super) fn total(&self, procedure: ProcedureId) -> u64 {
        self.0.get(&procedure).map_or(0, |threads| threads.values().sum())
    }

    /// Whether one thread does nearly all of what threads do in the procedure.
    pub(super) fn is_of_one_thread(&self, procedure: ProcedureId) -> bool {
        self.0.get(&procedure).is_some_and(|threads| largest_share(threads) >= ONE_THREAD)
    }

    /// Whether several threads work there, and not all of it is one's.
    pub(super) fn is_shared(&self, procedure: ProcedureId) -> bool {
        self.0.contains_key(&procedure) && !self.is_of_one_thread(procedure)
    }

    /// Whether several threads do the same amount of it: then slack says nothing.
    pub(super) fn is_even(&self, procedure: ProcedureId) -> bool {
        let Some(threads) = self.0.get(&procedure).filter(|threads| threads.len() > 1) else { return false };
        let most = threads.values().copied().max().unwrap_or(0) as f64;
        let mean = threads.values().sum::<u64>() as f64 / threads.len() as f64;
        100.0 * (1.0 - mean / most) < BALANCED
    }
}

/// Per cent of what threads do so long that the one does which does most of it.
pub(super) fn largest_share(threads: &BTreeMap<ThreadId, u64>) -> f64 {
    let most = threads.values().copied().max().unwrap_or(0) as f64;
    percent(most, threads.values().sum::<u64>() as f64)
}
