//! Plans: what each thread does, without when.

use std::sync::Arc;

use longpole_event::ThreadId;
use longpole_trace::{LazyStored, ObjectId};

use super::pools::UnseenQueue;
use super::queues::PlannedQueues;
use crate::charging::{ChargePart, Charging};
use crate::lock_loads::LockLoads;

/// A node of the graph that threads release and wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub u32);

/// One step of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PlanStep {
    /// So many nanoseconds on a processor, at a place of [`ExecutionPlan::places`].
    Work { place: u32, time: u64 },
    /// So many nanoseconds of a busy-wait that nothing is known to have ended, at a place of [`ExecutionPlan::places`].
    Spin { place: u32, time: u64 },
    /// On a processor for so long, whatever changes.
    Busy(u64),
    /// Off the processors for so long, whatever changes; `io`: for a device; `request`: the data that is requested, or the
    /// messages.
    Away { time: u64, io: bool, request: Option<CompactObjectId> },
    /// Off the processors for a time that the thread itself set, up to this moment of the recorded run.
    Sleep { time: SleepTime, moment: u64 },
    /// Off the processors until this moment of the run, nanoseconds; not at all where it has passed.
    Until { moment: u64 },
    /// Off the processors until the next look: looks come every `period`, one of them at this moment of the run, nanoseconds.
    Look { period: SleepTime, moment: u64 },
    /// Ready for so long though this program's threads did not have all processors: others had them, or the thread was on its way to
    /// one. It has its part in what becomes of the work at `place`; at [`NO_PLACE`] it is the latency after a wait. No part of the recorded
    /// order.
    Displaced { place: u32, time: u64 },
    /// Lets go on whoever waits for the node.
    Release(NodeId),
    /// Takes the lock, or waits for it; only where locks go to whoever comes first ([`super::replayer`]).
    Lock(CompactObjectId),
    /// Gives it back.
    Unlock(CompactObjectId),
    /// Takes an item of a queue, of [`ExecutionPlan::queues`], or waits for one: what follows is done by whoever takes the item.
    Get(u32),
    /// Waits until the node was released so often; on a processor where `spins`.
    Wait { node: NodeId, releases: u32, object: Option<CompactObjectId>, spins: bool },
}

/// A time in four bytes: up to 4.3 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepTime(u32);

impl SleepTime {
    /// `None` for a longer time.
    pub fn new(nanoseconds: u64) -> Option<SleepTime> {
        u32::try_from(nanoseconds).ok().map(SleepTime)
    }

    pub fn nanoseconds(self) -> u64 {
        self.0.into()
    }
}

/// The first look that is not before `now`, of those every `period` of which one is at `moment`; nanoseconds of the run.
pub(crate) fn next_look(now: f64, period: SleepTime, moment: u64) -> f64 {
    let period = (period.nanoseconds() as f64).max(1.0);
    let later = ((now - moment as f64) / period).ceil();
    moment as f64 + later * period
}

/// An object in two bytes less than an id: 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompactObjectId(std::num::NonZeroU32);

/// No place of a plan.
pub(crate) const NO_PLACE: u32 = u32::MAX;

impl CompactObjectId {
    pub fn new(object: ObjectId) -> Option<CompactObjectId> {
        std::num::NonZeroU32::new(object.0.wrapping_add(1)).map(CompactObjectId)
    }

    pub fn object(self) -> ObjectId {
        ObjectId(self.0.get() - 1)
    }
}

/// What one thread does.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadPlan {
    /// In order.
    pub steps: Vec<PlanStep>,
    /// Position of its machine.
    pub machine: usize,
    /// Whether it ends since its process does: the run does not wait for it.
    pub is_killed: bool,
}

