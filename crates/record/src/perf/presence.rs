//! When threads got their processors, where the records do not say.
//!
//! A file recorded without `-a` holds the events of the program's own threads only: the switch from another
//! program's thread, or from idle, to one of them is not in it, nor is its wake by anybody else. But a thread
//! that does something has the processor, and the clock strikes once in each period of its running time.
//!
//! ```text
//!   A  woken t0 ······ sample t1        it got the processor in [t0, t1], and ran since its sample before
//!   B  on that processor until t2       for one period, r of it known: max(t0, t2, t1 − (period − r))
//!   A  blocked ······· switch t1        nothing is known but that it ran in the end: t1
//! ```
//! Of the whole machine every switch is recorded but the first of a thread that was there before, and such
//! as the kernel lost. They are put where the thread next does something.

use std::collections::VecDeque;

use longpole_event::{Blocking, Time};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::raw::{KernelTask, RawEvent, RawKind, RawStack, RawWaker};

/// Longest time that is taken for a running one without a clock's samples, nanoseconds.
const WITHOUT_CLOCK: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PresenceState {
    Running(Time),
    Ready(Time),
    Blocked(Time),
}

/// Adds the missing switches to a stream of events in time order.
#[derive(Debug)]
pub struct Presence {
    /// Time a thread runs between two samples; no switch is put earlier than this before it shows.
    period: u64,
    /// Every switch to a recorded thread is told: by its own record, or as one from another program's thread.
    has_every_switch: bool,
    /// A thread's last switch off its processor is told.
    has_last_switch: bool,
    states: FxHashMap<u32, PresenceState>,
    /// How long each thread is known to have run since its last sample.
    ran: FxHashMap<u32, u64>,
    /// Threads that are rid of their events, where these do not tell of the last switch.
    ended: FxHashSet<u32>,
    /// When a thread of the program last left each processor to somebody else.
    left: FxHashMap<u16, Time>,
    held: VecDeque<RawEvent>,
    released_to: Time,
    /// Switches that were added at a time that is an estimate.
    pub estimated: u64,
    /// Switches that a recording of the whole machine should have had.
    pub missing: u64,
}

impl Presence {
    /// Begins with no thread known.
    #[must_use]
    pub fn new(is_machine_wide: bool, period: Option<u64>) -> Self {
        Presence {
            period: period.unwrap_or(WITHOUT_CLOCK),
            has_every_switch: is_machine_wide,
            has_last_switch: is_machine_wide,
            states: FxHashMap::default(),
            ran: FxHashMap::default(),
            ended: FxHashSet::default(),
            left: FxHashMap::default(),
            held: VecDeque::new(),
            released_to: Time::ZERO,
            estimated: 0,
            missing: 0,
        }
    }

    /// Of threads whose switches are all recorded by themselves: all but the last, for an ending thread is rid of its
    /// events before.
    #[must_use]
    pub fn of_own_switches() -> Self {
        Presence { has_last_switch: false, ..Presence::new(true, None) }
    }

    /// Takes the next event.
    pub fn push(&mut self, event: RawEvent) {
        let Some(event) = self.of_the_living(event) else { return };
        if let Some(task) = actor(&event.kind) {
            self.act(task, &event);
        }
        self.note(&event);
        let (time, cpu) = (event.time, event.cpu);
        let ending = match event.kind {
            RawKind::Exit { task } if !self.has_last_switch => Some(task),
            _ => None,
        };
        self.held.push_back(event);
        if let Some(task) = ending {
            // The events of a thread are closed before it leaves its processor for the last time.
            self.held.push_back(RawEvent {
                time,
                cpu,
                kind: RawKind::switch(Some(task), Blocking::Dead, None),
            });
            self.forget(task.tid);
            self.ended.insert(task.tid);
        }
    }

