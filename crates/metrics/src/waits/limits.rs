//! What explaining waits keeps and spends, at most.

/// What is kept, at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Releases that follow each other by no more than this, in nanoseconds, can be one act.
    pub tolerance: u64,
    /// Steps per live thread, or more where all live threads together have fewer than `few_steps`.
    pub steps: usize,
    /// Steps of all live threads where each may have more than `steps`.
    pub few_steps: usize,
    /// Steps of all live threads.
    pub all_steps: usize,
    /// Releases per live thread.
    pub releases: usize,
    /// Holders of an object that are followed.
    pub holders: usize,
    /// Steps of an explanation to the roots that are told apart.
    pub roots: usize,
    /// Classes of waits that are told apart.
    pub classes: usize,
    /// Shares of steps in all classes.
    pub shares: usize,
    /// Threads that have ended and whose past is kept.
    pub ended: usize,
    /// Steps that may be looked at before any were made.
    pub credit: usize,
    /// Steps that each step lets be looked at.
    pub looks_per_step: usize,
    /// Steps that are looked at when the credit is used up.
    pub steps_without_credit: usize,
}

impl Limits {
    /// Steps per thread where so many are alive.
    pub(super) fn steps_of(&self, alive: usize) -> usize {
        let alive = alive.max(1);
        (self.all_steps / alive).clamp(64, self.steps.max(64)).max(self.few_steps / alive)
    }

    pub(crate) const DEFAULT: Limits = Limits {
        tolerance: 100_000,
        steps: 1024,
        few_steps: 1 << 17,
        all_steps: 1 << 20,
        releases: 64,
        holders: 256,
        roots: 24,
        classes: 10_000,
        shares: 1 << 20,
        ended: 256,
        credit: 1 << 20,
        looks_per_step: 4,
        steps_without_credit: 32,
    };
}
