//! Barriers.
//!
//! Which thread arrives last is not known before it does: every thread waits, and the last one's wait is the
//! shortest. So every arrival may be what lets the others go.

use core::ffi::{c_int, c_void};

use longpole_ring::WaitKind;

use crate::thread::CurrentThread;
use crate::{frame, hooks};

const KIND: WaitKind = WaitKind::Barrier;

hooks! {
    /// Arrives, and waits for the others.
    fn pthread_barrier_wait(barrier: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        let Some(me) = CurrentThread::get() else { return unsafe { real(barrier) } };
        let (at, subject) = (frame!(), barrier as u64);
        me.releases(KIND, subject, 0, at);
        me.waits(KIND, subject, 0, at);
        let result = unsafe { real(barrier) };
        me.goes_on(subject, true);
        result
    }
}
