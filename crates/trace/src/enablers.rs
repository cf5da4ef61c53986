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
pub(crate) type Enabler = (ThreadId, Time, DependenceKind);

/// A primitive: its process and address.
type Word = (ProcessId, u64);

/// The latest releases and arrivals; threads are those of one log.
#[derive(Debug, Default)]
pub(crate) struct Enablers {
    releases: FxHashMap<Word, (ThreadId, Time)>,
    /// Threads that say they wait, by what for.
    waiting: FxHashMap<Word, u32>,
    /// Arrivals of rounds of which nobody has left.
    rounds: FxHashMap<Word, Vec<(ThreadId, Time)>>,
    /// Who is in such a round.
    arrived: FxHashSet<ThreadId>,
    /// Who arrived last at the barrier that a thread may leave.
    last_arrivals: FxHashMap<ThreadId, (ThreadId, Time)>,
}

impl Enablers {
    /// A thread begins to wait.
    pub(crate) fn wait(&mut self, word: Word) {
        *self.waiting.entry(word).or_default() += 1;
    }

    /// A thread has stopped waiting.
    pub(crate) fn stop(&mut self, word: Word) {
        if let Some(count) = self.waiting.get_mut(&word) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&word);
            }
        }
    }

    /// Whether any thread says that it waits for this.
    pub(crate) fn is_awaited(&self, word: Word) -> bool {
        self.waiting.contains_key(&word)
    }

    /// A thread has let go of a lock.
    pub(crate) fn release(&mut self, word: Word, thread: ThreadId, time: Time) {
        self.releases.insert(word, (thread, time));
    }

    /// A thread has come to a barrier.
    pub(crate) fn arrive(&mut self, word: Word, thread: ThreadId, time: Time) {
        self.arrived.insert(thread);
        self.rounds.entry(word).or_default().push((thread, time));
    }

    /// A thread leaves a barrier, or has been woken there: its round is over.
    pub(crate) fn leave(&mut self, word: Word, thread: ThreadId) {
        if !self.arrived.contains(&thread) {
            return;
        }
        let round = self.rounds.remove(&word).unwrap_or_default();
        round.iter().for_each(|(thread, _)| _ = self.arrived.remove(thread));
        if let Some(&last) = round.last() {
            self.last_arrivals.extend(round.iter().map(|&(thread, _)| (thread, last)));
        }
    }

    /// Who let go of the lock last, if that was after `since` and not the thread itself.
    pub(crate) fn releaser(&self, word: Word, thread: ThreadId, since: Time) -> Option<Enabler> {
        let &(source, time) = self.releases.get(&word)?;
        (source != thread && time >= since).then_some((source, time, DependenceKind::Unlock))
    }

    /// Who arrived last at the barrier that the thread leaves, if that was another one.
    pub(crate) fn last_arrival(&mut self, thread: ThreadId) -> Option<Enabler> {
        let (source, time) = self.last_arrivals.remove(&thread)?;
        (source != thread).then_some((source, time, DependenceKind::Barrier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: Word = (ProcessId(0), 0x1000);

    fn at(nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds)
    }

    #[test]
    fn the_last_release_since_the_wait_began_counts_and_not_ones_own() {
        let mut enablers = Enablers::default();
        enablers.release(WORD, ThreadId(1), at(5));
        assert_eq!(enablers.releaser(WORD, ThreadId(2), at(6)), None);
        enablers.release(WORD, ThreadId(3), at(9));
        let third = (ThreadId(3), at(9), DependenceKind::Unlock);
        assert_eq!(enablers.releaser(WORD, ThreadId(2), at(6)), Some(third));
        assert_eq!(enablers.releaser(WORD, ThreadId(3), at(6)), None);
    }

    #[test]
    fn the_next_round_of_a_barrier_does_not_change_who_ended_the_one_before() {
        let mut enablers = Enablers::default();
        for (thread, time) in [(1, 3), (2, 5), (3, 8)] {
            enablers.arrive(WORD, ThreadId(thread), at(time));
        }
        enablers.leave(WORD, ThreadId(1));
        assert_eq!(enablers.last_arrival(ThreadId(3)), None, "it waited for nobody");
        // The last one is fast and comes again before the first has left.
        enablers.arrive(WORD, ThreadId(3), at(11));
        enablers.leave(WORD, ThreadId(1));
        let third = (ThreadId(3), at(8), DependenceKind::Barrier);
        assert_eq!(enablers.last_arrival(ThreadId(1)), Some(third));
        assert_eq!(enablers.last_arrival(ThreadId(1)), None);
        enablers.arrive(WORD, ThreadId(1), at(15));
        enablers.leave(WORD, ThreadId(1));
        assert_eq!(enablers.last_arrival(ThreadId(3)), Some((ThreadId(1), at(15), DependenceKind::Barrier)));
    }

    #[test]
    fn waiting_threads_are_counted() {
        let mut enablers = Enablers::default();
        enablers.wait(WORD);
        enablers.wait(WORD);
        enablers.stop(WORD);
        assert!(enablers.is_awaited(WORD));
        enablers.stop(WORD);
        assert!(!enablers.is_awaited(WORD));
    }
}
