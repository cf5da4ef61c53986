//! HostInterrupts while a command runs on other machines: held here, to be passed on.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

const HELD: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// Holds back what would end this process. It is let through again when this is dropped.
pub struct HostInterrupts {
    held: libc::sigset_t,
    previous: libc::sigset_t,
}

impl HostInterrupts {
    /// From now on.
    pub fn hold() -> Result<HostInterrupts> {
        // SAFETY: the sets are initialised by the calls before they are read.
        let (failed, interrupts) = unsafe {
            let mut held: libc::sigset_t = std::mem::zeroed();
            let mut previous: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut held);
            for signal in HELD {
                libc::sigaddset(&raw mut held, signal);
            }
            let failed = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const held, &raw mut previous);
            (failed, HostInterrupts { held, previous })
        };
        let result = if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) };
        result.map(|()| interrupts).context("failed to hold signals")
    }

    /// A signal that comes within this time.
    pub fn wait(&self, time: Duration) -> Option<i32> {
        let time =
            libc::timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: i64::from(time.subsec_nanos()) };
        // SAFETY: the set was filled in by `hold`; no details of the signal are wanted.
        let signal =
            unsafe { libc::sigtimedwait(&raw const self.held, std::ptr::null_mut(), &raw const time) };
        (signal > 0).then_some(signal)
    }

    /// The command's process gets the signals as ever.
    pub fn give_back(&self, command: &mut Command) {
        let previous = self.previous;
        let unblock = move || {
            // SAFETY: a plain system call on a set that was filled in by `hold`.
            match unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const previous, std::ptr::null_mut()) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: what runs between fork and execution is one system call.
        unsafe { command.pre_exec(unblock) };
    }
}

impl Drop for HostInterrupts {
    fn drop(&mut self) {
        // What came was passed on.
        while self.wait(Duration::ZERO).is_some() {}
        // SAFETY: `previous` was filled in by `hold`.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.previous, std::ptr::null_mut()) };
    }
}
