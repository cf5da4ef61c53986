//! The order of locks that are held for little of the run, and yet wanted.
//!
//! ```text
//!   A  compute =====|update|.......|      No order of the program: a lock that is held for little of the run has no arcs. Where all ask for
//!   B  compute =====|......|update|       it at the same time, the run executed without them is shorter than it was.
//! ```
//! If it is, and is not with the recorded order of all locks, it is executed with that order: no changed run waits longer than this says,
//! unless locks are wanted in another. And none is shorter than the one in which these locks exclude nobody.

use super::plan::ExecutionPlan;
use crate::replay::MOST_MISSED;

impl ExecutionPlan {
    /// Whether the unchanged run is so much shorter than recorded that waits for locks may be missing in it.
    pub(super) fn lacks_waits(&self) -> bool {
        self.error() < -MOST_MISSED
    }

    /// The plan in which all locks keep the recorded order, if it misses less of the run than this one, which it keeps.
    pub(super) fn or_ordered(mut self, mut ordered: ExecutionPlan) -> ExecutionPlan {
        if ordered.error().abs() + MOST_MISSED >= self.error().abs() {
            return self;
        }
        let mut unordered = self.stopped.take().unwrap_or_else(|| Box::new(self));
        // What it misses are waits for these locks, which a changed run may not have.
        unordered.unchanged = unordered.elapsed as f64;
        ordered.unordered = Some(unordered);
        ordered
    }
}
