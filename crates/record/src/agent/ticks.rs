//! The clock of the agent's events on the recording's clock.

use std::fs;

use longpole_event::Time;
use longpole_ring::EventClock;

use crate::clock::now;

/// Which clock agents are to use: the time-stamp counter where it runs evenly on all processors, which the kernel
/// itself then keeps time with.
pub(super) fn choose() -> EventClock {
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let is_even = source.is_ok_and(|source| source.trim() == "tsc");
    if is_even { EventClock::TimeStampCounter } else { EventClock::Monotonic }
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
struct ClockPair {
    ticks: u64,
    time: Time,
}

/// Converts ticks to times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    clock: EventClock,
    first: ClockPair,
    last: ClockPair,
    nanoseconds_per_tick: f64,
}

impl Ticks {
    pub(super) fn new(clock: EventClock) -> Ticks {
        let first = pair();
        let mut ticks = Ticks { clock, first, last: first, nanoseconds_per_tick: 1.0 };
        if clock == EventClock::TimeStampCounter {
            // The rate has to be known to a few parts in a thousand before the first reading.
            std::thread::sleep(std::time::Duration::from_millis(1));
            ticks.calibrate();
        }
        ticks
    }

    /// Looks at both clocks again: the longer the recording, the better the rate is known.
    pub(super) fn calibrate(&mut self) {
        if self.clock == EventClock::Monotonic {
            return;
        }
        self.last = pair();
        let ticks = self.last.ticks.wrapping_sub(self.first.ticks);
        if ticks > 0 {
            self.nanoseconds_per_tick = self.last.time.since(self.first.time) as f64 / ticks as f64;
        }
    }

    /// Now, or when the clocks were looked at last.
    pub(super) fn last(&self) -> u64 {
        match self.clock {
            EventClock::Monotonic => now().nanoseconds(),
            EventClock::TimeStampCounter => self.last.ticks,
        }
    }

    /// When the recording began.
    pub(super) fn first(&self) -> u64 {
        match self.clock {
            EventClock::Monotonic => self.first.time.nanoseconds(),
            EventClock::TimeStampCounter => self.first.ticks,
        }
    }

    /// Ticks that come to so many nanoseconds.
    pub(super) fn of_nanoseconds(&self, nanoseconds: u64) -> u64 {
        (nanoseconds as f64 / self.nanoseconds_per_tick) as u64
    }

    /// When this was.
    pub(super) fn time(&self, ticks: u64) -> Time {
        if self.clock == EventClock::Monotonic {
            return Time::from_nanoseconds(ticks);
        }
        let before = self.last.ticks.wrapping_sub(ticks).cast_signed();
        let nanoseconds = (before as f64 * self.nanoseconds_per_tick) as i64;
        Time::from_nanoseconds(self.last.time.nanoseconds().saturating_add_signed(-nanoseconds))
    }

    /// How long this is, nanoseconds and parts of them.
    pub(super) fn nanoseconds(&self, ticks: f64) -> f64 {
        match self.clock {
            EventClock::Monotonic => ticks,
            EventClock::TimeStampCounter => ticks * self.nanoseconds_per_tick,
        }
    }

    /// A moment of now.
    pub(super) fn now(&self) -> u64 {
        match self.clock {
            EventClock::Monotonic => now().nanoseconds(),
            // SAFETY: every x86-64 processor has the counter.
            EventClock::TimeStampCounter => unsafe { core::arch::x86_64::_rdtsc() },
        }
    }

    /// How long this is, nanoseconds.
    pub(super) fn duration(&self, ticks: u64) -> u64 {
        match self.clock {
            EventClock::Monotonic => ticks,
            EventClock::TimeStampCounter => (ticks as f64 * self.nanoseconds_per_tick) as u64,
        }
    }
}

/// The closest of a few readings: between two looks at the one clock lies a look at the other.
fn pair() -> ClockPair {
    let read = || {
        // SAFETY: every x86-64 processor has the counter.
        let (before, time, after) =
            unsafe { (core::arch::x86_64::_rdtsc(), now(), core::arch::x86_64::_rdtsc()) };
        (
            after.wrapping_sub(before),
            ClockPair { ticks: before.wrapping_add(after.wrapping_sub(before) / 2), time },
        )
    };
    let readings: [_; 8] = std::array::from_fn(|_| read());
    readings.into_iter().min_by_key(|&(width, _)| width).expect("eight readings").1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_now_are_now_and_the_past_is_where_it_was() {
        let mut ticks = Ticks::new(EventClock::TimeStampCounter);
        let early = pair();
        std::thread::sleep(std::time::Duration::from_millis(20));
        ticks.calibrate();
        let found = ticks.time(early.ticks).nanoseconds().abs_diff(early.time.nanoseconds());
        assert!(found < 20_000, "{found} ns off");
        let second = ticks.duration(ticks.of_nanoseconds(1_000_000_000));
        assert!(second.abs_diff(1_000_000_000) < 1_000);
    }
}
