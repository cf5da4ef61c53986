//! Threads that wait for processors on which they are pinned, while the program leaves others unused.
//!
//! ```text
//!   T1 on 0 only   AAA---AAA      T1 and T2 may both use processor 0 alone: while one runs, the other one waits for it,
//!   T2 on 0 only   ---BBB---      and processor 1, which the program has too, is not used: 3 + 3 + 3
//! ```
//! A thread waits for its pinning while it is ready, as many threads of its *set* (those that may run on the same processors) run as
//! these are, and fewer threads of the program run on the machine than it has processors for it. A pinned thread whose processors other
//! programs use waits for those, and is not counted.
//!
//! Time: the number of sets for each item, none where no thread is pinned. Memory: threads.
//!
//! It cannot see whether other programs had the processors that were not used, and it takes sets that overlap for different ones.

use std::collections::BTreeMap;

use longpole_event::{MachineId, ThreadId, Time};
use longpole_graph::{ParallelismLevel, Sweep};
use longpole_trace::{Affinity, Program, State, stored};

/// The processors that a thread may use, where it may not use all that the program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinnedSet {
    /// The machine.
    pub machine: MachineId,
    /// How many processors.
    pub count: u32,
    /// Those of them with a number below 64, a bit each.
    pub first: u64,
}

/// How long a thread waited for its pinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedTime {
    /// Where it may run.
    pub set: PinnedSet,
    /// The thread.
    pub thread: ThreadId,
    /// How long it waited for the threads of its set alone, nanoseconds.
    pub waited: u64,
}

/// What pinning took, of all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pinning {
    /// Whether it is known where any thread may run.
    pub is_known: bool,
    /// Threads that waited, by set.
    pub times: Vec<PinnedTime>,
    /// CPU time that those who waited could have had on processors which the program did not use, nanoseconds.
    pub unused: u64,
}

stored! {
    PinnedSet { machine, count, first }
    PinnedTime { set, thread, waited }
    Pinning { is_known, times, unused }
}

#[derive(Clone, Debug)]
struct PinnedThread {
    state: State,
    set: Option<PinnedSet>,
    /// The set's clock when it began to wait.
    since: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct SetUse {
    running: u32,
    waiting: u32,
    /// Time in which those who waited did so for each other alone.
    clock: u64,
}

/// The sweep.
#[derive(Debug)]
pub(crate) struct PinningSweep<'a> {
    program: &'a Program,
    /// In the order of time.
    to_come: Vec<Affinity>,
    next: usize,
    threads: Vec<PinnedThread>,
    /// Threads that run, by machine.
    running: Vec<u32>,
    sets: BTreeMap<PinnedSet, SetUse>,
    waited: BTreeMap<(PinnedSet, ThreadId), u64>,
    unused: u64,
}

impl<'a> PinningSweep<'a> {
    pub fn new(program: &'a Program) -> Self {
        let mut to_come = program.affinities.clone();
        // Stable: of one thread at one time the last counts.
        to_come.sort_by_key(|affinity| affinity.time);
        let thread = PinnedThread { state: State::Absent, set: None, since: 0 };
        PinningSweep {
            program,
            to_come,
            next: 0,
            threads: vec![thread; program.threads.len()],
            running: vec![0; program.machines.len()],
            sets: BTreeMap::new(),
            waited: BTreeMap::new(),
            unused: 0,
        }
    }

    pub fn into_pinning(self) -> Pinning {
        let times = self.waited.into_iter().filter(|(_, waited)| *waited > 0);
        Pinning {
            is_known: !self.to_come.is_empty(),
            times: times.map(|((set, thread), waited)| PinnedTime { set, thread, waited }).collect(),
            unused: self.unused,
        }
    }

    /// Takes what was told up to now.
    fn catch_up(&mut self, now: Time) {
        while let Some(&Affinity { time, thread, count, first }) = self.to_come.get(self.next)
            && time <= now
        {
            self.next += 1;
            let machine = self.program.machine_of(thread);
            let all = self.program.machines.get(machine.index()).map_or(0, |machine| machine.cpus);
            let set = (count > 0 && count < all).then_some(PinnedSet { machine, count, first });
            self.leave(thread);
            self.threads[thread.index()].set = set;
            self.join(thread);
        }
    }

    /// Counts so much time in which nothing changed.
    fn count(&mut self, time: u64) {
        for (set, uses) in self.sets.iter_mut().filter(|(_, uses)| uses.waiting > 0) {
            let all = self.program.machines[set.machine.index()].cpus;
            let free = all.saturating_sub(self.running[set.machine.index()]);
            if uses.running >= set.count && free > 0 {
                uses.clock += time;
                self.unused += time * u64::from(free.min(uses.waiting));
            }
        }
    }

