//! Lockstep: threads of which one goes on when the other one waits.
//!
//! ```text
//!   reader  read ==|.........| read ==|.........|     ready, filled: the reader's waits are ended by the writer, whose own last
//!   writer  .......| pack ===|........| pack ===|     wait the reader had ended. One buffer for both lets neither work ahead.
//! ```
//! A wait was in lockstep if the thread that ended it had been let go by the one that waited since it did so last: of a chain of threads that
//! pass requests on, and replies back, each waits for the next one in between. Waits for what excludes others do not count: they are in
//! whatever order.

use longpole_event::ThreadId;
use longpole_trace::ObjectId;

use super::Waiters;

/// Threads that let a thread go on, for which it has done nothing since: so many are kept.
const KEPT: usize = 4;

/// Who ended the last waits of a thread for what excludes nobody, and for what they were, where that is known.
#[derive(Clone, Debug, Default)]
pub(super) struct LetGoBy(Vec<(ThreadId, Option<ObjectId>)>);

impl LetGoBy {
    fn add(&mut self, by: ThreadId, object: Option<ObjectId>) {
        self.0.retain(|&(other, _)| other != by);
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push((by, object));
    }

    /// What the thread waited for that this one let it have since it did the same for this one.
    fn take(&mut self, by: ThreadId) -> Option<Option<ObjectId>> {
        let position = self.0.iter().position(|&(other, _)| other == by)?;
        Some(self.0.remove(position).1)
    }
}

impl Waiters<'_> {
    /// Notes that the thread's wait for an object, so long, was ended by another one.
    pub(super) fn step(&mut self, thread: ThreadId, (object, waited): (ObjectId, u64), by: ThreadId) {
        let taken = self.of_thread(by).let_go_by.take(thread);
        self.of_thread(thread).taken = taken.map(|with| (by, with));
        if let Some(with) = taken {
            let of_object = &mut self.found.objects[object.index()];
            of_object.in_lockstep += waited;
            of_object.lockstep_with = with.or(of_object.lockstep_with);
        }
        self.of_thread(thread).let_go_by.add(by, Some(object));
    }

    /// The thread waits again at once: it was let go for nothing, as who waits at a local socket for a reply is once the request is read.
    pub(super) fn step_back(&mut self, thread: ThreadId) {
        if let Some((by, with)) = self.of_thread(thread).taken.take() {
            self.of_thread(by).let_go_by.add(thread, with);
        }
    }

    /// As [`Self::step`], of a wait for nothing that is known, as for any of many files.
    pub(super) fn step_unknown(&mut self, thread: ThreadId, by: ThreadId) {
        self.of_thread(by).let_go_by.take(thread);
        self.of_thread(thread).let_go_by.add(by, None);
    }
}
