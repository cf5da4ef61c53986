//! Semaphores. They belong to nobody, so there is no hold.
//!
//! A wait is a cancellation point even where the semaphore is positive, so it is not tried first: only its value is
//! looked at. Where that changes just then, a short wait goes untold, or one is told that was none.

use core::ffi::{c_int, c_void};

use libc::timespec;
use longpole_ring::WaitKind;

use super::{missing, wait};
use crate::real::Real;
use crate::thread::Me;
use crate::{frame, hooks};

const KIND: WaitKind = WaitKind::Semaphore;

/// Whether a wait would go on at once.
#[inline(always)]
unsafe fn is_positive(semaphore: *mut c_void) -> bool {
    type Value = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int) -> c_int;
    #[cfg_attr(feature = "preload", unsafe(link_section = "longpole_real"))]
    static VALUE: Real = Real::new(c"sem_getvalue");
    let mut value = 0;
    // SAFETY: the type is the function's own, and the caller gives a semaphore.
    unsafe { VALUE.function::<Value>().is_some_and(|read| read(semaphore, &raw mut value) == 0 && value > 0) }
}

hooks! {
    /// Waits until it is positive, and takes one.
    fn sem_wait(semaphore: *mut c_void) -> c_int, else missing(), |real| {
        if unsafe { is_positive(semaphore) } {
            return unsafe { real(semaphore) };
        }
        wait!(KIND, semaphore, 0, real(semaphore), granted |result| result == 0)
    }

    /// Waits, but only until a time.
    fn sem_timedwait(semaphore: *mut c_void, until: *const timespec) -> c_int, else missing(), |real| {
        if unsafe { is_positive(semaphore) } {
            return unsafe { real(semaphore, until) };
        }
        wait!(KIND, semaphore, 0, real(semaphore, until), granted |result| result == 0)
    }

    /// The same by a chosen clock.
    fn sem_clockwait(semaphore: *mut c_void, clock: c_int, until: *const timespec) -> c_int, else missing(), |real| {
        if unsafe { is_positive(semaphore) } {
            return unsafe { real(semaphore, clock, until) };
        }
        wait!(KIND, semaphore, 0, real(semaphore, clock, until), granted |result| result == 0)
    }

    /// Adds one.
    fn sem_post(semaphore: *mut c_void) -> c_int, else missing(), |real| {
        if let Some(me) = Me::get() {
            me.releases_if_awaited(KIND, semaphore as u64, 1, frame!());
        }
        unsafe { real(semaphore) }
    }
}
