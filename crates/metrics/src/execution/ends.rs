//! Threads that end since their process does.
//!
//! ```text
//!   first thread   work work work exit
//!   ticker         . sleep . sleep . sleep (killed)       its sleeps hold nothing up
//! ```
//! When a process ends, threads that still sleep or wait are killed. However long they slept, the run doesn't wait for
//! them, so a shorter run ends when the first thread of each process does. A thread counts as killed if the first one did
//! next to nothing between that thread's end and its own, or that thread did next to nothing after the first one's end.
//! Where that is all that is known, threads that work for a good part of their lives are kept: what they did was wanted, though it is not
//! known for what. Where the recording says that a thread was killed at its work, nobody waited for what it did.
//!
//! ```text
//!   first thread   work work work  stop, join ........
//!   ticker         . sleep . sleep . sleep ....... end     how often it slept follows from when it was told to end
//! ```
//! A thread that was told to end, and looks for that after each sleep, lets go of the run in the same way; the join waits for its
//! last steps, which begin where it looks for the first time after it was told. Not one that also works, as a worker that sleeps until
//! the others are done: its work has to be done.

use longpole_event::{ThreadId, Time};
use longpole_graph::Arc;
use longpole_trace::Program;
use rustc_hash::FxHashSet;

use super::plan::{ExecutionPlan, NodeId, PlanStep, SleepTime, ThreadPlan};

/// CPU time that ending takes at most, nanoseconds.
pub(super) const ENDING: u64 = 1_000_000;
/// A thread works for a good part of its life from one part in so many on.
const GOOD_PART: u64 = 5;
/// A thread in the background works for less than one part in so many of its life.
const BACKGROUND: u64 = 20;

/// What is known of how one thread ends.
#[derive(Clone, Copy, Debug, Default)]
struct EndingThread {
    /// The first thread of its process, where that is another one.
    first: Option<ThreadId>,
    /// Whether it is known to have been killed at its work.
    is_killed: bool,
    /// CPU time up to now.
    used: u64,
    /// Time since it began.
    lived: u64,
    has_ended: bool,
    /// CPU time of the first thread when this one ended, if that was earlier.
    firsts_at_end: Option<u64>,
    /// CPU time of this thread when the first one ended, if that was earlier.
    used_at_firsts_end: Option<u64>,
    /// Whether it waited after the first one's end.
    waited_later: bool,
    /// The step in which it waits for its process to end, and its CPU time then.
    last_wait: Option<(usize, u64)>,
    /// The step in which it waits to be told to end, and the looks after which it sees that.
    stop: Option<(usize, Option<PlanStep>)>,
}

impl EndingThread {
    fn is_in_background(&self) -> bool {
        self.used * BACKGROUND <= self.lived
    }

    /// Where it waits to be told to end, if it works for a small part of its life.
    fn background_stop(&self) -> Option<(usize, Option<PlanStep>)> {
        self.stop.filter(|_| self.is_in_background())
    }
}

/// How the threads of a run end.
#[derive(Debug, Default)]
pub(super) struct ThreadEnds(Vec<EndingThread>);

impl ThreadEnds {
    pub fn new(program: &Program) -> ThreadEnds {
        let first = |process: longpole_event::ProcessId| {
            let pid = program.processes[process.index()].pid;
            let is_first = |thread: &longpole_trace::Thread| thread.process == process && thread.tid == pid;
            program.threads.iter().position(is_first).map(ThreadId::from_index)
        };
        let firsts: Vec<_> = (0..program.processes.len())
            .map(|process| first(longpole_event::ProcessId::from_index(process)))
            .collect();
        let ending = program.threads.iter().enumerate().map(|(index, thread)| {
            let first = firsts[thread.process.index()].filter(|first| first.index() != index);
            let is_killed = program.is_killed_at_work(ThreadId::from_index(index));
            EndingThread { first, is_killed, ..EndingThread::default() }
        });
        ThreadEnds(ending.collect())
    }

    /// The thread went along this arc.
    pub fn live(&mut self, arc: &Arc) {
        let ending = &mut self.0[arc.thread.index()];
        ending.lived += arc.length();
        if arc.state.is_on_cpu() {
            ending.used += arc.length();
        }
    }

    /// The thread's CPU time up to now, nanoseconds.
    pub fn used(&self, thread: ThreadId) -> u64 {
        self.0[thread.index()].used
    }

    /// The thread waits from now on.
    pub fn block(&mut self, thread: ThreadId) {
        let ending = &mut self.0[thread.index()];
        ending.waited_later |= ending.used_at_firsts_end.is_some();
        ending.last_wait = None;
    }

