//! Wakes: who let a blocked thread go on.

use longpole_event::{CallId, StackId, ThreadId, Time, Waker};

use super::{LiveThread, StackReason, Transitions};
use crate::cause::{dependence, sends};
use crate::observer::{Observer, ReplayAnomaly};
use crate::state::{Cause, State};
use crate::timeline::{DependenceKind, ItemKind};

impl Transitions<'_> {
    /// The thread was made runnable.
    pub(super) fn wake(
        &mut self,
        thread: ThreadId,
        time: Time,
        (waker, call, stack): (Waker, Option<CallId>, Option<StackId>),
        observer: &mut impl Observer,
    ) {
        let enabler = match waker {
            Waker::Thread(waker) if self.is_enabled_by(thread, waker) => Some(waker),
            _ => None,
        };
        if let Some(waker) = enabler {
            self.enable_inside(thread, time, (waker, stack), observer);
            return;
        }
        let State::Blocked(cause) = self.threads[thread.index()].state else {
            // Woken before it got off its processor, or twice: it was never kept waiting.
            return;
        };
        if self.wake_in_call(thread, time, observer) {
            return;
        }
        let source = match waker {
            Waker::Thread(waker) => Some(waker),
            Waker::SoftInterrupt(waker) if sends(self.call(call)) => Some(waker),
            _ => None,
        };
        let source = source.filter(|&waker| waker != thread && waker.index() < self.threads.len());
        match (source, waker) {
            (Some(source), _) => self.depend(thread, time, (source, stack, cause), observer),
            (None, Waker::Interrupt | Waker::SoftInterrupt(_)) => {
                observer.count(ReplayAnomaly::InterruptWake)
            }
            (None, Waker::Outside(_)) => observer.count(ReplayAnomaly::OutsideWake),
            (None, _) => self.woken_unseen(thread, time, observer),
        }
        self.interrupt_inside(thread);
        self.enter(thread, time, State::Ready, observer);
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
        thread: ThreadId,
        time: Time,
        (source, stack, cause): (ThreadId, Option<StackId>, Cause),
        observer: &mut impl Observer,
    ) {
        if self.threads[source.index()].state.is_on_cpu() {
            self.observe(source, time, (stack, StackReason::Acting), observer);
        }
        if let Some((object, writes)) = self.threads[thread.index()].awaits {
            observer.provided(object, writes, self.sources.processes[source.index()]);
        }
        let (waker, kind) = (source, dependence(cause));
        let source = self.global(waker);
        self.emit(thread, time, ItemKind::Depend { source, source_time: time, kind }, observer);
        if cause == Cause::Barrier {
            self.wake_at_barrier(thread, time, waker, observer);
        }
    }
}
