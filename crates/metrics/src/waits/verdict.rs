//! Which waits nobody wants explained (metrics.md §6); spare threads are told by [`super::company`].

use longpole_trace::Cause;

/// Why nobody wants a wait explained (metrics.md §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unwanted {
    /// It waited for the end of what it had started.
    Join,
    /// Something outside the program ended it: a timer, a user, another program.
    Outside,
    /// Another thread waited for the same work all the time.
    Spare,
    /// It lasted until the thread's end, or the run's, and was not for a lock.
    End,
    /// The thread is one that a runtime has for itself.
    Runtime,
}

/// Whether a wait is nine tenths of the run, or more.
pub(super) fn is_most(wait: u64, run: u64) -> bool {
    wait >= run - run / 10
}

/// Why nobody wants a wait explained, by its cause and whether a thread of the program ended it.
pub(super) fn unwanted(cause: Cause, is_released: bool) -> Option<Unwanted> {
    match cause {
        Cause::Join | Cause::Child => Some(Unwanted::Join),
        Cause::Signal | Cause::Stopped => Some(Unwanted::Outside),
        cause if cause.is_of_clock() => Some(Unwanted::Outside),
        Cause::Condition
        | Cause::Park
        | Cause::Futex
        | Cause::Message
        | Cause::Pipe
        | Cause::Socket
        | Cause::Poll
        | Cause::Terminal
            if !is_released =>
        {
            Some(Unwanted::Outside)
        }
        _ => None,
    }
}
