//! Wakes: who let a blocked thread go on.
//!
//! ```text
//!   A   ........ runs, waits: in the kernel |switched off
//!   B   ............ unlocks, wakes A ·         the wake is told before the switch: A is ready as soon as it is off its processor
//! ```

use longpole_event::{CallDefinition, CallId, StackId, ThreadId, Time, Waker};

use super::{AwaitedObject, LiveThread, StackReason, Transitions};
use crate::cause::{dependence, is_poll, sends};
use crate::connections::CarriedWake;
use crate::observer::{Observer, ReplayAnomaly};
use crate::state::{Cause, State};
use crate::timeline::{DependenceKind, ItemKind};

/// What ends a wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitEnd {
    /// The wake's number, from 0.
    wake: u64,
    waker: Waker,
    call: Option<CallId>,
    /// What the waker does, where it was not seen already.
    stack: Option<StackId>,
    /// When it did it.
    time: Time,
}

impl Transitions<'_> {
    /// The thread was made runnable.
    pub(super) fn wake(
        &mut self,
        thread: ThreadId,
        time: Time,
        (waker, call, stack): (Waker, Option<CallId>, Option<StackId>),
        observer: &mut impl Observer,
    ) {
        let live = &mut self.threads[thread.index()];
        let wake = live.wakes;
        live.wakes += 1;
        if self.sources.known[thread.index()].early_wakes.get(live.next_early) == Some(&wake) {
            live.next_early += 1;
            live.woken_early = Some(WaitEnd { wake, waker, call, stack: None, time });
            if let Waker::Thread(waker) = waker
                && self.threads.get(waker.index()).is_some_and(|waker| waker.state.is_on_cpu())
            {
                self.observe(waker, time, (stack, StackReason::Acting), observer);
            }
            return;
        }
        let enabler = match waker {
            Waker::Thread(waker) if self.is_enabled_by(thread, waker) => Some(waker),
            _ => None,
        };
        if let Some(waker) = enabler {
            self.enable_inside(thread, time, (waker, stack), observer);
            return;
        }
        self.end_wait(thread, time, WaitEnd { wake, waker, call, stack, time }, observer);
    }

    /// The cause of a wait that the thread begins now, by what ends it: a timer, or data that was held back.
    pub(super) fn by_its_end(&self, thread: ThreadId, cause: Cause, call: Option<&CallDefinition>) -> Cause {
        let live = &self.threads[thread.index()];
        let wake = live.woken_early.map_or(live.wakes, |end| end.wake);
        let known = &self.sources.known[thread.index()];
        let is_among = |wakes: &[u64]| wakes.binary_search(&wake).is_ok();
        match cause {
            Cause::Poll if is_among(&known.timer_wakes) => Cause::PollTimeout,
            Cause::Pipe | Cause::Socket if is_poll(call) && is_among(&known.timer_wakes) => {
                Cause::PollTimeout
            }
            Cause::Socket | Cause::Poll if is_among(&known.delivery_wakes) => Cause::Delivery,
            _ => cause,
        }
    }

    /// The thread is off its processor. It may have been woken already.
    pub(super) fn wake_early(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        if let Some(end) = self.threads[thread.index()].woken_early.take() {
            self.end_wait(thread, time, end, observer);
        }
    }

    fn end_wait(&mut self, thread: ThreadId, time: Time, end: WaitEnd, observer: &mut impl Observer) {
        let WaitEnd { wake, waker, call, .. } = end;
        let State::Blocked(cause) = self.threads[thread.index()].state else {
            // It goes on without having been off its processor, or was woken twice: it was never kept waiting.
            return;
        };
        let carried = self.carried_wake(thread, wake);
        if self.wake_in_call(thread, time, observer) {
            return;
        }
        let source = match waker {
            Waker::Thread(waker) => Some(waker),
            Waker::SoftInterrupt(waker) if carried.is_none() && sends(self.call(call)) => Some(waker),
            _ => None,
        };
        let source = source.filter(|&waker| waker != thread && waker.index() < self.threads.len());
        match (source, waker) {
            (Some(source), _) if self.ends_killed(source, call) => {}
            (Some(source), _) => self.depend((thread, cause), time, (source, end), observer),
            (None, _) if carried.is_some() => self.depend_elsewhere(thread, time, carried, observer),
            (None, Waker::Interrupt | Waker::HardInterrupt | Waker::SoftInterrupt(_)) => {
                observer.count(ReplayAnomaly::InterruptWake);
                self.find_stop(thread, time, wake, observer);
                self.find_end(thread, time, wake, observer);
            }
            (None, Waker::Outside(_)) => observer.count(ReplayAnomaly::OutsideWake),
            (None, _) => self.woken_unseen(thread, time, observer),
        }
        self.interrupt_inside(thread);
        self.enter(thread, time, State::Ready, observer);
    }

    /// Who wrote on another machine what the thread is woken for now, by what it reads then.
    fn carried_wake(&self, thread: ThreadId, wake: u64) -> Option<CarriedWake> {
        self.sources.sent.wakes.get(&(self.global(thread), wake)).copied()
    }

    /// A thread of another machine ended the thread's wait.
    fn depend_elsewhere(
        &self,
        thread: ThreadId,
        time: Time,
        carried: Option<CarriedWake>,
        observer: &mut impl Observer,
    ) {
        let Some(CarriedWake { source, time: sent }) = carried else { return };
        let (source_time, kind) = (sent.min(time), DependenceKind::Message);
        let waited = source_time.since(self.threads[thread.index()].since);
        observer.waited_for((source, self.global(thread)), waited);
        self.emit(thread, time, ItemKind::Depend { source, source_time, kind }, observer);
    }

    /// The thread's wait is over, and nobody was seen to end it.
    pub(super) fn woken_unseen(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        if self.wake_in_call(thread, time, observer) {
            return;
        }
        if self.enabled_inside(thread, time, observer) {
            return;
        }
        let LiveThread { state: State::Blocked(cause), since, .. } = self.threads[thread.index()] else {
            return;
        };
        let process = self.sources.processes[thread.index()];
        match self.ends.since(cause, process, since) {
            Some((source, source_time)) if source != thread => {
                let (source, kind) = (self.global(source), DependenceKind::Join);
                self.emit(thread, time, ItemKind::Depend { source, source_time, kind }, observer);
            }
            _ => observer.count(ReplayAnomaly::UnmatchedWake),
        }
    }

    fn depend(
        &mut self,
        (thread, cause): (ThreadId, Cause),
        time: Time,
        (source, end): (ThreadId, WaitEnd),
        observer: &mut impl Observer,
    ) {
        if end.time == time && self.threads[source.index()].state.is_on_cpu() {
            self.observe(source, time, (end.stack, StackReason::Acting), observer);
        }
        if let Some(AwaitedObject { object, writes, .. }) = self.threads[thread.index()].awaits {
            observer.provided(object, writes, self.sources.processes[source.index()]);
        }
        let (waker, kind) = (source, dependence(cause));
        let source = self.global(waker);
        if matches!(cause, Cause::Pipe | Cause::Socket | Cause::Delivery | Cause::Poll) {
            let waited = time.since(self.threads[thread.index()].since);
            observer.waited_for((source, self.global(thread)), waited);
        }
        self.emit(thread, time, ItemKind::Depend { source, source_time: end.time, kind }, observer);
        if cause == Cause::Barrier {
            self.wake_at_barrier(thread, time, waker, observer);
        }
    }
}
