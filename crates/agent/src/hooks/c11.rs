//! Mutexes by their C11 names. Their results are other numbers.

use core::ffi::{c_int, c_void};

use libc::timespec;
use longpole_ring::WaitKind;

use super::{acquire, release, try_to_acquire};
use crate::hooks;
use crate::real::NextFunction;

/// `thrd_busy`.
const BUSY: c_int = 1;
/// `thrd_error`.
pub const ERROR: c_int = 2;

const KIND: WaitKind = WaitKind::Mutex;

#[inline(always)]
unsafe fn attempt(mutex: *mut c_void) -> c_int {
    type C11TryLock = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
    #[cfg_attr(feature = "locks", unsafe(link_section = "longpole_real"))]
    static TRY: NextFunction = NextFunction::new(c"mtx_trylock");
    // SAFETY: the type is the function's own, and the caller gives a mutex.
    unsafe { TRY.function::<C11TryLock>().map_or(BUSY, |attempt| attempt(mutex)) }
}

hooks! {
    /// Locks.
    fn mtx_lock(mutex: *mut c_void) -> c_int, else ERROR, |real| {
        acquire!(KIND, mutex, busy BUSY, try attempt(mutex), wait real(mutex))
    }

    /// Locks if it is free.
    fn mtx_trylock(mutex: *mut c_void) -> c_int, else ERROR, |real| {
        try_to_acquire!(KIND, mutex, real(mutex))
    }

    /// Locks, but waits only until a time.
    fn mtx_timedlock(mutex: *mut c_void, until: *const timespec) -> c_int, else ERROR, |real| {
        acquire!(KIND, mutex, busy BUSY, try attempt(mutex), wait real(mutex, until))
    }

    /// Unlocks.
    fn mtx_unlock(mutex: *mut c_void) -> c_int, else ERROR, |real| {
        release!(KIND, mutex, real(mutex))
    }
}
