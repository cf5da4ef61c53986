//! Futexes by libc's `syscall`: the locks of Rust's standard library, parking_lot, C++20.

use core::ffi::{c_int, c_long};

use longpole_ring::WaitKind;

use super::wait;
use crate::thread::CurrentThread;
use crate::{frame, hooks, lifecycle};

const KIND: WaitKind = WaitKind::Futex;
/// How many a requeue lets go on at most, and more: all are told.
const ALL: u64 = 0;

/// What a futex operation does to threads.
enum FutexEffect {
    Waits,
    /// So many at most are let go on.
    Releases(u64),
    None,
}

fn effect(operation: usize, value: usize) -> FutexEffect {
    match operation as c_int & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAIT
        | libc::FUTEX_WAIT_BITSET
        | libc::FUTEX_LOCK_PI
        | libc::FUTEX_LOCK_PI2
        | libc::FUTEX_WAIT_REQUEUE_PI => FutexEffect::Waits,
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            // "All" is written as the largest number.
            FutexEffect::Releases(if value >= i32::MAX as usize { ALL } else { value.max(1) as u64 })
        }
        libc::FUTEX_WAKE_OP
        | libc::FUTEX_REQUEUE
        | libc::FUTEX_CMP_REQUEUE
        | libc::FUTEX_CMP_REQUEUE_PI
        | libc::FUTEX_UNLOCK_PI => FutexEffect::Releases(ALL),
        _ => FutexEffect::None,
    }
}

/// Whether the call makes a process whose memory is a copy of this one's.
fn copies_process(number: c_long, flags: usize) -> bool {
    number == libc::SYS_fork || number == libc::SYS_clone && flags & libc::CLONE_VM as usize == 0
}

hooks! {
    /// Any system call. It takes as many arguments as the call has; those that were not given are read and passed on as
    /// whatever lies there, as the real function does.
    fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long, else c_long::from(super::missing()), |real| {
        if number != libc::SYS_futex {
            match number {
                libc::SYS_seccomp => super::limits::before_seccomp(a, b, c),
                libc::SYS_prctl => super::limits::before_prctl(a as c_int, b, c),
                libc::SYS_execve => super::executions::before_execution(c as _),
                libc::SYS_execveat => super::executions::before_execution(d as _),
                _ => {}
            }
            let is_copy = copies_process(number, a);
            if is_copy {
                lifecycle::announce_copy();
            }
            let result = unsafe { real(number, a, b, c, d, e, f) };
            if is_copy && result == 0 {
                lifecycle::begin_copy();
            }
            return result;
        }
        match effect(b, c) {
            FutexEffect::Waits => wait!(KIND, a, 0, real(number, a, b, c, d, e, f), granted |result| result == 0),
            FutexEffect::Releases(most) => {
                if let Some(me) = CurrentThread::get() {
                    me.releases_if_awaited(KIND, a as u64, most, frame!());
                }
                unsafe { real(number, a, b, c, d, e, f) }
            }
            FutexEffect::None => unsafe { real(number, a, b, c, d, e, f) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_told_apart_whatever_their_flags() {
        let private = |operation: c_int| (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
        assert!(matches!(effect(private(libc::FUTEX_WAIT), 0), FutexEffect::Waits));
        let with_clock = private(libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME);
        assert!(matches!(effect(with_clock, 0), FutexEffect::Waits));
        assert!(matches!(effect(private(libc::FUTEX_WAKE), 1), FutexEffect::Releases(1)));
        assert!(matches!(effect(private(libc::FUTEX_WAKE), i32::MAX as usize), FutexEffect::Releases(ALL)));
        assert!(matches!(effect(private(libc::FUTEX_FD), 0), FutexEffect::None));
    }

    #[test]
    fn only_copies_of_the_process_are_new_processes() {
        assert!(copies_process(libc::SYS_clone, libc::SIGCHLD as usize));
        assert!(!copies_process(libc::SYS_clone, libc::CLONE_VM as usize));
        assert!(copies_process(libc::SYS_fork, 0) && !copies_process(libc::SYS_gettid, 0));
    }
}
