//! Waits for child processes.

use core::ffi::{c_int, c_uint, c_void};

use libc::{id_t, pid_t, siginfo_t};
use longpole_ring::WaitKind;

use super::{missing, wait_outside};
use crate::hooks;

const KIND: WaitKind = WaitKind::Child;

/// Which child: 0 where any of several will do.
fn child(pid: pid_t) -> pid_t {
    pid.max(0)
}

fn waits(options: c_int) -> bool {
    options & libc::WNOHANG == 0
}

hooks! {
    /// Waits for any.
    fn wait(status: *mut c_int) -> pid_t, else missing(), |real| {
        wait_outside!(KIND, 0, if |_| true, real(status))
    }

    /// Waits for one, or one of several.
    fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t, else missing(), |real| {
        wait_outside!(KIND, child(pid), if |_| waits(options), real(pid, status, options))
    }

    /// Waits for any, and tells what it used.
    fn wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> pid_t, else missing(), |real| {
        wait_outside!(KIND, 0, if |_| waits(options), real(status, options, usage))
    }

    /// Waits for one, or one of several, and tells what it used.
    fn wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut c_void) -> pid_t, else missing(), |real| {
        wait_outside!(KIND, child(pid), if |_| waits(options), real(pid, status, options, usage))
    }

    /// Waits for a change of state.
    fn waitid(kind: c_uint, id: id_t, information: *mut siginfo_t, options: c_int) -> c_int, else missing(), |real| {
        let one = if kind == libc::P_PID { id } else { 0 };
        wait_outside!(KIND, one, if |_| waits(options), real(kind, id, information, options))
    }
}
