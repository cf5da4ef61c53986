//! Switches to threads, and wakes of them, that no tracepoint told.
//!
//! The kernel can drop the tracepoints of a task (one whose mark against recursion sticks, or one that a hypervisor's agent
//! hides). Such a task's switch to a recorded thread is then missing, and so are wakes by it and by interrupts on its
//! time. But a recorded thread leaves its processor in its own name, and the kernel keeps an account of each task: when it
//! got its processor last, and how long it was ready without one in all its life.
//!
//! ```text
//!   told        A out, waited 5                                        A sample, or out: arrived 90, waited 25
//!   A           blocked ······················ ready (25 − 5 = 20) |── has a processor ──
//!   added                                     wake at 70          in at 90
//! ```
//! In: events in the order of the ring, in which those of one thread's switches and samples are in their true order; wakes
//! of it by other processors may stand on either side of them. Out: the same with the missing ones, of which none is earlier
//! than what the sorter has handed on.

use longpole_event::{Blocking, Time};
use rustc_hash::FxHashMap;

use crate::raw::{KernelTask, RawEvent, RawKind, RawStack, RawWaker};

/// A thread that is about to block can be woken before it has left its processor: a wake that seems to be earlier than the
/// wait by no more than this has ended it.
const WAKING_NANOSECONDS: u64 = 100_000;

/// What the kernel's account of a task that has a processor says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskAccount {
    /// When it got that processor, where the kernel says it.
    pub(crate) arrived: Option<Time>,
    /// How long it was ready without a processor, in all its life; nanoseconds.
    pub(crate) waited: u64,
}

/// What the kernel's accounts say of the tasks of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accounts {
    /// Of the task that left its processor, or was found on it.
    pub(crate) on: TaskAccount,
    /// How long the task that got the processor was ready without one, in all its life; nanoseconds.
    pub(crate) next_waited: u64,
}

/// A recorded thread.
#[derive(Clone, Copy, Debug)]
struct RecordedTask {
    state: TaskState,
    /// When it got its last processor.
    came: Time,
    /// When it was told last to be in this state.
    told: Time,
    /// The latest wake of it.
    woken: Time,
    /// How long it had been ready without a processor, in all, when it came into its state; where that is known.
    waited: Option<u64>,
    /// `losses` when it came into its state.
    losses: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskState {
    Running,
    Ready,
    Blocked,
}

/// The recorded threads as their events tell of them.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    threads: FxHashMap<u32, RecordedTask>,
    /// Beginnings of this round, the one before and the one before that: up to the last all has been handed on.
    rounds: [Time; 3],
    /// How often records were lost.
    losses: u64,
    /// Switches to threads that were added.
    unseen_switches: u64,
    /// Wakes that were added.
    unseen_wakes: u64,
    /// Switches away from threads that are missing since the last [`Arrivals::take_missing`].
    missing: u64,
}

impl Arrivals {
    /// A drain begins.
    pub(crate) fn begin_round(&mut self, time: Time) {
        self.rounds = [time, self.rounds[0], self.rounds[1]];
    }

    /// Records were lost, wakes may be among them.
    pub(crate) fn lose(&mut self) {
        self.losses += 1;
    }

    /// Switches away from threads that were found missing since the last call: what the threads waited for is not known.
    pub(crate) fn take_missing(&mut self) -> u64 {
        std::mem::take(&mut self.missing)
    }

    /// What a reader of the results has to know of switches and wakes that were added.
    pub(crate) fn notes(&self) -> Vec<String> {
        let put =
            "were not delivered by the kernel: they were put where its accounts of the threads have them";
        let told = [(self.unseen_switches, "switches to threads"), (self.unseen_wakes, "wakes")];
        let told = told.iter().filter(|(count, _)| *count > 0);
        told.map(|(count, what)| format!("{count} {what} {put}")).collect()
    }

    /// Hands the next event on, after what is missing before it.
    pub(crate) fn take(&mut self, event: RawEvent, accounts: Accounts, into: &mut Vec<RawEvent>) {
        let (time, cpu) = (event.time, event.cpu);
        match event.kind {
            RawKind::Switch { previous, blocking, next, .. } => {
                if let Some(task) = previous {
                    self.find(task, (time, cpu), accounts.on, into);
                    self.leave(task.tid, time, blocking, accounts.on.waited);
                }
                if let Some(task) = next {
                    self.arrive(task, (time, cpu), accounts.next_waited, into);
                }
            }
            RawKind::Sample { task, .. } => self.find(task, (time, cpu), accounts.on, into),
            RawKind::Wake { wakee, .. } => {
                if let Some(thread) = self.threads.get_mut(&wakee.tid) {
                    thread.woken = thread.woken.max(time);
                }
            }
            RawKind::Fork { child, .. } => self.set(child.tid, TaskState::Ready, time, Some(0)),
            RawKind::Exec { task, .. } => self.set(task.tid, TaskState::Running, time, None),
            _ => {}
        }
        into.push(event);
    }

