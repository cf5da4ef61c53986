//! Who ended whose wait for an end, where no wake was recorded.
//!
//! ```text
//!   A  pthread_join ............................ switch-in     perf closes the records of a thread before
//!   B  ══════════════════ exit  (wake of A)                    the thread's end wakes the one that joins it
//! ```
//! A thread that waited for the end of another and goes on was woken by the latest end before that, if that
//! end came while it waited.

use longpole_event::{ProcessId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::state::Cause;

/// The latest ends.
#[derive(Debug, Default)]
pub(crate) struct ExitWakes {
    /// Of a thread, by its process.
    threads: FxHashMap<ProcessId, (ThreadId, Time)>,
    /// Of a child process, by the process that created it.
    children: FxHashMap<ProcessId, (ThreadId, Time)>,
    parents: FxHashMap<ProcessId, ProcessId>,
}

impl ExitWakes {
    /// A process was created by another.
    pub(crate) fn begin(&mut self, child: ProcessId, parent: ProcessId) {
        if child != parent {
            self.parents.insert(child, parent);
        }
    }

    /// A thread ended.
    pub(crate) fn end(&mut self, thread: ThreadId, process: ProcessId, time: Time) {
        self.threads.insert(process, (thread, time));
        if let Some(&parent) = self.parents.get(&process) {
            self.children.insert(parent, (thread, time));
        }
    }

    /// Whose end a thread of `process` was waiting for since then.
    pub(crate) fn since(&self, cause: Cause, process: ProcessId, since: Time) -> Option<(ThreadId, Time)> {
        let latest = match cause {
            // Without the caller of the futex a join is not known for one.
            Cause::Join | Cause::Futex => self.threads.get(&process),
            Cause::Child => self.children.get(&process),
            _ => None,
        };
        latest.copied().filter(|&(_, end)| end >= since)
    }
}
