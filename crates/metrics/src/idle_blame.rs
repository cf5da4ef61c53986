//! Who kept others waiting, and where in the program: caused waits, and idle blame (metrics.md §3; Q §3.2.5).
//!
//! When a thread enables another that was blocked, or that said that it spins for something, the whole of that wait
//! is caused by the path at which it did; and the time of the processors that were idle meanwhile is to blame on it, divided
//! equally among all threads that waited at the time.
//!
//! ```text
//!   T1  AAAABB          T1 signals T2 at 4, from A: it caused a wait of 3; two processors are idle, two threads wait:
//!   T2  C...CC          A is to blame for 3 of the 6
//!   T3  C.....          T3 at 6, from B: a wait of 5; B is to blame for the other 3, and for 2 of one idle processor
//! ```
//! All caused waits together are the waiting time that a dependence ended. All blame together is at most the time of idle
//! processors: where the processors are fully used there is none to blame. Waits that a device, a clock or something
//! outside the program ended blame nobody.
//!
//! Time: constant per item and wait. Memory: two numbers per thread, and two per (thread, path) that ended a wait.
//!
//! It cannot see whether the blamed thread could have been sooner: it may itself have waited. A processor that other
//! programs use counts as idle.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Dependence, ParallelismLevel, Sweep};
use longpole_trace::{ObjectId, ObservationKind, PathId, Program, State};
use rustc_hash::FxHashMap;

use crate::wait_ends::{EndedWait, WaitEnds};

/// What a (thread, path) kept from going on, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Blame {
    /// Waiting time of threads.
    pub waited: u64,
    /// Time of idle processors.
    pub idle: f64,
}

/// The sweep of both.
#[derive(Debug)]
pub(crate) struct IdleBlame {
    ends: WaitEnds,
    charges: FxHashMap<(ThreadId, PathId), Blame>,
    processors: u32,
    on_cpu: u32,
    waiting: u32,
    /// Time of idle processors for each thread that waited, up to now.
    idle: f64,
    /// What that was when the thread's wait began.
    before: Vec<f64>,
}

impl IdleBlame {
    pub fn new(program: &Program) -> Self {
        IdleBlame {
            ends: WaitEnds::new(program),
            charges: FxHashMap::default(),
            processors: program.cpus(),
            on_cpu: 0,
            waiting: 0,
            idle: 0.0,
            before: vec![0.0; program.threads.len()],
        }
    }

    fn blame(&mut self, thread: ThreadId, ended: Option<EndedWait>, time: Time) {
        let Some(EndedWait { since, by }) = ended else { return };
        self.waiting -= 1;
        if let Some(waker) = by.filter(|_| since < time) {
            let before = self.before.get(thread.index()).copied().unwrap_or(self.idle);
            let blame = self.charges.entry((waker.thread, waker.path)).or_default();
            blame.waited += time.since(since);
            blame.idle += self.idle - before;
        }
    }

    /// What each (thread, path) is to blame for.
    pub fn into_charges(self) -> impl Iterator<Item = ((ThreadId, PathId), Blame)> {
        self.charges.into_iter()
    }
}

impl Sweep for IdleBlame {
    fn pass(&mut self, from: Time, to: Time, _level: ParallelismLevel) {
        if self.waiting > 0 {
            let idle = self.processors.saturating_sub(self.on_cpu);
            self.idle += to.since(from) as f64 * f64::from(idle) / f64::from(self.waiting);
        }
    }

    fn begin_wait(&mut self, thread: ThreadId, _time: Time, _object: ObjectId) {
        self.ends.begin_wait(thread);
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        self.on_cpu = self.on_cpu + u32::from(state.is_on_cpu()) - u32::from(before.is_on_cpu());
        let was_waiting = self.ends.is_waiting(thread);
        let ended = self.ends.enter(thread, time, state);
        let begins = self.ends.is_waiting(thread) && (ended.is_some() || !was_waiting);
        self.blame(thread, ended, time);
        if begins {
            self.waiting += 1;
            if let Some(before) = self.before.get_mut(thread.index()) {
                *before = self.idle;
            }
        }
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, _: ObservationKind) {
        self.ends.observe(thread, time, path);
    }

    fn depend(&mut self, dependence: Dependence) {
        self.ends.depend(dependence);
    }

    fn finish(&mut self, end: Time) {
        for thread in self.ends.threads() {
            let ended = self.ends.end(thread, end);
            self.blame(thread, ended, end);
        }
    }
}
