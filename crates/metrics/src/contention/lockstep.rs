//! Lockstep: threads of which one goes on when the other one waits.
//!
//! ```text
//!   reader  read ==|.........| read ==|.........|     ready, filled: the reader's waits are ended by the writer, whose own last
//!   writer  .......| pack ===|........| pack ===|     wait the reader had ended. One buffer for both lets neither work ahead.
//! ```
//! A wait was in lockstep if the thread that ended it had itself last waited for the one that waited. Waits for what excludes others do
//! not count: they are in whatever order.

use longpole_event::ThreadId;
use longpole_trace::ObjectId;

use super::Waiters;

impl Waiters<'_> {
    /// Notes that the thread's wait for an object, so long, was ended by another one.
    pub(super) fn step(&mut self, thread: ThreadId, (object, waited): (ObjectId, u64), by: ThreadId) {
        if let Some((ender, with)) = self.of_thread(by).let_on
            && ender == thread
        {
            let of_object = &mut self.found.objects[object.index()];
            of_object.in_lockstep += waited;
            of_object.lockstep_with = with.or(of_object.lockstep_with);
        }
        self.of_thread(thread).let_on = Some((by, Some(object)));
    }

    /// The same of a wait for nothing that is known, as for any of many files.
    pub(super) fn step_unknown(&mut self, thread: ThreadId, by: ThreadId) {
        self.of_thread(thread).let_on = Some((by, None));
    }
}
