//! Parallelism over time (metrics.md §8; I §2.1): a histogram with a fixed number of bins.
//!
//! When time runs past the last bin, bins fold in pairs and their width doubles, so that the length of the run
//! need not be known. Each bin has the mean of U and of N over it.
//!
//! ```text
//!   width 1    | 1 | 1 | 2 | 2 |            time comes to 5 with four bins:
//!   width 2    |   1   |   2   | 3 .. |     the first two hold what four held before
//! ```
//! Time: constant per item, apart from the bins that a long time without items spans. Memory: the bins.
//!
//! It cannot see changes within a bin, a 256th to a 512th of the run.

use longpole_event::Time;
use longpole_graph::{Level, Sweep};

/// Bins at most; at least half of them hold a run that is as many nanoseconds long.
pub(crate) const BINS: usize = 512;

/// Parallelism over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
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

/// The sweep that fills the bins.
#[derive(Clone, Debug)]
pub(crate) struct Bins {
    width: u64,
    elapsed: u64,
    /// Sums of U and of N times nanoseconds.
    sums: Vec<[u64; 2]>,
}

impl Default for Bins {
    fn default() -> Self {
        Bins { width: 1, elapsed: 0, sums: vec![[0; 2]; BINS] }
    }
}

impl Bins {
    fn fold(&mut self) {
        for index in 0..BINS / 2 {
            let (one, other) = (self.sums[2 * index], self.sums[2 * index + 1]);
            self.sums[index] = [one[0] + other[0], one[1] + other[1]];
        }
        self.sums[BINS / 2..].fill([0; 2]);
        self.width *= 2;
    }

    /// The curve, once the sweep is finished.
    pub fn into_curve(self) -> Curve {
        let Bins { width, elapsed, sums } = self;
        let used = elapsed.div_ceil(width) as usize;
        let bin = |(index, sum): (usize, &[u64; 2])| {
            let length = width.min(elapsed - index as u64 * width);
            let [effective, nominal] = sum.map(|sum| sum as f64 / length as f64);
            Bin { length, effective, nominal }
        };
        Curve { width, elapsed, bins: sums[..used].iter().enumerate().map(bin).collect() }
    }
}

impl Sweep for Bins {
    fn pass(&mut self, from: Time, to: Time, level: Level) {
        let (mut from, to) = (from.nanoseconds(), to.nanoseconds());
        while to > self.width * BINS as u64 {
            self.fold();
        }
        self.elapsed = to;
        while from < to {
            let index = from / self.width;
            let end = ((index + 1) * self.width).min(to);
            let sum = &mut self.sums[index as usize];
            sum[0] += u64::from(level.effective) * (end - from);
            sum[1] += u64::from(level.nominal) * (end - from);
            from = end;
        }
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
        let mut bins = Bins::default();
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
        let mut bins = Bins::default();
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
            let mut bins = Bins::default();
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
