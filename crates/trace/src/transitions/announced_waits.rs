//! Waits that threads tell of themselves: exactly when one begins and ends, and what it is for.
//!
//! ```text
//!   events     Await              Out          Wake   In            Proceed
//!   state      |----- spinning ---|-- blocked --|ready|-- spinning --|  running
//!   object     Await(object)                                           the object's wait is over at the Wake
//! ```
//! The thread's word says that it waits, and for which primitive; the kernel's events say whether it is on a
//! processor meanwhile. Where the kernel's event shows that the thread is off its processor for something else (a page
//! fault, the mutex of a condition), that event is believed.

use longpole_event::{
    Blocking, BusyWaiting, CallDefinition, FileKind, PrimitiveId, ProcessId, StackId, ThreadId, Time,
};

use super::{StackReason, Transitions};
use crate::cause::{cause, dependence, futex};
use crate::census::{BegunWait, Identity};
use crate::observer::{Observer, ReplayAnomaly};
use crate::paths::PathId;
use crate::primitives::KnownPrimitive;
use crate::stacks::PathCut;
use crate::state::{Cause, State};
use crate::subject::subject;
use crate::timeline::{ItemKind, ObservationKind};

/// A wait that a thread told of.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnnouncedWait {
    primitive: Option<PrimitiveId>,
    since: Time,
    cause: Cause,
    wait: Option<BegunWait>,
    /// Where the thread waits, where that is known.
    path: Option<PathId>,
    /// Nothing has ended it, not even for a moment.
    is_first: bool,
    /// Who told last that the thread can go on, while it spun.
    enabled: Option<(ThreadId, Time)>,
    /// It is in a call that passes messages.
    in_call: bool,
    /// What it waits for in that call has come.
    pub(super) is_released: bool,
}

impl AnnouncedWait {
    /// A wait in a call that passes messages.
    pub(super) fn for_message(since: Time, wait: BegunWait, path: Option<PathId>) -> AnnouncedWait {
        let (cause, wait) = (wait.kind.cause(), Some(wait));
        AnnouncedWait {
            primitive: None,
            since,
            cause,
            wait,
            path,
            is_first: true,
            enabled: None,
            in_call: true,
            is_released: false,
        }
    }

    /// Whether it is in a call that passes messages.
    pub(super) fn is_for_message(&self) -> bool {
        self.in_call
    }

    pub(super) fn cause(&self) -> Cause {
        self.cause
    }

    pub(super) fn wait(&self) -> Option<BegunWait> {
        self.wait
    }

    pub(super) fn path(&self) -> Option<PathId> {
        self.path
    }

    /// The process and the address of what the wait is for.
    fn word(&self) -> Option<(ProcessId, u64)> {
        match self.wait?.identity? {
            Identity::Word(process, address) => Some((process, address)),
            _ => None,
        }
    }
}

