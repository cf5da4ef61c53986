//! When any thread that does a thing's work could run (metrics.md §5).
//!
//! ```text
//!   T1   AAAA----AAAA....BBBB        A: T1 or T2 could run for 16
//!   T2   ----AAAA........            B: the same 16 of T1
//! ```
//! While no such thread runs or waits for a processor, the run gets no shorter without the thing: several of them at a time count once. A
//! thread that has other work as well counts with that, so the time is an upper bound.
//!
//! Time: per change between running and not, the things that the thread has work of. Memory: a word per thing.

use longpole_event::{ThreadId, Time};
use longpole_graph::Sweep;
use longpole_trace::State;

#[derive(Clone, Copy, Debug, Default)]
struct NodePresence {
    /// Threads of it that could run.
    runnable: u32,
    since: Time,
    time: u64,
}

/// The sweep that adds the times up.
#[derive(Debug)]
pub(super) struct PresenceSweep {
    /// By thread: the things that it has work of.
    things: Vec<Vec<usize>>,
    presences: Vec<NodePresence>,
}

impl PresenceSweep {
    /// By thread, the numbers of the things that it has work of, below `count`.
    pub fn new(things: Vec<Vec<usize>>, count: usize) -> PresenceSweep {
        PresenceSweep { things, presences: vec![NodePresence::default(); count] }
    }

    /// By thing: for how long any of its threads could run, nanoseconds.
    pub fn into_times(self) -> impl Iterator<Item = u64> {
        self.presences.into_iter().map(|presence| presence.time)
    }
}

impl Sweep for PresenceSweep {
    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let could_run = before.is_runnable();
        if could_run == state.is_runnable() {
            return;
        }
        for &thing in self.things.get(thread.index()).into_iter().flatten() {
            let presence = &mut self.presences[thing];
            if could_run {
                presence.runnable -= 1;
                presence.time += if presence.runnable == 0 { time.since(presence.since) } else { 0 };
            } else {
                presence.since = if presence.runnable == 0 { time } else { presence.since };
                presence.runnable += 1;
            }
        }
    }

    fn finish(&mut self, end: Time) {
        for presence in self.presences.iter_mut().filter(|presence| presence.runnable > 0) {
            presence.time += end.since(presence.since);
            presence.runnable = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_could_run_at_a_time_count_once() {
        let mut sweep = PresenceSweep::new(vec![vec![0, 1], vec![0]], 3);
        let mut enter = |thread: u32, time: u64, before, state| {
            sweep.enter(ThreadId(thread), Time::from_nanoseconds(time), before, state);
        };
        enter(0, 0, State::Absent, State::Running);
        enter(1, 5, State::Absent, State::Ready);
        enter(1, 7, State::Ready, State::Running);
        enter(0, 10, State::Running, State::Blocked(longpole_trace::Cause::Sleep));
        enter(1, 12, State::Running, State::Absent);
        enter(0, 20, State::Blocked(longpole_trace::Cause::Sleep), State::Running);
        sweep.finish(Time::from_nanoseconds(24));
        assert_eq!(sweep.into_times().collect::<Vec<_>>(), [16, 14, 0]);
    }
}
