//! The states of threads from the agent's events alone (rung 4).
//!
//! A thread that begins to wait leaves its processor, and gets it back when the wait is over; between, whoever let
//! it go on wakes it. Whether a thread that does not wait really had a processor only the kernel knows.

use std::collections::VecDeque;
use std::time::Duration;

use longpole_event::{Blocking, Time};
use longpole_ring::WaitKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::releases::Releases;
use super::reorder::Reorder;
use super::told::{Told, Wait, call, primitive};
use crate::raw::{RawEvent, RawKind, RawStack, RawWaker, Task};

/// What is known late goes at most so far back.
const HORIZON: Duration = Duration::from_millis(100);
/// Time without a processor that can be put into its place.
const LONGEST_READY: Duration = Duration::from_millis(80);
/// A shorter wait on a descriptor is no wait: there was something to read, or room to write.
const SHORTEST_DEVICE_WAIT: Duration = Duration::from_micros(3);

/// A thread's wait.
#[derive(Debug)]
struct Waiting {
    wait: Wait,
    since: Time,
    stack: RawStack,
    /// The switch-out was handed on.
    is_out: bool,
}

/// A thread or process that was announced.
#[derive(Debug)]
struct Announced {
    time: Time,
    task: Task,
    stack: RawStack,
}

/// Times without a processor, by thread.
///
/// A sample says that a thread works, not that it has a processor: one from such a time says nothing.
#[derive(Debug, Default)]
struct Ready(FxHashMap<Task, VecDeque<(Time, Time)>>);

impl Ready {
    fn note(&mut self, task: Task, begin: Time, end: Time) {
        self.0.entry(task).or_default().push_back((begin, end));
    }

    /// Whether the event is a sample from such a time. Events are asked for in time order.
    fn denies(&mut self, event: &RawEvent) -> bool {
        let RawKind::Sample { task, .. } = &event.kind else { return false };
        let Some(times) = self.0.get_mut(task) else { return false };
        while times.front().is_some_and(|&(_, end)| end < event.time) {
            times.pop_front();
        }
        times.front().is_some_and(|&(begin, _)| begin <= event.time)
    }
}

/// Follows all threads of a recording.
#[derive(Debug, Default)]
pub(super) struct States {
    reorder: Reorder,
    threads: FxHashMap<Task, Option<Waiting>>,
    /// Since when a thread has been seen to run.
    running: FxHashMap<Task, Time>,
    /// Threads that wait, in the order in which they began to; some no longer do.
    queue: VecDeque<(Time, Task)>,
    announced: FxHashMap<u64, Announced>,
    releases: Releases,
    handles: FxHashMap<(u32, u64), Task>,
    /// Processes that are ending: what they still tell comes from their last moments.
    ending: FxHashSet<u32>,
    /// Time without a processor that has not found its place: the kernel may account for it late.
    owed: FxHashMap<Task, u64>,
    /// When threads were ready without a processor.
    ready: Ready,
    now: Time,
    /// Waits that were granted, but nobody was seen to grant.
    unmatched: u64,
}

impl States {
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

    pub(super) fn take(&mut self, time: Time, task: Task, told: Told, out: &mut impl FnMut(RawEvent)) {
        self.go_to(time, out);
        if matches!(told, Told::Began { .. } | Told::Forked { .. }) {
            self.ending.remove(&task.pid);
        } else if self.ending.contains(&task.pid) {
            return;
        }
        match told {
            Told::Created { key, handle } => {
                self.handles.insert((task.pid, handle), task);
                self.begin(time, task, key);
            }
            Told::Forked { key } => self.begin(time, task, key),
            Told::Began { program } => {
                self.threads.retain(|other, _| other.pid != task.pid || other.tid == task.tid);
                self.releases.forget(task.pid);
                self.push(time, RawKind::Exec { task, program });
                self.appear(time, task);
            }
            Told::Creates { key, stack } | Told::Forks { key, stack } => {
                self.appear(time, task);
                self.announced.insert(key, Announced { time, task, stack });
            }
            Told::Ended => self.end(time, task),
            Told::Exits => self.exit(time, task.pid),
            Told::Waits { wait, stack } => {
                self.appear(time, task);
                self.threads.insert(task, Some(Waiting { wait, since: time, stack, is_out: false }));
                self.queue.push_back((time, task));
            }
            Told::Done { granted } => self.done(time, task, granted),
            Told::Gap => self.done(time, task, true),
            Told::Releases { wait, stack } => {
                self.appear(time, task);
                self.releases.add(time, task, wait, stack);
            }
            Told::WasReady { nanoseconds } => self.was_ready(time, task, nanoseconds),
            _ => {}
        }
    }

