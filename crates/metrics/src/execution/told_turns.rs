//! Locks that a background thread takes at intervals until it is told to end.
//!
//! ```text
//!   reader    get |look up| answer | wait |look up| answer | ... stop, join
//!   reloader  sleep ............. |reload| sleep ............. |reload| sleep ...
//! ```
//! How often it takes them follows from when it is told to end, so that a reader waited for its twentieth turn is no order of the program:
//! in a run that takes half as long there are half as many turns. Which waits are left then is not known. So there are two plans, one without all
//! waits for its turns, and what a change gains lies between both.

use longpole_trace::ObjectId;
use rustc_hash::FxHashSet;

use super::plan::{ExecutionPlan, NodeId, PlanStep};

impl ExecutionPlan {
    /// What these threads release.
    pub(super) fn released_by(&self, threads: impl IntoIterator<Item = usize>) -> FxHashSet<NodeId> {
        let steps = threads.into_iter().flat_map(|thread| &self.threads[thread].steps);
        steps.filter_map(|step| if let PlanStep::Release(node) = *step { Some(node) } else { None }).collect()
    }

    /// The plan in which nobody waits for the locks that are given back at these nodes; `None` where nobody does.
    pub(super) fn without_turns(
        &self,
        turns: &FxHashSet<NodeId>,
        excludes: impl Fn(ObjectId) -> bool,
    ) -> Option<ExecutionPlan> {
        let is_turn = |step: &PlanStep| {
            matches!(*step, PlanStep::Wait { node, object: Some(object), .. }
                if turns.contains(&node) && excludes(object.object()))
        };
        // Most runs have no such thread: their steps need not be looked at.
        if turns.is_empty() || !self.threads.iter().flat_map(|thread| &thread.steps).any(is_turn) {
            return None;
        }
        let mut without = self.clone();
        let steps = without.threads.iter_mut().flat_map(|thread| &mut thread.steps);
        steps.filter(|step| is_turn(step)).for_each(|step| *step = PlanStep::Busy(0));
        without.execute_unchanged();
        Some(without)
    }
}
