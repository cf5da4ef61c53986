//! Limits and filters that a process sets for itself: before they come the agent makes itself small.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::missing;
use crate::thread::CurrentThread;
use crate::{hooks, memory};

/// The agent's part of the address space is given back, if that is what will be limited.
fn before_limit(resource: c_uint, limit: *const c_void) {
    if resource == libc::RLIMIT_AS && !limit.is_null() {
        memory::shrink();
    }
}

/// What `prctl` is about to do to the process, called by its name or by its number.
pub fn before_prctl(option: c_int, value: usize, filter: usize) {
    match option {
        // Reading the time-stamp counter is one of the things that are forbidden then.
        libc::PR_SET_SECCOMP if value == libc::SECCOMP_MODE_STRICT as usize => memory::leave(),
        libc::PR_SET_TSC if value == libc::PR_TSC_SIGSEGV as usize => memory::leave(),
        // Without a filter, programs ask whether there are any.
        libc::PR_SET_SECCOMP if filter != 0 => memory::filter(),
        libc::PR_SET_NO_NEW_PRIVS => memory::confine(),
        _ => {}
    }
}

/// The same of `seccomp`. With arguments that the kernel refuses, programs ask what there is.
pub fn before_seccomp(operation: usize, flags: usize, filter: usize) {
    match u32::try_from(operation) {
        Ok(libc::SECCOMP_SET_MODE_STRICT) if flags == 0 && filter == 0 => memory::leave(),
        Ok(libc::SECCOMP_SET_MODE_FILTER) if filter != 0 => memory::filter(),
        _ => {}
    }
}

hooks! {
    /// Sets a limit of this process.
    fn setrlimit(resource: c_uint, limit: *const c_void) -> c_int, else missing(), |real| {
        before_limit(resource, limit);
        unsafe { real(resource, limit) }
    }

    /// The same by another name.
    fn setrlimit64(resource: c_uint, limit: *const c_void) -> c_int, else missing(), |real| {
        before_limit(resource, limit);
        unsafe { real(resource, limit) }
    }

    /// Sets a limit of this or another process.
    fn prlimit(process: libc::pid_t, resource: c_uint, limit: *const c_void, old: *mut c_void) -> c_int, else missing(), |real| {
        before_limit(resource, limit);
        unsafe { real(process, resource, limit, old) }
    }

    /// The same by another name.
    fn prlimit64(process: libc::pid_t, resource: c_uint, limit: *const c_void, old: *mut c_void) -> c_int, else missing(), |real| {
        before_limit(resource, limit);
        unsafe { real(process, resource, limit, old) }
    }

    /// Locks the whole process in memory.
    fn mlockall(flags: c_int) -> c_int, else missing(), |real| {
        memory::shrink();
        unsafe { real(flags) }
    }

    /// Changes what the name of the root folder means: the shared memory may have no name from then on.
    fn chroot(path: *const c_char) -> c_int, else missing(), |real| {
        let result = unsafe { real(path) };
        if result == 0 {
            memory::confine();
        }
        result
    }

    /// Among much else, puts filters on system calls, forbids to read the time, and names the calling thread.
    fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int, else missing(), |real| {
        before_prctl(option, a, b);
        let result = unsafe { real(option, a, b, c, d) };
        if option == libc::PR_SET_NAME && result == 0 && let Some(me) = CurrentThread::get() {
            // SAFETY: the kernel has read the name.
            me.is_named(unsafe { CStr::from_ptr(a as *const c_char) });
        }
        result
    }
}
