//! Condition variables.
//!
//! A wait releases the mutex and acquires it again: its hold ends before the wait and begins anew after it. What of
//! the wait was for the mutex only the kernel could tell.

use core::ffi::{c_int, c_void};

use libc::timespec;
use longpole_ring::WaitKind;

use crate::stack::Frame;
use crate::thread::Me;
use crate::{frame, hooks};

const KIND: WaitKind = WaitKind::Condition;

/// Before a wait: the mutex is about to be released.
fn before(me: Me, condition: *mut c_void, mutex: *mut c_void, at: Frame) {
    me.gives(mutex as u64);
    if me.is_awaited(mutex as u64) {
        me.releases(WaitKind::Mutex, mutex as u64, at);
    }
    me.waits(KIND, condition as u64, 0, at);
}

/// After a wait: the mutex is held again.
fn after(me: Me, condition: *mut c_void, mutex: *mut c_void, at: Frame, result: c_int) {
    me.goes_on(condition as u64, result == 0);
    me.took(WaitKind::Mutex, mutex as u64, at.caller(), false);
}

/// A signal or a broadcast.
fn signals(condition: *mut c_void, at: Frame) {
    if let Some(me) = Me::get()
        && me.is_awaited(condition as u64)
    {
        me.releases(KIND, condition as u64, at);
    }
}

hooks! {
    /// Waits.
    fn pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int, version c"GLIBC_2.3.2", else libc::ENOSYS, |real| {
        let Some(me) = Me::get() else { return unsafe { real(condition, mutex) } };
        let at = frame!();
        before(me, condition, mutex, at);
        let result = unsafe { real(condition, mutex) };
        after(me, condition, mutex, at, result);
        result
    }

    /// Waits until a time.
    fn pthread_cond_timedwait(condition: *mut c_void, mutex: *mut c_void, until: *const timespec) -> c_int, version c"GLIBC_2.3.2", else libc::ENOSYS, |real| {
        let Some(me) = Me::get() else { return unsafe { real(condition, mutex, until) } };
        let at = frame!();
        before(me, condition, mutex, at);
        let result = unsafe { real(condition, mutex, until) };
        after(me, condition, mutex, at, result);
        result
    }

    /// The same by a chosen clock.
    fn pthread_cond_clockwait(condition: *mut c_void, mutex: *mut c_void, clock: c_int, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        let Some(me) = Me::get() else { return unsafe { real(condition, mutex, clock, until) } };
        let at = frame!();
        before(me, condition, mutex, at);
        let result = unsafe { real(condition, mutex, clock, until) };
        after(me, condition, mutex, at, result);
        result
    }

    /// Lets one go on.
    fn pthread_cond_signal(condition: *mut c_void) -> c_int, version c"GLIBC_2.3.2", else libc::ENOSYS, |real| {
        signals(condition, frame!());
        unsafe { real(condition) }
    }

    /// Lets all go on.
    fn pthread_cond_broadcast(condition: *mut c_void) -> c_int, version c"GLIBC_2.3.2", else libc::ENOSYS, |real| {
        signals(condition, frame!());
        unsafe { real(condition) }
    }
}