impl Transitions<'_> {
    /// From now on the thread only waits.
    pub(super) fn begin_inside(
        &mut self,
        thread: ThreadId,
        time: Time,
        (primitive, stack): (Option<PrimitiveId>, Option<StackId>),
        observer: &mut impl Observer,
    ) {
        if self.threads[thread.index()].inside.is_some_and(|inside| inside.in_call) {
            return;
        }
        if self.threads[thread.index()].inside.is_some() {
            // It lost the end of its wait before.
            self.proceed(thread, time, observer);
        }
        self.speak(thread, time, observer);
        let path = stack.map(|_| self.observe(thread, time, (stack, StackReason::Acting), observer));
        let (cause, wait) = self.told(thread, time, (primitive, stack));
        self.await_object(thread, time, (cause, wait, path), observer);
        let inside = AnnouncedWait {
            primitive,
            since: time,
            cause,
            wait,
            path,
            is_first: true,
            enabled: None,
            in_call: false,
            is_released: false,
        };
        self.threads[thread.index()].inside = Some(inside);
        if let Some(word) = inside.word() {
            self.inferred_wakers.wait(word);
            if cause == Cause::Barrier {
                self.inferred_wakers.arrive(word, thread, time);
            }
        }
        self.enter_processor(thread, time, observer);
    }

    /// The thread says something: so it is on a processor, whether or not it was seen to get there. A collector that
    /// looks from time to time sees that later.
    pub(super) fn speak(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let state = self.threads[thread.index()].state;
        if !state.is_on_cpu() {
            self.switch_in(thread, time, observer);
            self.threads[thread.index()].came_unseen = state != State::Absent;
        }
    }

    /// The wait that the thread told of is over.
    pub(super) fn proceed(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        self.speak(thread, time, observer);
        if self.threads[thread.index()].inside.is_some_and(|inside| inside.in_call) {
            return;
        }
        let Some(inside) = self.threads[thread.index()].inside else {
            observer.count(ReplayAnomaly::Contradiction);
            return;
        };
        observer.accounted(thread, time);
        // What it spun was spent where it asked.
        if let Some(path) = inside.path {
            self.look(thread, time, (path, ObservationKind::Site), observer);
        }
        if inside.is_first {
            let is_matched = self.enabled_inside(thread, time, observer);
            // The last to arrive at a barrier waits for nobody.
            if !is_matched && inside.word().is_some() && inside.cause != Cause::Barrier {
                observer.count(ReplayAnomaly::UnmatchedWake);
            }
        }
        self.forget_inside(thread, time, observer);
        self.enter_processor(thread, time, observer);
    }

    /// A timer found the thread while it waits.
    pub(super) fn look_inside(
        &mut self,
        thread: ThreadId,
        time: Time,
        (stack, gap): (Option<StackId>, u32),
        observer: &mut impl Observer,
    ) {
        observer.observed(thread, time, stack, BusyWaiting::Work);
        let live = &mut self.threads[thread.index()];
        live.observed = true;
        live.path = observer.path(live.prefix, (stack, PathCut::Stripped));
        let path = live.path;
        if let Some(inside) = &mut live.inside {
            inside.path = Some(path);
        }
        self.look(thread, time, (path, ObservationKind::Sample { gap }), observer);
    }

    /// Whether what the thread told of its wait says better what it blocks for than the switch does.
    pub(super) fn is_told_inside(
        &self,
        thread: ThreadId,
        (blocking, call, stack): (Blocking, Option<&CallDefinition>, Option<StackId>),
    ) -> bool {
        let Some(inside) = self.threads[thread.index()].inside else { return false };
        if inside.in_call {
            return blocking == Blocking::Interruptible && call.is_none_or(|call| call.number >= 0);
        }
        let is_same = match call {
            Some(call) => {
                futex::word(call).is_some_and(|word| self.is_word_of(thread, &inside, (word, call, stack)))
            }
            None => {
                let seen = self.sources.stacks.hints(stack).kernel;
                blocking == Blocking::Interruptible && matches!(seen, None | Some(Cause::Futex))
            }
        };
        let is_told = inside.wait.is_some_and(|wait| wait.is_told);
        is_same && (is_told || (call.is_none() && stack.is_none()))
    }

    /// Whether the futex on which the thread blocks is one of what it told that it waits for.
    fn is_word_of(
        &self,
        thread: ThreadId,
        inside: &AnnouncedWait,
        (word, call, stack): (u64, &CallDefinition, Option<StackId>),
    ) -> bool {
        let primitives = self.sources.primitives;
        let Some(primitive) = inside.primitive.and_then(|id| primitives.get(id)) else { return false };
        // The word of a futex of unknown use may be the thread's own.
        if primitive.kind.is_none() || primitive.covers(word) {
            return true;
        }
        // A runtime's barrier waits on words of the runtime: what is seen of them must not tell another wait.
        let process = self.sources.processes[thread.index()];
        let seen = cause(Blocking::Interruptible, Some(call), self.sources.stacks.hints(stack));
        primitives.at(process, word).is_none() && (seen == inside.cause || seen == Cause::Futex)
    }

    /// The thread blocks in the wait that it told of.
    pub(super) fn block_inside(
        &mut self,
        thread: ThreadId,
        time: Time,
        stack: Option<StackId>,
        observer: &mut impl Observer,
    ) {
        let Some(inside) = self.threads[thread.index()].inside else { return };
        let path = match (stack, inside.path) {
            (Some(_), _) => Some(self.observe(thread, time, (stack, StackReason::Acting), observer)),
            (None, Some(path)) => {
                self.look(thread, time, (path, ObservationKind::Site), observer);
                Some(path)
            }
            (None, None) => {
                self.wait_somewhere(thread, time, observer);
                None
            }
        };
        let live = &mut self.threads[thread.index()];
        live.inside = Some(AnnouncedWait { path, ..inside });
        match (path, live.awaits) {
            _ if !inside.is_first => {
                self.await_object(thread, time, (inside.cause, inside.wait, path), observer);
            }
            (Some(path), Some(awaits)) if inside.path.is_none() => observer.located(awaits.object, path),
            _ => {}
        }
        self.enter(thread, time, State::Blocked(inside.cause), observer);
    }

    /// The thread has stopped being blocked: what it does now is another wait, though it is of the one that it told of.
    pub(super) fn interrupt_inside(&mut self, thread: ThreadId) {
        if let Some(inside) = &mut self.threads[thread.index()].inside {
            inside.is_first = false;
        }
    }

    /// Whether the other thread lets this one go on, which spins by its own word.
    pub(super) fn is_enabled_by(&self, thread: ThreadId, waker: ThreadId) -> bool {
        let live = &self.threads[thread.index()];
        let is_spinning = live.inside.is_some_and(|inside| inside.is_first) && live.state == State::Spinning;
        is_spinning && waker != thread && waker.index() < self.threads.len()
    }

    /// The other thread has told that this one, which spins, can go on.
    pub(super) fn enable_inside(
        &mut self,
        thread: ThreadId,
        time: Time,
        (waker, stack): (ThreadId, Option<StackId>),
        observer: &mut impl Observer,
    ) {
        if stack.is_some() && self.threads[waker.index()].state.is_on_cpu() {
            self.observe(waker, time, (stack, StackReason::Acting), observer);
        }
        if let Some(inside) = &mut self.threads[thread.index()].inside {
            inside.enabled = Some((waker, time));
        }
    }

    /// The thread stops waiting for what it told of; if others told who let it go on, that is a dependence.
    pub(super) fn enabled_inside(
        &mut self,
        thread: ThreadId,
        time: Time,
        observer: &mut impl Observer,
    ) -> bool {
        let live = &self.threads[thread.index()];
        let Some(inside) = live.inside else { return false };
        let Some(word) = inside.word() else { return false };
        let since = if inside.is_first { inside.since } else { live.since };
        let told = inside.enabled.filter(|_| inside.is_first);
        // Other members of a team release its barrier one after the other: all of them have arrived.
        if told.is_some() && inside.cause == Cause::Barrier {
            self.leave_round(thread, time, word, observer);
        }
        let enabler = match inside.cause {
            cause if told.is_some() => told.map(|(source, time)| (source, time, dependence(cause))),
            Cause::Lock => self.inferred_wakers.releaser(word, thread, since),
            Cause::Barrier => {
                self.leave_round(thread, time, word, observer);
                self.inferred_wakers.last_arrival(thread)
            }
            _ => None,
        };
        let is_barrier = inside.cause == Cause::Barrier;
        let is_matched = enabler.is_some();
        if let Some((source, source_time, kind)) = enabler {
            let source = self.global(source);
            self.emit(thread, time, ItemKind::Depend { source, source_time, kind }, observer);
        }
        if is_barrier {
            self.depart(thread, time, observer);
        }
        is_matched
    }

    /// The thread does not wait any more.
    pub(super) fn forget_inside(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let Some(inside) = self.threads[thread.index()].inside.take() else { return };
        if let Some(word) = inside.word() {
            self.inferred_wakers.stop(word);
            if inside.cause == Cause::Barrier {
                self.leave_round(thread, time, word, observer);
                self.inferred_wakers.last_arrival(thread);
                self.depart(thread, time, observer);
            }
        }
    }

    /// Why the thread waits, and for what, by its own word.
    fn told(
        &self,
        thread: ThreadId,
        time: Time,
        (primitive, stack): (Option<PrimitiveId>, Option<StackId>),
    ) -> (Cause, Option<BegunWait>) {
        let primitive = primitive.and_then(|id| self.sources.primitives.get(id));
        if let Some(wait) = primitive.and_then(BegunWait::told) {
            return (wait.kind.cause(), Some(wait));
        }
        let call = primitive.and_then(futex_wait);
        let hints = self.sources.stacks.hints(stack);
        let cause = cause(Blocking::Interruptible, call.as_ref(), hints);
        let wait = subject(cause, call.as_ref(), hints).map(|subject| self.wait(thread, time, subject));
        (cause, wait)
    }
}

/// The system call by which a thread would wait for a futex of unknown use.
fn futex_wait(primitive: &KnownPrimitive) -> Option<CallDefinition> {
    const FUTEX: i32 = 202;
    const WAIT_PRIVATE: u64 = 128;
    let arguments = [primitive.address?, WAIT_PRIVATE, 0];
    Some(CallDefinition { number: FUTEX, arguments, file: FileKind::None })
}
