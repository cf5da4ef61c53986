//! The clock of a recording.

use std::fmt;
use std::ops::{Add, Sub};

/// A point on one machine's `CLOCK_MONOTONIC`, in nanoseconds.
///
/// Clocks of several machines are brought onto one axis by the offset and drift of each machine in the
/// manifest; within a log only this clock occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The earliest time.
    pub const ZERO: Time = Time(0);

    /// The time `nanoseconds` after the clock's zero.
    #[must_use]
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Time(nanoseconds)
    }

    /// Nanoseconds since the clock's zero.
    #[must_use]
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to this time, 0 if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Time {
    type Output = Time;
    fn add(self, nanoseconds: u64) -> Time {
        Time(self.0.saturating_add(nanoseconds))
    }
}

impl Sub<u64> for Time {
    type Output = Time;
    fn sub(self, nanoseconds: u64) -> Time {
        Time(self.0.saturating_sub(nanoseconds))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
