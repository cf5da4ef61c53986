//! The states of threads from the agent's events alone (the agent collector).
//!
//! A thread that begins to wait leaves its processor, and gets it back when the wait is over; between, whoever let
//! it go on wakes it. Whether a thread that does not wait really had a processor only the kernel knows.

use std::collections::VecDeque;
use std::time::Duration;

use longpole_event::{Blocking, Time};
use longpole_ring::WaitKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::agent_event::{AgentEvent, AgentWait, call, primitive};
use super::releases::RecentReleases;
use super::reorder::{Reorder, horizon};
use crate::process_title::title_of_running;
use crate::raw::{KernelTask, RawEvent, RawKind, RawStack, RawWaker};

/// Time without a processor that can be put into its place.
const LONGEST_READY: Duration = Duration::from_millis(80);
/// A shorter wait on a descriptor is no wait: there was something to read, or room to write.
const SHORTEST_DEVICE_WAIT: Duration = Duration::from_micros(3);

/// A thread's wait.
#[derive(Debug)]
struct ThreadWait {
    wait: AgentWait,
    since: Time,
    stack: RawStack,
    /// The switch-out was handed on.
    is_out: bool,
}

/// A thread or process that was announced.
#[derive(Debug)]
struct AnnouncedTask {
    time: Time,
    task: KernelTask,
    stack: RawStack,
}

/// Times without a processor, by thread.
///
/// A sample says that a thread works, not that it has a processor: one from such a time says nothing.
#[derive(Debug, Default)]
struct ReadyTimes(FxHashMap<KernelTask, VecDeque<(Time, Time)>>);

impl ReadyTimes {
    fn note(&mut self, task: KernelTask, begin: Time, end: Time) {
        let times = self.0.entry(task).or_default();
        forget(times, horizon(end));
        times.push_back((begin, end));
    }

    /// Whether the event is a sample from such a time. Events are asked for in time order.
    fn denies(&mut self, event: &RawEvent) -> bool {
        match &event.kind {
            RawKind::Sample { task, .. } => self.0.get_mut(task).is_some_and(|times| {
                forget(times, event.time);
                times.front().is_some_and(|&(begin, _)| begin <= event.time)
            }),
            RawKind::Exit { task } => {
                self.0.remove(task);
                false
            }
            _ => false,
        }
    }

    /// Hands on what is not denied.
    fn filtered(&mut self, out: &mut impl FnMut(RawEvent)) -> impl FnMut(RawEvent) {
        |event| {
            if !self.denies(&event) {
                out(event);
            }
        }
    }
}

/// Forgets times that ended before this one.
fn forget(times: &mut VecDeque<(Time, Time)>, time: Time) {
    while times.front().is_some_and(|&(_, end)| end < time) {
        times.pop_front();
    }
}

/// Follows all threads of a recording.
#[derive(Debug, Default)]
pub(super) struct StateInterpreter {
    reorder: Reorder,
    threads: FxHashMap<KernelTask, Option<ThreadWait>>,
    /// Since when a thread has been seen to run.
    running: FxHashMap<KernelTask, Time>,
    /// Threads that wait, in the order in which they began to; some no longer do.
    queue: VecDeque<(Time, KernelTask)>,
    announced: FxHashMap<u64, AnnouncedTask>,
    releases: RecentReleases,
    /// Processes that are ending: what they still tell comes from their last moments.
    ending: FxHashSet<u32>,
    /// Time without a processor that has not found its place: the kernel may account for it late.
    owed: FxHashMap<KernelTask, u64>,
    /// When threads were ready without a processor.
    ready: ReadyTimes,
}

impl StateInterpreter {
    /// An event that is not the agent's word on states.
    pub(super) fn pass(&mut self, event: RawEvent, out: &mut impl FnMut(RawEvent)) {
        self.go_to(event.time, out);
        if let RawKind::Inside { task, .. } = &event.kind
            && !self.ending.contains(&task.pid)
        {
            self.appear(event.time, *task);
        }
        self.reorder.push(event);
    }

