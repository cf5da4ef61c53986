//! Busy-waits as waits: a thread that spins waits as if it was blocked. Where it told what for, it waits up to where it runs,
//! or is woken after it blocked, whether or not it loses its processor meanwhile.
//!
//! ```text
//!   states            running | spinning for m | ready | spinning | blocked | ready | running
//!   as waits          running | blocked ································ | ready | running
//!
//!   states            running | spinning | ready | spinning | running
//!   as waits          running | blocked  | ready | blocked  | running
//! ```
//! Constant time per item; two bits per thread.

use longpole_event::ThreadId;
use longpole_trace::{Cause, State};

use crate::wait_ends::goes_on;

/// Follows the busy-waits of all threads.
#[derive(Debug, Default)]
pub(crate) struct SpinWaits {
    per_thread: Vec<SpinThread>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SpinThread {
    /// It is about to wait for an object.
    awaits: bool,
    spins: bool,
    /// It told what for.
    is_told: bool,
}

impl SpinWaits {
    fn of_thread(&mut self, thread: ThreadId) -> &mut SpinThread {
        if thread.index() >= self.per_thread.len() {
            self.per_thread.resize(thread.index() + 1, SpinThread::default());
        }
        &mut self.per_thread[thread.index()]
    }

    /// The thread is about to wait for an object.
    pub fn begin_wait(&mut self, thread: ThreadId) {
        self.of_thread(thread).awaits = true;
    }

    /// A change of state as waits have it: the state before and the new one. `None`: the thread waits on.
    pub fn enter(&mut self, thread: ThreadId, before: State, state: State) -> Option<(State, State)> {
        const WAITING: State = State::Blocked(Cause::Other);
        let of_thread = self.of_thread(thread);
        let awaits = std::mem::take(&mut of_thread.awaits);
        if of_thread.is_told && !awaits && goes_on(before, state) {
            return None;
        }
        let before = if of_thread.spins { WAITING } else { before };
        of_thread.spins = state == State::Spinning;
        of_thread.is_told = of_thread.spins && awaits;
        Some((before, if of_thread.spins { WAITING } else { state }))
    }
}
