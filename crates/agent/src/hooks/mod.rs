//! The functions that the agent stands in for, by what they are about.
//!
//! Each hook passes the caller's arguments to the real function, under the caller's own promises about them: that is why
//! its calls are safe.
#![allow(clippy::undocumented_unsafe_blocks)]

pub mod barrier;
pub mod c11;
pub mod children;
pub mod condition;
pub mod descriptors;
pub mod executions;
pub mod futex;
pub mod instrumentation;
pub mod jumps;
pub mod limits;
pub mod messages;
pub mod mutex;
pub mod once;
pub mod polls;
pub mod processes;
pub mod rwlock;
pub mod semaphore;
pub mod spin_lock;
pub mod threads;
pub mod times;

use core::ffi::c_int;

use libc::timespec;

use crate::thread::CurrentThread;

/// Tries a lock, waits for it where it is taken, and notes the hold: the body of a hook.
///
/// For every kind of lock a try that succeeds does what a lock does, and one that finds it taken changes nothing.
/// The wait, which may unwind, stands in the hook itself.
macro_rules! acquire {
    ($kind:expr, $lock:expr, busy $busy:expr, try $attempt:expr, wait $wait:expr) => {{
        let Some(me) = $crate::thread::CurrentThread::get() else { return unsafe { $wait } };
        let (at, subject) = ($crate::frame!(), $lock as u64);
        let mut result = unsafe { $attempt };
        let contended = result == $busy;
        if contended {
            me.waits($kind, subject, 0, at);
            result = unsafe { $wait };
            me.goes_on(subject, $crate::lifecycle::is_acquired(result));
        }
        if $crate::lifecycle::is_acquired(result) {
            me.took($kind, subject, at.caller(), contended);
        }
        result
    }};
}

/// Notes the hold where a try succeeds: the body of a hook.
macro_rules! try_to_acquire {
    ($kind:expr, $lock:expr, $attempt:expr) => {{
        let result = unsafe { $attempt };
        if $crate::lifecycle::is_acquired(result)
            && let Some(me) = $crate::thread::CurrentThread::get()
        {
            me.took($kind, $lock as u64, $crate::frame!().caller(), false);
        }
        result
    }};
}

/// The end of a hold, told where somebody waits for it: the body of a hook.
macro_rules! release {
    ($kind:expr, $lock:expr, $release:expr) => {{
        if let Some(me) = $crate::thread::CurrentThread::get() {
            let subject = $lock as u64;
            me.gives(subject);
            me.releases_if_awaited($kind, subject, 0, $crate::frame!());
        }
        unsafe { $release }
    }};
}

/// A wait for something that threads of the program give each other: the body of a hook.
macro_rules! wait {
    ($kind:expr, $subject:expr, $detail:expr, $wait:expr, granted $granted:expr) => {{
        let Some(me) = $crate::thread::CurrentThread::get() else { return unsafe { $wait } };
        let subject = $subject as u64;
        me.waits($kind, subject, $detail, $crate::frame!());
        let result = unsafe { $wait };
        me.goes_on(subject, $granted(result));
        result
    }};
}

/// A wait for something from outside the program, told only to recorders who have no kernel to ask: the body of a
/// hook. Where `$may_wait` denies it the call is known not to wait.
macro_rules! wait_outside {
    ($kind:expr, $detail:expr, if $may_wait:expr, $wait:expr) => {{
        let Some(me) = $crate::hooks::told_waits().filter(|&me| $may_wait(me)) else {
            return unsafe { $wait };
        };
        me.waits_outside($kind, $detail as u32 as u64, $crate::frame!());
        let result = unsafe { $wait };
        me.goes_on_outside();
        result
    }};
}

pub(crate) use {acquire, release, try_to_acquire, wait, wait_outside};

/// The calling thread, where waits for what the kernel gives are to be told.
#[inline]
#[must_use]
pub fn told_waits() -> Option<CurrentThread> {
    if !crate::memory::header()?.tells_waits() {
        return None;
    }
    CurrentThread::get()
}

/// Sets `errno` to say that there is no such function, and gives the result that says so.
#[must_use]
#[cold]
pub fn missing() -> c_int {
    // SAFETY: the place is the calling thread's own.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

/// Whether a function that first looks at its time limit would take this one.
///
/// # Safety
/// `until` is null or a valid time, as the function that it was given to asks for.
#[must_use]
pub unsafe fn is_time(until: *const timespec) -> bool {
    // SAFETY: the caller's.
    until.is_null() || unsafe { (0..1_000_000_000).contains(&(*until).tv_nsec) }
}

/// Whether a lock can be waited for by this clock.
#[must_use]
pub fn is_clock(clock: c_int) -> bool {
    clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_MONOTONIC
}