    pub(super) fn take(
        &mut self,
        time: Time,
        task: KernelTask,
        told: AgentEvent,
        out: &mut impl FnMut(RawEvent),
    ) {
        self.go_to(time, out);
        if matches!(told, AgentEvent::Began { .. } | AgentEvent::Forked { .. }) {
            self.ending.remove(&task.pid);
        } else if self.ending.contains(&task.pid) {
            return;
        }
        match told {
            AgentEvent::Created { key, .. } | AgentEvent::Forked { key } => self.begin(time, task, key),
            AgentEvent::Began { program } => {
                self.threads.retain(|other, _| other.pid != task.pid || other.tid == task.tid);
                self.releases.forget(task.pid);
                let title = title_of_running(task.pid, &program);
                self.push(time, RawKind::Exec { task, program, title });
                self.appear(time, task);
            }
            AgentEvent::Creates { key, stack } | AgentEvent::Forks { key, stack } => {
                self.appear(time, task);
                self.announced.insert(key, AnnouncedTask { time, task, stack });
            }
            AgentEvent::Ended => self.end(time, task),
            AgentEvent::Exits => self.exit(time, task.pid),
            AgentEvent::Waits { wait, stack } => {
                self.appear(time, task);
                self.threads.insert(task, Some(ThreadWait { wait, since: time, stack, is_out: false }));
                self.queue.push_back((time, task));
            }
            AgentEvent::Done { granted } => self.done(time, task, granted),
            AgentEvent::Gap => self.done(time, task, true),
            AgentEvent::Releases { wait, stack } => {
                self.appear(time, task);
                self.releases.add(time, task, wait, stack);
            }
            AgentEvent::WasReady { nanoseconds } => self.was_ready(time, task, nanoseconds),
            _ => {}
        }
    }

    /// The thread worked on without a processor; when, in the time that can still be told of, is not known.
    fn was_ready(&mut self, time: Time, task: KernelTask, nanoseconds: u64) {
        let owed = self.owed.entry(task).or_default();
        *owed += nanoseconds;
        let Some(None) = self.threads.get(&task) else { return };
        let since = self.running.get(&task).copied().unwrap_or(time);
        let length = (*owed).min(LONGEST_READY.as_nanos() as u64).min(time.since(since));
        *owed -= length;
        if length == 0 {
            return;
        }
        let begin = time - length;
        self.ready.note(task, begin, time);
        self.push(begin, RawKind::switch(Some(task), Blocking::Runnable, None));
        self.run(time, task);
    }

    pub(super) fn finish(&mut self, end: Time, out: &mut impl FnMut(RawEvent)) {
        self.go_to(end, out);
        self.hand_out_waits(None);
        self.reorder.finish(&mut self.ready.filtered(out));
    }

