//! Limits and filters that a process sets for itself: before they come the agent makes itself small.

use core::ffi::{c_int, c_uint, c_void};

use super::missing;
use crate::{hooks, memory};

/// The agent's part of the address space is given back, if that is what will be limited.
fn before_limit(resource: c_uint, limit: *const c_void) {
    if resource == libc::RLIMIT_AS && !limit.is_null() {
        memory::shrink();
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
    fn chroot(path: *const core::ffi::c_char) -> c_int, else missing(), |real| {
        let result = unsafe { real(path) };
        if result == 0 {
            memory::confine();
        }
        result
    }
}