    /// The thread has a processor: if it was not told how it came, it got it when the kernel's account says.
    fn find(&mut self, task: KernelTask, at: (Time, u16), account: TaskAccount, into: &mut Vec<RawEvent>) {
        let (time, cpu) = at;
        let Some(thread) = self.threads.get_mut(&task.tid) else {
            return self.set(task.tid, TaskState::Running, time, Some(account.waited));
        };
        if thread.state == TaskState::Running {
            thread.told = time;
            thread.waited = Some(account.waited);
            return;
        }
        let earliest = thread.told.max(thread.woken.min(time)).max(self.rounds[2]);
        let arrived = account.arrived.unwrap_or(time).max(earliest).min(time);
        self.unseen_switches += 1;
        self.wake_unseen(task, (arrived, cpu), account.waited, into);
        into.push(RawEvent {
            time: arrived,
            cpu,
            kind: RawKind::switch(None, Blocking::Runnable, Some(task)),
        });
        self.set(task.tid, TaskState::Running, time, Some(account.waited));
        self.come(task.tid, arrived);
    }

    /// The thread gets a processor.
    fn arrive(&mut self, task: KernelTask, at: (Time, u16), waited: u64, into: &mut Vec<RawEvent>) {
        match self.threads.get(&task.tid).map(|thread| thread.state) {
            Some(TaskState::Blocked) => self.wake_unseen(task, at, waited, into),
            Some(TaskState::Running) => self.leave_unseen(task, at, waited, into),
            Some(TaskState::Ready) | None => {}
        }
        self.set(task.tid, TaskState::Running, at.0, Some(waited));
        self.come(task.tid, at.0);
    }

    /// The thread gets a processor: if it waited and nobody was seen to wake it, it was woken when it became ready.
    fn wake_unseen(
        &mut self,
        task: KernelTask,
        (time, cpu): (Time, u16),
        waited: u64,
        into: &mut Vec<RawEvent>,
    ) {
        let Some(thread) = self.threads.get(&task.tid) else { return };
        let is_woken = thread.woken > thread.came && thread.woken + WAKING_NANOSECONDS >= thread.told;
        if thread.state != TaskState::Blocked || is_woken {
            return;
        }
        let ready = thread.waited.map_or(0, |before| waited.saturating_sub(before));
        // No thread of the program: their tracepoints are delivered, or lost with others.
        let waker = if thread.losses == self.losses { RawWaker::Interrupt } else { RawWaker::Unknown };
        let kind = RawKind::Wake { wakee: task, waker, call: None, stack: RawStack::None };
        let woken = (time - ready).max(thread.told).max(self.rounds[2]).min(time);
        into.push(RawEvent { time: woken, cpu, kind });
        self.unseen_wakes += 1;
    }

    /// The thread gets a processor and was not seen to leave the one it had: it was without one at least while it was ready.
    fn leave_unseen(
        &mut self,
        task: KernelTask,
        (time, cpu): (Time, u16),
        waited: u64,
        into: &mut Vec<RawEvent>,
    ) {
        let Some(thread) = self.threads.get(&task.tid) else { return };
        let ready = thread.waited.map_or(0, |before| waited.saturating_sub(before));
        let left = (time - ready).max(thread.told).max(self.rounds[2]).min(time);
        into.push(RawEvent { time: left, cpu, kind: RawKind::switch(Some(task), Blocking::Runnable, None) });
        self.missing += 1;
    }

    fn leave(&mut self, tid: u32, time: Time, blocking: Blocking, waited: u64) {
        match blocking {
            Blocking::Runnable => self.set(tid, TaskState::Ready, time, Some(waited)),
            Blocking::Dead => drop(self.threads.remove(&tid)),
            _ => self.set(tid, TaskState::Blocked, time, Some(waited)),
        }
    }

    fn come(&mut self, tid: u32, time: Time) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.came = time;
        }
    }

    fn set(&mut self, tid: u32, state: TaskState, told: Time, waited: Option<u64>) {
        let losses = self.losses;
        let new = RecordedTask { state, came: told, told, woken: Time::ZERO, waited, losses };
        let thread = self.threads.entry(tid).or_insert(new);
        *thread = RecordedTask { state, told, waited, losses, ..*thread };
    }
}

#[cfg(test)]
mod tests;
