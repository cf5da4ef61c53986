//! The profiles of gprof and of IPS-2 (metrics.md §2; M §2.1, I §2.1), and the times of each thread by state.
//!
//! **gprof**: CPU time of a procedure, busy-waiting included. **ips2**: CPU time without busy-waiting, and
//! beside it the time its threads waited in it, by cause.
//!
//! ```text
//!   T1  AAAA~~AA        A: gprof 8, ips2 6, spinning 2
//!   T2  BB....BB        B: gprof 4, ips2 4, waited 4
//! ```
//! Constant time per item; memory per (thread, path).
//!
//! It cannot see what a wait or a piece of work meant for the run as a whole: a procedure that runs beside
//! others counts as much as one that all others wait for.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, Sweep};
use longpole_trace::{Cause, ObservationKind, PathId, Program, State};

use crate::analysis::{Measures, ThreadStates};
use crate::charges::{ChargeAccount, ChargeLedger};

impl Measures {
    /// CPU time as gprof has it: useful work and busy-waiting.
    #[must_use]
    pub fn cpu(&self) -> u64 {
        self.running + self.spinning
    }

    /// Time blocked for this cause.
    #[must_use]
    pub fn blocked_for(&self, cause: Cause) -> u64 {
        self.blocked.get(cause.index()).copied().unwrap_or(0)
    }

    /// Time blocked, whatever for.
    #[must_use]
    pub fn blocked_in_all(&self) -> u64 {
        self.blocked.iter().sum()
    }

    /// Time blocked for other threads, rather than for a device, a clock or a user.
    #[must_use]
    pub fn synchronisation_wait(&self) -> u64 {
        Cause::ALL
            .iter()
            .filter(|cause| cause.is_synchronisation())
            .map(|&cause| self.blocked_for(cause))
            .sum()
    }
}

/// Time on a processor without useful work, since the last observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdleCpuTime {
    spinning: u64,
    overhead: u64,
}

/// What a path is charged besides useful work, which strata hold ([`crate::npt`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    pub spinning: u64,
    pub overhead: u64,
    pub ready: u64,
    pub blocked: Vec<u64>,
    pub blocks: u64,
}

impl ChargeAccount<IdleCpuTime> for Times {
    fn take(&mut self, pending: &mut IdleCpuTime) {
        let IdleCpuTime { spinning, overhead } = std::mem::take(pending);
        self.spinning += spinning;
        self.overhead += overhead;
    }
}

/// Adds to the time of `cause`, making room for it.
fn add_blocked(blocked: &mut Vec<u64>, cause: Cause, time: u64) {
    if blocked.len() <= cause.index() {
        blocked.resize(cause.index() + 1, 0);
    }
    blocked[cause.index()] += time;
}

/// The sweep of the profiles.
#[derive(Debug)]
pub(crate) struct ProfileSweep {
    pub ledger: ChargeLedger<IdleCpuTime, Times>,
    pub threads: Vec<ThreadStates>,
    /// Threads that work.
    working: Vec<bool>,
    /// For how long each thread waits for descriptors up to now.
    polling: Vec<u64>,
    /// Samples that found a thread at work.
    samples: u64,
}

impl ProfileSweep {
    pub fn new(program: &Program) -> Self {
        let states = ThreadStates { blocked: vec![0; Cause::ALL.len()], ..ThreadStates::default() };
        let threads = vec![states; program.threads.len()];
        ProfileSweep {
            ledger: ChargeLedger::new(program),
            working: vec![false; threads.len()],
            polling: vec![0; threads.len()],
            threads,
            samples: 0,
        }
    }

    /// Mean time of work between samples, nanoseconds; without any all of it.
    pub fn interval(&self) -> u64 {
        self.threads.iter().map(|thread| thread.running).sum::<u64>() / self.samples.max(1)
    }

    fn states(&mut self, thread: ThreadId) -> &mut ThreadStates {
        if thread.index() >= self.threads.len() {
            let states = ThreadStates { blocked: vec![0; Cause::ALL.len()], ..ThreadStates::default() };
            self.threads.resize(thread.index() + 1, states);
            self.working.resize(thread.index() + 1, false);
            self.polling.resize(thread.index() + 1, 0);
        }
        &mut self.threads[thread.index()]
    }
}

