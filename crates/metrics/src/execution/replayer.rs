//! Executes a plan with locks that go to whoever comes first, on processors that threads get by turns (metrics.md §5, replay).
//!
//! ```text
//!   queue for processors    ── first come, first served ──►  processor: until the thread waits, or its turn is over and another queues
//!                               ([`processors`]: one queue for all processors, or one for each)
//!   queue for a lock        ── first come, first served ──►  the holder's thread hands the lock over, or lets whoever runs first take it
//! ```
//! A thread that waited goes on after its *latency*: the time that it took in the recording to get to a processor that was free for it, or,
//! where it did not wait there, the usual one. A thread that did not wait has none. So where a lock is for whoever takes it first, the
//! thread that gave it back and comes again at once has it again before the one that waits is awake.
//!
//! What happens at one moment happens in a fixed order: timers by thread, then threads on processors in the order in which they got
//! them. All steps but work and time off the processors take no time, and are done on a processor.
//!
//! Time: t + log n per event for t threads on processors and n timers. Memory: a few words per thread, lock and node.

mod arbiter;
mod processors;
mod steps;
mod variation;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use longpole_trace::ObjectId;

use super::node_releases::NodeReleases;
use super::plan::{ExecutedSpinEnds, ExecutionPlan, Factors, PlanStep};
use super::queues::{ExecutedQueues, PlannedItem};
use processors::ReplayedMachine;
pub use processors::SchedulerModel;

/// To whom a lock goes when it is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPolicy {
    /// To the thread that waits longest.
    HandOver,
    /// To whoever takes it first: the thread that waits longest is woken, and comes too late if another one took it meanwhile.
    Barging,
}

/// How a plan is executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplayConditions {
    /// Processors of each machine; as recorded where it is none.
    pub processors: Option<u32>,
    /// Longest time that a thread keeps a processor that others want, nanoseconds.
    pub quantum: u64,
    /// How threads queue for processors.
    pub scheduler: SchedulerModel,
    /// To whom locks go.
    pub policy: LockPolicy,
    /// The usual latency of a thread that waited, nanoseconds.
    pub latency: u64,
    /// Factor of what is waited for devices.
    pub io: f64,
    /// Where it is not 0, each piece of work is by up to a hundredth longer or shorter, and each latency and turn by up to half, at random
    /// from this.
    pub seed: u64,
    /// The factor of what is changed, where it has one only. A piece of work that is divided among procedures is of one of them: with
    /// a seed it is drawn whether of a changed one.
    pub draws: Option<f64>,
}

/// What an execution came to; times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReplayedRun {
    /// Until the last thread was done, but for those that are killed when their process ends.
    pub elapsed: u64,
    /// Threads that wait for ever.
    pub stuck: usize,
    /// Time of all processors with a thread.
    pub busy: u64,
    /// Of all threads, in the queues for processors.
    pub queued: u64,
    /// By lock, by object: how long it was held, and waited for by all threads.
    pub locks: Vec<ReplayedLock>,
    /// Ends of its busy-waits of unknown end.
    pub spin_ends: ExecutedSpinEnds,
}

/// What became of a lock; nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplayedLock {
    pub held: u64,
    pub waited: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplayStatus {
    /// Waits for a timer, a node, a lock; or is done.
    Off,
    Queued,
    OnProcessor,
}

#[derive(Clone, Debug)]
struct ReplayThread {
    status: ReplayStatus,
    machine: usize,
    /// Position of the thread of the plan whose steps it does: its own, or since it took an item the one that took that in the recording.
    planned: usize,
    /// The processor that it has, or had last; `None` before its first one.
    processor: Option<u32>,
    next: usize,
    /// Time on a processor that is left of its step; of a busy-wait for a node `u64::MAX`.
    left: u64,
    /// When its step is done if it keeps its processor, and when its turn is over.
    until: u64,
    turn: u64,
    /// When it began to queue, or to wait for a lock.
    since: u64,
    /// It waited, and its latency is still to come.
    owes_latency: bool,
    /// The request for a lock for which it was woken last.
    woken_for: usize,
    /// It is in a busy-wait of unknown end, which lasts at least until then.
    spins_until: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct LockState {
    owner: Option<u32>,
    /// How often its owner holds it.
    depth: u32,
    since: u64,
    queue: VecDeque<u32>,
    times: ReplayedLock,
}

struct PlanReplayer<'a, F> {
    plan: &'a ExecutionPlan,
    factors: &'a Factors,
    is_free: &'a F,
    conditions: ReplayConditions,
    /// Busy-waits of unknown end last until then at least.
    spin_ends: Option<&'a ExecutedSpinEnds>,
    ended_spins: ExecutedSpinEnds,
    now: u64,
    threads: Vec<ReplayThread>,
    machines: Vec<ReplayedMachine>,
    nodes: NodeReleases,
    locks: Vec<LockState>,
    queues: ExecutedQueues<'a>,
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    /// Threads on a processor at the begin of a moment.
    present: Vec<u32>,
    /// Threads that a release lets go.
    let_go: Vec<u32>,
    /// Threads that are not done, but for those that are killed.
    open: usize,
    busy: u64,
    queued: u64,
}

