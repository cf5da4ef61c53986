//! Locks that are waited for by spinning.

use core::ffi::{c_int, c_void};

use longpole_ring::WaitKind;

use super::{acquire, release, try_to_acquire};
use crate::hooks;
use crate::real::NextFunction;

const KIND: WaitKind = WaitKind::SpinLock;

#[inline(always)]
unsafe fn attempt(lock: *mut c_void) -> c_int {
    type SpinTryLock = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
    #[cfg_attr(feature = "locks", unsafe(link_section = "longpole_real"))]
    static TRY: NextFunction = NextFunction::new(c"pthread_spin_trylock");
    // SAFETY: the type is the function's own, and the caller gives a lock.
    unsafe { TRY.function::<SpinTryLock>().map_or(libc::EBUSY, |attempt| attempt(lock)) }
}

hooks! {
    /// Locks.
    fn pthread_spin_lock(lock: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        acquire!(KIND, lock, busy libc::EBUSY, try attempt(lock), wait real(lock))
    }

    /// Locks if it is free.
    fn pthread_spin_trylock(lock: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        try_to_acquire!(KIND, lock, real(lock))
    }

    /// Unlocks.
    fn pthread_spin_unlock(lock: *mut c_void) -> c_int, else libc::ENOSYS, |real| {
        release!(KIND, lock, real(lock))
    }
}
