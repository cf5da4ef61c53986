//! Condition variables.
//!
//! A wait releases the mutex and acquires it again: its hold ends before the wait and begins again after it, while the
//! critical section goes on. What of the wait was for the mutex only the kernel could tell.
//!
//! Every signal is an event, and every critical section of a mutex with which threads wait: a signal lets others go on
//! that come to their condition later.

use core::ffi::{c_int, c_void};

use libc::timespec;
use longpole_ring::{RingEventKind, WaitKind};

use super::c11::ERROR;
use crate::stack::HookFrame;
use crate::thread::CurrentThread;
use crate::{frame, hooks, monitors};

const KIND: WaitKind = WaitKind::Condition;

/// Before a wait: the mutex is about to be released.
#[inline(never)]
fn before(me: CurrentThread, condition: *mut c_void, mutex: *mut c_void, at: HookFrame) {
    me.monitors(mutex as u64);
    me.ends_hold(mutex as u64);
    me.releases_if_awaited(WaitKind::Mutex, mutex as u64, 0, at);
    me.waits(KIND, condition as u64, 0, at);
}

/// After a wait: the mutex is held again.
#[inline(never)]
fn after(me: CurrentThread, condition: *mut c_void, mutex: *mut c_void, at: HookFrame, result: c_int) {
    me.goes_on(condition as u64, result == 0);
    me.begins_hold(WaitKind::Mutex, mutex as u64, at.caller(), false);
    me.tell::<4>(RingEventKind::Waited, condition as u64, &[mutex as u64, u64::from(result == 0)]);
}

/// A signal (to one) or a broadcast (to all, 0).
#[inline(always)]
fn signals(condition: *mut c_void, most: u64, at: HookFrame) {
    if let Some(me) = CurrentThread::get() {
        let mutex = me.area().holds.innermost(WaitKind::Mutex as u8);
        if let Some(mutex) = mutex {
            me.monitors(mutex);
        }
        if !mutex.is_some_and(monitors::is_given_up) {
            me.tell::<3>(RingEventKind::Signals, condition as u64, &[u64::from(most == 0)]);
        }
        me.releases_if_awaited(KIND, condition as u64, most, at);
    }
}

/// The body of a hook that waits.
macro_rules! wait_with {
    ($condition:expr, $mutex:expr, $wait:expr) => {{
        let Some(me) = CurrentThread::get() else { return unsafe { $wait } };
        let at = frame!();
        before(me, $condition, $mutex, at);
        let result = unsafe { $wait };
        after(me, $condition, $mutex, at, result);
        result
    }};
}

hooks! {
    /// Waits.
    fn pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int, version c"GLIBC_2.3.2", else libc::ENOSYS, |real| {
        wait_with!(condition, mutex, real(condition, mutex))
    }

    /// Waits until a time.
    fn pthread_cond_timedwait(condition: *mut c_void, mutex: *mut c_void, until: *const timespec) -> c_int, version c"GLIBC_2.3.2", else libc::ENOSYS, |real| {
        wait_with!(condition, mutex, real(condition, mutex, until))
    }

    /// The same by a chosen clock.
    fn pthread_cond_clockwait(condition: *mut c_void, mutex: *mut c_void, clock: c_int, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        wait_with!(condition, mutex, real(condition, mutex, clock, until))
    }

    /// Lets one go on.
    fn pthread_cond_signal(condition: *mut c_void) -> c_int, version c"GLIBC_2.3.2", else libc::ENOSYS, |real| {
        signals(condition, 1, frame!());
        unsafe { real(condition) }
    }

    /// Lets all go on.
    fn pthread_cond_broadcast(condition: *mut c_void) -> c_int, version c"GLIBC_2.3.2", else libc::ENOSYS, |real| {
        signals(condition, 0, frame!());
        unsafe { real(condition) }
    }

    /// Waits, by its C11 name.
    fn cnd_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int, else ERROR, |real| {
        wait_with!(condition, mutex, real(condition, mutex))
    }

    /// Waits until a time, by its C11 name.
    fn cnd_timedwait(condition: *mut c_void, mutex: *mut c_void, until: *const timespec) -> c_int, else ERROR, |real| {
        wait_with!(condition, mutex, real(condition, mutex, until))
    }

    /// Lets one go on, by its C11 name.
    fn cnd_signal(condition: *mut c_void) -> c_int, else ERROR, |real| {
        signals(condition, 1, frame!());
        unsafe { real(condition) }
    }

    /// Lets all go on, by its C11 name.
    fn cnd_broadcast(condition: *mut c_void) -> c_int, else ERROR, |real| {
        signals(condition, 0, frame!());
        unsafe { real(condition) }
    }
}