/// Executes the plan with these factors of its places, without the objects for which `is_free` holds; busy-waits of unknown end that begin
/// earlier than those that ended at `spin_ends` end with them.
pub(super) fn replay(
    plan: &ExecutionPlan,
    factors: &Factors,
    is_free: &impl Fn(ObjectId) -> bool,
    conditions: ReplayConditions,
    spin_ends: Option<&ExecutedSpinEnds>,
) -> ReplayedRun {
    let thread = |(planned, own): (usize, &super::plan::ThreadPlan)| ReplayThread {
        status: ReplayStatus::Off,
        machine: own.machine,
        planned,
        processor: None,
        next: 0,
        left: 0,
        until: 0,
        turn: 0,
        since: 0,
        owes_latency: true,
        woken_for: usize::MAX,
        spins_until: None,
    };
    let machine = |&recorded: &u32| {
        let processors = conditions.processors.unwrap_or(recorded).max(1);
        ReplayedMachine::new(conditions.scheduler, processors.min(plan.threads.len().max(1) as u32))
    };
    let mut replayer = PlanReplayer {
        plan,
        factors,
        is_free,
        conditions,
        spin_ends,
        ended_spins: vec![Vec::new(); plan.threads.len()],
        now: 0,
        threads: plan.threads.iter().enumerate().map(thread).collect(),
        machines: plan.processors.iter().map(machine).collect(),
        nodes: NodeReleases::new(plan.nodes, plan.threads.len()),
        locks: vec![LockState::default(); plan.objects],
        queues: ExecutedQueues::of(plan),
        timers: BinaryHeap::new(),
        present: Vec::new(),
        let_go: Vec::new(),
        open: plan.threads.iter().filter(|own| !own.is_killed && !own.steps.is_empty()).count(),
        busy: 0,
        queued: 0,
    };
    replayer.begin();
    replayer.run();
    replayer.into_run()
}