    /// The event without what others still tell of threads that have ended. One that is pre-empted in its last steps gets a
    /// processor once more, and the thread before it tells so; that it leaves that processor nobody tells.
    fn of_the_living(&mut self, mut event: RawEvent) -> Option<RawEvent> {
        if self.ended.is_empty() {
            return Some(event);
        }
        // The id may be another's by now.
        for task in actor(&event.kind).into_iter().chain(created(&event.kind)) {
            self.ended.remove(&task.tid);
        }
        match &mut event.kind {
            RawKind::Wake { wakee, .. } if self.ended.contains(&wakee.tid) => return None,
            RawKind::Switch { previous, next, .. } => {
                next.take_if(|task| self.ended.contains(&task.tid));
                if previous.is_none() && next.is_none() {
                    return None;
                }
            }
            _ => {}
        }
        Some(event)
    }

    /// The next event that nothing can precede any more; all of them at the end.
    pub fn pop(&mut self, at_end: bool) -> Option<RawEvent> {
        let newest = self.held.back()?.time;
        let window = if self.has_every_switch { 0 } else { self.period };
        let front = self.held.front()?;
        if !at_end && newest.since(front.time) < window {
            return None;
        }
        self.released_to = self.released_to.max(front.time);
        self.held.pop_front()
    }

    /// The thread does something: it has the processor.
    fn act(&mut self, task: KernelTask, event: &RawEvent) {
        let is_sample = matches!(event.kind, RawKind::Sample { .. });
        let state = self.states.get(&task.tid).copied();
        if let Some(PresenceState::Running(since)) = state {
            if is_sample {
                self.ran.insert(task.tid, 0);
                self.states.insert(task.tid, PresenceState::Running(since.max(event.time)));
            }
            return;
        }
        let mut time = event.time;
        self.missing += u64::from(state.is_some() && self.has_every_switch);
        if let (Some(PresenceState::Ready(since) | PresenceState::Blocked(since)), false) =
            (state, self.has_every_switch)
        {
            let is_woken = matches!(state, Some(PresenceState::Ready(_)));
            let ran = self.ran.get(&task.tid).copied().unwrap_or(0);
            // All but a sample may come early in the period; then only a wake tells of an earlier beginning.
            let unknown = if is_woken || is_sample { self.period.saturating_sub(ran) } else { 0 };
            let begin = event.time - unknown;
            let left = self.left.get(&event.cpu).copied().unwrap_or(Time::ZERO);
            time = since.max(begin).max(left).max(self.released_to).min(event.time);
            self.estimated += 1;
        }
        self.insert_switch(task, time, event.cpu);
        self.set(task.tid, PresenceState::Running(if is_sample { event.time } else { time }));
        if is_sample {
            self.ran.insert(task.tid, 0);
        }
    }

    fn insert_switch(&mut self, task: KernelTask, time: Time, cpu: u16) {
        let kind = RawKind::switch(None, Blocking::Runnable, Some(task));
        let position = self.held.partition_point(|held| held.time <= time);
        self.held.insert(position, RawEvent { time, cpu, kind });
    }

    /// Takes over what the event says about states.
    fn note(&mut self, event: &RawEvent) {
        match &event.kind {
            RawKind::Switch { previous, blocking, next, .. } => {
                if let Some(task) = previous {
                    if let Some(PresenceState::Running(since)) = self.states.get(&task.tid) {
                        *self.ran.entry(task.tid).or_default() += event.time.since(*since);
                    }
                    match blocking {
                        Blocking::Runnable => self.set(task.tid, PresenceState::Ready(event.time)),
                        Blocking::Dead => self.forget(task.tid),
                        _ => self.set(task.tid, PresenceState::Blocked(event.time)),
                    }
                    self.left.insert(event.cpu, event.time);
                }
                if let Some(task) = next {
                    self.set(task.tid, PresenceState::Running(event.time));
                }
            }
            RawKind::Wake { wakee, .. }
                if !matches!(self.states.get(&wakee.tid), Some(PresenceState::Running(_))) =>
            {
                self.set(wakee.tid, PresenceState::Ready(event.time));
            }
            RawKind::Fork { child, .. } => self.set(child.tid, PresenceState::Ready(event.time)),
            _ => {}
        }
    }

