//! Who has a lock, and when a thread that waited goes on.

use std::cmp::Reverse;

use longpole_trace::ObjectId;

use super::variation::LATENCY_VARIATION;
use super::{LockPolicy, PlanReplayer};
use crate::execution::plan::{CompactObjectId, NO_PLACE, PlanStep};

impl<F: Fn(ObjectId) -> bool> PlanReplayer<'_, F> {
    /// A thread that waited is on its way to a processor for so long; whether it is.
    pub(super) fn pays_latency(&mut self, thread: u32, latency: u64) -> bool {
        let owes = std::mem::take(&mut self.threads[thread as usize].owes_latency);
        let latency = self.varied(latency, thread, LATENCY_VARIATION);
        owes && self.works(thread, latency)
    }

    /// The latency of a thread that is woken to ask for its lock again: the recorded one the first time.
    fn latency_ahead(&mut self, thread: u32) -> u64 {
        let own = &mut self.threads[thread as usize];
        let is_first = std::mem::replace(&mut own.woken_for, own.next) != own.next;
        match self.upcoming(thread, 1) {
            Some(&PlanStep::Displaced { place: NO_PLACE, time }) if is_first => time,
            _ => self.conditions.latency,
        }
    }

    /// Whether the thread has the lock now; if not, it queues for it.
    pub(super) fn takes(&mut self, thread: u32, lock: CompactObjectId) -> bool {
        let now = self.now;
        let state = &mut self.locks[lock.object().index()];
        match state.owner {
            None => (state.owner, state.depth, state.since) = (Some(thread), 1, now),
            Some(owner) if owner == thread => state.depth += 1,
            Some(_) => {
                state.queue.push_back(thread);
                self.threads[thread as usize].since = now;
                self.threads[thread as usize].owes_latency = true;
                if self.conditions.policy == LockPolicy::Barging {
                    // It tries again when it is woken.
                    self.threads[thread as usize].next -= 1;
                }
                self.leave(thread);
                return false;
            }
        }
        true
    }

    pub(super) fn gives_back(&mut self, thread: u32, lock: CompactObjectId) {
        let now = self.now;
        let state = &mut self.locks[lock.object().index()];
        if state.owner != Some(thread) {
            return;
        }
        state.depth -= 1;
        if state.depth > 0 {
            return;
        }
        state.times.held += now - state.since;
        state.owner = None;
        let Some(next) = state.queue.pop_front() else { return };
        state.times.waited += now - self.threads[next as usize].since;
        if self.conditions.policy == LockPolicy::HandOver {
            (state.owner, state.depth, state.since) = (Some(next), 1, now);
            return self.enqueue(next, Some(thread));
        }
        self.threads[next as usize].owes_latency = false;
        let latency = self.latency_ahead(next);
        match self.varied(latency, next, LATENCY_VARIATION) {
            0 => self.enqueue(next, Some(thread)),
            latency => self.timers.push(Reverse((now + latency, next))),
        }
    }
}
