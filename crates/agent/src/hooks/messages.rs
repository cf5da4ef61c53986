//! Sockets.

use core::ffi::{c_int, c_uint, c_void};

use libc::{mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};
use longpole_ring::WaitKind;

use super::descriptors::{may_wait, receives, sends};
use super::{missing, wait_outside};
use crate::hooks;

hooks! {
    /// Receives.
    fn recv(socket: c_int, into: *mut c_void, bytes: size_t, flags: c_int) -> ssize_t, else missing() as ssize_t, |real| {
        receives!(socket, real(socket, into, bytes, flags))
    }

    /// Receives, as fortified programs do.
    fn __recv_chk(socket: c_int, into: *mut c_void, bytes: size_t, room: size_t, flags: c_int) -> ssize_t, else missing() as ssize_t, |real| {
        receives!(socket, real(socket, into, bytes, room, flags))
    }

    /// Receives, with the sender's address.
    fn recvfrom(
        socket: c_int, into: *mut c_void, bytes: size_t, flags: c_int, from: *mut sockaddr, length: *mut socklen_t,
    ) -> ssize_t, else missing() as ssize_t, |real| {
        receives!(socket, real(socket, into, bytes, flags, from, length))
    }

    /// The same, as fortified programs do.
    fn __recvfrom_chk(
        socket: c_int, into: *mut c_void, bytes: size_t, room: size_t, flags: c_int, from: *mut sockaddr, length: *mut socklen_t,
    ) -> ssize_t, else missing() as ssize_t, |real| {
        receives!(socket, real(socket, into, bytes, room, flags, from, length))
    }

    /// Receives a message.
    fn recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t, else missing() as ssize_t, |real| {
        receives!(socket, real(socket, message, flags))
    }

    /// Receives several messages.
    fn recvmmsg(socket: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, limit: *mut timespec) -> c_int, else missing(), |real| {
        receives!(socket, real(socket, messages, count, flags, limit))
    }

    /// Sends.
    fn send(socket: c_int, from: *const c_void, bytes: size_t, flags: c_int) -> ssize_t, else missing() as ssize_t, |real| {
        sends!(socket, real(socket, from, bytes, flags))
    }

    /// Sends to an address.
    fn sendto(
        socket: c_int, from: *const c_void, bytes: size_t, flags: c_int, to: *const sockaddr, length: socklen_t,
    ) -> ssize_t, else missing() as ssize_t, |real| {
        sends!(socket, real(socket, from, bytes, flags, to, length))
    }

    /// Sends a message.
    fn sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t, else missing() as ssize_t, |real| {
        sends!(socket, real(socket, message, flags))
    }

    /// Sends several messages.
    fn sendmmsg(socket: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int, else missing(), |real| {
        sends!(socket, real(socket, messages, count, flags))
    }

    /// Takes a connection that is asked for.
    fn accept(socket: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int, else missing(), |real| {
        wait_outside!(WaitKind::Accept, socket, if may_wait(socket, libc::POLLIN), real(socket, address, length))
    }

    /// The same with flags for the new socket.
    fn accept4(socket: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int, else missing(), |real| {
        wait_outside!(WaitKind::Accept, socket, if may_wait(socket, libc::POLLIN), real(socket, address, length, flags))
    }

    /// Asks for a connection.
    fn connect(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int, else missing(), |real| {
        wait_outside!(WaitKind::Connect, socket, if |_| true, real(socket, address, length))
    }
}
