//! The time of events.

use core::arch::x86_64::_rdtsc;

use longpole_ring::{AgentHeader, EventClock};

/// Now, in ticks of the recording's clock.
#[inline]
#[must_use]
pub fn now(header: &AgentHeader) -> u64 {
    match header.clock() {
        // SAFETY: every x86-64 processor has the counter; the recorder has seen that it can be used.
        EventClock::TimeStampCounter => unsafe { _rdtsc() },
        EventClock::Monotonic => monotonic(),
    }
}

#[cold]
fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
