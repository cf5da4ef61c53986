//! Why the kernel refuses events of one's own process, and what helps.

use std::fs;
use std::io;

use super::ProcessCollectorError;

/// What decides about perf events besides the user's capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Circumstances {
    /// `kernel.perf_event_paranoid`, where it can be read.
    pub(crate) paranoid: Option<i32>,
    /// The system calls of this process are filtered.
    pub(crate) is_filtered: bool,
}

impl Circumstances {
    /// Those of this process.
    pub(crate) fn here() -> Circumstances {
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let filter = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
        Circumstances {
            paranoid: paranoid.ok().and_then(|text| text.trim().parse().ok()),
            is_filtered: filter.is_some_and(|mode| mode.trim() == "2"),
        }
    }
}

/// What to do about a refusal.
pub(crate) fn remedy(error: &ProcessCollectorError, circumstances: Circumstances) -> &'static str {
    let number = match error {
        ProcessCollectorError::Refused(source) => source.raw_os_error(),
        ProcessCollectorError::NoMemory { .. } => return NO_MEMORY,
        ProcessCollectorError::System { source, .. } => return of_system(source),
    };
    match number {
        Some(libc::EACCES | libc::EPERM) if circumstances.paranoid.is_some_and(|level| level > 2) => PARANOID,
        Some(libc::EACCES | libc::EPERM | libc::ENOSYS) if circumstances.is_filtered => FILTERED,
        Some(libc::ENOSYS) => NO_EVENTS,
        Some(libc::EACCES | libc::EPERM) => MODULE,
        Some(libc::EMFILE) => NO_DESCRIPTORS,
        _ => OLD_KERNEL,
    }
}

fn of_system(source: &io::Error) -> &'static str {
    if source.raw_os_error() == Some(libc::EMFILE) { NO_DESCRIPTORS } else { OLD_KERNEL }
}

const PARANOID: &str = "this system keeps perf events from users (Debian and Ubuntu do): \
                        sudo sysctl kernel.perf_event_paranoid=2";
const FILTERED: &str = "a filter of system calls forbids perf events, as containers have: start it with \
                        --cap-add=PERFMON, or with a seccomp profile that allows perf_event_open";
const NO_EVENTS: &str = "use a kernel with CONFIG_PERF_EVENTS";
const MODULE: &str =
    "a security module forbids perf events (see the kernel's log); ask who runs this machine";
const NO_MEMORY: &str = "end other recordings of this user, or allow more locked memory: \
                         ulimit -l 8192, or sudo sysctl kernel.perf_event_mlock_kb=2048";
const NO_DESCRIPTORS: &str = "allow more open files: ulimit -n 4096";
const OLD_KERNEL: &str = "use Linux 5.4 or newer";

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(number: i32) -> ProcessCollectorError {
        ProcessCollectorError::Refused(io::Error::from_raw_os_error(number))
    }

    fn here(paranoid: i32, is_filtered: bool) -> Circumstances {
        Circumstances { paranoid: Some(paranoid), is_filtered }
    }

    #[test]
    fn a_setting_that_forbids_all_events_is_named_with_the_one_that_is_enough() {
        for level in [3, 4] {
            assert!(remedy(&refused(libc::EACCES), here(level, false)).contains("perf_event_paranoid=2"));
            assert!(remedy(&refused(libc::EPERM), here(level, true)).contains("perf_event_paranoid=2"));
        }
    }

    #[test]
    fn a_filter_of_system_calls_is_told_from_a_kernel_without_events_and_from_a_security_module() {
        assert!(remedy(&refused(libc::ENOSYS), here(2, true)).contains("seccomp"));
        assert!(remedy(&refused(libc::EPERM), here(2, true)).contains("seccomp"));
        assert!(remedy(&refused(libc::ENOSYS), here(2, false)).contains("CONFIG_PERF_EVENTS"));
        assert!(remedy(&refused(libc::EACCES), here(2, false)).contains("security module"));
    }

    #[test]
    fn what_is_locked_by_others_is_told_from_a_refusal() {
        let source = io::Error::from_raw_os_error(libc::EPERM);
        let error = ProcessCollectorError::NoMemory { cpus: 2, source };
        assert!(remedy(&error, here(2, false)).contains("ulimit -l"));
    }
}
