//! Locks with many readers or one writer.
//!
//! These look at their time limit before they look at the lock, and refuse one that is none even where the lock is free.

use core::ffi::{c_int, c_void};

use libc::timespec;
use longpole_ring::WaitKind;

use super::{acquire, is_clock, is_time, release, try_to_acquire};
use crate::hooks;
use crate::real::NextFunction;

const READ: WaitKind = WaitKind::ReadLock;
const WRITE: WaitKind = WaitKind::WriteLock;

type RwlockTryLock = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

#[inline(always)]
unsafe fn attempt_to_read(lock: *mut c_void) -> c_int {
    #[cfg_attr(feature = "locks", unsafe(link_section = "longpole_real"))]
    static TRY: NextFunction = NextFunction::new(c"pthread_rwlock_tryrdlock");
    // SAFETY: the type is the function's own, and the caller gives a lock.
    unsafe { TRY.function::<RwlockTryLock>().map_or(libc::EBUSY, |attempt| attempt(lock)) }
}

#[inline(always)]
unsafe fn attempt_to_write(lock: *mut c_void) -> c_int {
    #[cfg_attr(feature = "locks", unsafe(link_section = "longpole_real"))]
    static TRY: NextFunction = NextFunction::new(c"pthread_rwlock_trywrlock");
    // SAFETY: as above.
    unsafe { TRY.function::<RwlockTryLock>().map_or(libc::EBUSY, |attempt| attempt(lock)) }
}

hooks! {
    /// Locks to read.
    fn pthread_rwlock_rdlock(lock: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        acquire!(READ, lock, busy libc::EBUSY, try attempt_to_read(lock), wait real(lock))
    }

    /// Locks to read if that can be done at once.
    fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        try_to_acquire!(READ, lock, real(lock))
    }

    /// Locks to read, but waits only until a time.
    fn pthread_rwlock_timedrdlock(lock: *mut c_void, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        if !unsafe { is_time(until) } {
            return unsafe { real(lock, until) };
        }
        acquire!(READ, lock, busy libc::EBUSY, try attempt_to_read(lock), wait real(lock, until))
    }

    /// The same by a chosen clock.
    fn pthread_rwlock_clockrdlock(lock: *mut c_void, clock: c_int, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        if !is_clock(clock) || !unsafe { is_time(until) } {
            return unsafe { real(lock, clock, until) };
        }
        acquire!(READ, lock, busy libc::EBUSY, try attempt_to_read(lock), wait real(lock, clock, until))
    }

    /// Locks to write.
    fn pthread_rwlock_wrlock(lock: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        acquire!(WRITE, lock, busy libc::EBUSY, try attempt_to_write(lock), wait real(lock))
    }

    /// Locks to write if that can be done at once.
    fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        try_to_acquire!(WRITE, lock, real(lock))
    }

    /// Locks to write, but waits only until a time.
    fn pthread_rwlock_timedwrlock(lock: *mut c_void, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        if !unsafe { is_time(until) } {
            return unsafe { real(lock, until) };
        }
        acquire!(WRITE, lock, busy libc::EBUSY, try attempt_to_write(lock), wait real(lock, until))
    }

    /// The same by a chosen clock.
    fn pthread_rwlock_clockwrlock(lock: *mut c_void, clock: c_int, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        if !is_clock(clock) || !unsafe { is_time(until) } {
            return unsafe { real(lock, clock, until) };
        }
        acquire!(WRITE, lock, busy libc::EBUSY, try attempt_to_write(lock), wait real(lock, clock, until))
    }

    /// Unlocks.
    fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        release!(WRITE, lock, real(lock))
    }
}
