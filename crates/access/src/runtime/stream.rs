//! The calling thread's stream.

use core::ptr;

use super::thread_local::words;
pub use crate::writer::stream::*;

/// Gives the calling thread a stream.
pub fn begin(thread: u32) -> *mut ThreadStream {
    let words = words();
    if !is_on() || words.is_off.get() != 0 {
        return ptr::null_mut();
    }
    let stream = create(thread);
    if stream.is_null() {
        words.is_off.set(1);
    }
    words.owner.stream.set(stream);
    stream
}

/// Runs this with the calling thread's stream, unless the library is at work in it already.
#[inline(always)]
pub fn with(write: impl FnOnce(&mut ThreadStream)) {
    words().owner.with(write);
}
