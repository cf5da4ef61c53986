//! Parallelism over time (metrics.md §8; I §2.1): the mean of U and of N over each bin of a histogram that folds, so that
//! the length of the run need not be known.
//!
//! It cannot see changes within a bin, a 256th to a 512th of the run.

use std::ops::AddAssign;

use longpole_event::Time;
use longpole_graph::{ParallelismLevel, Sweep};

use crate::histogram::Histogram;

/// Bins at most; at least half of them hold a run that is as many nanoseconds long.
pub(crate) const BINS: usize = 512;

/// Parallelism over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelismCurve {
    /// Length of a bin, nanoseconds; the last one may be cut short by the end of the run.
    pub width: u64,
    /// Length of the run.
    pub elapsed: u64,
    /// The bins, in the order of time.
    pub bins: Vec<Bin>,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Its length, nanoseconds.
    pub length: u64,
    /// Mean of U over it.
    pub effective: f64,
    /// Mean of N over it.
    pub nominal: f64,
}

/// Sums of U and of N times nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct LevelSums {
    effective: u64,
    nominal: u64,
}

impl AddAssign for LevelSums {
    fn add_assign(&mut self, other: LevelSums) {
        self.effective += other.effective;
        self.nominal += other.nominal;
    }
}

/// The sweep that fills the bins.
#[derive(Clone, Debug)]
pub(crate) struct ParallelismCurveSweep(Histogram<LevelSums>);

impl Default for ParallelismCurveSweep {
    fn default() -> Self {
        ParallelismCurveSweep(Histogram::new(BINS, 1))
    }
}

impl ParallelismCurveSweep {
    /// The curve, once the sweep is finished.
    pub fn into_curve(self) -> ParallelismCurve {
        let (width, elapsed) = (self.0.width(), self.0.reached());
        let bin = |(index, sums): (usize, &LevelSums)| {
            let length = width.min(elapsed - index as u64 * width);
            let mean = |sum: u64| sum as f64 / length as f64;
            Bin { length, effective: mean(sums.effective), nominal: mean(sums.nominal) }
        };
        ParallelismCurve { width, elapsed, bins: self.0.bins().iter().enumerate().map(bin).collect() }
    }
}

impl Sweep for ParallelismCurveSweep {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        self.0.spread(from.nanoseconds(), to.nanoseconds(), |nanoseconds| LevelSums {
            effective: u64::from(level.effective) * nanoseconds,
            nominal: u64::from(level.nominal) * nanoseconds,
        });
    }
}

#[cfg(test)]
mod tests {
    use longpole_graph::sweep;
    use longpole_testkit::{draw, oracle, random_timelines};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bins_hold_the_means_of_their_time() {
        let mut bins = ParallelismCurveSweep::default();
        let Ok(()) = sweep(&draw("unit 600\nT1 AAAA\nT2 A--A"), false, &mut bins);
        let curve = bins.into_curve();
        // 2,400 ns need bins of 8 ns: 300 of them.
        assert_eq!((curve.width, curve.bins.len(), curve.elapsed), (8, 300, 2400));
        assert_eq!(curve.bins[74], Bin { length: 8, effective: 2.0, nominal: 2.0 });
        assert_eq!(curve.bins[75], Bin { length: 8, effective: 1.0, nominal: 2.0 });
        assert_eq!(curve.bins[299].length, 8);
    }

    #[test]
    fn the_last_bin_ends_with_the_run() {
        let mut bins = ParallelismCurveSweep::default();
        let Ok(()) = sweep(&draw("unit 3\nT1 A\nT2 A"), false, &mut bins);
        assert_eq!(bins.clone().into_curve().bins.len(), 3);
        let Ok(()) = sweep(&draw("unit 1025\nT1 A\nT2 A"), false, &mut bins);
        let curve = bins.into_curve();
        assert_eq!((curve.width, curve.bins.len()), (4, 257));
        assert_eq!(curve.bins[256].length, 1);
    }

    proptest! {
        #[test]
        fn every_bin_is_the_mean_of_its_ticks(made in random_timelines(4, 80), io_idle: bool) {
            let mut bins = ParallelismCurveSweep::default();
            let Ok(()) = sweep(&made, io_idle, &mut bins);
            // A bin a tick.
            let curve = bins.into_curve();
            prop_assert_eq!(curve.bins.len() as u64, made.program.elapsed_nanoseconds);
            for (tick, bin) in curve.bins.iter().enumerate() {
                let busy = oracle::busy_in(&made, tick as u64, io_idle);
                prop_assert!((bin.effective - busy as f64).abs() < 1e-9);
                prop_assert!((bin.nominal - oracle::runnable_in(&made, tick as u64) as f64).abs() < 1e-9);
            }
        }
    }
}
