//! Semaphores. They belong to nobody, so there is no hold. Every post and every take is an event: the one lets the other
//! go on whether or not it waited.
//!
//! A wait is a cancellation point even where the semaphore is positive, so it is not tried first: only its value is
//! looked at. Where that changes just then, a short wait goes untold, or one is told that was none.

use core::ffi::{c_int, c_uint, c_void};

use libc::timespec;
use longpole_ring::{RingEventKind, WaitKind};

use super::missing;
use crate::real::NextFunction;
use crate::thread::CurrentThread;
use crate::{frame, hooks};

const KIND: WaitKind = WaitKind::Semaphore;

/// Whether a wait would go on at once.
#[inline(always)]
unsafe fn is_positive(semaphore: *mut c_void) -> bool {
    type SemaphoreGetValue = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int) -> c_int;
    #[cfg_attr(feature = "locks", unsafe(link_section = "longpole_real"))]
    static VALUE: NextFunction = NextFunction::new(c"sem_getvalue");
    let mut value = 0;
    // SAFETY: the type is the function's own, and the caller gives a semaphore.
    unsafe {
        VALUE
            .function::<SemaphoreGetValue>()
            .is_some_and(|read| read(semaphore, &raw mut value) == 0 && value > 0)
    }
}

/// One was taken.
#[inline(never)]
fn took(semaphore: *mut c_void) {
    if let Some(me) = CurrentThread::get() {
        me.tell::<2>(RingEventKind::Takes, semaphore as u64, &[]);
    }
}

/// Waits for one: a part of the body of a hook.
macro_rules! wait_for {
    ($semaphore:expr, $wait:expr) => {
        match CurrentThread::get() {
            None => unsafe { $wait },
            Some(me) => {
                let subject = $semaphore as u64;
                me.waits(KIND, subject, 0, frame!());
                let result = unsafe { $wait };
                me.goes_on(subject, result == 0);
                result
            }
        }
    };
}

/// Waits until it is positive, and takes one: the body of a hook.
macro_rules! take {
    ($semaphore:expr, $wait:expr) => {{
        let result =
            if unsafe { is_positive($semaphore) } { unsafe { $wait } } else { wait_for!($semaphore, $wait) };
        if result == 0 {
            took($semaphore);
        }
        result
    }};
}

hooks! {
    /// Gives it its first count.
    fn sem_init(semaphore: *mut c_void, shared: c_int, count: c_uint) -> c_int, else missing(), |real| {
        let result = unsafe { real(semaphore, shared, count) };
        if result == 0 && let Some(me) = CurrentThread::get() {
            me.tell::<3>(RingEventKind::Initialises, semaphore as u64, &[count.into()]);
        }
        result
    }

    /// Waits until it is positive, and takes one.
    fn sem_wait(semaphore: *mut c_void) -> c_int, else missing(), |real| {
        take!(semaphore, real(semaphore))
    }

    /// Takes one if it is positive.
    fn sem_trywait(semaphore: *mut c_void) -> c_int, else missing(), |real| {
        let result = unsafe { real(semaphore) };
        if result == 0 {
            took(semaphore);
        }
        result
    }

    /// Waits, but only until a time.
    fn sem_timedwait(semaphore: *mut c_void, until: *const timespec) -> c_int, else missing(), |real| {
        take!(semaphore, real(semaphore, until))
    }

    /// The same by a chosen clock.
    fn sem_clockwait(semaphore: *mut c_void, clock: c_int, until: *const timespec) -> c_int, else missing(), |real| {
        take!(semaphore, real(semaphore, clock, until))
    }

    /// Adds one.
    fn sem_post(semaphore: *mut c_void) -> c_int, else missing(), |real| {
        if let Some(me) = CurrentThread::get() {
            me.tell::<3>(RingEventKind::Posts, semaphore as u64, &[1]);
            me.releases_if_awaited(KIND, semaphore as u64, 1, frame!());
        }
        unsafe { real(semaphore) }
    }
}
