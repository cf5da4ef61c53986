//! Barriers, all to all: whoever leaves one depends on all that came to it.
//!
//! ```text
//!   A  ==== blocked ......... ready      who lets the first of those go on that block at a barrier came last: all that
//!   B  ======= blocked ...... ready      block there have arrived, and leave with it
//!   C  ================ wake B, wake A ====
//! ```
//! Where threads tell of their arrivals and departures themselves, that is exact, also where none of them blocked.

use longpole_event::{PrimitiveId, ProcessId, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::{AwaitedObject, Transitions};
use crate::objects::ObjectId;
use crate::observer::Observer;
use crate::state::{Cause, State};
use crate::timeline::{Acquisition, DependenceKind, ItemKind};
use crate::tokens::Departures;

/// Who is at barriers.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    /// Who has blocked at each since its last round.
    blocked: FxHashMap<ObjectId, Vec<ThreadId>>,
    departures: Departures,
}

impl Transitions<'_> {
    /// The thread blocks at what it awaits, which may be a barrier.
    pub(super) fn block_at_barrier(&mut self, thread: ThreadId) {
        let live = &self.threads[thread.index()];
        if let (State::Blocked(Cause::Barrier), Some(AwaitedObject { object, .. })) =
            (live.state, live.awaits)
        {
            self.barriers.departures.depart(thread);
            let blocked = self.barriers.blocked.entry(object).or_default();
            if !blocked.contains(&thread) {
                blocked.push(thread);
            }
        }
    }

    /// A thread that is blocked at a barrier is let go on by another one.
    pub(super) fn wake_at_barrier(
        &mut self,
        thread: ThreadId,
        time: Time,
        waker: ThreadId,
        observer: &mut impl Observer,
    ) {
        let Some(AwaitedObject { object, .. }) = self.threads[thread.index()].awaits else { return };
        // Its own word says better when it leaves, and with whom.
        if self.inferred_wakers.has_arrived(thread) {
            return;
        }
        if !self.barriers.departures.has(thread) {
            let is_there = |thread: &ThreadId| {
                let live = &self.threads[thread.index()];
                live.state == State::Blocked(Cause::Barrier)
                    && live.awaits.is_some_and(|awaits| awaits.object == object)
            };
            let mut round = self.barriers.blocked.remove(&object).unwrap_or_default();
            round.retain(is_there);
            if !round.contains(&thread) {
                round.push(thread);
            }
            let comes_last = !round.contains(&waker) && self.threads[waker.index()].state.is_on_cpu();
            round.extend(comes_last.then_some(waker));
            self.close_round(time, &round, observer);
            if comes_last {
                self.depart(waker, time, observer);
            }
        }
        self.depart(thread, time, observer);
    }

    /// The thread leaves a barrier by its own word: if it is the first of its round, all of that have arrived.
    pub(super) fn leave_round(
        &mut self,
        thread: ThreadId,
        time: Time,
        word: (ProcessId, u64),
        observer: &mut impl Observer,
    ) {
        if let Some(round) = self.inferred_wakers.leave(word, thread) {
            self.close_round(time, &round, observer);
        }
    }

    /// The thread comes to a barrier, by its own word.
    pub(super) fn arrive_told(&mut self, thread: ThreadId, time: Time, barrier: PrimitiveId) {
        if let Some(word) = self.word_of(barrier) {
            self.inferred_wakers.arrive(word, thread, time);
        }
    }

    /// The thread leaves a barrier, by its own word.
    pub(super) fn depart_told(
        &mut self,
        thread: ThreadId,
        time: Time,
        barrier: PrimitiveId,
        observer: &mut impl Observer,
    ) {
        if let Some(word) = self.word_of(barrier) {
            self.leave_round(thread, time, word, observer);
            self.inferred_wakers.last_arrival(thread);
            self.depart(thread, time, observer);
        }
    }

    /// Its process and address, where it has one.
    pub(super) fn word_of(&self, primitive: PrimitiveId) -> Option<(ProcessId, u64)> {
        let known = self.sources.primitives.get(primitive)?;
        Some((known.process, known.address?))
    }

    /// All of these have arrived at a barrier, and nobody has left it.
    pub(super) fn close_round(&mut self, time: Time, round: &[ThreadId], observer: &mut impl Observer) {
        if round.len() < 2 {
            return;
        }
        let token = self.tokens.make();
        round.iter().for_each(|&thread| self.emit(thread, time, ItemKind::Release(token), observer));
        self.barriers.departures.close(token, round);
    }

    /// The thread leaves the barrier whose round is over.
    pub(super) fn depart(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let Some((token, last)) = self.barriers.departures.depart(thread) else { return };
        let object = self.threads[thread.index()].awaits.map(|awaits| awaits.object);
        let acquisition = Acquisition { token, kind: DependenceKind::Barrier, object, queue: None, last };
        self.emit(thread, time, ItemKind::Acquire(acquisition), observer);
    }
}
