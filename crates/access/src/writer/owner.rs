//! Which stream a thread writes.

use core::cell::Cell;
use core::sync::atomic::{Ordering, compiler_fence};

use super::stream::ThreadStream;

/// A thread's stream, as it is found in the thread's own words.
#[repr(C)]
pub struct StreamOwner {
    /// Null where the thread has none.
    pub stream: Cell<*mut ThreadStream>,
    /// The library is at work in this thread: what a signal handler does now is not recorded.
    pub busy: Cell<u64>,
}

impl StreamOwner {
    /// Runs this with the stream, unless the library is at work in it already.
    #[inline(always)]
    pub fn with(&self, write: impl FnOnce(&mut ThreadStream)) {
        let stream = self.stream.get();
        if stream.is_null() || self.busy.get() != 0 {
            return;
        }
        self.busy.set(1);
        compiler_fence(Ordering::SeqCst);
        write(unsafe { &mut *stream });
        compiler_fence(Ordering::SeqCst);
        self.busy.set(0);
    }
}
