//! Which threads hold the lock whose holds are to take longer, or virtually less.

use super::interposed::Opaque;
use super::module::is_inside;
use super::sampling::memory;
use super::thread_words::thread_words;
use crate::layout::DelayScope;

/// Whether the lock at this address is the one that is looked at.
fn is_it(lock: Opaque) -> bool {
    memory().is_some_and(|memory| memory.scope == DelayScope::HOLDING) && is_inside(lock as u64)
}

/// The calling thread has the lock.
pub(super) fn begin(lock: Opaque) {
    if is_it(lock) {
        let holds = &thread_words().holds;
        holds.set(holds.get() + 1);
    }
}

/// The calling thread gives the lock back.
pub(super) fn end(lock: Opaque) {
    if is_it(lock) {
        let holds = &thread_words().holds;
        holds.set(holds.get().saturating_sub(1));
    }
}
