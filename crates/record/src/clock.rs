//! The clock that all events are timed by.

use longpole_event::Time;

/// `CLOCK_MONOTONIC`, now.
#[must_use]
pub fn now() -> Time {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec through the pointer; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Time::from_nanoseconds(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0))
}
