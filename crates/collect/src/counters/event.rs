//! One perf event that counts.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

use perf_event_open_sys::bindings::{
    PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING, perf_event_attr,
};
use perf_event_open_sys::perf_event_open;

use super::selection::CounterChoice;

/// A perf event of a task and of what it creates.
#[derive(Debug)]
pub(super) struct CounterEvent {
    file: File,
    is_user_only: bool,
}

/// What it counted, and the times in nanoseconds in which it should have and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CounterReading {
    pub(super) value: u64,
    pub(super) enabled: u64,
    pub(super) running: u64,
}

impl CounterEvent {
    /// Opens it for a task; of user code only, where more is not allowed.
    pub(super) fn open(choice: &CounterChoice, tid: i32) -> io::Result<CounterEvent> {
        match open(choice, tid, false) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) => {
                open(choice, tid, true)
            }
            result => result,
        }
    }

    pub(super) fn is_user_only(&self) -> bool {
        self.is_user_only
    }

    pub(super) fn read(&self) -> io::Result<CounterReading> {
        let mut bytes = [0; 24];
        (&self.file).read_exact(&mut bytes)?;
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * at..8 * at + 8]);
            u64::from_ne_bytes(word)
        };
        Ok(CounterReading { value: word(0), enabled: word(1), running: word(2) })
    }
}

fn open(choice: &CounterChoice, tid: i32, is_user_only: bool) -> io::Result<CounterEvent> {
    let mut attribute = perf_event_attr {
        type_: choice.kind,
        size: u32::try_from(size_of::<perf_event_attr>()).expect("the attribute block is small"),
        config: choice.config,
        read_format: u64::from(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING),
        ..Default::default()
    };
    attribute.set_inherit(1);
    attribute.set_exclude_kernel(is_user_only.into());
    attribute.set_exclude_hv(1);
    // SAFETY: the attribute block is a valid, initialised structure of the size it states.
    let fd = unsafe { perf_event_open(&raw mut attribute, tid, -1, -1, PERF_FLAG_FD_CLOEXEC.into()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor and nobody else owns it.
    Ok(CounterEvent { file: unsafe { File::from_raw_fd(fd) }, is_user_only })
}
