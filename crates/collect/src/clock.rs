//! The clocks of values and of costs.

use std::time::Duration;

use longpole_event::Time;

use crate::lines::ReadTime;

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes into `time` only.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(failed, 0, "these clocks exist");
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Now, `CLOCK_MONOTONIC`: the clock of all events.
pub(crate) fn now() -> Time {
    Time::from_nanoseconds(read(libc::CLOCK_MONOTONIC).as_nanos() as u64)
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Now, on the clock of events and as Unix time.
pub(crate) fn moment() -> ReadTime {
    ReadTime { now: now(), unix_nanoseconds: read(libc::CLOCK_REALTIME).as_nanos() as u64 }
}

/// How far `CLOCK_BOOTTIME` is ahead of `CLOCK_MONOTONIC`: the time that the machine slept.
pub(crate) fn slept() -> Duration {
    read(libc::CLOCK_BOOTTIME).saturating_sub(read(libc::CLOCK_MONOTONIC))
}

/// Bytes of a page.
pub(crate) fn page_bytes() -> f64 {
    // SAFETY: asks for a constant of the machine.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as f64 }
}
