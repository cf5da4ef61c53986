//! Processes that are made past `fork`, which tells its handlers.
//!
//! `vfork` needs nothing: its child is its parent's thread until it executes a program, and a program that is executed
//! connects anew.

use core::ffi::{c_int, c_void};

use crate::thread::CurrentThread;
use crate::{hooks, lifecycle, system};

/// What a clone begins with.
type CloneFunction = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// What the first procedure of a copied process is to do. It lies on the stack of the thread that clones, which the copy
/// has too.
struct CloneArguments {
    start: CloneFunction,
    argument: *mut c_void,
}

unsafe extern "C-unwind" fn begin(errand: *mut c_void) -> c_int {
    lifecycle::begin_copy();
    // SAFETY: the hook passed its own errand.
    let CloneArguments { start, argument } = unsafe { errand.cast::<CloneArguments>().read() };
    // SAFETY: what the program asked for.
    unsafe { start(argument) }
}

hooks! {
    #[allow(non_snake_case)]
    /// Forks without running anybody's handlers.
    fn _Fork() -> libc::pid_t, else super::missing(), |real| {
        lifecycle::announce_copy();
        let child = unsafe { real() };
        if child == 0 {
            lifecycle::begin_copy();
        }
        child
    }

    /// Ends the process at once.
    fn _exit(status: c_int), else system::exit(status), |real| {
        lifecycle::end_process_at_once();
        unsafe { real(status) }
    }

    #[allow(non_snake_case)]
    /// The same by its C name.
    fn _Exit(status: c_int), else system::exit(status), |real| {
        lifecycle::end_process_at_once();
        unsafe { real(status) }
    }

    /// Makes a process, or a thread that libc knows nothing of.
    fn clone(
        start: CloneFunction, stack: *mut c_void, flags: c_int, argument: *mut c_void, parent: usize, tls: usize, child: usize,
    ) -> c_int, else super::missing(), |real| {
        if flags & libc::CLONE_VM == 0 {
            lifecycle::announce_copy();
            let mut errand = CloneArguments { start, argument };
            let errand = (&raw mut errand).cast();
            return unsafe { real(begin, stack, flags, errand, parent, tls, child) };
        }
        // The two threads would share the one slot of the agent's, and with it one ring of events.
        let shares_slot = flags & (libc::CLONE_SETTLS | libc::CLONE_VFORK) == 0;
        if shares_slot && let Some(me) = CurrentThread::get() {
            me.header().count_thread_without_area();
            me.ends();
        }
        unsafe { real(start, stack, flags, argument, parent, tls, child) }
    }
}