    /// The thread is in its state in its set from now on.
    fn join(&mut self, thread: ThreadId) {
        let pinned = &mut self.threads[thread.index()];
        let Some(set) = pinned.set else { return };
        let uses = self.sets.entry(set).or_default();
        match pinned.state {
            State::Ready => {
                uses.waiting += 1;
                pinned.since = uses.clock;
            }
            state if state.is_on_cpu() => uses.running += 1,
            _ => {}
        }
    }

    fn leave(&mut self, thread: ThreadId) {
        let pinned = &self.threads[thread.index()];
        let Some((set, uses)) = pinned.set.and_then(|set| Some((set, self.sets.get_mut(&set)?))) else {
            return;
        };
        match pinned.state {
            State::Ready => {
                uses.waiting -= 1;
                *self.waited.entry((set, thread)).or_default() += uses.clock - pinned.since;
            }
            state if state.is_on_cpu() => uses.running -= 1,
            _ => {}
        }
    }
}

impl Sweep for PinningSweep<'_> {
    fn pass(&mut self, from: Time, to: Time, _: ParallelismLevel) {
        if self.to_come.is_empty() {
            return;
        }
        let mut at = from;
        while at < to {
            self.catch_up(at);
            let until = self.to_come.get(self.next).map_or(to, |told| told.time.min(to));
            self.count(until.since(at));
            at = until;
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, _: State, state: State) {
        if self.to_come.is_empty() || thread.index() >= self.threads.len() {
            return;
        }
        self.catch_up(time);
        self.leave(thread);
        let machine = self.program.machine_of(thread).index();
        let before = std::mem::replace(&mut self.threads[thread.index()].state, state);
        if let Some(running) = self.running.get_mut(machine) {
            *running = *running + u32::from(state.is_on_cpu()) - u32::from(before.is_on_cpu());
        }
        self.join(thread);
    }

    fn finish(&mut self, _: Time) {
        for index in 0..self.threads.len() {
            self.leave(ThreadId::from_index(index));
            self.threads[index].set = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_graph::sweep;
    use longpole_testkit::draw;
    use longpole_trace::Timelines;

    use super::*;

    /// Threads with these affinities (thread, from when on, how many processors, which) in a drawing.
    fn pinning(drawing: &str, told: &[(usize, u64, u32, u64)]) -> (Vec<(usize, u64)>, u64) {
        let mut made = draw(drawing);
        made.program.affinities = told
            .iter()
            .map(|&(thread, time, count, first)| Affinity {
                time: Time::from_nanoseconds(time),
                thread: ThreadId::from_index(thread),
                count,
                first,
            })
            .collect();
        let mut sweeps = PinningSweep::new(made.program());
        let Ok(()) = sweep(&made, false, &mut sweeps);
        let found = sweeps.into_pinning();
        (found.times.iter().map(|time| (time.thread.index(), time.waited)).collect(), found.unused)
    }

    #[test]
    fn threads_pinned_to_one_processor_wait_for_each_other() {
        let drawing = "cpus 2\nT1 AAA---AAA\nT2 ---BBB---";
        assert_eq!(pinning(drawing, &[(0, 0, 1, 1), (1, 0, 1, 1)]), (vec![(0, 3), (1, 6)], 9));
        // Not where they may run elsewhere, or nothing is known.
        assert_eq!(pinning(drawing, &[(0, 0, 2, 3), (1, 0, 2, 3)]), (vec![], 0));
        assert_eq!(pinning(drawing, &[]), (vec![], 0));
        // From when on it is so.
        assert_eq!(pinning(drawing, &[(0, 0, 1, 1), (1, 1, 1, 1)]), (vec![(0, 3), (1, 5)], 8));
        assert_eq!(pinning(drawing, &[(0, 0, 1, 1), (1, 0, 1, 1), (1, 6, 2, 3)]), (vec![(0, 3), (1, 3)], 6));
    }

    #[test]
    fn a_thread_whose_processor_others_have_does_not_wait_for_its_pinning() {
        // Of its own set nobody runs: other programs have the processor, or nobody.
        assert_eq!(pinning("cpus 2\nT1 A---A\nT2 .....", &[(0, 0, 1, 1), (1, 0, 1, 1)]), (vec![], 0));
        // The other processor is used, too: there are too few of them.
        assert_eq!(pinning("cpus 2\nT1 AAA\nT2 ---\nT3 CCC", &[(0, 0, 1, 1), (1, 0, 1, 1)]), (vec![], 0));
    }
}
