//! Normalised processor time (metrics.md §3; Q eq. 1, M §2.3).
//!
//! While U threads are busy, each of them is charged 1/U of the time that passes. A procedure that runs while
//! nothing else does is charged its whole time, one that runs beside three others a quarter; so the charges
//! of all threads add up to the time in which any thread was busy. They are kept per term: the charge while
//! U = 1, 2, 3 … (Q figure 1).
//!
//! ```text
//!   T1  AAABBB          0..3: U = 3, A and twice C are charged 1 each
//!   T2  CCC...          3..6: U = 1, B is charged 3
//!   T3  CCC...          NPT: A 1, B 3, C 2; together 6, the elapsed time
//! ```
//! A thread blocked for a device or a page is busy too, unless that is turned off; its charge goes to the path
//! at which it waits. A spinning thread is not busy.
//!
//! Time: per item, the number of levels U that occurred since the thread's item before, however many threads
//! there are. Memory: levels per live thread; terms per (thread, path).
//!
//! It cannot see dependences: time before others begin to wait for a thread counts less than time after, though
//! shortening either would help as much.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Level, Sweep};
use longpole_trace::{PathId, Program, State};

use crate::analysis::Measures;
use crate::charges::{Account, Ledger};
use crate::levels::{Levels, Seen};

impl Measures {
    /// Normalised processor time: the sum of its terms.
    #[must_use]
    pub fn npt(&self) -> f64 {
        self.npt_terms.iter().sum()
    }

    /// The part of normalised processor time that was charged while U was in `levels`.
    #[must_use]
    pub fn npt_while(&self, levels: std::ops::RangeInclusive<usize>) -> f64 {
        let first = (*levels.start()).min(self.npt_terms.len());
        self.npt_terms[first..].iter().take(levels.count()).sum()
    }
}

/// Busy time by level since the last observation: pairs of level and time.
pub(crate) type Work = Vec<(u32, u64)>;

/// Busy time by level, in the order of the levels. Most paths are busy at few levels of many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms(Vec<(u32, u64)>);

impl Terms {
    fn add(&mut self, level: u32, time: u64) {
        match self.0.binary_search_by_key(&level, |term| term.0) {
            Ok(index) => self.0[index].1 += time,
            Err(index) => self.0.insert(index, (level, time)),
        }
    }

    /// The terms in nanoseconds of normalised time, by level.
    pub fn normalised(&self) -> Vec<f64> {
        let levels = self.0.last().map_or(0, |term| term.0 as usize + 1);
        let mut terms = vec![0.0; levels];
        for &(level, time) in &self.0 {
            terms[level as usize] = time as f64 / f64::from(level);
        }
        terms
    }
}

impl Account<Work> for Terms {
    fn take(&mut self, pending: &mut Work) -> f64 {
        let mut weight = 0.0;
        for (level, time) in pending.drain(..) {
            self.add(level, time);
            weight += time as f64 / f64::from(level);
        }
        weight
    }
}

/// The sweep of normalised processor time.
#[derive(Debug)]
pub(crate) struct Npt {
    pub ledger: Ledger<Work, Terms>,
    io_idle: bool,
    levels: Levels,
    seen: Vec<Seen>,
}

impl Npt {
    pub fn new(program: &Program, io_idle: bool) -> Self {
        Npt {
            ledger: Ledger::new(program),
            io_idle,
            levels: Levels::default(),
            seen: vec![Seen::default(); program.threads.len()],
        }
    }

    fn seen(&mut self, thread: ThreadId) -> &mut Seen {
        if thread.index() >= self.seen.len() {
            self.seen.resize(thread.index() + 1, Seen::default());
        }
        &mut self.seen[thread.index()]
    }
}

impl Sweep for Npt {
    fn pass(&mut self, from: Time, to: Time, level: Level) {
        if level.effective > 0 {
            self.levels.pass(from, to, level.effective);
        }
    }

    fn arc(&mut self, arc: Arc) {
        self.seen(arc.thread);
        let seen = &mut self.seen[arc.thread.index()];
        if !arc.state.is_busy(self.io_idle) {
            seen.catch_up(&self.levels, arc.to, |_, _| {});
        } else if arc.state == State::Running {
            let work = self.ledger.work(arc.thread);
            seen.catch_up(&self.levels, arc.to, |level, time| match work.last_mut() {
                Some((last, sum)) if *last == level => *sum += time,
                _ => work.push((level, time)),
            });
        } else {
            let terms = self.ledger.wait(arc.thread);
            seen.catch_up(&self.levels, arc.to, |level, time| terms.add(level, time));
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        if state == State::Absent {
            *self.seen(thread) = Seen::default();
        } else if before == State::Absent {
            self.seen(thread);
            self.seen[thread.index()].catch_up(&self.levels, time, |_, _| {});
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId) {
        self.ledger.observe(thread, path);
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::Options;
    use crate::drawn::Drawn;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn each_busy_thread_is_charged_its_part() {
        let drawn = Drawn::new("T1 AAABBB\nT2 CCCccc\nT3 CCCccc");
        let (a, b, c) = (drawn.own("A"), drawn.own("B"), drawn.own("C"));
        assert!(close(a.npt(), 1.0) && close(b.npt(), 3.0) && close(c.npt(), 2.0));
        assert!(close(b.npt_while(1..=1), 3.0) && close(c.npt_while(3..=4), 2.0));
        assert!(close(c.npt_while(1..=2), 0.0) && close(c.npt_while(7..=usize::MAX), 0.0));
    }

    #[test]
    fn spinning_threads_are_not_busy() {
        // T1 spins for 4 while T2 works alone.
        let drawn = Drawn::new("T1 AA~~~~\nT2 BBBBBB");
        assert!(close(drawn.own("A").npt(), 1.0));
        assert!(close(drawn.own("B").npt(), 1.0 + 4.0));
    }

    #[test]
    fn a_thread_that_waits_for_a_device_is_busy_unless_told_otherwise() {
        let text = "T1 AA::AA\nT2 BBBBBB";
        // U = 2 all the time: each has half of 6.
        let busy = Drawn::new(text);
        assert!(close(busy.own("A").npt(), 3.0) && close(busy.own("B").npt(), 3.0));
        // U = 1 for the two units of io: A has half of 4, B that and 2.
        let idle = Drawn::with(text, &Options { io_idle: true });
        assert!(close(idle.own("A").npt(), 2.0) && close(idle.own("B").npt(), 4.0));
        assert_eq!(idle.analysis.busy, [0, 2, 4]);
    }

    #[test]
    fn what_ran_between_two_looks_is_charged_to_the_later_one() {
        // No look at T1 between its procedures but at the end: nothing tells A from B.
        let drawn = Drawn::new("A = A\nB = A > B\nT1 AABB\nT2 CC");
        assert!(close(drawn.own("A").npt(), 1.0) && close(drawn.own("B").npt(), 2.0));
        assert!(close(drawn.procedure("A").1.npt(), 3.0), "B was called by A");
    }

    #[test]
    fn levels_are_told_apart_across_gaps() {
        // T1: 0..2 alone, 2..4 with T2, waits 4..6, 6..8 with T2.
        let drawn = Drawn::new("T1 AAAAllAA\nT2 __BBBBBB");
        assert_eq!(drawn.own("A").npt_terms, [0.0, 2.0, 2.0]);
        assert_eq!(drawn.own("B").npt_terms, [0.0, 2.0, 2.0]);
    }
}