    fn set(&mut self, tid: u32, state: PresenceState) {
        self.states.insert(tid, state);
    }

    fn forget(&mut self, tid: u32) {
        self.states.remove(&tid);
        self.ran.remove(&tid);
    }
}

/// The thread that begins with this.
fn created(kind: &RawKind) -> Option<KernelTask> {
    match kind {
        RawKind::Fork { child, .. } => Some(*child),
        _ => None,
    }
}

/// The thread that cannot but have the processor for this to happen.
fn actor(kind: &RawKind) -> Option<KernelTask> {
    match kind {
        RawKind::Switch { previous, .. } => *previous,
        RawKind::Wake { waker: RawWaker::Task(task, _), stack: RawStack::Taken(_), .. } => Some(*task),
        RawKind::Sample { task, .. } | RawKind::Exec { task, .. } | RawKind::Exit { task } => Some(*task),
        RawKind::Fork { parent, .. } => Some(*parent),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(tid: u32) -> KernelTask {
        KernelTask { pid: 1, tid }
    }

    fn event(time: u64, cpu: u16, kind: RawKind) -> RawEvent {
        RawEvent { time: Time::from_nanoseconds(time), cpu, kind }
    }

    fn out(time: u64, cpu: u16, tid: u32, blocking: Blocking) -> RawEvent {
        event(time, cpu, RawKind::switch(Some(task(tid)), blocking, None))
    }

    fn wake(time: u64, tid: u32) -> RawEvent {
        let kind =
            RawKind::Wake { wakee: task(tid), waker: RawWaker::Interrupt, call: None, stack: RawStack::None };
        event(time, 0, kind)
    }

    fn sample(time: u64, cpu: u16, tid: u32) -> RawEvent {
        event(time, cpu, RawKind::Sample { task: task(tid), kernel: false, stack: RawStack::None, gap: 0 })
    }

    /// Times, processors and threads of the switches that were added.
    fn added(machine: bool, period: Option<u64>, events: Vec<RawEvent>) -> Vec<(u64, u16, u32)> {
        let mut presence = Presence::new(machine, period);
        let mut all = Vec::new();
        for event in events {
            presence.push(event);
            all.extend(std::iter::from_fn(|| presence.pop(false)));
        }
        all.extend(std::iter::from_fn(|| presence.pop(true)));
        assert!(all.is_sorted_by_key(|event| event.time), "{all:?}");
        let next = |event: &RawEvent| match event.kind {
            RawKind::Switch { previous: None, next: Some(task), .. } => {
                Some((event.time.nanoseconds(), event.cpu, task.tid))
            }
            _ => None,
        };
        all.iter().filter_map(next).collect()
    }

    #[test]
    fn a_woken_thread_runs_at_once_when_its_next_event_is_near() {
        let events =
            vec![sample(10, 0, 7), out(20, 0, 7, Blocking::Interruptible), wake(100, 7), sample(130, 1, 7)];
        assert_eq!(added(false, Some(50), events), [(10, 0, 7), (100, 1, 7)]);
    }

    #[test]
    fn it_runs_no_earlier_than_a_period_before_its_next_event() {
        let events =
            vec![sample(10, 0, 7), out(20, 0, 7, Blocking::Interruptible), wake(100, 7), sample(400, 1, 7)];
        assert_eq!(added(false, Some(50), events), [(10, 0, 7), (360, 1, 7)]);
    }

    #[test]
    fn it_runs_no_earlier_than_another_thread_left_its_processor() {
        let events = vec![
            sample(10, 0, 7),
            out(20, 0, 7, Blocking::Interruptible),
            sample(21, 1, 8),
            wake(100, 7),
            out(120, 1, 8, Blocking::Interruptible),
            sample(130, 1, 7),
        ];
        assert_eq!(added(false, Some(50), events), [(10, 0, 7), (21, 1, 8), (120, 1, 7)]);
    }

    #[test]
    fn in_a_file_of_the_machine_only_the_first_switch_is_added() {
        let events = vec![sample(10, 0, 7), out(20, 0, 7, Blocking::Interruptible), wake(100, 7)];
        assert_eq!(added(true, Some(50), events), [(10, 0, 7)]);
    }

    #[test]
    fn a_thread_that_records_its_own_switches_leaves_its_processor_at_its_end() {
        let mut presence = Presence::of_own_switches();
        for event in [sample(10, 0, 7), event(20, 0, RawKind::Exit { task: task(7) })] {
            presence.push(event);
        }
        let last = std::iter::from_fn(|| presence.pop(true)).last().unwrap();
        assert_eq!(last, out(20, 0, 7, Blocking::Dead));
    }

    #[test]
    fn a_thread_that_is_preempted_at_its_end_is_over_for_all_that() {
        let mut presence = Presence::new(false, Some(50));
        let switch_to_7 =
            |time| event(time, 0, RawKind::switch(Some(task(8)), Blocking::Runnable, Some(task(7))));
        let fork = RawKind::Fork { parent: task(8), child: task(7), stack: RawStack::None };
        let ends = event(20, 0, RawKind::Exit { task: task(7) });
        for event in [sample(10, 0, 7), sample(10, 1, 8), ends, switch_to_7(30), wake(40, 7)] {
            presence.push(event);
        }
        // Another thread of that id is another one.
        for event in [sample(50, 1, 8), event(60, 1, fork), switch_to_7(70)] {
            presence.push(event);
        }
        let all: Vec<RawEvent> = std::iter::from_fn(|| presence.pop(true)).collect();
        let gets = |event: &&RawEvent| {
            matches!(event.kind, RawKind::Switch { next: Some(KernelTask { tid: 7, .. }), .. })
        };
        let times: Vec<u64> = all.iter().filter(gets).map(|event| event.time.nanoseconds()).collect();
        assert_eq!(times, [10, 70], "{all:?}");
        assert!(!all.iter().any(|event| matches!(event.kind, RawKind::Wake { .. })));
        assert!(all.contains(&out(30, 0, 8, Blocking::Runnable)));
    }

    #[test]
    fn a_switch_that_the_kernel_lost_is_counted_and_put_where_the_thread_acts() {
        let mut presence = Presence::new(true, None);
        for event in
            [sample(10, 0, 7), out(20, 0, 7, Blocking::Interruptible), out(50, 0, 7, Blocking::Runnable)]
        {
            presence.push(event);
        }
        assert_eq!((presence.missing, presence.estimated), (1, 0));
        let times: Vec<_> =
            std::iter::from_fn(|| presence.pop(true)).map(|event| event.time.nanoseconds()).collect();
        assert_eq!(times, [10, 10, 20, 50, 50]);
    }

    #[test]
    fn a_sample_comes_after_a_period_of_running_whenever_the_thread_was_woken() {
        // 10 ran before the thread blocked, so 40 of the 50 lie before the sample.
        let events = vec![sample(10, 0, 7), out(20, 0, 7, Blocking::Interruptible), sample(400, 1, 7)];
        assert_eq!(added(false, Some(50), events), [(10, 0, 7), (360, 1, 7)]);
    }

    #[test]
    fn a_thread_that_blocks_again_without_a_known_wake_ran_in_the_end() {
        let events = vec![
            sample(10, 0, 7),
            out(20, 0, 7, Blocking::Interruptible),
            out(400, 1, 7, Blocking::Interruptible),
        ];
        assert_eq!(added(false, Some(50), events), [(10, 0, 7), (400, 1, 7)]);
    }
}