impl<F: Fn(ObjectId) -> bool> PlanReplayer<'_, F> {
    /// Threads that others create wait for that without a processor.
    fn begin(&mut self) {
        for index in 0..self.threads.len() {
            let thread = index as u32;
            match self.plan.threads[index].steps.first() {
                None => {}
                Some(&PlanStep::Wait { node, releases, .. }) => {
                    self.threads[index].next = 1;
                    self.nodes.wait(thread, node, releases);
                }
                Some(&PlanStep::Away { time, .. }) => {
                    self.threads[index].next = 1;
                    self.timers.push(Reverse((time, thread)));
                }
                Some(_) => self.enqueue(thread, None),
            }
        }
    }

    fn run(&mut self) {
        loop {
            (0..self.machines.len()).for_each(|machine| self.dispatch(machine));
            if self.open == 0 {
                return;
            }
            let Some(next) = self.next_time() else { return };
            self.pass(next);
        }
    }

    fn into_run(self) -> ReplayedRun {
        ReplayedRun {
            elapsed: self.now,
            stuck: self.open,
            busy: self.busy,
            queued: self.queued,
            locks: self.locks.into_iter().map(|lock| lock.times).collect(),
            spin_ends: self.ended_spins,
        }
    }

    /// The thread queues for a processor; `waker` let it go on, or created it.
    fn enqueue(&mut self, thread: u32, waker: Option<u32>) {
        let creator = waker.and_then(|waker| self.threads[waker as usize].processor);
        let own = &mut self.threads[thread as usize];
        (own.status, own.since) = (ReplayStatus::Queued, self.now);
        self.machines[own.machine].enqueue(thread, own.processor, creator);
    }

    /// Gives processors to those that queue, and lets them do what takes no time.
    fn dispatch(&mut self, machine: usize) {
        while let Some((thread, processor)) = self.machines[machine].next() {
            let own = &mut self.threads[thread as usize];
            own.processor = Some(processor);
            own.status = ReplayStatus::OnProcessor;
            self.queued += self.now - own.since;
            let turn = self.varied_turn(thread);
            let own = &mut self.threads[thread as usize];
            own.turn = self.now.saturating_add(turn);
            if own.left > 0 {
                own.until = match own.spins_until {
                    Some(end) if self.spin_ends.is_some() => end.max(self.now),
                    _ => self.now.saturating_add(own.left),
                };
            } else {
                self.advance(thread);
            }
        }
    }

    fn next_time(&self) -> Option<u64> {
        let of_machine = |machine: &ReplayedMachine| {
            let change = |&thread: &u32| {
                let own = &self.threads[thread as usize];
                if machine.others_want(own.processor) { own.until.min(own.turn) } else { own.until }
            };
            machine.running().iter().map(change).min()
        };
        let running = self.machines.iter().filter_map(of_machine).filter(|&time| time < u64::MAX);
        let timer = self.timers.peek().map(|Reverse((time, _))| *time);
        if timer.is_none() && self.all_busy_wait() {
            return None;
        }
        // A turn can have ended before anybody queued.
        running.chain(timer).min().map(|time| time.max(self.now))
    }

    /// All threads that have or want a processor busy-wait for others, which would never end: they would only give each other turns.
    fn all_busy_wait(&self) -> bool {
        let busy_waits = |thread: &u32| self.threads[*thread as usize].until == u64::MAX;
        self.machines.iter().flat_map(ReplayedMachine::running).all(busy_waits)
            && self.threads.iter().all(|own| own.status != ReplayStatus::Queued || own.left == u64::MAX)
    }

    fn pass(&mut self, to: u64) {
        let on_processors: usize = self.machines.iter().map(|machine| machine.running().len()).sum();
        self.busy += (to - self.now) * on_processors as u64;
        self.now = to;
        while let Some(&Reverse((time, thread))) = self.timers.peek()
            && time <= to
        {
            self.timers.pop();
            self.enqueue(thread, None);
        }
        for machine in 0..self.machines.len() {
            let mut present = std::mem::take(&mut self.present);
            present.clear();
            present.extend_from_slice(self.machines[machine].running());
            for &thread in &present {
                let own = &mut self.threads[thread as usize];
                if own.status != ReplayStatus::OnProcessor {
                    continue;
                }
                if own.until <= to {
                    own.left = 0;
                    self.advance(thread);
                } else if own.turn <= to && self.machines[machine].others_want(own.processor) {
                    own.left = if own.until == u64::MAX { u64::MAX } else { own.until - to };
                    self.leave(thread);
                    self.requeue(thread);
                }
            }
            self.present = present;
        }
    }

    /// The thread gives up its processor.
    fn leave(&mut self, thread: u32) {
        let own = &mut self.threads[thread as usize];
        own.status = ReplayStatus::Off;
        self.machines[own.machine].leave(thread, own.processor);
    }

    /// The thread does what was done for this item, or at this end.
    fn go_on_with(&mut self, thread: u32, item: PlannedItem) {
        let own = &mut self.threads[thread as usize];
        (own.planned, own.next, own.woken_for) = (item.thread, item.step, usize::MAX);
    }

    /// Threads that wait for an item when all are taken go on.
    fn close(&mut self, queue: usize, last: u32) {
        while let Some((thread, end)) = self.queues.close(queue) {
            self.go_on_with(thread, end);
            self.enqueue(thread, Some(last));
        }
    }

    /// Its turn is over: it queues where it ran.
    fn requeue(&mut self, thread: u32) {
        let own = &mut self.threads[thread as usize];
        (own.status, own.since) = (ReplayStatus::Queued, self.now);
        self.machines[own.machine].requeue(thread, own.processor);
    }
}

fn scaled(time: u64, factor: f64) -> u64 {
    if factor == 1.0 { time } else { (time as f64 * factor).round() as u64 }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{ExecutionPlan, Factors, NodeId, PlanStep, ThreadPlan};
    use super::*;

    #[test]
    fn threads_that_busy_wait_for_ever_do_not_take_turns_for_ever() {
        let wait = PlanStep::Wait { node: NodeId(0), releases: 1, object: None, spins: true };
        let own = || ThreadPlan { steps: vec![PlanStep::Busy(40), wait], machine: 0, is_killed: false };
        let threads = vec![own(), own(), own()];
        let plan = ExecutionPlan { threads, nodes: 1, processors: vec![2], ..ExecutionPlan::default() };
        let factors = Factors { work: Vec::new(), spinning: Vec::new() };
        let conditions = ReplayConditions {
            processors: None,
            quantum: 10,
            scheduler: SchedulerModel::Even,
            policy: LockPolicy::Barging,
            latency: 0,
            io: 1.0,
            seed: 0,
            draws: None,
        };
        let run = replay(&plan, &factors, &|_| false, conditions, None);
        assert_eq!(run.stuck, 3);
    }
}
