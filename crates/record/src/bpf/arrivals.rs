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
mod tests {
    use super::*;

    const THREAD: KernelTask = KernelTask { pid: 1, tid: 7 };
    const OTHER: KernelTask = KernelTask { pid: 1, tid: 8 };

    fn time(nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds)
    }

    /// Feeds events by their times, and draws what comes out.
    #[derive(Default)]
    struct Reader {
        arrivals: Arrivals,
        out: Vec<RawEvent>,
    }

    impl Reader {
        /// A thread that was created long ago and has a processor since 1 ms, for which it waited 5.
        fn running() -> Reader {
            let mut reader = Reader::default();
            reader.fork(900_000, THREAD);
            reader.switch_to(1_000_000, THREAD, 5);
            reader.out.clear();
            reader
        }

        fn push(&mut self, at: u64, kind: RawKind, accounts: Accounts) {
            self.arrivals.take(RawEvent { time: time(at), cpu: 3, kind }, accounts, &mut self.out);
        }

        fn fork(&mut self, at: u64, child: KernelTask) {
            let kind = RawKind::Fork { parent: OTHER, child, stack: RawStack::None };
            self.push(at, kind, Accounts::default());
        }

        fn switch_to(&mut self, at: u64, task: KernelTask, next_waited: u64) {
            let kind = RawKind::switch(None, Blocking::Runnable, Some(task));
            self.push(at, kind, Accounts { next_waited, ..Accounts::default() });
        }

        fn leave(&mut self, at: u64, blocking: Blocking, arrived: u64, waited: u64) {
            let on = TaskAccount { arrived: (arrived > 0).then(|| time(arrived)), waited };
            let kind = RawKind::switch(Some(THREAD), blocking, None);
            self.push(at, kind, Accounts { on, ..Accounts::default() });
        }

        fn sample(&mut self, at: u64, arrived: u64, waited: u64) {
            let on = TaskAccount { arrived: Some(time(arrived)), waited };
            let kind = RawKind::Sample { task: THREAD, kernel: false, stack: RawStack::None, gap: 0 };
            self.push(at, kind, Accounts { on, ..Accounts::default() });
        }

        fn wake(&mut self, at: u64) {
            let waker = RawWaker::Task(OTHER, String::new());
            let kind = RawKind::Wake { wakee: THREAD, waker, call: None, stack: RawStack::None };
            self.push(at, kind, Accounts::default());
        }

        /// Times, in microseconds, and names of what came out since the last call.
        fn drawn(&mut self) -> String {
            let draw = |event: RawEvent| {
                let name = match event.kind {
                    RawKind::Switch { previous: Some(_), blocking: Blocking::Runnable, .. } => "off",
                    RawKind::Switch { previous: Some(_), .. } => "out",
                    RawKind::Switch { next: Some(_), .. } => "in",
                    RawKind::Wake { waker: RawWaker::Interrupt, .. } => "interrupt",
                    RawKind::Wake { waker: RawWaker::Unknown, .. } => "unknown",
                    RawKind::Wake { .. } => "wake",
                    RawKind::Sample { .. } => "sample",
                    RawKind::Fork { .. } => "fork",
                    _ => "other",
                };
                format!("{name} {}", event.time.nanoseconds() / 1000)
            };
            self.out.drain(..).map(draw).collect::<Vec<_>>().join(", ")
        }

        fn unseen(&self) -> (u64, u64) {
            (self.arrivals.unseen_switches, self.arrivals.unseen_wakes)
        }
    }

    #[test]
    fn what_the_tracepoints_told_is_left_alone() {
        let mut reader = Reader::running();
        reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
        reader.wake(3_000_000);
        reader.switch_to(3_100_000, THREAD, 100_005);
        reader.sample(3_200_000, 3_100_000, 100_005);
        reader.leave(3_300_000, Blocking::Runnable, 3_100_000, 100_005);
        reader.switch_to(3_400_000, THREAD, 200_005);
        assert_eq!(reader.drawn(), "out 2000, wake 3000, in 3100, sample 3200, off 3300, in 3400");
        assert_eq!((reader.unseen(), reader.arrivals.notes()), ((0, 0), Vec::new()));
    }

    #[test]
    fn a_thread_that_came_untold_came_when_the_kernel_s_account_says() {
        let mut reader = Reader::running();
        reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
        reader.wake(3_000_000);
        reader.leave(4_000_000, Blocking::Interruptible, 3_100_000, 100_005);
        assert_eq!(reader.drawn(), "out 2000, wake 3000, in 3100, out 4000");
        assert_eq!(reader.unseen(), (1, 0));
    }

    #[test]
    fn a_sample_shows_it_before_its_next_switch_does() {
        let mut reader = Reader::running();
        reader.leave(2_000_000, Blocking::Runnable, 1_000_000, 5);
        reader.sample(4_000_000, 3_000_000, 1_000_005);
        reader.leave(9_000_000, Blocking::Runnable, 3_000_000, 1_000_005);
        assert_eq!(reader.drawn(), "off 2000, in 3000, sample 4000, off 9000");
        assert_eq!(reader.unseen(), (1, 0));
    }

    #[test]
    fn an_untold_wake_was_when_the_thread_became_ready() {
        let mut reader = Reader::running();
        reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
        reader.switch_to(3_100_000, THREAD, 100_005);
        reader.leave(4_000_000, Blocking::Interruptible, 3_100_000, 100_005);
        reader.leave(6_000_000, Blocking::Interruptible, 5_000_000, 300_005);
        let (first, second) =
            ("out 2000, interrupt 3000, in 3100", "out 4000, interrupt 4800, in 5000, out 6000");
        assert_eq!(reader.drawn(), format!("{first}, {second}"));
        assert_eq!(reader.unseen(), (1, 2));
        let notes = reader.arrivals.notes();
        assert!(notes[0].starts_with("1 switches to threads were not delivered"), "{notes:?}");
        assert!(notes[1].starts_with("2 wakes were not delivered"), "{notes:?}");
    }

    #[test]
    fn where_records_were_lost_the_wake_may_have_been_anybody_s() {
        let mut reader = Reader::running();
        reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
        reader.arrivals.lose();
        reader.switch_to(3_000_000, THREAD, 5);
        assert_eq!(reader.drawn(), "out 2000, unknown 3000, in 3000");
    }

    #[test]
    fn a_wake_whose_record_overtook_the_wait_s_is_not_missing() {
        let mut reader = Reader::running();
        reader.wake(1_990_000);
        reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
        reader.switch_to(2_100_000, THREAD, 90_000);
        assert_eq!(reader.drawn(), "wake 1990, out 2000, in 2100");
        assert_eq!(reader.unseen(), (0, 0));
    }

    #[test]
    fn the_wake_before_a_short_run_is_not_the_one_after_it() {
        let mut reader = Reader::running();
        reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
        reader.wake(3_000_000);
        reader.switch_to(3_010_000, THREAD, 10_005);
        reader.leave(3_020_000, Blocking::Interruptible, 3_010_000, 10_005);
        reader.switch_to(5_000_000, THREAD, 20_005);
        assert_eq!(reader.drawn(), "out 2000, wake 3000, in 3010, out 3020, interrupt 4990, in 5000");
    }

    #[test]
    fn nothing_is_put_before_what_has_been_handed_on() {
        let mut reader = Reader::running();
        reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
        for round in [5_000_000, 6_000_000, 7_000_000] {
            reader.arrivals.begin_round(time(round));
        }
        reader.leave(8_000_000, Blocking::Interruptible, 3_000_000, 500_000);
        assert_eq!(reader.drawn(), "out 2000, interrupt 5000, in 5000, out 8000");
    }

    #[test]
    fn without_an_account_the_thread_came_where_it_is_seen() {
        let mut reader = Reader::running();
        reader.leave(2_000_000, Blocking::Runnable, 0, 0);
        reader.leave(4_000_000, Blocking::Runnable, 0, 0);
        assert_eq!(reader.drawn(), "off 2000, in 4000, off 4000");
    }

    #[test]
    fn a_new_thread_s_first_switch_can_be_untold_too() {
        let mut reader = Reader::default();
        reader.fork(1_000_000, THREAD);
        reader.leave(2_000_000, Blocking::Interruptible, 1_500_000, 500_000);
        assert_eq!(reader.drawn(), "fork 1000, in 1500, out 2000");
    }

    #[test]
    fn of_a_thread_that_was_there_before_nothing_is_missing() {
        let mut reader = Reader::default();
        reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 500_000);
        assert_eq!(reader.drawn(), "out 2000");
        reader.leave(3_000_000, Blocking::Dead, 2_500_000, 500_000);
        assert_eq!(reader.drawn(), "interrupt 2500, in 2500, out 3000");
        // Another thread with its id.
        reader.sample(4_000_000, 3_500_000, 0);
        assert_eq!(reader.drawn(), "sample 4000");
    }

    #[test]
    fn a_thread_that_comes_again_had_left_and_the_loss_is_counted() {
        let mut reader = Reader::running();
        reader.sample(2_000_000, 1_000_000, 5);
        reader.switch_to(4_000_000, THREAD, 1_000_005);
        assert_eq!(reader.drawn(), "sample 2000, off 3000, in 4000");
        assert_eq!((reader.arrivals.take_missing(), reader.arrivals.take_missing()), (1, 0));
    }
}