    /// The thread worked on without a processor; when, in the time that can still be told of, is not known.
    fn was_ready(&mut self, time: Time, task: Task, nanoseconds: u64) {
        let owed = self.owed.entry(task).or_default();
        *owed += nanoseconds;
        let Some(None) = self.threads.get(&task) else { return };
        let since = self.running.get(&task).copied().unwrap_or(time);
        let length = (*owed).min(LONGEST_READY.as_nanos() as u64).min(time.since(since));
        *owed -= length;
        if length == 0 {
            return;
        }
        let begin = time.nanoseconds() - length;
        let (blocking, call, stack) = (Blocking::Runnable, None, RawStack::None);
        let kind = RawKind::Switch { previous: Some(task), blocking, call, stack, next: None };
        let begin = Time::from_nanoseconds(begin);
        self.ready.note(task, begin, time);
        self.push(begin, kind);
        self.run(time, task);
    }

    pub(super) fn finish(&mut self, end: Time, out: &mut impl FnMut(RawEvent)) {
        self.go_to(end, out);
        self.hand_out_waits(end + HORIZON.as_nanos() as u64);
        let ready = &mut self.ready;
        self.reorder.finish(&mut |event| {
            if !ready.denies(&event) {
                out(event);
            }
        });
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
        self.now = self.now.max(time);
        let horizon =
            Time::from_nanoseconds(self.now.nanoseconds().saturating_sub(HORIZON.as_nanos() as u64));
        self.hand_out_waits(horizon);
        let ready = &mut self.ready;
        self.reorder.advance(horizon, &mut |event| {
            if !ready.denies(&event) {
                out(event);
            }
        });
    }

    /// Waits that began before the horizon are real ones.
    fn hand_out_waits(&mut self, horizon: Time) {
        while let Some(&(since, task)) = self.queue.front() {
            if since >= horizon {
                break;
            }
            self.queue.pop_front();
            self.hand_out(since, task);
        }
    }

    /// Hands on that the thread left its processor, if it still waits since then and nobody was told.
    fn hand_out(&mut self, since: Time, task: Task) {
        let Some(Some(waiting)) = self.threads.get_mut(&task) else { return };
        if waiting.is_out || waiting.since != since {
            return;
        }
        waiting.is_out = true;
        let call = call(waiting.wait);
        let stack = std::mem::take(&mut waiting.stack);
        let blocking = Blocking::Interruptible;
        let kind = RawKind::Switch { previous: Some(task), blocking, call: Some(call), stack, next: None };
        self.push(since, kind);
    }

    /// A thread that was created or forked begins.
    fn begin(&mut self, time: Time, task: Task, key: u64) {
        if let Some(Announced { time: announced, task: parent, stack }) = self.announced.remove(&key) {
            // The creator may have gone on, and waits already.
            self.push(announced, RawKind::Fork { parent, child: task, stack });
        }
        self.threads.remove(&task);
        self.appear(time, task);
    }

    /// A thread that is not known runs from now on.
    fn appear(&mut self, time: Time, task: Task) {
        if self.threads.contains_key(&task) {
            return;
        }
        self.threads.insert(task, None);
        self.run(time, task);
    }

    fn run(&mut self, time: Time, task: Task) {
        self.running.insert(task, time);
        let (blocking, call, stack) = (Blocking::Runnable, None, RawStack::None);
        self.push(time, RawKind::Switch { previous: None, blocking, call, stack, next: Some(task) });
    }

    fn exit(&mut self, time: Time, pid: u32) {
        let mut threads: Vec<Task> = self.threads.keys().copied().filter(|task| task.pid == pid).collect();
        threads.sort_unstable_by_key(|task| task.tid);
        for task in threads {
            self.end(time, task);
        }
        self.ending.insert(pid);
    }

    fn end(&mut self, time: Time, task: Task) {
        self.running.remove(&task);
        self.owed.remove(&task);
        if self.threads.remove(&task).is_none() {
            return;
        }
        self.push(time, RawKind::Exit { task });
        let (blocking, call, stack) = (Blocking::Dead, None, RawStack::None);
        self.push(time, RawKind::Switch { previous: Some(task), blocking, call, stack, next: None });
    }

    fn done(&mut self, time: Time, task: Task, granted: bool) {
        let Some(waiting) = self.threads.get_mut(&task).and_then(Option::take) else { return };
        let is_short = Duration::from_nanos(time.since(waiting.since)) < SHORTEST_DEVICE_WAIT;
        if !waiting.is_out && is_short && is_on_descriptor(waiting.wait.kind) {
            return;
        }
        let (wait, since) = (waiting.wait, waiting.since);
        self.threads.insert(task, Some(waiting));
        self.hand_out(since, task);
        self.threads.insert(task, None);
        let release = if granted { self.releases.releaser(task, wait, since, time) } else { None };
        let (woken, waker, stack) = match release {
            Some(release) => {
                let waker = RawWaker::Task(release.task, String::new());
                (release.time.max(since), Some(waker), release.stack)
            }
            None if wait.kind == WaitKind::Join => (time, None, RawStack::None),
            None if granted && primitive(wait.kind, wait.subject).is_some() => {
                self.unmatched += 1;
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

fn is_on_descriptor(kind: WaitKind) -> bool {
    matches!(kind, WaitKind::Read | WaitKind::Write | WaitKind::Poll | WaitKind::Connect | WaitKind::Accept)
}
