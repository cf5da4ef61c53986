//! Causes, places and wakers of waits by the agent's word, where the kernel tells only who is on a processor (the process collector).
//!
//! ```text
//!   kernel   A out, why not told ···················· A in
//!   agent    A waits for x                                     A's wait is over
//!            B                        B releases x
//!   told     A out: waits for x, there    A woken by B     A in
//! ```
//! A release is told before it is done, so that it is known when the thread that it lets go on gets a processor.

use std::time::Duration;

use longpole_event::{Blocking, CallDefinition, Time};
use longpole_ring::WaitKind;
use rustc_hash::FxHashMap;

use super::agent_event::{AgentEvent, AgentWait, call};
use super::releases::{AgentRelease, RecentReleases};
use super::reorder::Reorder;
use crate::raw::{KernelTask, RawEvent, RawKind, RawStack, RawWaker};

/// Between the agent's word of a release and the release itself passes less than this.
const BEFORE_RELEASE: Duration = Duration::from_micros(200);

/// What a thread waits for, by its own word.
#[derive(Debug)]
struct DeclaredWait {
    wait: AgentWait,
    since: Time,
    stack: RawStack,
}

/// A thread that is off its processor, and could not run on.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    since: Time,
    /// The kernel told who woke it.
    is_woken: bool,
}

/// Follows all threads of a recording.
#[derive(Debug, Default)]
pub(super) struct CauseInterpreter {
    /// A thread that is woken and has no processor for longer than this goes back is told to have been woken so long
    /// before.
    reorder: Reorder,
    waiting: FxHashMap<u32, DeclaredWait>,
    blocked: FxHashMap<u32, Blocked>,
    releases: RecentReleases,
    /// Where threads are that are about to create one.
    creating: FxHashMap<u32, RawStack>,
}

impl CauseInterpreter {
    /// The agent's word.
    pub(super) fn take(
        &mut self,
        time: Time,
        task: KernelTask,
        told: AgentEvent,
        out: &mut impl FnMut(RawEvent),
    ) {
        self.reorder.go_to(time, out);
        match told {
            AgentEvent::Waits { wait, stack } => {
                self.waiting.insert(task.tid, DeclaredWait { wait, since: time, stack });
            }
            AgentEvent::Done { .. } | AgentEvent::Gap | AgentEvent::Ended => {
                self.waiting.remove(&task.tid);
            }
            AgentEvent::Releases { wait, stack } => self.releases.add(time, task, wait, stack),
            AgentEvent::Creates { stack, .. } | AgentEvent::Forks { stack, .. } => {
                self.creating.insert(task.tid, stack);
            }
            AgentEvent::Began { .. } => {
                self.waiting.remove(&task.tid);
                self.releases.forget(task.pid);
            }
            _ => {}
        }
    }

    /// An event of the kernel, or one that means the same whoever tells the states.
    pub(super) fn pass(&mut self, mut event: RawEvent, out: &mut impl FnMut(RawEvent)) {
        self.reorder.go_to(event.time, out);
        let time = event.time;
        match &mut event.kind {
            RawKind::Switch { previous, blocking, call, stack, next } => {
                if let Some(task) = previous {
                    let out = self.leave(time, *task, *blocking);
                    if let (Some((told, place)), None) = (out, *call) {
                        *call = Some(told);
                        if *stack == RawStack::None {
                            *stack = place;
                        }
                    }
                }
                if let Some(task) = *next {
                    self.come(time, event.cpu, task);
                }
            }
            RawKind::Wake { wakee, .. } => {
                if let Some(blocked) = self.blocked.get_mut(&wakee.tid) {
                    blocked.is_woken = true;
                }
            }
            RawKind::Fork { parent, stack, .. } => {
                let told = self.creating.remove(&parent.tid);
                if *stack == RawStack::None {
                    *stack = told.unwrap_or_default();
                }
            }
            RawKind::Exit { task } => {
                self.waiting.remove(&task.tid);
                self.creating.remove(&task.tid);
            }
            _ => {}
        }
        self.reorder.push(event);
    }

