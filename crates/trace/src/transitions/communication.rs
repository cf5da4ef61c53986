//! Calls that pass messages: a thread waits in one up to where another process comes, whatever the message library does
//! meanwhile (it polls, yields its processor, or blocks); the rest of the call is work.
//!
//! ```text
//!   call       |Communicate                                Communicated|
//!   state       spinning  ready  spinning  blocked |  running
//!   plan        ─────────── waits for rank 1 ──────┴ rank 1 entered its send
//! ```

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use longpole_event::{StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::announced_waits::AnnouncedWait;
use super::{StackReason, Transitions};
use crate::census::{BegunWait, Identity};
use crate::messages::{PlannedCall, PlannedToken, dependence_kind};
use crate::observer::Observer;
use crate::state::State;
use crate::timeline::{Acquisition, DependenceKind, ItemKind, TokenId};

/// Where the threads are among their planned calls.
#[derive(Debug, Default)]
pub(super) struct Communication {
    threads: Vec<CallProgress>,
    /// When waits will be over.
    due: BTreeSet<(Time, ThreadId)>,
    meetings: OngoingMeetings,
}

/// Tokens of collective operations that go on, and how many calls acquire them yet: of all machines together, whose members meet.
#[derive(Clone, Debug, Default)]
pub(crate) struct OngoingMeetings(Rc<RefCell<FxHashMap<PlannedToken, (TokenId, u32)>>>);

impl Communication {
    pub(super) fn of(meetings: OngoingMeetings) -> Communication {
        Communication { meetings, ..Communication::default() }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct CallProgress {
    /// Calls that it has entered.
    entered: u64,
    /// Planned calls before the one that it is in, or comes to next.
    planned: usize,
    /// It is in that one.
    is_in: bool,
    /// It has what it needs to go on in it.
    has_acquired: bool,
}

impl<'a> Transitions<'a> {
    fn progress(&mut self, thread: ThreadId) -> &mut CallProgress {
        let threads = &mut self.communication.threads;
        if thread.index() >= threads.len() {
            threads.resize(thread.index() + 1, CallProgress::default());
        }
        &mut threads[thread.index()]
    }

    /// The planned call that the thread is in.
    fn planned(&mut self, thread: ThreadId) -> Option<&'a PlannedCall> {
        let CallProgress { planned, is_in, .. } = *self.progress(thread);
        let calls = self.sources.calls_planned;
        calls.of(self.global(thread)).get(planned).filter(|_| is_in)
    }

    /// The thread enters a call.
    pub(super) fn communicate(
        &mut self,
        thread: ThreadId,
        time: Time,
        stack: Option<StackId>,
        observer: &mut impl Observer,
    ) {
        self.communicated(thread, time, observer);
        self.speak(thread, time, observer);
        let path = stack.map(|_| self.observe(thread, time, (stack, StackReason::Acting), observer));
        let global = self.global(thread);
        let progress = self.progress(thread);
        let ordinal = progress.entered;
        progress.entered += 1;
        let planned = progress.planned;
        let calls = self.sources.calls_planned;
        let is_in = calls.of(global).get(planned).is_some_and(|call| call.ordinal == ordinal);
        let progress = self.progress(thread);
        (progress.is_in, progress.has_acquired) = (is_in, false);
        self.release_planned(thread, time, observer);
        let Some(wait) = self.planned(thread).and_then(|call| call.wait) else { return };
        let begun = BegunWait {
            process: self.sources.processes[thread.index()],
            kind: wait.kind,
            identity: Some(Identity::Messages(wait.communicator, wait.peer)),
            writes: false,
            is_told: true,
        };
        let cause = wait.kind.cause();
        self.await_object(thread, time, (cause, Some(begun), path), observer);
        self.threads[thread.index()].inside = Some(AnnouncedWait::for_message(time, begun, path));
        if let Some((release, _)) = wait.release {
            self.communication.due.insert((release, thread));
        }
        self.enter_processor(thread, time, observer);
    }

    /// The thread leaves the call that it is in.
    pub(super) fn communicated(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let Some(call) = self.planned(thread) else { return };
        self.speak(thread, time, observer);
        if let Some((release, _)) = call.wait.and_then(|wait| wait.release) {
            self.communication.due.remove(&(release, thread));
            self.end_message_wait(thread, time, observer);
        } else if self.threads[thread.index()].inside.is_some_and(|inside| inside.is_for_message()) {
            self.threads[thread.index()].inside = None;
            self.enter_processor(thread, time, observer);
        }
        self.acquire_planned(thread, time, observer);
        for message in &call.earlier {
            let (source, source_time, kind) = (message.source, message.time.min(time), message.kind);
            self.emit(thread, time, ItemKind::Depend { source, source_time, kind }, observer);
        }
        let progress = self.progress(thread);
        (progress.is_in, progress.planned) = (false, progress.planned + 1);
    }

    /// The thread has come to a collective operation.
    fn release_planned(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let Some(call) = self.planned(thread) else { return };
        let acquirers = &self.sources.calls_planned.acquirers;
        for &planned in &call.releases {
            let meetings = self.communication.meetings.clone();
            let (token, _) = *meetings
                .0
                .borrow_mut()
                .entry(planned)
                .or_insert_with(|| (self.tokens.make(), acquirers.get(&planned).copied().unwrap_or(0)));
            self.emit(thread, time, ItemKind::Release(token), observer);
        }
    }

    /// All others that the operation needs have come to it.
    fn acquire_planned(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let Some(call) = self.planned(thread) else { return };
        if std::mem::replace(&mut self.progress(thread).has_acquired, true) {
            return;
        }
        for planned in &call.acquires {
            let meetings = self.communication.meetings.clone();
            let mut ongoing = meetings.0.borrow_mut();
            let Some((token, left)) = ongoing.get_mut(planned) else { continue };
            *left = left.saturating_sub(1);
            let (token, last) = (*token, *left == 0);
            if last {
                ongoing.remove(planned);
            }
            drop(ongoing);
            let object = self.threads[thread.index()].awaits.map(|awaits| awaits.object);
            let acquisition = Acquisition { token, kind: DependenceKind::Barrier, object, queue: None, last };
            self.emit(thread, time, ItemKind::Acquire(acquisition), observer);
        }
    }

    /// When the next wait for a message is over.
    pub(crate) fn next_release(&self) -> Option<Time> {
        self.communication.due.first().map(|&(time, _)| time)
    }

    /// The next wait for a message is over.
    pub(crate) fn release_next(&mut self, observer: &mut impl Observer) {
        if let Some((time, thread)) = self.communication.due.pop_first() {
            self.end_message_wait(thread, time, observer);
        }
    }

    /// What the thread waits for in its call has come.
    fn end_message_wait(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let Some(inside) = self.threads[thread.index()].inside.filter(AnnouncedWait::is_for_message) else {
            return;
        };
        let state = self.threads[thread.index()].state;
        if let State::Blocked(_) = state {
            // It goes on when the system wakes it.
            if let Some(inside) = &mut self.threads[thread.index()].inside {
                inside.is_released = true;
            }
            return;
        }
        if state == State::Ready {
            // It is let go while it has no processor.
            self.enter(thread, time, State::Blocked(inside.cause()), observer);
        }
        observer.accounted(thread, time);
        if let Some(path) = inside.path() {
            self.look(thread, time, (path, crate::timeline::ObservationKind::Site), observer);
        }
        self.depend_on_message(thread, time, observer);
        self.threads[thread.index()].inside = None;
        if state == State::Ready {
            self.enter(thread, time, State::Ready, observer);
        } else {
            self.enter_processor(thread, time, observer);
        }
    }

    /// A thread that is blocked in its call is woken: by whom tells less than what it waits for.
    pub(super) fn wake_in_call(
        &mut self,
        thread: ThreadId,
        time: Time,
        observer: &mut impl Observer,
    ) -> bool {
        let Some(inside) = self.threads[thread.index()].inside.filter(AnnouncedWait::is_for_message) else {
            return false;
        };
        if inside.is_released {
            self.depend_on_message(thread, time, observer);
            self.threads[thread.index()].inside = None;
        }
        // It may only look, and wait on.
        self.threads[thread.index()].awaits = None;
        self.enter(thread, time, State::Ready, observer);
        true
    }

    /// A thread that was woken in its call, and waits on, gets a processor.
    pub(super) fn go_on_in_call(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        if let Some(inside) = self.threads[thread.index()].inside.filter(AnnouncedWait::is_for_message)
            && self.threads[thread.index()].awaits.is_none()
        {
            self.await_object(thread, time, (inside.cause(), inside.wait(), inside.path()), observer);
        }
    }

    fn depend_on_message(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let Some(wait) = self.planned(thread).and_then(|call| call.wait) else { return };
        let Some((source_time, source)) = wait.release else { return };
        let kind = dependence_kind(wait.kind);
        let source_time = source_time.min(time);
        self.emit(thread, time, ItemKind::Depend { source, source_time, kind }, observer);
        self.acquire_planned(thread, time, observer);
    }
}
