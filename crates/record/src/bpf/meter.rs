//! Measures what the kernel programs cost without costing much itself.
//!
//! While the kernel's statistics are on, each run of a program takes two more readings of the clock, about a tenth
//! of what a switch costs. So they are on for the first moments, which is all of a short run, and for a tenth of
//! the time after that:
//!
//! ```text
//!   on  ████████      ██                  ██                  ██
//!       0    FIRST    |<----- PERIOD ---->|
//! ```
//! The cost of the whole run is that of the first moments and ten times that of the slices after them.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::collector::KernelCost;

const FIRST: Duration = Duration::from_millis(200);
const PERIOD: Duration = Duration::from_millis(500);
const SLICE: Duration = Duration::from_millis(50);

/// The kernel's statistics, switched on and off.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The statistics are on as long as this is open.
    on: Option<OwnedFd>,
    is_permitted: bool,
    begun: Instant,
    /// When the statistics were switched last.
    switched: Instant,
    /// Length of the first stretch, and what had been counted at its end.
    first: Option<(Duration, KernelCost)>,
    /// How long they were on after that.
    sliced: Duration,
}

impl Meter {
    /// Switches the statistics on.
    pub(crate) fn start() -> Self {
        let on = aya::sys::enable_stats(aya::sys::Stats::RunTime).ok();
        let now = Instant::now();
        Meter {
            is_permitted: on.is_some(),
            on,
            begun: now,
            switched: now,
            first: None,
            sliced: Duration::ZERO,
        }
    }

    /// The program starts now: what was measured before is nothing.
    pub(crate) fn restart(&mut self) {
        if self.first.is_none() {
            self.begun = Instant::now();
            self.switched = self.begun;
        }
    }

    /// Switches the statistics when it is time; to be called now and then. `counted` reads them.
    pub(crate) fn tick(&mut self, counted: impl FnOnce() -> Option<KernelCost>) {
        if !self.is_permitted {
            return;
        }
        let since = self.switched.elapsed();
        let wanted = match (&self.on, self.first) {
            (Some(_), None) => FIRST,
            (Some(_), Some(_)) => SLICE,
            (None, _) => PERIOD - SLICE,
        };
        if since < wanted {
            return;
        }
        self.switched += since;
        if self.on.take().is_none() {
            self.on = aya::sys::enable_stats(aya::sys::Stats::RunTime).ok();
        } else if self.first.is_some() {
            self.sliced += since;
        } else {
            self.first = Some((self.begun.elapsed(), counted().unwrap_or_default()));
        }
    }

    /// Ends the measurement: the cost of the whole time, given what was counted in all.
    pub(crate) fn finish(&mut self, counted: Option<KernelCost>) -> Option<KernelCost> {
        let counted = counted.filter(|_| self.is_permitted)?;
        if self.on.take().is_some() && self.first.is_some() {
            self.sliced += self.switched.elapsed();
        }
        let Some((stretch, first)) = self.first else { return Some(counted) };
        let rest = self.begun.elapsed().saturating_sub(stretch);
        Some(extrapolate((stretch, first), counted, rest, self.sliced))
    }
}

/// The first stretch as it was counted, and the rest in proportion to the time it was counted for.
fn extrapolate(
    (stretch, first): (Duration, KernelCost),
    all: KernelCost,
    rest: Duration,
    sliced: Duration,
) -> KernelCost {
    if sliced.is_zero() {
        // The run ended before the first slice: the rest went on as the first stretch did.
        let factor = 1.0 + rest.as_secs_f64() / stretch.as_secs_f64();
        return scaled(first, factor);
    }
    let later = KernelCost { nanoseconds: all.nanoseconds - first.nanoseconds, runs: all.runs - first.runs };
    let later = scaled(later, rest.as_secs_f64() / sliced.as_secs_f64());
    KernelCost { nanoseconds: first.nanoseconds + later.nanoseconds, runs: first.runs + later.runs }
}

fn scaled(cost: KernelCost, factor: f64) -> KernelCost {
    let scale = |value: u64| (value as f64 * factor).round() as u64;
    KernelCost { nanoseconds: scale(cost.nanoseconds), runs: scale(cost.runs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(nanoseconds: u64, runs: u64) -> KernelCost {
        KernelCost { nanoseconds, runs }
    }

    #[test]
    fn slices_stand_for_the_whole_time_between_them() {
        // 100 in the first stretch; 50 in one second of slices out of ten seconds: 500.
        let (rest, sliced) = (Duration::from_secs(10), Duration::from_secs(1));
        assert_eq!(extrapolate((FIRST, cost(100, 10)), cost(150, 15), rest, sliced), cost(600, 60));
    }

    #[test]
    fn before_the_first_slice_the_first_stretch_stands_for_the_rest() {
        assert_eq!(extrapolate((FIRST, cost(100, 10)), cost(100, 10), FIRST, Duration::ZERO), cost(200, 20));
    }
}
