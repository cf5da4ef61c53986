//! What a thread that begins to wait waits for.

use longpole_event::{ThreadId, Time};

use super::Transitions;
use crate::census::{Identity, Wait};
use crate::observer::Observer;
use crate::paths::PathId;
use crate::state::Cause;
use crate::subject::{Subject, Which, is_for_something};
use crate::timeline::What;

impl Transitions<'_> {
    /// The thread is about to wait for this.
    pub(super) fn await_object(
        &mut self,
        thread: ThreadId,
        time: Time,
        (cause, wait, path): (Cause, Option<Wait>, Option<PathId>),
        observer: &mut impl Observer,
    ) {
        self.threads[thread.index()].awaits = None;
        if is_for_something(cause)
            && let Some(object) = observer.awaited(wait, path)
        {
            self.threads[thread.index()].awaits = wait.map(|wait| (object, wait.writes));
            self.emit(thread, time, What::Await(object), observer);
        }
    }

    /// What the thread waits for, in the ids of the recording.
    pub(super) fn wait(&self, thread: ThreadId, time: Time, subject: Subject) -> Wait {
        let process = self.sources.processes[thread.index()];
        let tenants = self.sources.tenants;
        let told = match subject.which {
            Which::Word(word) => self.sources.primitives.at(process, word),
            _ => None,
        };
        if let Some(wait) = told.and_then(Wait::told) {
            return wait;
        }
        let identity = match subject.which {
            Which::Word(address) => Some(Identity::Word(process, address)),
            Which::Thread(tid) => tenants.thread(process, tid, time).map(Identity::Thread),
            Which::Process(pid) => tenants.process(pid, time).map(Identity::Process),
            Which::File(number) => Some(Identity::File(number)),
            Which::Queue(number) => Some(Identity::Queue(number)),
            Which::Memory => Some(Identity::Memory(process)),
            Which::Place => None,
        };
        Wait { process, kind: subject.kind, identity, writes: subject.writes, is_told: false }
    }
}
