//! A socket at which the memory is handed out to those who may not open it by its path: programs of other users, and all
//! where the recorder has capabilities that its programs have not.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long one who connects has to say the words.
const PATIENCE: Duration = Duration::from_millis(100);

/// The door, and who stands at it.
#[derive(Debug)]
pub(super) struct MemorySocket {
    listener: UnixListener,
    keeper: Option<JoinHandle<()>>,
}

impl MemorySocket {
    /// Hands out `descriptor`, which has to stay open, to everyone who comes with the words.
    ///
    /// # Errors
    /// Where the system has no such sockets.
    pub(super) fn open(name: &str, words: String, descriptor: RawFd) -> io::Result<MemorySocket> {
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        let visitors = listener.try_clone()?;
        let keeper = crate::threads::start("series door", move || {
            while let Ok((visitor, _)) = visitors.accept() {
                // Whoever goes away without it is no matter.
                let _ = hear(visitor, words.as_bytes(), descriptor);
            }
        })?;
        Ok(MemorySocket { listener, keeper: Some(keeper) })
    }
}

impl Drop for MemorySocket {
    fn drop(&mut self) {
        // SAFETY: a plain system call on a descriptor of ours; it ends the keeper's wait.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RDWR) };
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

fn hear(mut visitor: UnixStream, words: &[u8], descriptor: RawFd) -> io::Result<()> {
    visitor.set_read_timeout(Some(PATIENCE))?;
    visitor.set_write_timeout(Some(PATIENCE))?;
    let mut heard = vec![0; words.len()];
    visitor.read_exact(&mut heard)?;
    if heard == words {
        hand_out(&visitor, descriptor)?;
    }
    Ok(())
}

fn hand_out(visitor: &UnixStream, descriptor: RawFd) -> io::Result<()> {
    let mut data = libc::iovec { iov_base: c"!".as_ptr().cast_mut().cast(), iov_len: 1 };
    // Aligned as control messages are.
    let mut control = [0_u64; 8];
    let size = size_of::<RawFd>() as u32;
    // SAFETY: all zeros are a valid message; its buffers live until the call is over and have room for one header with a
    // descriptor.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut data;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor);
        libc::sendmsg(visitor.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
