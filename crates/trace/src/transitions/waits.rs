//! What a thread that begins to wait waits for.

use longpole_event::{Blocking, CallDefinition, PrimitiveId, StackId, ThreadId, Time};

use super::{AwaitedObject, StackReason, Transitions};
use crate::cause::{StackHints, cause};
use crate::census::{BegunWait, Identity};
use crate::objects::ObjectKind;
use crate::observer::{Observer, ReplayAnomaly};
use crate::paths::PathId;
use crate::primitives::KnownPrimitive;
use crate::spin_tails::FlagWait;
use crate::stacks::PathCut;
use crate::state::{Cause, State};
use crate::subject::{SubjectIdentity, WaitSubject, is_for_something, subject};
use crate::timeline::{DependenceKind, ItemKind, ObservationKind};

impl Transitions<'_> {
    /// The thread is about to wait for this.
    pub(super) fn await_object(
        &mut self,
        thread: ThreadId,
        time: Time,
        (cause, wait, path): (Cause, Option<BegunWait>, Option<PathId>),
        observer: &mut impl Observer,
    ) {
        self.threads[thread.index()].awaits = None;
        if is_for_something(cause)
            && let Some(object) = observer.awaited(wait, path)
        {
            self.threads[thread.index()].awaits = wait.map(|wait| AwaitedObject {
                object,
                writes: wait.writes,
                is_stream: matches!(wait.kind, ObjectKind::Pipe | ObjectKind::Socket),
            });
            self.emit(thread, time, ItemKind::Await(object), observer);
        }
    }

    /// Who wrote what the thread waits for.
    pub(super) fn written(
        &mut self,
        thread: ThreadId,
        time: Time,
        (writer, stack): (ThreadId, Option<StackId>),
        observer: &mut impl Observer,
    ) {
        let Some(live) = self.threads.get(writer.index()) else {
            observer.count(ReplayAnomaly::Contradiction);
            return;
        };
        let path = observer.path(live.prefix, (stack, PathCut::Stripped));
        let writer = self.global(writer);
        self.emit(thread, time, ItemKind::Written { writer, path }, observer);
    }

    /// The thread spun until now, when the other one wrote what it spun for. A thread that tells of its waits itself knows better.
    pub(super) fn freed(
        &mut self,
        thread: ThreadId,
        time: Time,
        (by, primitive, stack): (ThreadId, PrimitiveId, Option<StackId>),
        observer: &mut impl Observer,
    ) {
        let live = &self.threads[thread.index()];
        let (path, is_on_cpu) = (live.path, live.state.is_on_cpu());
        let spins = is_on_cpu || live.state == State::Ready;
        if live.inside.is_some() || !spins || by.index() >= self.threads.len() {
            return;
        }
        if stack.is_some() && self.threads[by.index()].state.is_on_cpu() {
            self.observe(by, time, (stack, StackReason::Acting), observer);
        }
        let wait = self.flag(primitive);
        // Where all who wait came to it by writing it, it is a barrier.
        if let Some(word) = self.word_of(primitive) {
            self.leave_round(thread, time, word, observer);
            self.inferred_wakers.last_arrival(thread);
        }
        // Only the survey counts it.
        let _ = observer.awaited(wait, Some(path));
        observer.freed(thread, time, FlagWait { primitive, path });
        // What it spun, until now or until it lost its processor, was spent there.
        self.look(thread, time, (path, ObservationKind::Site), observer);
        let (source, kind) = (self.global(by), DependenceKind::Signal);
        self.emit(thread, time, ItemKind::Depend { source, source_time: time, kind }, observer);
        self.depart(thread, time, observer);
        if is_on_cpu {
            self.enter_processor(thread, time, observer);
        }
    }

    /// A busy-wait begins whose end is known.
    pub(super) fn begin_flag_wait(
        &mut self,
        thread: ThreadId,
        time: Time,
        FlagWait { primitive, path }: FlagWait,
        observer: &mut impl Observer,
    ) {
        let before = std::mem::replace(&mut self.threads[thread.index()].path, path);
        self.look(thread, time, (before, ObservationKind::Estimate), observer);
        self.look(thread, time, (path, ObservationKind::Site), observer);
        self.await_object(thread, time, (Cause::Condition, self.flag(primitive), Some(path)), observer);
    }

    /// What threads spin for with this word: what it is the word of, where that is known.
    fn flag(&self, primitive: PrimitiveId) -> Option<BegunWait> {
        let primitives = self.sources.primitives;
        let flag = primitives.get(primitive)?;
        let known = flag.address.and_then(|address| primitives.at(flag.process, address));
        let kind = Some(flag.kind.unwrap_or(ObjectKind::Flag));
        known.and_then(BegunWait::told).or_else(|| BegunWait::told(&KnownPrimitive { kind, ..*flag }))
    }

    /// Tells which word the call waits for, where processes share it.
    pub(super) fn tell_shared(
        &self,
        thread: ThreadId,
        (blocking, call, hints): (Blocking, Option<&CallDefinition>, StackHints),
        observer: &mut impl Observer,
    ) {
        let found = subject(cause(blocking, call, hints), call, hints);
        if let Some(SubjectIdentity::Shared(word, number)) = found.map(|subject| subject.which) {
            let process = self.sources.processes[thread.index()];
            let primitive = self.sources.primitives.at(process, word);
            let address = primitive.and_then(|primitive| primitive.address).unwrap_or(word);
            observer.shared((process, address), number);
        }
    }

    /// What the thread waits for, in the ids of the recording.
    pub(super) fn wait(&self, thread: ThreadId, time: Time, subject: WaitSubject) -> BegunWait {
        let process = self.sources.processes[thread.index()];
        let id_owners = self.sources.id_owners;
        let told = match subject.which {
            SubjectIdentity::Word(word) | SubjectIdentity::Shared(word, _) => {
                self.sources.primitives.at(process, word)
            }
            _ => None,
        };
        if let Some(wait) = told.and_then(BegunWait::told) {
            return wait;
        }
        let identity = match subject.which {
            SubjectIdentity::Word(address) | SubjectIdentity::Shared(address, _) => {
                Some(Identity::Word(process, address))
            }
            SubjectIdentity::Thread(tid) => id_owners.thread(process, tid, time).map(Identity::Thread),
            SubjectIdentity::Process(pid) => id_owners.process(pid, time).map(Identity::Process),
            SubjectIdentity::File(number) => Some(Identity::File(number)),
            SubjectIdentity::Queue(number) => Some(Identity::Queue(number)),
            SubjectIdentity::Memory => Some(Identity::Memory(process)),
            SubjectIdentity::Place => None,
        };
        BegunWait { process, kind: subject.kind, identity, writes: subject.writes, is_told: false }
    }
}
