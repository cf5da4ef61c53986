//! Clocks whose intervals vary, so that no program is in step with them (metrics.md §1).
//!
//! ```text
//!   fixed     ↑    ↑    ↑    ↑    ↑    ↑     a program that wakes each millisecond is found in the same place
//!   varied    ↑   ↑   ↑   |↑      ↑      |↑  each processor's interval is drawn anew, at no time of the program's
//! ```
//! The kernel's clock has one period; a collector draws another one for each processor every [`HOLD`], from
//! 1 − [`SPREAD`] to 1 + [`SPREAD`] times the mean. That also gives the processors phases of their own. How long each interval was
//! in the end is measured where the clock fires. Where the kernel
//! lets nobody change a running clock (clocks that threads inherit), the period is [`steady`], which is in
//! step with no round one.

use std::time::{Duration, Instant, UNIX_EPOCH};

use perf_event_open_sys::bindings as perf;

use crate::ring::PerfEvent;

/// How long a processor keeps its interval, at least: each change ends an interval before its time.
const HOLD: Duration = Duration::from_millis(40);
/// How many intervals that is, at least.
const HELD_INTERVALS: u64 = 8;
/// By how much of the mean intervals differ from it at most.
const SPREAD: f64 = 0.4;

/// The mean interval, nanoseconds.
#[must_use]
pub fn mean(hertz: u32) -> u64 {
    1_000_000_000 / u64::from(hertz.max(1))
}

/// An interval close to the mean that has no small common multiple with round times: 1.79 ms for 499 Hz.
#[must_use]
pub fn steady(hertz: u32) -> u64 {
    (mean(hertz) as f64 * 2.0 / 5.0_f64.sqrt()) as u64
}

/// A clock of a processor that samples nothing by itself. It also looks at an idle processor: only so the next look knows how
/// long its interval was.
#[must_use]
pub fn bare_clock(hertz: u32) -> perf::perf_event_attr {
    let sample =
        perf::PERF_SAMPLE_IDENTIFIER | perf::PERF_SAMPLE_TID | perf::PERF_SAMPLE_TIME | perf::PERF_SAMPLE_CPU;
    let mut attribute = perf::perf_event_attr {
        type_: perf::PERF_TYPE_SOFTWARE,
        config: perf::PERF_COUNT_SW_CPU_CLOCK.into(),
        sample_type: sample.into(),
        clockid: libc::CLOCK_MONOTONIC,
        ..Default::default()
    };
    attribute.__bindgen_anon_1.sample_period = mean(hertz);
    attribute.set_use_clockid(1);
    attribute.set_sample_id_all(1);
    attribute.set_disabled(1);
    attribute
}

/// Draws intervals.
#[derive(Clone, Debug)]
pub struct Intervals {
    mean: u64,
    state: u64,
}

impl Intervals {
    /// Of this mean rate; each recording draws others.
    #[must_use]
    pub fn new(hertz: u32) -> Intervals {
        let now = UNIX_EPOCH.elapsed().unwrap_or_default();
        Intervals {
            mean: mean(hertz),
            state: u64::from(now.subsec_nanos()) ^ now.as_secs() << 20 ^ u64::from(std::process::id()) << 32,
        }
    }

    /// The next one, nanoseconds.
    pub fn draw(&mut self) -> u64 {
        // xorshift64*: the quality does not matter, independence of the program does.
        self.state |= 1;
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let unit = (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64;
        (self.mean as f64 * (1.0 + SPREAD * (2.0 * unit - 1.0))) as u64
    }
}

/// The clocks of all processors.
#[derive(Debug)]
pub struct VariedClocks {
    clocks: Vec<PerfEvent>,
    intervals: Intervals,
    drawn: Option<Instant>,
}

impl VariedClocks {
    /// None yet, of this mean rate.
    #[must_use]
    pub fn new(hertz: u32) -> VariedClocks {
        VariedClocks { clocks: Vec::new(), intervals: Intervals::new(hertz), drawn: None }
    }

    /// Also this one.
    pub fn add(&mut self, clock: PerfEvent) {
        self.clocks.push(clock);
    }

    /// Gives each clock another interval, if it has had its own for long enough. A clock that refuses goes on as it was.
    pub fn vary(&mut self) {
        let hold = HOLD.max(Duration::from_nanos(self.intervals.mean * HELD_INTERVALS));
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < hold) {
            return;
        }
        self.drawn = Some(Instant::now());
        for clock in &self.clocks {
            let _ = clock.set_period(self.intervals.draw());
        }
    }

    /// Ends the clocks.
    pub fn stop(&mut self) {
        self.clocks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_fill_the_range_around_the_mean() {
        let mut intervals = Intervals::new(500);
        let drawn: Vec<u64> = (0..10_000).map(|_| intervals.draw()).collect();
        assert!(drawn.iter().all(|&interval| (1_200_000..=2_800_000).contains(&interval)));
        let mean = drawn.iter().sum::<u64>() / 10_000;
        assert!((1_980_000..2_020_000).contains(&mean), "{mean}");
        let quarter = drawn.iter().filter(|&&interval| interval < 1_600_000).count();
        assert!((2_350..2_650).contains(&quarter), "{quarter}");
    }

    #[test]
    fn the_steady_interval_is_in_step_with_no_round_one() {
        // 1.788854 ms for 500 Hz: after any few of them the phase in a millisecond is another one.
        assert_eq!(steady(500), 1_788_854);
        let mut phases: Vec<u64> = (1..=100).map(|count| steady(500) * count % 1_000_000).collect();
        phases.sort_unstable();
        let widest = phases.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(widest < Some(30_000), "{widest:?}");
    }
}
