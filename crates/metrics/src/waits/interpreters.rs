//! Who has the lock of an interpreter.
//!
//! ```text
//!   A  ===== runs ==========|..  5 ms  ..|      it blocks: whoever looked last and runs has the lock
//!   B  |..  5 ms  ..|.. 5 ms ..====== runs      it looks after each time limit, and finds it free once
//! ```
//! Threads wait for such a lock with a time limit, ask its holder for it then, and wait again, or find that they have it: most such
//! waits are ended by nobody. What explains them is what the holder did meanwhile.
//!
//! It cannot see who takes the lock while it is free; until that thread lets another go on, its holder is not known.

use longpole_event::ThreadId;
use longpole_trace::ObjectId;
use rustc_hash::FxHashMap;

/// The locks of all interpreters. Constant time per wait; memory for each lock.
#[derive(Clone, Debug, Default)]
pub(super) struct InterpreterLocks {
    by_object: FxHashMap<ObjectId, InterpreterHolder>,
}

#[derive(Clone, Copy, Debug, Default)]
struct InterpreterHolder {
    holder: Option<ThreadId>,
    /// The last whose wait its time limit ended.
    asked: Option<ThreadId>,
}

impl InterpreterLocks {
    /// The thread begins to wait for the lock, and so has it no more.
    pub(super) fn begin_wait(
        &mut self,
        lock: ObjectId,
        thread: ThreadId,
        is_waiting: impl Fn(ThreadId) -> bool,
    ) {
        let known = self.by_object.entry(lock).or_default();
        if known.holder == Some(thread) {
            known.holder = known.asked.filter(|&asked| asked != thread && !is_waiting(asked));
        }
    }

    /// The thread's wait is over, as another thread gave it the lock, or without that.
    pub(super) fn end_wait(&mut self, lock: ObjectId, thread: ThreadId, is_released: bool) {
        let known = self.by_object.entry(lock).or_default();
        match is_released {
            true => known.holder = Some(thread),
            false => known.asked = Some(thread),
        }
    }

    /// Who has the lock, as far as that is known.
    pub(super) fn holder(&self, lock: ObjectId) -> Option<ThreadId> {
        self.by_object.get(&lock)?.holder
    }
}
