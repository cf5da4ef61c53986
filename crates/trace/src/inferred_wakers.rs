//! Who let a thread go on that told of its own wait, where the log has no wake for it.
//!
//! ```text
//!   A  = holds m =====| Held              the holder that let go last enabled the next one to go on
//!   B  Await(m) ~~~~~~~~ Proceed
//!
//!   A  Await(b) ~~~~~~~~~~~~~ Proceed     the last to arrive at a barrier enabled all others of the round, which ends
//!   B       Await(b) ~~~~~~~~ Proceed     where the first of them goes on
//!   C                 Await(b) Proceed
//! ```
//! Memory: per lock its last release, per barrier those who wait at it.

use longpole_event::{ProcessId, ThreadId, Time};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::timeline::DependenceKind;

/// Who enabled a thread, when, and how.
pub(crate) type InferredWaker = (ThreadId, Time, DependenceKind);

/// A primitive: its process and address.
type PrimitiveKey = (ProcessId, u64);

/// The latest releases and arrivals; threads are those of one log.
#[derive(Debug, Default)]
pub(crate) struct InferredWakers {
    releases: FxHashMap<PrimitiveKey, (ThreadId, Time)>,
    /// Threads that say they wait, by what for.
    waiting: FxHashMap<PrimitiveKey, u32>,
    /// Arrivals of rounds of which nobody has left.
    rounds: FxHashMap<PrimitiveKey, Vec<(ThreadId, Time)>>,
    /// Who is in such a round.
    arrived: FxHashSet<ThreadId>,
    /// Who arrived last at the barrier that a thread may leave.
    last_arrivals: FxHashMap<ThreadId, (ThreadId, Time)>,
}

impl InferredWakers {
    /// A thread begins to wait.
    pub(crate) fn wait(&mut self, word: PrimitiveKey) {
        *self.waiting.entry(word).or_default() += 1;
    }

    /// A thread has stopped waiting.
    pub(crate) fn stop(&mut self, word: PrimitiveKey) {
        if let Some(count) = self.waiting.get_mut(&word) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&word);
            }
        }
    }

    /// Whether any thread says that it waits for this.
    pub(crate) fn is_awaited(&self, word: PrimitiveKey) -> bool {
        self.waiting.contains_key(&word)
    }

    /// A thread has let go of a lock.
    pub(crate) fn release(&mut self, word: PrimitiveKey, thread: ThreadId, time: Time) {
        self.releases.insert(word, (thread, time));
    }

    /// A thread has come to a barrier.
    pub(crate) fn arrive(&mut self, word: PrimitiveKey, thread: ThreadId, time: Time) {
        let round = self.rounds.entry(word).or_default();
        // One that does not leave by its own word comes again.
        if !self.arrived.insert(thread) {
            round.retain(|&(other, _)| other != thread);
        }
        round.push((thread, time));
    }

    /// Whether a thread has come to a barrier whose round goes on.
    pub(crate) fn has_arrived(&self, thread: ThreadId) -> bool {
        self.arrived.contains(&thread)
    }

    /// A thread leaves a barrier, or has been woken there: its round is over. Gives who was in it, to the first that
    /// leaves it.
    pub(crate) fn leave(&mut self, word: PrimitiveKey, thread: ThreadId) -> Option<Vec<ThreadId>> {
        if !self.arrived.contains(&thread) {
            return None;
        }
        let round = self.rounds.remove(&word)?;
        round.iter().for_each(|(thread, _)| _ = self.arrived.remove(thread));
        if let Some(&last) = round.last() {
            self.last_arrivals.extend(round.iter().map(|&(thread, _)| (thread, last)));
        }
        Some(round.into_iter().map(|(thread, _)| thread).collect())
    }

    /// Who let go of the lock last, if that was after `since` and not the thread itself.
    pub(crate) fn releaser(
        &self,
        word: PrimitiveKey,
        thread: ThreadId,
        since: Time,
    ) -> Option<InferredWaker> {
        let &(source, time) = self.releases.get(&word)?;
        (source != thread && time >= since).then_some((source, time, DependenceKind::Unlock))
    }

    /// Who arrived last at the barrier that the thread leaves, if that was another one.
    pub(crate) fn last_arrival(&mut self, thread: ThreadId) -> Option<InferredWaker> {
        let (source, time) = self.last_arrivals.remove(&thread)?;
        (source != thread).then_some((source, time, DependenceKind::Barrier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: PrimitiveKey = (ProcessId(0), 0x1000);

    fn at(nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds)
    }

    #[test]
    fn the_last_release_since_the_wait_began_counts_and_not_ones_own() {
        let mut inferred_wakers = InferredWakers::default();
        inferred_wakers.release(WORD, ThreadId(1), at(5));
        assert_eq!(inferred_wakers.releaser(WORD, ThreadId(2), at(6)), None);
        inferred_wakers.release(WORD, ThreadId(3), at(9));
        let third = (ThreadId(3), at(9), DependenceKind::Unlock);
        assert_eq!(inferred_wakers.releaser(WORD, ThreadId(2), at(6)), Some(third));
        assert_eq!(inferred_wakers.releaser(WORD, ThreadId(3), at(6)), None);
    }

    #[test]
    fn the_next_round_of_a_barrier_does_not_change_who_ended_the_one_before() {
        let mut inferred_wakers = InferredWakers::default();
        for (thread, time) in [(1, 3), (2, 5), (3, 8)] {
            inferred_wakers.arrive(WORD, ThreadId(thread), at(time));
        }
        inferred_wakers.leave(WORD, ThreadId(1));
        assert_eq!(inferred_wakers.last_arrival(ThreadId(3)), None, "it waited for nobody");
        // The last one is fast and comes again before the first has left.
        inferred_wakers.arrive(WORD, ThreadId(3), at(11));
        inferred_wakers.leave(WORD, ThreadId(1));
        let third = (ThreadId(3), at(8), DependenceKind::Barrier);
        assert_eq!(inferred_wakers.last_arrival(ThreadId(1)), Some(third));
        assert_eq!(inferred_wakers.last_arrival(ThreadId(1)), None);
        inferred_wakers.arrive(WORD, ThreadId(1), at(15));
        inferred_wakers.leave(WORD, ThreadId(1));
        assert_eq!(
            inferred_wakers.last_arrival(ThreadId(3)),
            Some((ThreadId(1), at(15), DependenceKind::Barrier))
        );
    }

    #[test]
    fn waiting_threads_are_counted() {
        let mut inferred_wakers = InferredWakers::default();
        inferred_wakers.wait(WORD);
        inferred_wakers.wait(WORD);
        inferred_wakers.stop(WORD);
        assert!(inferred_wakers.is_awaited(WORD));
        inferred_wakers.stop(WORD);
        assert!(!inferred_wakers.is_awaited(WORD));
    }
}
