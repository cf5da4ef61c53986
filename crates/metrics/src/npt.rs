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
use longpole_graph::{Arc, Dependence, ParallelismLevel, Sweep};
use longpole_trace::{Acquisition, ObservationKind, PathId, Paths, Program, State, TokenId};

use crate::analysis::Measures;
use crate::charges::{ChargeAccount, ChargeLedger};
use crate::levels::{LevelTimes, SeenLevels};
use crate::on_path::{ByMembership, Membership, OnPaths};
use crate::strata::Strata;

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

/// Busy time by level, in the order of the levels. Most paths are busy at few levels of many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms(Vec<(u32, u64)>);

impl Terms {
    pub fn add(&mut self, level: u32, time: u64) {
        match self.0.binary_search_by_key(&level, |term| term.0) {
            Ok(index) => self.0[index].1 += time,
            Err(index) => self.0.insert(index, (level, time)),
        }
    }

    /// Levels with the times at them.
    pub fn times(&self) -> impl Iterator<Item = (u32, u64)> {
        self.0.iter().copied()
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

impl ChargeAccount<()> for Terms {
    fn take(&mut self, (): &mut ()) {}
}

/// The sweep of useful work, as CPU time, as normalised processor time and as time on the critical paths, and of busy waits.
#[derive(Debug)]
pub(crate) struct Npt<'a> {
    /// Useful work by strata.
    pub strata: Strata<'a>,
    /// Busy waits.
    pub ledger: ChargeLedger<(), Terms>,
    io_idle: bool,
    on_paths: OnPaths<'a>,
    levels: LevelTimes,
    /// U in the time that passed last.
    level: u32,
    per_thread: Vec<NptThread>,
    /// Levels of the present arc.
    terms: Vec<(u32, u64)>,
}

#[derive(Clone, Debug)]
struct NptThread {
    state: State,
    seen: SeenLevels,
    on: Membership,
}

impl NptThread {
    const NEW: NptThread =
        NptThread { state: State::Absent, seen: SeenLevels::NOTHING, on: Membership::NONE };
}

impl<'a> Npt<'a> {
    /// Of a run with these critical paths, in which samples without a gap of their own have this one, nanoseconds.
    pub fn new(
        (program, paths): (&Program, &'a Paths),
        io_idle: bool,
        on_paths: OnPaths<'a>,
        interval: u64,
    ) -> Self {
        Npt {
            strata: Strata::new(program, paths, interval),
            ledger: ChargeLedger::new(program),
            io_idle,
            on_paths,
            levels: LevelTimes::default(),
            level: 0,
            per_thread: vec![NptThread::NEW; program.threads.len()],
            terms: Vec::new(),
        }
    }

    fn of_thread(&mut self, thread: ThreadId) -> &mut NptThread {
        if thread.index() >= self.per_thread.len() {
            self.per_thread.resize(thread.index() + 1, NptThread::NEW);
        }
        &mut self.per_thread[thread.index()]
    }

    fn work(&mut self, arc: Arc) {
        let (times, on) = self.on_paths.split(arc.thread, arc.from, arc.to);
        let of_thread = &mut self.per_thread[arc.thread.index()];
        of_thread.on = on;
        self.strata.advance(arc.thread, &times);
        let (strata, terms) = (&mut self.strata, &mut self.terms);
        if times[on.index()] == arc.length() {
            of_thread.seen.catch_up(&self.levels, arc.to, |level, time| {
                strata.work(arc.thread, (level, on), time);
            });
        } else {
            terms.clear();
            of_thread.seen.catch_up(&self.levels, arc.to, |level, time| terms.push((level, time)));
            both(terms, times, |key, time| strata.work(arc.thread, key, time));
        }
    }
}

/// Time that has these sums by level and by membership. A node of a path, at which membership changes, nearly always ends the
/// arc; where it does not, which level went with which is not known here.
fn both(terms: &[(u32, u64)], mut times: ByMembership, mut work: impl FnMut((u32, Membership), u64)) {
    let mut index = 0;
    for &(level, mut left) in terms {
        while left > 0 && index < times.len() {
            let part = left.min(times[index]);
            if part > 0 {
                work((level, Membership::of_index(index)), part);
            }
            left -= part;
            times[index] -= part;
            index += usize::from(times[index] == 0);
        }
    }
}

impl Sweep for Npt<'_> {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        self.level = level.effective;
        if level.effective > 0 {
            self.levels.pass(from, to, level.effective);
        }
    }

    fn arc(&mut self, arc: Arc) {
        self.of_thread(arc.thread);
        let of_thread = &mut self.per_thread[arc.thread.index()];
        if !arc.state.is_busy(self.io_idle) {
            of_thread.seen.catch_up(&self.levels, arc.to, |_, _| {});
        } else if arc.state == State::Running {
            self.work(arc);
        } else {
            let terms = self.ledger.wait(arc.thread);
            of_thread.seen.catch_up(&self.levels, arc.to, |level, time| terms.add(level, time));
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        self.of_thread(thread);
        if before == State::Running && state != State::Ready {
            self.strata.cut(thread);
        }
        let of_thread = &mut self.per_thread[thread.index()];
        of_thread.state = state;
        if state == State::Absent {
            of_thread.seen = SeenLevels::default();
        } else if before == State::Absent {
            of_thread.seen.catch_up(&self.levels, time, |_, _| {});
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, kind: ObservationKind) {
        self.ledger.observe(thread, path);
        let NptThread { state, on, .. } = *self.of_thread(thread);
        match kind {
            ObservationKind::Sample { gap } => {
                if state == State::Running {
                    self.strata.sample(thread, path, (self.level, on, gap));
                }
            }
            kind => self.strata.site(thread, path, kind),
        }
    }

    fn depend(&mut self, dependence: Dependence) {
        if dependence.source_time == dependence.time {
            self.strata.cut(dependence.source);
        }
        self.strata.cut(dependence.thread);
    }

    fn release(&mut self, thread: ThreadId, _time: Time, _token: TokenId) {
        self.strata.cut(thread);
    }

    fn acquire(&mut self, thread: ThreadId, _time: Time, _acquisition: Acquisition) {
        self.strata.cut(thread);
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::MetricOptions;
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
        let idle = Drawn::with(text, &MetricOptions { io_idle: true, ..MetricOptions::default() });
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
