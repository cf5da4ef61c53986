//! The clocks of events and values, and of costs.
//!
//! In a time namespace `CLOCK_MONOTONIC` is shifted for those who ask for it, but not in the kernel's own records. The shift is
//! taken out here, so that a recorder in a namespace has one clock for both.

use std::fs;
use std::sync::OnceLock;
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

/// Now, the kernel's `CLOCK_MONOTONIC`: the clock of all events.
#[must_use]
pub fn now() -> Time {
    let shown = read(libc::CLOCK_MONOTONIC).as_nanos() as u64;
    Time::from_nanoseconds(shown.saturating_add_signed(-namespace_offset()))
}

/// What `CLOCK_MONOTONIC_RAW` says: the oscillator, which nobody slews. A time namespace shifts it as it does the other one.
#[must_use]
pub fn raw_now() -> u64 {
    let shown = read(libc::CLOCK_MONOTONIC_RAW).as_nanos() as u64;
    shown.saturating_add_signed(-namespace_offset())
}

/// Nanoseconds that this process's time namespace adds to the clock.
fn namespace_offset() -> i64 {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    *OFFSET.get_or_init(|| {
        let namespace = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).ok();
        let offsets = fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        // What the file says is of the namespace of children.
        let is_own = namespace("time").is_some() && namespace("time") == namespace("time_for_children");
        if is_own { offset_in(&offsets).unwrap_or(0) } else { 0 }
    })
}

/// The offset of the clock in the text of `timens_offsets`: a line `monotonic SECONDS NANOSECONDS`.
fn offset_in(offsets: &str) -> Option<i64> {
    let line = offsets.lines().find_map(|line| line.strip_prefix("monotonic"))?;
    let mut numbers = line.split_ascii_whitespace().map(str::parse::<i64>);
    let (seconds, nanoseconds) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(seconds * 1_000_000_000 + nanoseconds)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_of_a_namespace_is_that_of_this_clock() {
        let text = "monotonic        5000         7\nboottime          100         0\n";
        assert_eq!(offset_in(text), Some(5_000_000_000_007));
        assert_eq!(offset_in("monotonic -1 0\n"), Some(-1_000_000_000));
        assert_eq!(offset_in(""), None);
    }
}
