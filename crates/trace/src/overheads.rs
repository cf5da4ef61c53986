//! The time that the collector itself took of a thread: where it lies on the thread's timeline.
//!
//! ```text
//!   T   == running ==|..blocked..|====== running ======|      told at the end: 7 since it was told before
//!                                                 %%%%% ◄─ 5 as late as the thread ran
//!               %% ◄─ 2 before that
//! ```
//! A thread tells from time to time how much the collector has taken of it since. That time is taken from where it ran
//! last and from which nothing was taken: it was on a processor then, and that close to where it told so; spins and waits stay
//! as long as they were. What finds no room is not taken away.
//!
//! Memory: per thread, the newest 64 stretches in which it ran and from which nothing was taken; per telling, the intervals.

use std::collections::VecDeque;

use longpole_event::{ThreadId, Time};

use crate::state::State;

/// Stretches that are kept per thread.
const KEPT: usize = 64;

/// A stretch of a thread's time (by its id in the log) that was the collector's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Overhead {
    pub(crate) from: Time,
    pub(crate) thread: ThreadId,
    pub(crate) to: Time,
}

/// What the survey collects of one machine.
#[derive(Debug, Default)]
pub(crate) struct Overheads {
    per_thread: Vec<OverheadThread>,
    found: Vec<Overhead>,
    told: u64,
}

#[derive(Clone, Debug, Default)]
struct OverheadThread {
    runs_since: Option<Time>,
    past: VecDeque<(Time, Time)>,
}

impl OverheadThread {
    fn keep(&mut self, stretch: (Time, Time)) {
        if stretch.0 < stretch.1 {
            if self.past.len() == KEPT {
                self.past.pop_front();
            }
            self.past.push_back(stretch);
        }
    }
}

impl Overheads {
    /// None yet, of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Overheads { per_thread: vec![OverheadThread::default(); threads], ..Overheads::default() }
    }

    /// The thread comes into this state.
    pub(crate) fn enter(&mut self, thread: ThreadId, time: Time, state: State) {
        let Some(of_thread) = self.per_thread.get_mut(thread.index()) else { return };
        if let Some(since) = of_thread.runs_since.take() {
            of_thread.keep((since, time));
        }
        of_thread.runs_since = (state == State::Running).then_some(time);
    }

    /// The collector took so much of the thread, nanoseconds.
    pub(crate) fn tell(&mut self, thread: ThreadId, time: Time, nanoseconds: u64) {
        self.told = self.told.saturating_add(nanoseconds);
        let Some(of_thread) = self.per_thread.get_mut(thread.index()) else { return };
        if let Some(since) = of_thread.runs_since {
            of_thread.keep((since, time));
            of_thread.runs_since = Some(time);
        }
        let mut rest = nanoseconds;
        while rest > 0
            && let Some((since, to)) = of_thread.past.pop_back()
        {
            let taken = rest.min(to.since(since));
            let from = Time::from_nanoseconds(to.nanoseconds() - taken);
            self.found.push(Overhead { from, thread, to });
            rest -= taken;
            if since < from {
                of_thread.past.push_back((since, from));
            }
        }
    }

    /// All that was told, nanoseconds, and where it lies, in the order of time.
    pub(crate) fn into_found(mut self) -> (u64, Vec<Overhead>) {
        self.found.sort_unstable();
        (self.told, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Cause;

    const THREAD: ThreadId = ThreadId(0);

    fn at(nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds)
    }

    fn found(overheads: Overheads) -> Vec<(u64, u64)> {
        let found = overheads.into_found().1;
        found.iter().map(|found| (found.from.nanoseconds(), found.to.nanoseconds())).collect()
    }

    #[test]
    fn it_lies_where_the_thread_ran_last() {
        let mut overheads = Overheads::new(1);
        overheads.enter(THREAD, at(0), State::Running);
        overheads.enter(THREAD, at(10), State::Blocked(Cause::Lock));
        overheads.enter(THREAD, at(20), State::Running);
        overheads.tell(THREAD, at(25), 7);
        overheads.tell(THREAD, at(30), 2);
        assert_eq!(found(overheads), [(8, 10), (20, 25), (28, 30)]);
    }

    #[test]
    fn what_finds_no_room_since_the_telling_before_lies_before_that() {
        let mut overheads = Overheads::new(1);
        overheads.enter(THREAD, at(0), State::Running);
        overheads.tell(THREAD, at(20), 5);
        overheads.tell(THREAD, at(22), 6);
        assert_eq!(found(overheads), [(11, 15), (15, 20), (20, 22)]);
    }

    #[test]
    fn spins_are_not_shortened_and_nothing_is_taken_twice() {
        let mut overheads = Overheads::new(1);
        overheads.enter(THREAD, at(0), State::Running);
        overheads.enter(THREAD, at(10), State::Spinning);
        overheads.tell(THREAD, at(30), 4);
        overheads.tell(THREAD, at(31), 4);
        assert_eq!(overheads.told, 8);
        assert_eq!(found(overheads), [(2, 6), (6, 10)]);
    }
}