    /// Hands on everything.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(RawEvent)) {
        self.reorder.finish(out);
    }

    /// The thread leaves its processor: what it waits for, and where.
    fn leave(
        &mut self,
        time: Time,
        task: KernelTask,
        blocking: Blocking,
    ) -> Option<(CallDefinition, RawStack)> {
        if matches!(blocking, Blocking::Runnable | Blocking::Dead) {
            self.blocked.remove(&task.tid);
            return None;
        }
        self.blocked.insert(task.tid, Blocked { since: time, is_woken: false });
        let waiting = self.waiting.get(&task.tid)?;
        Some((call(waiting.wait), waiting.stack.clone()))
    }

    /// The thread gets a processor: somebody has woken it, if it had blocked.
    fn come(&mut self, time: Time, cpu: u16, task: KernelTask) {
        let Some(blocked) = self.blocked.remove(&task.tid).filter(|blocked| !blocked.is_woken) else {
            return;
        };
        let Some(&DeclaredWait { wait, since, .. }) = self.waiting.get(&task.tid) else { return };
        let earliest = since.max(blocked.since - BEFORE_RELEASE.as_nanos() as u64);
        let release = self.releases.releaser(task, wait, earliest, time);
        // One before the wait began was for others: this thread stopped waiting for another reason.
        let release = release.filter(|release| release.time >= since);
        let (woken, waker, stack) = match release {
            Some(AgentRelease { time: released, task, stack, .. }) => {
                (released.max(blocked.since), RawWaker::Task(task, String::new()), stack)
            }
            None if wait.kind == WaitKind::Sleep => (time, RawWaker::Interrupt, RawStack::None),
            None => return,
        };
        let kind = RawKind::Wake { wakee: task, waker, call: None, stack };
        self.reorder.push(RawEvent { time: woken, cpu, kind });
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::FileKind;

    use super::super::files::DescriptorFile;
    use super::*;

    const LOCK: AgentWait = AgentWait {
        kind: WaitKind::Mutex,
        subject: 0x40,
        detail: 0,
        file: DescriptorFile { kind: FileKind::None, number: 0 },
    };

    fn task(tid: u32) -> KernelTask {
        KernelTask { pid: 1, tid }
    }

    fn at(time: u64) -> Time {
        Time::from_nanoseconds(time)
    }

    fn out_at(time: u64, tid: u32) -> RawEvent {
        let kind = RawKind::switch(Some(task(tid)), Blocking::Interruptible, None);
        RawEvent { time: at(time), cpu: 0, kind }
    }

    fn in_at(time: u64, tid: u32) -> RawEvent {
        let kind = RawKind::switch(None, Blocking::Runnable, Some(task(tid)));
        RawEvent { time: at(time), cpu: 0, kind }
    }

    fn waits(causes: &mut CauseInterpreter, time: u64, tid: u32, wait: AgentWait) {
        let told = AgentEvent::Waits { wait, stack: RawStack::Known(tid.into()) };
        causes.take(at(time), task(tid), told, &mut |_| panic!("too early"));
    }

    fn releases(causes: &mut CauseInterpreter, time: u64, tid: u32, wait: AgentWait) {
        let told = AgentEvent::Releases { wait, stack: RawStack::Known(tid.into()) };
        causes.take(at(time), task(tid), told, &mut |_| panic!("too early"));
    }

    fn pass(causes: &mut CauseInterpreter, event: RawEvent) {
        causes.pass(event, &mut |_| panic!("too early"));
    }

    fn all(mut causes: CauseInterpreter) -> Vec<RawEvent> {
        let mut out = Vec::new();
        causes.finish(&mut |event| out.push(event));
        assert!(out.is_sorted_by_key(|event| event.time));
        out
    }

    /// Times, wakees and wakers.
    fn wakes(causes: CauseInterpreter) -> Vec<(u64, u32, u32)> {
        let wake = |event: RawEvent| match event.kind {
            RawKind::Wake { wakee, waker: RawWaker::Task(waker, _), .. } => {
                Some((event.time.nanoseconds(), wakee.tid, waker.tid))
            }
            _ => None,
        };
        all(causes).into_iter().filter_map(wake).collect()
    }

    #[test]
    fn a_wait_for_a_lock_has_its_call_its_place_and_its_waker() {
        let mut causes = CauseInterpreter::default();
        waits(&mut causes, 10, 7, LOCK);
        pass(&mut causes, out_at(12, 7));
        releases(&mut causes, 50, 8, LOCK);
        pass(&mut causes, in_at(60, 7));
        let events = all(causes);
        let RawKind::Switch { call: Some(call), stack, .. } = &events[0].kind else { panic!("{events:?}") };
        assert_eq!((call.number, call.arguments[0], stack), (202, 0x40, &RawStack::Known(7)));
        let waker = RawWaker::Task(task(8), String::new());
        let wake = RawKind::Wake { wakee: task(7), waker, call: None, stack: RawStack::Known(8) };
        assert_eq!((events[1].time, &events[1].kind), (at(50), &wake));
        assert_eq!(events.len(), 3);
    }

    #[test]
    fn a_thread_that_has_to_wait_for_the_lock_again_is_woken_again() {
        let mut causes = CauseInterpreter::default();
        waits(&mut causes, 10, 7, LOCK);
        for (out, release, come) in [(12, 50, 60), (70, 90, 95)] {
            pass(&mut causes, out_at(out, 7));
            releases(&mut causes, release, 8, LOCK);
            pass(&mut causes, in_at(come, 7));
        }
        assert_eq!(wakes(causes), [(50, 7, 8), (90, 7, 8)]);
    }

    #[test]
    fn what_the_kernel_told_is_left_alone() {
        let mut causes = CauseInterpreter::default();
        waits(&mut causes, 10, 7, LOCK);
        pass(&mut causes, out_at(12, 7));
        releases(&mut causes, 50, 8, LOCK);
        let kind =
            RawKind::Wake { wakee: task(7), waker: RawWaker::Interrupt, call: None, stack: RawStack::None };
        pass(&mut causes, RawEvent { time: at(55), cpu: 0, kind });
        pass(&mut causes, in_at(60, 7));
        assert_eq!(wakes(causes), []);
    }

    #[test]
    fn a_wait_that_nobody_is_known_to_have_ended_has_no_waker() {
        let mut causes = CauseInterpreter::default();
        releases(&mut causes, 5, 8, LOCK);
        waits(&mut causes, 10, 7, LOCK);
        pass(&mut causes, out_at(12, 7));
        pass(&mut causes, in_at(60, 7));
        let told = AgentEvent::Done { granted: false };
        causes.take(at(61), task(7), told, &mut |_| panic!("too early"));
        // Outside of any wait nothing is known at all.
        pass(&mut causes, out_at(70, 7));
        releases(&mut causes, 75, 8, LOCK);
        pass(&mut causes, in_at(80, 7));
        assert_eq!(wakes(causes), []);
    }

    #[test]
    fn a_wait_whose_end_was_lost_explains_no_later_one() {
        let mut causes = CauseInterpreter::default();
        waits(&mut causes, 10, 7, LOCK);
        causes.take(at(20), task(7), AgentEvent::Gap, &mut |_| panic!("too early"));
        pass(&mut causes, out_at(30, 7));
        let events = all(causes);
        assert!(matches!(events[0].kind, RawKind::Switch { call: None, .. }), "{events:?}");
    }

    #[test]
    fn a_signal_before_the_thread_blocked_again_did_not_end_that_wait() {
        const CONDITION: AgentWait = AgentWait { kind: WaitKind::Condition, subject: 0x80, ..LOCK };
        let mut causes = CauseInterpreter::default();
        waits(&mut causes, 0, 7, CONDITION);
        pass(&mut causes, out_at(1_000_000, 7));
        releases(&mut causes, 2_000_000, 8, CONDITION);
        pass(&mut causes, in_at(2_010_000, 7));
        // It has to wait for the condition's mutex.
        pass(&mut causes, out_at(5_000_000, 7));
        pass(&mut causes, in_at(9_000_000, 7));
        assert_eq!(wakes(causes), [(2_000_000, 7, 8)]);
    }

    #[test]
    fn a_new_thread_begins_where_its_creator_called() {
        let mut causes = CauseInterpreter::default();
        let told = AgentEvent::Creates { key: 1, stack: RawStack::Known(3) };
        causes.take(at(5), task(7), told, &mut |_| panic!("too early"));
        let kind = RawKind::Fork { parent: task(7), child: task(8), stack: RawStack::None };
        pass(&mut causes, RawEvent { time: at(6), cpu: 0, kind });
        let events = all(causes);
        assert!(matches!(events[0].kind, RawKind::Fork { stack: RawStack::Known(3), .. }), "{events:?}");
    }

    #[test]
    fn events_are_handed_on_when_nothing_can_come_before_them() {
        let mut causes = CauseInterpreter::default();
        pass(&mut causes, out_at(10, 7));
        let mut out = Vec::new();
        causes.pass(out_at(1_000_000_000, 8), &mut |event| out.push(event));
        assert_eq!(out, [out_at(10, 7)]);
    }
}
