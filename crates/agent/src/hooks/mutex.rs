//! Mutexes.

use core::ffi::{c_int, c_void};

use libc::timespec;
use longpole_ring::WaitKind;

use super::{acquire, is_clock, release, try_to_acquire};
use crate::hooks;
use crate::real::NextFunction;

const KIND: WaitKind = WaitKind::Mutex;

type MutexTryLock = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// Tries the lock; `EBUSY` where it has to be waited for.
#[inline(always)]
unsafe fn attempt(mutex: *mut c_void) -> c_int {
    #[cfg_attr(feature = "locks", unsafe(link_section = "longpole_real"))]
    static TRY: NextFunction = NextFunction::new(c"pthread_mutex_trylock");
    // SAFETY: the type is the function's own, and the caller gives a mutex.
    unsafe { TRY.function::<MutexTryLock>().map_or(libc::EBUSY, |attempt| attempt(mutex)) }
}

hooks! {
    /// Locks.
    fn pthread_mutex_lock(mutex: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        acquire!(KIND, mutex, busy libc::EBUSY, try attempt(mutex), wait real(mutex))
    }

    /// Locks if it is free.
    fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        try_to_acquire!(KIND, mutex, real(mutex))
    }

    /// Locks, but waits only until a time.
    fn pthread_mutex_timedlock(mutex: *mut c_void, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        acquire!(KIND, mutex, busy libc::EBUSY, try attempt(mutex), wait real(mutex, until))
    }

    /// The same by a chosen clock.
    fn pthread_mutex_clocklock(mutex: *mut c_void, clock: c_int, until: *const timespec) -> c_int, else libc::ENOSYS, |real| {
        if !is_clock(clock) {
            return unsafe { real(mutex, clock, until) };
        }
        acquire!(KIND, mutex, busy libc::EBUSY, try attempt(mutex), wait real(mutex, clock, until))
    }

    /// Unlocks.
    fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        release!(KIND, mutex, real(mutex))
    }
}
