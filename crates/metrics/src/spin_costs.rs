//! What busy-waits keep from work: time in which no thread of the program works though some could run (metrics.md §5).
//!
//! ```text
//!   T1  AAAA~~~~~~AA      T1 spins for 6
//!   T2  ....-----BB..     T2 waits for T1's processor for 5, and works then: 5 before work
//!                         nobody works in those 5 columns
//! ```
//! Where nobody works, a thread spins and one that works as soon as it gets a processor is ready, waits that block let that
//! work begin at once: nothing else happens in that time, so the run is shorter by all of it. Where nobody works and some
//! spin, the run may be shorter by as much. Where some are ready only, other programs have the processors, which the kernel gave them
//! for what this one had already, its spinning included.
//!
//! Which thread works next is known when it gets its processor: what it waited through counts then, the parts that another one
//! waited through as well only once. Constant time per item but for those parts, of which as many are kept as threads are ready.

use longpole_event::{ThreadId, Time};
use longpole_graph::{ParallelismLevel, Sweep};
use longpole_trace::State;

/// Time that busy-waits keep from work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpinCosts {
    /// No thread works, and some spin, nanoseconds.
    pub while_spinning: u64,
    /// No thread works or spins, and some are ready, nanoseconds: other programs have the processors.
    pub while_ready: u64,
    /// No thread works, some spin, and one that works next is ready, nanoseconds.
    pub before_work: u64,
}

/// The sweep that adds them up.
#[derive(Debug, Default)]
pub(crate) struct SpinCostSweep {
    costs: SpinCosts,
    spinning: u32,
    /// Time in which nobody worked and somebody spun, so far: the clock of what follows.
    spun: u64,
    /// By thread: the clock when it became ready.
    ready_since: Vec<Option<u64>>,
    ready: usize,
    /// What counts already, by the clock: apart from each other, in order.
    counted: Vec<(u64, u64)>,
}

impl SpinCostSweep {
    /// The sums, once the sweep is finished.
    pub fn into_costs(self) -> SpinCosts {
        SpinCosts { while_spinning: self.spun, ..self.costs }
    }

    fn count(&mut self, mut begin: u64) {
        let end = self.spun;
        let mut time = end - begin;
        while let Some((earlier, until)) = self.counted.pop_if(|&mut (_, until)| until >= begin) {
            time -= until - begin.max(earlier);
            begin = begin.min(earlier);
        }
        self.counted.push((begin, end));
        self.costs.before_work += time;
        if self.counted.len() > 2 * self.ready + 16 {
            let needed = self.ready_since.iter().flatten().min().copied().unwrap_or(end);
            self.counted.retain(|&(_, until)| until >= needed);
        }
    }
}

impl Sweep for SpinCostSweep {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        if level.effective > 0 || level.nominal == 0 {
            return;
        }
        let time = to.since(from);
        match self.spinning {
            0 => self.costs.while_ready += time,
            _ => self.spun += time,
        }
    }

    fn enter(&mut self, thread: ThreadId, _time: Time, before: State, state: State) {
        self.spinning += u32::from(state == State::Spinning);
        self.spinning -= u32::from(before == State::Spinning);
        if self.ready_since.len() <= thread.index() {
            self.ready_since.resize(thread.index() + 1, None);
        }
        let since = self.ready_since[thread.index()].take();
        self.ready -= usize::from(since.is_some());
        match (state, since) {
            (State::Ready, _) => {
                self.ready_since[thread.index()] = Some(since.unwrap_or(self.spun));
                self.ready += 1;
            }
            (State::Running, Some(since)) if since < self.spun => self.count(since),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SpinCosts;
    use crate::drawn::Drawn;

    fn costs(drawing: &str) -> (u64, u64) {
        let SpinCosts { while_spinning, while_ready, before_work } = Drawn::new(drawing).analysis.spin_costs;
        (while_spinning + while_ready, before_work)
    }

    #[test]
    fn work_that_waits_for_a_spinner_s_processor_is_kept_from_it() {
        assert_eq!(costs("T1 AAAA~~~~~~AA\nT2 ....-----BB.."), (5, 5));
    }

    #[test]
    fn a_ready_thread_that_only_spins_next_loses_nothing() {
        assert_eq!(costs("T1 AA~~~~~~\nT2 BB---~~~"), (6, 0));
    }

    #[test]
    fn where_another_thread_works_nothing_is_lost_for_sure() {
        assert_eq!(costs("T1 ~~~~~~~~\nT2 BBBBBBBB\nT3 -----CCC"), (0, 0));
    }

    #[test]
    fn what_two_threads_wait_through_counts_once() {
        // By the clock of T1's spinning: T3 from 1 to 3, T4 from 4 to 5, T2 from 0 to 6.
        assert_eq!(costs("T1 ~~~~~~~~~~\nT2 ------.B..\nT3 .--C......\nT4 ....-D...."), (7, 3));
        assert_eq!(costs("T1 ~~~~~~~~~~\nT2 -------B..\nT3 .--C......\nT4 ....-D...."), (7, 5));
    }

    #[test]
    fn ready_time_without_a_spinner_may_be_lost_but_not_for_sure() {
        assert_eq!(costs("T1 AA..AA\nT2 ..--BB"), (2, 0));
        let SpinCosts { while_spinning, while_ready, .. } =
            Drawn::new("T1 A~~...A\nT2 ..---.B").analysis.spin_costs;
        assert_eq!((while_spinning, while_ready), (2, 2));
    }
}
