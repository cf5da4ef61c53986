//! Waits for a time, and for signals.

use core::ffi::{c_int, c_uint, c_void};

use libc::{siginfo_t, timespec};
use longpole_ring::WaitKind;

use super::{c11::ERROR, missing, wait_outside};
use crate::hooks;

const SLEEP: WaitKind = WaitKind::Sleep;
const SIGNAL: WaitKind = WaitKind::Signal;

hooks! {
    /// Sleeps.
    fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int, else missing(), |real| {
        wait_outside!(SLEEP, 0, if |_| true, real(time, left))
    }

    /// Sleeps by a chosen clock.
    fn clock_nanosleep(clock: c_int, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int, else libc::ENOSYS, |real| {
        wait_outside!(SLEEP, 0, if |_| true, real(clock, flags, time, left))
    }

    /// Sleeps so many microseconds.
    fn usleep(microseconds: c_uint) -> c_int, else missing(), |real| {
        wait_outside!(SLEEP, 0, if |_| microseconds != 0, real(microseconds))
    }

    /// Sleeps so many seconds.
    fn sleep(seconds: c_uint) -> c_uint, else seconds, |real| {
        wait_outside!(SLEEP, 0, if |_| seconds != 0, real(seconds))
    }

    /// Sleeps, by its C11 name.
    fn thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int, else -(ERROR), |real| {
        wait_outside!(SLEEP, 0, if |_| true, real(time, left))
    }

    /// Waits for a signal that is handled.
    fn pause() -> c_int, else missing(), |real| {
        wait_outside!(SIGNAL, 0, if |_| true, real())
    }

    /// The same with another signal mask.
    fn sigsuspend(mask: *const c_void) -> c_int, else missing(), |real| {
        wait_outside!(SIGNAL, 0, if |_| true, real(mask))
    }

    /// Takes a signal.
    fn sigwait(set: *const c_void, signal: *mut c_int) -> c_int, else libc::ENOSYS, |real| {
        wait_outside!(SIGNAL, 0, if |_| true, real(set, signal))
    }

    /// Takes a signal with what is known of it.
    fn sigwaitinfo(set: *const c_void, information: *mut siginfo_t) -> c_int, else missing(), |real| {
        wait_outside!(SIGNAL, 0, if |_| true, real(set, information))
    }

    /// The same, but only for a time.
    fn sigtimedwait(set: *const c_void, information: *mut siginfo_t, limit: *const timespec) -> c_int, else missing(), |real| {
        wait_outside!(SIGNAL, 0, if |_| true, real(set, information, limit))
    }
}
