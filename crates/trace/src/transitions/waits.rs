//! What a thread that begins to wait waits for.

use longpole_event::{StackId, ThreadId, Time};

use super::Transitions;
use crate::census::{BegunWait, Identity};
use crate::observer::{Observer, ReplayAnomaly};
use crate::paths::PathId;
use crate::stacks::PathCut;
use crate::state::Cause;
use crate::subject::{SubjectIdentity, WaitSubject, is_for_something};
use crate::timeline::ItemKind;

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
            self.threads[thread.index()].awaits = wait.map(|wait| (object, wait.writes));
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

    /// What the thread waits for, in the ids of the recording.
    pub(super) fn wait(&self, thread: ThreadId, time: Time, subject: WaitSubject) -> BegunWait {
        let process = self.sources.processes[thread.index()];
        let id_owners = self.sources.id_owners;
        let told = match subject.which {
            SubjectIdentity::Word(word) => self.sources.primitives.at(process, word),
            _ => None,
        };
        if let Some(wait) = told.and_then(BegunWait::told) {
            return wait;
        }
        let identity = match subject.which {
            SubjectIdentity::Word(address) => Some(Identity::Word(process, address)),
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
