//! What a thread publishes of what it does: one word that a sampling thread reads (Quartz §4).

use crate::atomic::{AtomicU64, Ordering};
use crate::numbered::numbered;

const SUBJECT_SHIFT: u32 = 8;

/// Detail of a [`WaitKind::Team`] that somebody's release ends: the end of a parallel region, or the next one.
pub const TEAM_RELEASE: u64 = 1;

numbered! {
    /// What a thread can wait for.
    pub enum WaitKind {
        /// A mutex.
        Mutex = 1,
        /// A lock with many readers or one writer, to read.
        ReadLock = 2,
        /// The same, to write.
        WriteLock = 3,
        /// A lock that is waited for by spinning.
        SpinLock = 4,
        /// A condition variable.
        Condition = 5,
        /// A barrier.
        Barrier = 6,
        /// A semaphore.
        Semaphore = 7,
        /// An initialisation that another thread does.
        Once = 8,
        /// A futex, by the system call.
        Futex = 9,
        /// The end of a thread.
        Join = 10,
        /// Time.
        Sleep = 11,
        /// Something to read from a descriptor.
        Read = 12,
        /// Room to write to a descriptor.
        Write = 13,
        /// Any of several descriptors.
        Poll = 14,
        /// A connection that this thread asks for.
        Connect = 15,
        /// A connection that is asked for.
        Accept = 16,
        /// The end of a child process.
        Child = 17,
        /// A signal.
        Signal = 18,
        /// The other threads of an OpenMP team. With [`TEAM_RELEASE`] as the detail it ends by a release of the subject;
        /// else it is a barrier at which all of them wait.
        Team = 19,
    }
}

/// The published state of a thread.
#[repr(C)]
#[derive(Debug, Default)]
pub struct PublishedState {
    word: AtomicU64,
    since: AtomicU64,
    /// How many waits deep the thread is in what the program itself, or a runtime, told: what waits inside is part of
    /// it.
    outer: AtomicU64,
    /// What the last of these was for, until it is acquired.
    awaited: AtomicU64,
    /// The OpenMP team that the thread works in, 0 for none.
    team: AtomicU64,
}

impl PublishedState {
    /// The thread works from now on.
    #[inline]
    pub fn work(&self) {
        self.word.store(0, Ordering::Release);
    }

    /// The thread waits from now on.
    #[inline]
    pub fn wait(&self, kind: WaitKind, subject: u64, now: u64) {
        self.since.store(now, Ordering::Relaxed);
        self.word.store(kind as u64 | (subject << SUBJECT_SHIFT), Ordering::Release);
    }

    /// The thread is about to begin a wait that the program or a runtime tells of. `true` where it is not part of
    /// another one.
    pub fn enter(&self) -> bool {
        let depth = self.outer.load(Ordering::Relaxed);
        self.outer.store(depth + 1, Ordering::Relaxed);
        depth == 0
    }

    /// That wait is over. `true` where it was not part of another one; `false` where there was none, too.
    pub fn leave(&self) -> bool {
        let depth = self.outer.load(Ordering::Relaxed);
        self.outer.store(depth.saturating_sub(1), Ordering::Relaxed);
        depth == 1
    }

    /// Whether the thread is in such a wait.
    #[must_use]
    #[inline]
    pub fn is_within(&self) -> bool {
        self.outer.load(Ordering::Relaxed) != 0
    }

    /// Notes what the thread has waited for.
    pub fn note_awaited(&self, subject: u64) {
        self.awaited.store(subject, Ordering::Relaxed);
    }

    /// Whether the thread has waited for this, and not acquired it since; it has acquired it now.
    pub fn was_awaited(&self, subject: u64) -> bool {
        let was_awaited = self.awaited.load(Ordering::Relaxed) == subject;
        if was_awaited {
            self.awaited.store(0, Ordering::Relaxed);
        }
        was_awaited
    }

    /// The OpenMP team that the thread works in, 0 for none.
    #[must_use]
    pub fn team(&self) -> u64 {
        self.team.load(Ordering::Relaxed)
    }

    /// The thread works in another OpenMP team. Returns the former one.
    pub fn change_team(&self, team: u64) -> u64 {
        let former = self.team();
        self.team.store(team, Ordering::Relaxed);
        former
    }

    /// Forgets everything, for the next owner.
    pub fn reset(&self) {
        self.work();
        self.team.store(0, Ordering::Relaxed);
        self.outer.store(0, Ordering::Relaxed);
        self.awaited.store(0, Ordering::Relaxed);
    }

    /// What the thread waits for, and since when; `None` while it works.
    #[must_use]
    pub fn read(&self) -> Option<(WaitKind, u64, u64)> {
        let word = self.word.load(Ordering::Acquire);
        let kind = WaitKind::of(word as u8)?;
        Some((kind, word >> SUBJECT_SHIFT, self.since.load(Ordering::Relaxed)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_number() {
        for number in 1..=19 {
            assert_eq!(WaitKind::of(number).map(|kind| kind as u8), Some(number));
        }
        assert_eq!((WaitKind::of(0), WaitKind::of(20)), (None, None));
    }

    #[test]
    fn waits_inside_a_wait_are_part_of_it() {
        let state = PublishedState::default();
        assert!(!state.leave(), "there was none");
        assert!(state.enter() && !state.enter() && state.is_within());
        assert!(!state.leave() && state.leave() && !state.is_within());
    }

    #[test]
    fn what_was_awaited_is_acquired_once() {
        let state = PublishedState::default();
        state.note_awaited(7);
        assert!(!state.was_awaited(8) && state.was_awaited(7) && !state.was_awaited(7));
    }

    #[test]
    fn a_state_is_read_as_it_was_published() {
        let state = PublishedState::default();
        assert_eq!(state.read(), None);
        state.wait(WaitKind::Barrier, 0x7fff_0000_1000, 77);
        assert_eq!(state.read(), Some((WaitKind::Barrier, 0x7fff_0000_1000, 77)));
        state.work();
        assert_eq!(state.read(), None);
    }
}