    pub(super) fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        if self.reorder.late > 0 {
            findings.push(format!("{} events of the agent came late and stand too late", self.reorder.late));
        }
        findings
    }

    fn push(&mut self, time: Time, kind: RawKind) {
        self.reorder.push(RawEvent { time, cpu: 0, kind });
    }

    /// Hands on what nothing earlier can come before.
    fn go_to(&mut self, time: Time, out: &mut impl FnMut(RawEvent)) {
        self.hand_out_waits(Some(horizon(time)));
        self.reorder.go_to(time, &mut self.ready.filtered(out));
    }

    /// Waits that began before the horizon are real ones; at the end all are.
    fn hand_out_waits(&mut self, horizon: Option<Time>) {
        let is_due = |&mut (since, _): &mut (Time, KernelTask)| horizon.is_none_or(|horizon| since < horizon);
        while let Some((since, task)) = self.queue.pop_front_if(is_due) {
            self.hand_out(since, task);
        }
    }

    /// Hands on that the thread left its processor, if it still waits since then and nobody was told.
    fn hand_out(&mut self, since: Time, task: KernelTask) {
        let Some(Some(waiting)) = self.threads.get_mut(&task) else { return };
        if waiting.is_out || waiting.since != since {
            return;
        }
        waiting.is_out = true;
        let (wait, stack) = (waiting.wait, std::mem::take(&mut waiting.stack));
        self.leave(since, task, wait, stack);
    }

    /// The thread left its processor, to wait.
    fn leave(&mut self, time: Time, task: KernelTask, wait: AgentWait, stack: RawStack) {
        let (previous, blocking, call) = (Some(task), Blocking::Interruptible, Some(call(wait)));
        self.push(time, RawKind::Switch { previous, blocking, call, stack, next: None });
    }

    /// A thread that was created or forked begins.
    fn begin(&mut self, time: Time, task: KernelTask, key: u64) {
        if let Some(AnnouncedTask { time: announced, task: parent, stack }) = self.announced.remove(&key) {
            // The creator may have gone on, and waits already.
            self.push(announced, RawKind::Fork { parent, child: task, stack });
        }
        self.threads.remove(&task);
        self.appear(time, task);
    }

    /// A thread that is not known runs from now on.
    fn appear(&mut self, time: Time, task: KernelTask) {
        if self.threads.contains_key(&task) {
            return;
        }
        self.threads.insert(task, None);
        self.run(time, task);
    }

    fn run(&mut self, time: Time, task: KernelTask) {
        self.running.insert(task, time);
        self.push(time, RawKind::switch(None, Blocking::Runnable, Some(task)));
    }

    fn exit(&mut self, time: Time, pid: u32) {
        let mut threads: Vec<KernelTask> =
            self.threads.keys().copied().filter(|task| task.pid == pid).collect();
        threads.sort_unstable_by_key(|task| task.tid);
        for task in threads {
            self.end(time, task);
        }
        self.ending.insert(pid);
    }

    fn end(&mut self, time: Time, task: KernelTask) {
        self.running.remove(&task);
        self.owed.remove(&task);
        if self.threads.remove(&task).is_none() {
            return;
        }
        self.push(time, RawKind::Exit { task });
        self.push(time, RawKind::switch(Some(task), Blocking::Dead, None));
    }

    fn done(&mut self, time: Time, task: KernelTask, granted: bool) {
        let Some(waiting) = self.threads.get_mut(&task).and_then(Option::take) else { return };
        let ThreadWait { wait, since, stack, is_out } = waiting;
        if !is_out {
            let is_short = Duration::from_nanos(time.since(since)) < SHORTEST_DEVICE_WAIT;
            if is_short && (wait.is_on_descriptor() || wait.kind == WaitKind::Poll) {
                return;
            }
            self.leave(since, task, wait, stack);
        }
        let release = if granted { self.releases.releaser(task, wait, since, time) } else { None };
        let (woken, waker, stack) = match release {
            Some(release) => {
                let waker = RawWaker::Task(release.task, String::new());
                (release.time.max(since), Some(waker), release.stack)
            }
            None if wait.kind == WaitKind::Join => (time, None, RawStack::None),
            None if granted && primitive(wait.kind, wait.subject).is_some() => {
                (time, Some(RawWaker::Unknown), RawStack::None)
            }
            None => (time, Some(RawWaker::Interrupt), RawStack::None),
        };
        if let Some(waker) = waker {
            self.push(woken, RawKind::Wake { wakee: task, waker, call: None, stack });
        }
        self.run(time, task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: KernelTask = KernelTask { pid: 1, tid: 7 };

    fn at(milliseconds: u64) -> Time {
        Time::from_nanoseconds(milliseconds * 1_000_000)
    }

    fn sample(milliseconds: u64, task: KernelTask) -> RawEvent {
        let kind = RawKind::Sample { task, kernel: false, stack: RawStack::None, gap: 0 };
        RawEvent { time: at(milliseconds), cpu: 0, kind }
    }

    #[test]
    fn samples_from_times_without_a_processor_are_denied() {
        let mut ready = ReadyTimes::default();
        ready.note(TASK, at(10), at(20));
        ready.note(TASK, at(30), at(40));
        let denied = |time| ready.denies(&sample(time, TASK));
        assert_eq!([5, 15, 25, 35, 45].map(denied), [false, true, false, true, false]);
        ready.note(TASK, at(50), at(60));
        assert!(!ready.denies(&sample(55, KernelTask { tid: 8, ..TASK })));
    }

    #[test]
    fn times_that_no_sample_can_come_from_are_forgotten() {
        let mut ready = ReadyTimes::default();
        for second in 0..1_000 {
            ready.note(TASK, at(1_000 * second), at(1_000 * second + 10));
        }
        assert_eq!(ready.0[&TASK].len(), 1);
        ready.denies(&RawEvent { time: at(1_000_000), cpu: 0, kind: RawKind::Exit { task: TASK } });
        assert!(ready.0.is_empty());
    }
}
