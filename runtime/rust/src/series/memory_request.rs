//! The recorder's door: a socket at which it hands out the memory to those who may not open it by its path, because they
//! are of another user or the recorder has rights that they have not.

use core::ptr::{from_mut, from_ref};

/// How long the door is waited for: a recorder that is stopped must not stop the program.
const PATIENCE: libc::timeval = libc::timeval { tv_sec: 0, tv_usec: 200_000 };

/// Room for one descriptor, aligned as control messages are.
#[repr(C)]
union Control {
    bytes: [u8; 64],
    header: libc::cmsghdr,
}

/// Asks at the socket of this name for the descriptor, with the words that open it.
pub(super) fn ask(name: &[u8], words: &[u8]) -> Option<libc::c_int> {
    // SAFETY: a plain system call.
    let door = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if door < 0 {
        return None;
    }
    let found = if is_open(door, name) && has_heard(door, words) { receive(door) } else { None };
    // SAFETY: the descriptor is ours.
    unsafe { libc::close(door) };
    found
}

fn is_open(door: libc::c_int, name: &[u8]) -> bool {
    // SAFETY: all zeros are a valid address; the sizes are those of what the pointers point to.
    unsafe {
        for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
            let size = size_of::<libc::timeval>() as libc::socklen_t;
            libc::setsockopt(door, libc::SOL_SOCKET, option, from_ref(&PATIENCE).cast(), size);
        }
        let mut address: libc::sockaddr_un = core::mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let Some(place) = address.sun_path.get_mut(1..=name.len()) else { return false };
        place.iter_mut().zip(name).for_each(|(place, &byte)| *place = byte as libc::c_char);
        let length = core::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
        libc::connect(door, from_ref(&address).cast(), length as libc::socklen_t) == 0
    }
}

fn has_heard(door: libc::c_int, words: &[u8]) -> bool {
    // SAFETY: the buffer is as long as is said.
    let sent = unsafe { libc::send(door, words.as_ptr().cast(), words.len(), libc::MSG_NOSIGNAL) };
    usize::try_from(sent) == Ok(words.len())
}

fn receive(door: libc::c_int) -> Option<libc::c_int> {
    let mut byte = 0_u8;
    let mut data = libc::iovec { iov_base: from_mut(&mut byte).cast(), iov_len: 1 };
    let mut control = Control { bytes: [0; 64] };
    // SAFETY: all zeros are a valid message; its buffers live until the call is over; a header that the system's macro
    // gives lies in them.
    unsafe {
        let mut message: libc::msghdr = core::mem::zeroed();
        message.msg_iov = &raw mut data;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<Control>() as _;
        if libc::recvmsg(door, &raw mut message, libc::MSG_CMSG_CLOEXEC) != 1 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message).as_ref()?;
        let is_one = header.cmsg_type == libc::SCM_RIGHTS
            && header.cmsg_len as usize == libc::CMSG_LEN(size_of::<libc::c_int>() as u32) as usize;
        is_one.then(|| libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned())
    }
}
