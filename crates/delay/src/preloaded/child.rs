//! Functions of the C library that this one replaces: threads that are started and end, and masks of signals.

use core::ffi::{c_int, c_void};
use core::mem;
use core::ptr;

use super::backtrace;
use super::sampling::{is_active, is_followed};
use super::thread_words::thread_words;
use super::virtual_clock;

type StartRoutine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const c_void, StartRoutine, *mut c_void) -> c_int;

/// What a new thread runs.
struct StartedThread {
    routine: StartRoutine,
    argument: *mut c_void,
    /// Whether the procedure starts it.
    is_inside: bool,
    /// What the starting thread has behind it of the inserted delays.
    carried: u64,
}

extern "C-unwind" fn begin(own: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below allocated it for this thread alone.
    let StartedThread { routine, argument, is_inside, carried } = unsafe {
        let started = ptr::read(own.cast());
        libc::free(own);
        started
    };
    thread_words().is_started_inside.set(u64::from(is_inside));
    virtual_clock::begin_thread(carried);
    let result = routine(argument);
    // Before another thread joins this one.
    virtual_clock::pause();
    result
}

/// Creates a thread: one that the procedure starts is slowed too, and each has the delays behind it that its creator has.
///
/// # Safety
/// As the function of this name.
#[cfg_attr(all(feature = "preload", not(test)), unsafe(no_mangle))]
#[allow(dead_code)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const c_void,
    routine: StartRoutine,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the text ends with a zero.
    let real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
    if real.is_null() {
        return libc::EAGAIN;
    }
    // SAFETY: the function's own type.
    let real: Create = unsafe { mem::transmute(real) };
    let is_inside =
        is_followed() && (thread_words().is_started_inside.get() == 1 || backtrace::holds_procedure());
    virtual_clock::pause();
    let own: *mut StartedThread = if is_inside || virtual_clock::is_running() {
        // SAFETY: a plain allocation.
        unsafe { libc::malloc(size_of::<StartedThread>()) }.cast()
    } else {
        ptr::null_mut()
    };
    if own.is_null() {
        // SAFETY: the caller's.
        return unsafe { real(thread, attributes, routine, argument) };
    }
    // SAFETY: allocated above; the thread frees it, or this where there is none.
    unsafe {
        own.write(StartedThread { routine, argument, is_inside, carried: virtual_clock::carried_now() });
        let result = real(thread, attributes, begin, own.cast());
        if result != 0 {
            libc::free(own.cast());
        }
        result
    }
}

/// Ends the calling thread: others may wait for that.
///
/// # Safety
/// As the function of this name.
#[cfg_attr(all(feature = "preload", not(test)), unsafe(no_mangle))]
#[allow(dead_code)]
unsafe extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    virtual_clock::pause();
    // SAFETY: the text ends with a zero, and the type is the function's own.
    unsafe {
        let real = libc::dlsym(libc::RTLD_NEXT, c"pthread_exit".as_ptr());
        let real: unsafe extern "C-unwind" fn(*mut c_void) -> ! = mem::transmute(real);
        real(result)
    }
}

/// Ends the process without its last procedures: another may wait for that.
///
/// # Safety
/// As the function of this name.
#[cfg_attr(all(feature = "preload", not(test)), unsafe(no_mangle))]
#[allow(dead_code)]
unsafe extern "C" fn _exit(status: c_int) -> ! {
    virtual_clock::end_process();
    loop {
        // SAFETY: ends the process.
        unsafe { super::system::call(libc::SYS_exit_group, [status as usize, 0, 0, 0]) };
    }
}

/// Changes the mask without blocking SIGTRAP, nor the two signals that the C library keeps for itself; an error number, negated.
unsafe fn change_mask(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> isize {
    let mut wanted: u64;
    let mut set = set.cast::<u64>();
    if !set.is_null() {
        // SAFETY: the caller's set, of at least 64 signals.
        wanted = unsafe { set.read_unaligned() };
        if how != libc::SIG_UNBLOCK {
            wanted &= !(1 << 31 | 1 << 32);
            if is_active() {
                wanted &= !(1 << (libc::SIGTRAP - 1));
            }
        }
        set = &raw const wanted;
    }
    let arguments = [how as usize, set as usize, old as usize, size_of::<u64>()];
    // SAFETY: both sets have 8 bytes.
    unsafe { super::system::call(libc::SYS_rt_sigprocmask, arguments) }
}

/// Changes the thread's mask of signals.
///
/// # Safety
/// As the function of this name.
#[cfg_attr(all(feature = "preload", not(test)), unsafe(no_mangle))]
#[allow(dead_code)]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's.
    -(unsafe { change_mask(how, set, old) } as c_int)
}

/// Changes the thread's mask of signals.
///
/// # Safety
/// As the function of this name.
#[cfg_attr(all(feature = "preload", not(test)), unsafe(no_mangle))]
#[allow(dead_code)]
unsafe extern "C" fn sigprocmask(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    // SAFETY: the caller's; `errno` is the thread's own.
    unsafe {
        let result = change_mask(how, set, old);
        if result < 0 {
            *libc::__errno_location() = -(result as c_int);
            return -1;
        }
        0
    }
}