/// A run as what its threads do.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExecutionPlan {
    /// Threads, by id; then the last steps of those that were killed.
    pub threads: Vec<ThreadPlan>,
    /// Whose work, and how it is divided.
    pub places: Vec<(ThreadId, ChargePart)>,
    /// Under which of the sets of locks that are told apart the work at each place is done; empty where it is under none.
    pub held: Vec<Vec<bool>>,
    /// Shares of divided work.
    pub charging: Arc<LazyStored<Charging>>,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of objects of the recording.
    pub objects: usize,
    /// Queues from which several threads take items.
    pub queues: PlannedQueues,
    /// Threads that share work by queues that the recording does not show.
    pub unseen_queues: Vec<UnseenQueue>,
    /// Processors of each machine.
    pub processors: Vec<u32>,
    /// Busy-waits that nothing is known to have ended, and polls by sleeping, of all threads, nanoseconds.
    pub unexplained: u64,
    /// What was done while locks were held.
    pub locks: LockLoads,
    /// As recorded, nanoseconds.
    pub elapsed: u64,
    /// What the plan takes by itself, nanoseconds.
    pub unchanged: f64,
    /// When its busy-waits of unknown end are over then.
    pub spin_ends: ExecutedSpinEnds,
    /// The same where threads that may have been told to end were told to; none without such threads.
    pub stopped: Option<Box<ExecutionPlan>>,
    /// Where this one keeps the recorded order of all locks: the one without the order of those that are seldom held. Else the one in which
    /// nobody waits for locks that threads take until they are told to end; none without such locks.
    pub unordered: Option<Box<ExecutionPlan>>,
    /// The same where threads that pass data on through streams which are not seen keep in step; none without such threads.
    pub in_step: Option<Box<ExecutionPlan>>,
}

/// When the busy-waits of an execution ended that nothing is known to have ended: of each thread, in order, nanoseconds.
pub(crate) type ExecutedSpinEnds = Vec<Vec<u64>>;

/// What the times at each place of a plan are multiplied by.
#[derive(Clone, Debug)]
pub(crate) struct Factors {
    /// Of work.
    pub work: Vec<f64>,
    /// Of busy-waits that nothing is known to have ended.
    pub spinning: Vec<f64>,
}

impl Factors {
    /// Less work of a step, nanoseconds.
    pub fn saved_work(&self, step: &PlanStep) -> f64 {
        match *step {
            PlanStep::Work { place, time } => time as f64 * (1.0 - self.work[place as usize]),
            _ => 0.0,
        }
    }
}

/// The part of the recorded time up to which busy-waits and polls of unknown end leave ranges as they are.
const LITTLE_SPUN: f64 = 0.01;

impl ExecutionPlan {
    /// Whether so much of the run is busy-waits and polls of unknown end that gains depend on how long they last.
    pub fn has_unknown_spins(&self) -> bool {
        self.unexplained as f64 > LITTLE_SPUN * self.elapsed as f64
    }

    /// Number of steps of all threads.
    pub fn steps(&self) -> usize {
        self.threads.iter().map(|thread| thread.steps.len()).sum()
    }

    /// How much shorter the run would be if its work filled all processors, nanoseconds.
    pub fn idle(&self) -> f64 {
        let work = |step: &PlanStep| match *step {
            PlanStep::Work { time, .. } | PlanStep::Spin { time, .. } | PlanStep::Busy(time) => time,
            _ => 0,
        };
        let mut of_machine = vec![0; self.processors.len()];
        for thread in &self.threads {
            of_machine[thread.machine] += thread.steps.iter().map(work).sum::<u64>();
        }
        let least =
            of_machine.iter().zip(&self.processors).map(|(&work, &cpus)| work as f64 / f64::from(cpus));
        (self.elapsed as f64 - least.fold(0.0, f64::max)).max(0.0)
    }

    /// The usual latency of a thread that waited: the median, nanoseconds; 0 where none is recorded.
    pub fn latency(&self) -> u64 {
        let steps = self.threads.iter().flat_map(|thread| &thread.steps);
        let mut latencies: Vec<u64> = steps
            .filter_map(|step| match *step {
                PlanStep::Displaced { place: NO_PLACE, time } => Some(time),
                _ => None,
            })
            .collect();
        let middle = latencies.len() / 2;
        if latencies.is_empty() { 0 } else { *latencies.select_nth_unstable(middle).1 }
    }

    /// Time for which threads were displaced, of all threads, nanoseconds.
    pub fn displaced(&self) -> u64 {
        let steps = self.threads.iter().flat_map(|thread| &thread.steps);
        let displaced = |step: &PlanStep| match *step {
            PlanStep::Displaced { time, .. } => time,
            _ => 0,
        };
        steps.map(displaced).sum()
    }

    /// By what part of the recorded time the plan by itself takes longer or shorter.
    pub fn error(&self) -> f64 {
        if self.elapsed == 0 { 0.0 } else { self.unchanged / self.elapsed as f64 - 1.0 }
    }
}
