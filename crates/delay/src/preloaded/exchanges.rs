//! Functions by which threads and processes of the program wait for each other's data.

use core::ffi::c_int;
use core::mem;

use super::interposed::{Opaque, interposed};
use super::system::call;

interposed! {
    read(file: c_int, data: Opaque, size: usize) -> isize, |result| result >= 0 && is_exchange(file);
    readv(file: c_int, data: Opaque, count: c_int) -> isize, |result| result >= 0 && is_exchange(file);
    recv(file: c_int, data: Opaque, size: usize, flags: c_int) -> isize, |result| result >= 0 && is_exchange(file);
    recvfrom(file: c_int, data: Opaque, size: usize, flags: c_int, sender: Opaque, length: Opaque) -> isize,
        |result| result >= 0 && is_exchange(file);
    recvmsg(file: c_int, message: Opaque, flags: c_int) -> isize, |result| result >= 0 && is_exchange(file);
    accept(file: c_int, sender: Opaque, length: Opaque) -> c_int, |result| result >= 0 && is_exchange(file);
    accept4(file: c_int, sender: Opaque, length: Opaque, flags: c_int) -> c_int, |result| result >= 0 && is_exchange(file);
    write(file: c_int, data: Opaque, size: usize) -> isize, |result| result >= 0 && is_exchange(file);
    writev(file: c_int, data: Opaque, count: c_int) -> isize, |result| result >= 0 && is_exchange(file);
    send(file: c_int, data: Opaque, size: usize, flags: c_int) -> isize, |result| result >= 0 && is_exchange(file);
    sendto(file: c_int, data: Opaque, size: usize, flags: c_int, receiver: Opaque, length: libc::socklen_t) -> isize,
        |result| result >= 0 && is_exchange(file);
    sendmsg(file: c_int, message: Opaque, flags: c_int) -> isize, |result| result >= 0 && is_exchange(file);
    shutdown(file: c_int, how: c_int) -> c_int, |result| false;
    close(file: c_int) -> c_int, |result| false;
    poll(files: Opaque, count: libc::nfds_t, wait: c_int) -> c_int, |result| result > 0;
    ppoll(files: Opaque, count: libc::nfds_t, wait: Opaque, mask: Opaque) -> c_int, |result| result > 0;
    select(count: c_int, read: Opaque, write: Opaque, except: Opaque, wait: Opaque) -> c_int, |result| result > 0;
    epoll_wait(file: c_int, events: Opaque, most: c_int, wait: c_int) -> c_int, |result| result > 0;
    epoll_pwait(file: c_int, events: Opaque, most: c_int, wait: c_int, mask: Opaque) -> c_int, |result| result > 0;
}

/// Whether the other end of a descriptor is taken to be the program's: a pipe, an event counter, a socket of this machine.
fn is_exchange(file: c_int) -> bool {
    // SAFETY: zeroes are a valid value of plain numbers, and the kernel writes no more than it is told the room for.
    unsafe {
        let mut found: libc::stat = mem::zeroed();
        if call(libc::SYS_fstat, [file as usize, (&raw mut found) as usize, 0, 0]) < 0 {
            return false;
        }
        match found.st_mode & libc::S_IFMT {
            libc::S_IFIFO => true,
            libc::S_IFSOCK => is_local(file),
            // Files without a name: event counters among them.
            0 => true,
            _ => false,
        }
    }
}

fn is_local(file: c_int) -> bool {
    // SAFETY: as above.
    unsafe {
        let mut address: libc::sockaddr_storage = mem::zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        let arguments = [file as usize, (&raw mut address) as usize, (&raw mut length) as usize, 0];
        if call(libc::SYS_getsockname, arguments) < 0 {
            return false;
        }
        match c_int::from(address.ss_family) {
            libc::AF_UNIX => true,
            libc::AF_INET => {
                (*(&raw const address).cast::<libc::sockaddr_in>()).sin_addr.s_addr.to_ne_bytes()[0] == 127
            }
            libc::AF_INET6 => {
                (*(&raw const address).cast::<libc::sockaddr_in6>()).sin6_addr.s6_addr == 1_u128.to_be_bytes()
            }
            _ => false,
        }
    }
}
