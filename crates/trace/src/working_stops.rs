//! Threads that work to their end, which comes soon after another one has come to join them: they may have been told to end.
//!
//! ```text
//!   A   work work work work  stop = 1, join .       A tells and joins
//!   B   work work work work work work work end      told to by a flag? or had it as much to do as A?
//! ```
//! The flag is an access to memory that no collector sees. A worker that others let go on works for them, and was told nothing, unless it
//! sleeps again and again, as one that refreshes a table every few milliseconds and waits for who reads it, and no longer once it was joined.
//! One that joins several threads in a row has told all of them before the first join, if it has.
//!
//! Constant time per event; a few words per thread.

use longpole_event::{Blocking, ProcessId, ThreadId, Time, Waker};
use rustc_hash::FxHashSet;

use crate::inventory::InventoryThread;
use crate::stops::PossibleStop;

/// A thread ends soon where it does within one part in so many of its life.
const SOON: u64 = 50;

/// One thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkingStop {
    /// Its waits, but for those within the kernel.
    waits: u64,
    /// Whether it is in one of them.
    is_waiting: bool,
    /// Whether another thread ended one of them.
    is_let_go: bool,
    /// Whether it sleeps again and again.
    sleeps: bool,
    /// As one that joins: since when it does nothing else, and its waits up to the last join.
    joins: Option<(Time, u64)>,
    /// As one that is joined while it works.
    joined: Option<WorkingJoin>,
    /// Whether it has slept since.
    slept_later: bool,
}

/// A join of a thread that works.
#[derive(Clone, Copy, Debug)]
struct WorkingJoin {
    joiner: ThreadId,
    time: Time,
    /// Since when that one joins, this thread or others before it.
    since: Time,
}

impl WorkingStop {
    /// It begins to wait.
    pub(crate) fn wait(&mut self, blocking: Blocking) {
        self.is_waiting = blocking == Blocking::Interruptible;
        self.waits += u64::from(self.is_waiting);
    }

    /// Its wait is over.
    pub(crate) fn wake(&mut self, waker: Waker) {
        self.is_let_go |= self.is_waiting && matches!(waker, Waker::Thread(_));
        self.slept_later |= self.joined.is_some() && self.is_waiting && waker.is_interrupt();
    }

    /// It joins a thread from now on. Since when it joins.
    pub(crate) fn join(&mut self, time: Time) -> Time {
        let row = self.joins.filter(|&(_, waits)| self.waits <= waits + 1);
        let since = row.map_or(time, |(since, _)| since);
        self.joins = Some((since, self.waits));
        since
    }

    /// It is joined while it works, at this time, by a thread that joins since then.
    pub(crate) fn joined(&mut self, joiner: ThreadId, (time, since): (Time, Time)) {
        self.joined = Some(WorkingJoin { joiner, time, since });
    }

    /// It slept again and again.
    pub(crate) fn slept_often(&mut self) {
        self.sleeps = true;
    }

    /// Of a thread that lived so: that it may have been told to end.
    pub(crate) fn possible_stop(&self, thread: ThreadId, (start, end): (Time, Time)) -> Option<PossibleStop> {
        let WorkingJoin { joiner, time, since } = self.joined?;
        let told = if !self.is_let_go {
            since
        } else if self.sleeps && !self.slept_later {
            time
        } else {
            return None;
        };
        let is_soon = told >= start && ends_soon((start, end), told);
        is_soon.then_some(PossibleStop { thread, joiner, told, woken: end, works: true })
    }
}

/// Whether a thread that lived so ended soon after that time.
pub(crate) fn ends_soon((start, end): (Time, Time), time: Time) -> bool {
    end.since(time).saturating_mul(SOON) <= end.since(start)
}

/// Those of these threads, of these processes, that may have been told so by another one of their process, and of which not as much is known.
pub(crate) fn working_stops(
    threads: &[InventoryThread],
    processes: &[ProcessId],
    known: &[PossibleStop],
) -> Vec<PossibleStop> {
    let known: FxHashSet<ThreadId> = known.iter().map(|stop| stop.thread).collect();
    let stop = |(index, thread): (usize, &InventoryThread)| {
        let life = thread.start.zip(thread.end).filter(|_| thread.known.stopped.is_none())?;
        let stop = thread.working_stop.possible_stop(ThreadId::from_index(index), life)?;
        let is_of_process = processes.get(stop.joiner.index()) == processes.get(index);
        (is_of_process && !known.contains(&stop.thread)).then_some(stop)
    };
    threads.iter().enumerate().filter_map(stop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOINER: ThreadId = ThreadId(1);

    fn at(nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds)
    }

    fn stop(joined: u64, wait: Option<(Blocking, Waker)>) -> Option<PossibleStop> {
        let mut stop = WorkingStop::default();
        let (blocking, waker) = wait.unzip();
        blocking.into_iter().for_each(|blocking| stop.wait(blocking));
        waker.into_iter().for_each(|waker| stop.wake(waker));
        stop.joined(JOINER, (at(joined), at(joined)));
        stop.possible_stop(ThreadId(0), (at(0), at(1000)))
    }

    #[test]
    fn a_thread_that_ends_soon_after_it_was_joined_may_have_been_told_to() {
        let told =
            PossibleStop { thread: ThreadId(0), joiner: JOINER, told: at(985), woken: at(1000), works: true };
        assert_eq!(stop(985, None), Some(told));
        assert_eq!(stop(985, Some((Blocking::Interruptible, Waker::Interrupt))), Some(told));
        assert_eq!(stop(985, Some((Blocking::Uninterruptible, Waker::Thread(JOINER)))), Some(told));
        assert_eq!(stop(970, None), None);
        // It worked for others.
        assert_eq!(stop(985, Some((Blocking::Interruptible, Waker::Thread(JOINER)))), None);
    }

    #[test]
    fn one_that_sleeps_again_and_again_may_have_been_told_though_it_waits_for_others() {
        let mut stop = WorkingStop::default();
        stop.wait(Blocking::Interruptible);
        stop.wake(Waker::Thread(JOINER));
        stop.slept_often();
        stop.joined(JOINER, (at(985), at(300)));
        let found = |stop: &WorkingStop| stop.possible_stop(ThreadId(0), (at(0), at(1000)));
        assert!(found(&stop).is_some_and(|stop| stop.works));
        stop.wait(Blocking::Interruptible);
        stop.wake(Waker::HardInterrupt);
        assert_eq!(found(&stop), None, "it had more to do");
    }

    #[test]
    fn who_joins_several_threads_in_a_row_has_told_them_before() {
        let mut joiner = WorkingStop::default();
        joiner.wait(Blocking::Interruptible);
        assert_eq!(joiner.join(at(10)), at(10));
        joiner.wait(Blocking::Interruptible);
        assert_eq!(joiner.join(at(20)), at(10));
        // It waited for something else in between.
        joiner.wait(Blocking::Interruptible);
        joiner.wait(Blocking::Interruptible);
        assert_eq!(joiner.join(at(40)), at(40));
    }
}