    /// Step `step` of the thread is a wait that another one ended.
    pub fn wait(&mut self, thread: ThreadId, source: ThreadId, step: usize) {
        if self.process(thread) == self.process(source) {
            let ending = &mut self.0[thread.index()];
            ending.last_wait = Some((step, ending.used));
        }
    }

    /// Step `step` of the thread is the wait until another one tells it to end, in a sleep that was so long up to this moment.
    pub fn stop(&mut self, thread: ThreadId, step: usize, (slept, moment): (u64, Time)) {
        let moment = moment.nanoseconds();
        let look = SleepTime::new(slept).map(|period| PlanStep::Look { period, moment });
        self.0[thread.index()].stop = Some((step, look));
    }

    /// Whether another thread has told this one to end.
    pub fn is_told(&self, thread: ThreadId) -> bool {
        self.0[thread.index()].stop.is_some()
    }

    /// The thread enables others of its own process, or may.
    pub fn enable(&mut self, thread: ThreadId, other: Option<ThreadId>) {
        if other.is_none_or(|other| self.process(other) == self.process(thread)) {
            self.0[thread.index()].last_wait = None;
        }
    }

    /// The thread ended.
    pub fn end(&mut self, thread: ThreadId) {
        self.0[thread.index()].has_ended = true;
        let Some(first) = self.0[thread.index()].first else {
            let of_process =
                self.0.iter_mut().filter(|other| other.first == Some(thread) && !other.has_ended);
            of_process.for_each(|other| other.used_at_firsts_end = Some(other.used));
            return;
        };
        if !self.0[first.index()].has_ended {
            self.0[thread.index()].firsts_at_end = Some(self.0[first.index()].used);
        }
    }

    /// The first thread of the process stands for it.
    fn process(&self, thread: ThreadId) -> ThreadId {
        self.0[thread.index()].first.unwrap_or(thread)
    }

    /// What threads in the background release that are told to end.
    pub fn turns(&self, plan: &ExecutionPlan) -> FxHashSet<NodeId> {
        let told = self.0.iter().enumerate().filter(|(_, ending)| ending.background_stop().is_some());
        plan.released_by(told.map(|(index, _)| index))
    }

    fn is_killed(&self, ending: &EndingThread) -> bool {
        if ending.is_killed {
            return true;
        }
        let Some(first) = ending.first.map(|first| self.0[first.index()]) else { return false };
        if ending.used * GOOD_PART > ending.lived {
            return false;
        }
        match (ending.used_at_firsts_end, ending.firsts_at_end) {
            (Some(then), _) => !ending.waited_later && ending.used - then <= ENDING,
            (None, Some(then)) => first.has_ended && first.used - then <= ENDING,
            (None, None) => false,
        }
    }

    /// Whether the thread works for a small part of its life.
    pub fn is_in_background(&self, thread: ThreadId) -> bool {
        self.0[thread.index()].is_in_background()
    }

    /// Threads that were told to end and work for more than a small part of their lives: what they did may have had to be done.
    pub fn told_workers(&self) -> Vec<ToldThread> {
        let told = |(index, ending): (usize, &EndingThread)| {
            let (step, look) = ending.stop.filter(|_| !ending.is_in_background())?;
            Some(ToldThread { index, step: Some((step, look)) })
        };
        self.0.iter().enumerate().filter_map(told).collect()
    }

    /// The run does not wait for threads that were killed, and what ends them comes whenever it does: the steps after that
    /// are as those of another thread.
    pub fn let_go_of_killed(&self, plan: &mut ExecutionPlan) {
        for (index, ending) in self.0.iter().enumerate() {
            let stop = ending.background_stop();
            if stop.is_none() && !self.is_killed(ending) {
                continue;
            }
            let killed = ending.last_wait.filter(|&(_, used)| ending.used - used <= ENDING);
            ToldThread { index, step: stop.or(killed.map(|(step, _)| (step, None))) }.let_go(plan);
        }
    }
}

/// A thread that the run does not wait for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToldThread {
    index: usize,
    /// The step in which it waits for what ends it, and the looks after which it sees that.
    step: Option<(usize, Option<PlanStep>)>,
}

impl ToldThread {
    /// Its position.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its steps from there on are as those of another thread, that the run does not wait for either.
    pub fn let_go(&self, plan: &mut ExecutionPlan) {
        let thread = &mut plan.threads[self.index];
        thread.is_killed = true;
        let (Some((step, look)), machine) = (self.step, thread.machine) else { return };
        let mut steps: Vec<PlanStep> = thread.steps.split_off(step);
        // It looks as often as it did, whenever it is told.
        if let (Some(look), Some(rest @ PlanStep::Away { .. })) = (look, steps.get_mut(1)) {
            *rest = look;
        }
        plan.threads.push(ThreadPlan { steps, machine, is_killed: true });
    }
}
