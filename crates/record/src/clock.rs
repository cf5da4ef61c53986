//! The clock that all events are timed by: the kernel's `CLOCK_MONOTONIC`.

use std::time::{SystemTime, UNIX_EPOCH};

pub use longpole_collect::{now, raw_now};
use longpole_recording::WallClock;

/// What the clock of events and the time of day say now.
pub(crate) fn wall_clock() -> WallClock {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let unix_nanoseconds = u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX);
    WallClock { event_nanoseconds: now().nanoseconds(), unix_nanoseconds }
}
