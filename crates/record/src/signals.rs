//! Signals as something to wait for while a program is recorded.
//!
//! The program gets Ctrl-C from the terminal itself, as it would without a recorder; the recorder only has
//! to live on and finish. What is sent to the recorder alone is passed on.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::launch::Running;

/// Holds back the signals that would end the recorder. They are given back when this is dropped.
#[derive(Debug)]
pub(crate) struct HeldSignals {
    descriptor: OwnedFd,
    previous: libc::sigset_t,
}

const HELD: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// Asks a recorder that keeps the last part of a run for a copy of it.
pub const SNAPSHOT_SIGNAL: i32 = libc::SIGUSR2;

impl HeldSignals {
    /// With `snapshots`, [`SNAPSHOT_SIGNAL`] too.
    pub(crate) fn hold(snapshots: bool) -> io::Result<HeldSignals> {
        // SAFETY: the sets are initialised by the calls before they are read.
        unsafe {
            let mut held: libc::sigset_t = std::mem::zeroed();
            let mut previous: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut held);
            for signal in HELD.into_iter().chain(snapshots.then_some(SNAPSHOT_SIGNAL)) {
                libc::sigaddset(&raw mut held, signal);
            }
            let failed = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const held, &raw mut previous);
            if failed != 0 {
                return Err(io::Error::from_raw_os_error(failed));
            }
            let descriptor = libc::signalfd(-1, &raw const held, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                let error = io::Error::last_os_error();
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const previous, std::ptr::null_mut());
                return Err(error);
            }
            Ok(HeldSignals { descriptor: OwnedFd::from_raw_fd(descriptor), previous })
        }
    }

    /// Becomes readable when a signal has come.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Passes on to the program what has come, but for what the terminal has sent to the program too.
    pub(crate) fn pass_on(&self, program: &Running) {
        while let Some(signal) = self.take() {
            if !signal.from_terminal {
                program.signal(signal.number);
            }
        }
    }

    /// A signal that has come, and whether the terminal sent it to the whole process group.
    pub(crate) fn take(&self) -> Option<HeldSignal> {
        // SAFETY: the kernel fills in one structure of this size or nothing.
        unsafe {
            let mut information: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let read = libc::read(self.descriptor.as_raw_fd(), (&raw mut information).cast(), size);
            (read == isize::try_from(size).expect("small")).then(|| HeldSignal {
                number: i32::try_from(information.ssi_signo).unwrap_or(0),
                from_terminal: information.ssi_code == libc::SI_KERNEL,
            })
        }
    }
}

/// A signal that was held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldSignal {
    pub(crate) number: i32,
    pub(crate) from_terminal: bool,
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        // What came while the program ran was meant for it, and must not end the recorder now.
        while self.take().is_some() {}
        // SAFETY: `previous` was filled in by `hold`.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.previous, std::ptr::null_mut()) };
    }
}
