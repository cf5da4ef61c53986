//! Messages over the socket between a recorder and its privileged process, each with descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// Bytes of a message.
pub(crate) const MOST_BYTES: usize = 64 << 10;
/// Descriptors of a message.
const MOST_DESCRIPTORS: usize = 4;

/// A message as it was received.
#[derive(Debug)]
pub(crate) struct ReceivedMessage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// One end of a socket that keeps messages apart.
#[derive(Debug)]
pub(crate) struct MessageSocket(OwnedFd);

impl MessageSocket {
    pub(crate) fn of(descriptor: OwnedFd) -> MessageSocket {
        MessageSocket(descriptor)
    }

    /// Both ends of a new one.
    pub(crate) fn pair() -> io::Result<(MessageSocket, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        let (own, other) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((MessageSocket(own), other))
    }

    pub(crate) fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // Who is gone ends nobody by a signal.
        let flags = SendFlags::NOSIGNAL;
        rustix::io::retry_on_intr(|| {
            rustix::net::sendmsg(&self.0, &[IoSlice::new(bytes)], &mut ancillary, flags)
        })?;
        Ok(())
    }

    /// The next message; `None` where the other end is gone. One that is too large is `InvalidData`.
    pub(crate) fn receive(&self) -> io::Result<Option<ReceivedMessage>> {
        let mut bytes = vec![0; MOST_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::io::retry_on_intr(|| {
            let into = &mut [IoSliceMut::new(&mut bytes)];
            rustix::net::recvmsg(&self.0, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        });
        let received = match received {
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            received => received?,
        };
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(passed) = message {
                descriptors.extend(passed);
            }
        }
        if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.truncate(received.bytes);
        // No message is empty.
        Ok((!bytes.is_empty()).then_some(ReceivedMessage { bytes, descriptors }))
    }
}

impl AsFd for MessageSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    #[test]
    fn bytes_and_descriptors_arrive_together_and_the_end_is_seen() {
        let (own, other) = MessageSocket::pair().unwrap();
        let other = MessageSocket::of(other);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"text").unwrap();
        own.send(b"first", &[file.as_fd(), file.as_fd()]).unwrap();
        own.send(b"second", &[]).unwrap();
        let first = other.receive().unwrap().unwrap();
        assert_eq!((first.bytes.as_slice(), first.descriptors.len()), (&b"first"[..], 2));
        let mut passed = std::fs::File::from(first.descriptors.into_iter().next().unwrap());
        passed.rewind().unwrap();
        let mut text = String::new();
        passed.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        assert_eq!(other.receive().unwrap().unwrap().bytes, b"second");
        own.send(&vec![1; MOST_BYTES + 1], &[]).unwrap();
        assert_eq!(other.receive().unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(own);
        assert!(other.receive().unwrap().is_none());
        assert!(other.send(b"x", &[]).is_err());
    }
}
