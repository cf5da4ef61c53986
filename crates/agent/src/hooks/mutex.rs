//! Mutexes.
//!
//! A lock is tried first: what is free is acquired so, and only what is not free is a wait. For every type of mutex
//! a try that succeeds does what a lock does, and one that fails with `EBUSY` changes nothing.

use core::ffi::{c_int, c_void};

use libc::timespec;
use longpole_ring::WaitKind;

use crate::lifecycle::is_acquired;
use crate::real::Real;
use crate::thread::Me;
use crate::{frame, hooks};

const KIND: WaitKind = WaitKind::Mutex;

type Try = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

static TRY: Real = Real::new(c"pthread_mutex_trylock");

/// Tries the lock; `EBUSY` where it has to be waited for.
#[inline(always)]
unsafe fn attempt(mutex: *mut c_void) -> c_int {
    // SAFETY: the type is the function's own, and the caller gives a mutex.
    match unsafe { TRY.function::<Try>() } {
        Some(attempt) => unsafe { attempt(mutex) },
        None => libc::EBUSY,
    }
}

hooks! {
    /// Locks.
    fn pthread_mutex_lock(mutex: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        let Some(me) = Me::get() else { return unsafe { real(mutex) } };
        let (at, subject) = (frame!(), mutex as u64);
        let mut result = unsafe { attempt(mutex) };
        let contended = result == libc::EBUSY;
        if contended {
            me.waits(KIND, subject, 0, at);
            result = unsafe { real(mutex) };
            me.goes_on(subject, is_acquired(result));
        }
        if is_acquired(result) {
            me.took(KIND, subject, at.caller(), contended);
        }
        result
    }

    /// Locks if it is free.
    fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        let result = unsafe { real(mutex) };
        if is_acquired(result) && let Some(me) = Me::get() {
            me.took(KIND, mutex as u64, frame!().caller(), false);
        }
        result
    }

    /// Locks, but waits only until a time.
    fn pthread_mutex_timedlock(mutex: *mut c_void, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        let Some(me) = Me::get() else { return unsafe { real(mutex, until) } };
        let (at, subject) = (frame!(), mutex as u64);
        let mut result = unsafe { attempt(mutex) };
        let contended = result == libc::EBUSY;
        if contended {
            me.waits(KIND, subject, 0, at);
            result = unsafe { real(mutex, until) };
            me.goes_on(subject, is_acquired(result));
        }
        if is_acquired(result) {
            me.took(KIND, subject, at.caller(), contended);
        }
        result
    }

    /// The same by a chosen clock.
    fn pthread_mutex_clocklock(mutex: *mut c_void, clock: c_int, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        let Some(me) = Me::get() else { return unsafe { real(mutex, clock, until) } };
        let (at, subject) = (frame!(), mutex as u64);
        let mut result = unsafe { attempt(mutex) };
        let contended = result == libc::EBUSY;
        if contended {
            me.waits(KIND, subject, 0, at);
            result = unsafe { real(mutex, clock, until) };
            me.goes_on(subject, is_acquired(result));
        }
        if is_acquired(result) {
            me.took(KIND, subject, at.caller(), contended);
        }
        result
    }

    /// Unlocks.
    fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        if let Some(me) = Me::get() {
            let subject = mutex as u64;
            me.gives(subject);
            if me.is_awaited(subject) {
                me.releases(KIND, subject, frame!());
            }
        }
        unsafe { real(mutex) }
    }
}
