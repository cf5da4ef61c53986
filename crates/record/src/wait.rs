//! Waiting for a program's end, a signal, a full buffer, or the next look.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// What there is to wait for.
#[derive(Debug)]
pub(crate) struct Waiter {
    epoll: OwnedFd,
}

/// What to do about a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollSource {
    /// A collector's buffer is filling up.
    Alarm,
    /// The program has ended.
    Program,
    /// A signal has come.
    Signal,
    /// Much was read.
    Batch,
    /// The buffers are to be read now.
    Request,
}

impl Waiter {
    pub(crate) fn new() -> io::Result<Waiter> {
        // SAFETY: a plain system call that makes a descriptor.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor.
        Ok(Waiter { epoll: unsafe { OwnedFd::from_raw_fd(epoll) } })
    }

    pub(crate) fn add(&self, descriptor: RawFd, source: PollSource) -> io::Result<()> {
        // A buffer is readable as soon as it holds anything, but is to wake us only when it says so: on the
        // edge.
        let edge = if source == PollSource::Alarm { libc::EPOLLET } else { 0 };
        let events = (libc::EPOLLIN | edge).cast_unsigned();
        let mut event = libc::epoll_event { events, u64: source as u64 };
        // SAFETY: both descriptors are open and the event is a valid structure.
        let result = unsafe {
            libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &raw mut event)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for at most `timeout`; says whether the program has ended and whether signals have come.
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<Woken> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 16];
        let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the kernel writes at most 16 events into the array.
        let count =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), 16, milliseconds) };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted {
                Ok(Woken::default())
            } else {
                Err(error)
            };
        };
        let has = |source: PollSource| events[..count].iter().any(|event| { event.u64 } == source as u64);
        Ok(Woken { program_ended: has(PollSource::Program), signalled: has(PollSource::Signal) })
    }
}

/// Why a wait ended; neither: a buffer is filling up, or it is time to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Woken {
    pub(crate) program_ended: bool,
    pub(crate) signalled: bool,
}

/// A descriptor that becomes readable (`eventfd`).
#[derive(Debug)]
pub(crate) struct EventCounter {
    descriptor: OwnedFd,
}

impl EventCounter {
    pub(crate) fn new() -> io::Result<EventCounter> {
        // SAFETY: a plain system call that makes a descriptor.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor.
        Ok(EventCounter { descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) } })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    pub(crate) fn add(&self) {
        let one = 1_u64;
        // SAFETY: the kernel reads eight bytes. It refuses only where the counter is close to its end: readable all the same.
        unsafe { libc::write(self.descriptor(), (&raw const one).cast(), size_of::<u64>()) };
    }

    pub(crate) fn clear(&self) {
        let mut count = 0_u64;
        // SAFETY: the kernel writes eight bytes, or refuses where the counter is zero.
        unsafe { libc::read(self.descriptor(), (&raw mut count).cast(), size_of::<u64>()) };
    }
}