impl Sweep for ProfileSweep {
    fn arc(&mut self, arc: Arc) {
        let length = arc.length();
        let states = self.states(arc.thread);
        match arc.state {
            State::Absent => {}
            State::Running => states.running += length,
            State::Spinning => {
                states.spinning += length;
                self.ledger.work(arc.thread).spinning += length;
            }
            State::Overhead => {
                states.overhead += length;
                self.ledger.work(arc.thread).overhead += length;
            }
            State::Ready => {
                states.ready += length;
                self.ledger.wait(arc.thread).ready += length;
            }
            State::Blocked(cause) => {
                states.blocked[cause.index()] += length;
                if cause == Cause::Poll {
                    self.polling[arc.thread.index()] += length;
                }
                add_blocked(&mut self.ledger.wait(arc.thread).blocked, cause, length);
            }
        }
    }

    fn enter(&mut self, thread: ThreadId, _time: Time, before: State, state: State) {
        if before.is_on_cpu() && !state.is_on_cpu() && state != State::Absent {
            self.states(thread).switches += 1;
        }
        if matches!(state, State::Blocked(_)) {
            self.ledger.wait(thread).blocks += 1;
        }
        self.states(thread);
        self.working[thread.index()] = state == State::Running;
        self.polling[thread.index()] = 0;
    }

    fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, thread, .. } = dependence;
        if source != thread
            && let Some(polled) = self.polling.get_mut(thread.index())
        {
            let polled = std::mem::take(polled);
            self.states(thread).polled_for_others += polled;
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, kind: ObservationKind) {
        self.ledger.observe(thread, path);
        let works = self.working.get(thread.index()) == Some(&true);
        self.samples += u64::from(works && matches!(kind, ObservationKind::Sample { .. }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Drawn;

    #[test]
    fn spinning_is_cpu_time_but_no_work() {
        let drawn = Drawn::new("T1 AAAA~~AA\nT2 BBccccBB");
        let (a, b) = (drawn.own("A"), drawn.own("B"));
        assert_eq!((a.cpu(), a.running, a.spinning), (8, 6, 2));
        assert_eq!((b.cpu(), b.running, b.blocked_in_all()), (4, 4, 4));
        assert_eq!((b.synchronisation_wait(), b.blocked_for(Cause::Condition), b.blocks), (4, 4, 1));
    }

    #[test]
    fn a_wait_for_a_device_is_not_synchronisation() {
        let a = Drawn::new("T1 A::zzllA").own("A");
        assert_eq!((a.blocked_in_all(), a.synchronisation_wait()), (6, 2));
    }

    #[test]
    fn waits_are_suffered_before_them_and_work_is_charged_after_it() {
        // A timer looks once; B's last piece has no look of its own but the end of the thread.
        let drawn = Drawn::new("T1 AABBllBB--B");
        let (a, b) = (drawn.own("A"), drawn.own("B"));
        assert_eq!((a.running, a.blocked_in_all(), a.observations), (2, 0, 1));
        assert_eq!((b.running, b.blocked_in_all(), b.ready, b.observations), (5, 2, 2, 3));
    }

    #[test]
    fn waits_for_descriptors_that_threads_end_are_for_each_other() {
        let polled = |arcs: &str| {
            let drawn = Drawn::new(&format!("T1 AAAAAAAA\nT2 BBooooBB{arcs}"));
            drawn.analysis.threads.iter().map(|states| states.polled_for_others).sum::<u64>()
        };
        assert_eq!(polled("\nT1@6 -> T2 wake"), 4);
        // A device or a client ended it; what comes later or while it works ended nothing.
        assert_eq!((polled(""), polled("\nT1@7 -> T2 wake")), (0, 0));
    }

    #[test]
    fn a_thread_counts_its_states_and_its_switches() {
        let drawn = Drawn::new("T1 AA--A~~llA");
        let states = &drawn.analysis.threads[0];
        assert_eq!((states.running, states.spinning, states.ready, states.switches), (4, 2, 2, 2));
        assert_eq!(states.blocked[Cause::Lock.index()], 2);
        assert_eq!(states.blocked.len(), Cause::ALL.len());
    }
}
