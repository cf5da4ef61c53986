//! Waits for any of several descriptors. Without time to wait they are questions, not waits.

use core::ffi::{c_int, c_void};

use libc::{epoll_event, fd_set, nfds_t, pollfd, size_t, timespec, timeval};
use longpole_ring::WaitKind;

use super::{missing, wait_outside};
use crate::hooks;

const KIND: WaitKind = WaitKind::Poll;

/// Whether there is time to wait: null is for ever.
macro_rules! is_long {
    ($limit:expr, $fraction:ident) => {{
        let limit = $limit;
        // SAFETY: the program gave null or a valid time.
        limit.is_null() || unsafe { (*limit).tv_sec != 0 || (*limit).$fraction != 0 }
    }};
}

hooks! {
    /// Waits for descriptors.
    fn poll(descriptors: *mut pollfd, count: nfds_t, milliseconds: c_int) -> c_int, else missing(), |real| {
        wait_outside!(KIND, 0, if |_| milliseconds != 0, real(descriptors, count, milliseconds))
    }

    /// The same, as fortified programs do.
    fn __poll_chk(descriptors: *mut pollfd, count: nfds_t, milliseconds: c_int, room: size_t) -> c_int, else missing(), |real| {
        wait_outside!(KIND, 0, if |_| milliseconds != 0, real(descriptors, count, milliseconds, room))
    }

    /// Waits for descriptors with another signal mask.
    fn ppoll(descriptors: *mut pollfd, count: nfds_t, limit: *const timespec, mask: *const c_void) -> c_int, else missing(), |real| {
        wait_outside!(KIND, 0, if |_| is_long!(limit, tv_nsec), real(descriptors, count, limit, mask))
    }

    /// The same, as fortified programs do.
    fn __ppoll_chk(descriptors: *mut pollfd, count: nfds_t, limit: *const timespec, mask: *const c_void, room: size_t) -> c_int, else missing(), |real| {
        wait_outside!(KIND, 0, if |_| is_long!(limit, tv_nsec), real(descriptors, count, limit, mask, room))
    }

    /// Waits for descriptors.
    fn select(highest: c_int, reads: *mut fd_set, writes: *mut fd_set, others: *mut fd_set, limit: *mut timeval) -> c_int, else missing(), |real| {
        wait_outside!(KIND, 0, if |_| is_long!(limit, tv_usec), real(highest, reads, writes, others, limit))
    }

    /// The same with another signal mask.
    fn pselect(
        highest: c_int, reads: *mut fd_set, writes: *mut fd_set, others: *mut fd_set, limit: *const timespec, mask: *const c_void,
    ) -> c_int, else missing(), |real| {
        wait_outside!(KIND, 0, if |_| is_long!(limit, tv_nsec), real(highest, reads, writes, others, limit, mask))
    }

    /// Waits for descriptors of a set.
    fn epoll_wait(set: c_int, events: *mut epoll_event, room: c_int, milliseconds: c_int) -> c_int, else missing(), |real| {
        wait_outside!(KIND, set, if |_| milliseconds != 0, real(set, events, room, milliseconds))
    }

    /// The same with another signal mask.
    fn epoll_pwait(set: c_int, events: *mut epoll_event, room: c_int, milliseconds: c_int, mask: *const c_void) -> c_int, else missing(), |real| {
        wait_outside!(KIND, set, if |_| milliseconds != 0, real(set, events, room, milliseconds, mask))
    }

    /// The same with a finer limit.
    fn epoll_pwait2(set: c_int, events: *mut epoll_event, room: c_int, limit: *const timespec, mask: *const c_void) -> c_int, else missing(), |real| {
        wait_outside!(KIND, set, if |_| is_long!(limit, tv_nsec), real(set, events, room, limit, mask))
    }
}
