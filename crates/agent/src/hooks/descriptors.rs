//! Reading and writing.
//!
//! A call on a descriptor that is ready does not wait and is not told: the descriptor is asked before the call, as the
//! call itself would ask. Files are always ready.

use core::ffi::{c_int, c_short, c_void};

use libc::{iovec, off64_t, size_t, ssize_t};
use longpole_ring::WaitKind;

use super::{missing, wait_outside};
use crate::thread::CurrentThread;
use crate::{hooks, memory, system};

/// Whether a call that needs these events of the descriptor would wait now.
pub fn may_wait(descriptor: c_int, events: c_short) -> impl FnOnce(CurrentThread) -> bool {
    move |_| {
        // A filter that lets the call pass need not let the question pass.
        if memory::is_confined() {
            return true;
        }
        let mut asked = libc::pollfd { fd: descriptor, events, revents: 0 };
        // SAFETY: one entry, and no time to wait.
        descriptor >= 0
            && unsafe { system::call(libc::SYS_poll, [(&raw mut asked) as usize, 1, 0, 0, 0, 0]) } == 0
    }
}

macro_rules! receives {
    ($descriptor:expr, $call:expr) => {
        wait_outside!(WaitKind::Read, $descriptor, if may_wait($descriptor, libc::POLLIN), $call)
    };
}

macro_rules! sends {
    ($descriptor:expr, $call:expr) => {
        wait_outside!(WaitKind::Write, $descriptor, if may_wait($descriptor, libc::POLLOUT), $call)
    };
}

pub(super) use {receives, sends};

hooks! {
    /// Reads.
    fn read(descriptor: c_int, into: *mut c_void, bytes: size_t) -> ssize_t, else missing() as ssize_t, |real| {
        receives!(descriptor, real(descriptor, into, bytes))
    }

    /// Reads, as fortified programs do.
    fn __read_chk(descriptor: c_int, into: *mut c_void, bytes: size_t, room: size_t) -> ssize_t, else missing() as ssize_t, |real| {
        receives!(descriptor, real(descriptor, into, bytes, room))
    }

    /// Reads into several places.
    fn readv(descriptor: c_int, into: *const iovec, count: c_int) -> ssize_t, else missing() as ssize_t, |real| {
        receives!(descriptor, real(descriptor, into, count))
    }

    /// Writes.
    fn write(descriptor: c_int, from: *const c_void, bytes: size_t) -> ssize_t, else missing() as ssize_t, |real| {
        sends!(descriptor, real(descriptor, from, bytes))
    }

    /// Writes from several places.
    fn writev(descriptor: c_int, from: *const iovec, count: c_int) -> ssize_t, else missing() as ssize_t, |real| {
        sends!(descriptor, real(descriptor, from, count))
    }

    /// Moves what a pipe or socket takes from a file.
    fn sendfile(to: c_int, from: c_int, offset: *mut off64_t, bytes: size_t) -> ssize_t, else missing() as ssize_t, |real| {
        sends!(to, real(to, from, offset, bytes))
    }

    /// The same by another name.
    fn sendfile64(to: c_int, from: c_int, offset: *mut off64_t, bytes: size_t) -> ssize_t, else missing() as ssize_t, |real| {
        sends!(to, real(to, from, offset, bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::thread::CurrentThread;

    #[test]
    fn only_what_is_not_ready_is_waited_for() {
        fn asks(wait: impl FnOnce(CurrentThread) -> bool) -> impl FnOnce(CurrentThread) -> bool {
            wait
        }
        let (reader, writer) = std::io::pipe().unwrap();
        let (from, to) = (reader.as_raw_fd(), writer.as_raw_fd());
        let area = longpole_ring::Area::new();
        let header = longpole_ring::AgentHeader::new();
        let (area, header) = (Box::leak(Box::new(area)), Box::leak(Box::new(header)));
        let me = CurrentThread::new(header, area);
        assert!(asks(may_wait(from, libc::POLLIN))(me));
        assert!(!asks(may_wait(to, libc::POLLOUT))(me));
        assert!(!asks(may_wait(-1, libc::POLLIN))(me));
    }
}
