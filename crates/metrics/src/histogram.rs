//! A time histogram: a fixed number of bins for a run whose length is not known (IPS-2 §3, §4.1).
//!
//! When time runs past the last bin, bins fold in pairs and their width doubles.
//!
//! ```text
//!   width 1    | 1 | 1 | 2 | 2 |            time comes to 5 with four bins:
//!   width 2    |   2   |   4   | 3 .. |     the first two hold the sums of what four held
//! ```
//! Sums are kept, whatever the order in which values come and whenever bins fold; values are not moved between bins
//! but joined, so that a bin always holds just what came in its time. Two histograms that began with one width have
//! bins that fit into each other, however often each folded, and can be added.
//!
//! It is used where a run is swept and its end not known: by [`curve`](crate::curve). The numbers of outside series
//! are all kept, so their curves are computed in the bins that are asked for.
//!
//! Time: constant per value, apart from the bins that a long stretch spans. Memory: the bins.

use std::ops::AddAssign;

/// Values over time in bins that fold.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram<T> {
    width: u64,
    reached: u64,
    bins: Vec<T>,
}

impl<T: Copy + Default + AddAssign> Histogram<T> {
    /// An empty histogram with so many bins, an even number, each `width` nanoseconds long at first.
    #[must_use]
    pub fn new(bins: usize, width: u64) -> Self {
        assert!(bins > 0 && bins.is_multiple_of(2) && width > 0, "bins that fold in pairs and have a length");
        Histogram { width, reached: 0, bins: vec![T::default(); bins] }
    }

    /// Length of a bin, nanoseconds.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The end of the time that was filled, nanoseconds; the last bin ends there.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// The bins up to the end of the time that was filled.
    #[must_use]
    pub fn bins(&self) -> &[T] {
        &self.bins[..self.reached.div_ceil(self.width) as usize]
    }

    /// Adds a value in the nanosecond that begins at `time`.
    pub fn add(&mut self, time: u64, value: T) {
        self.spread(time, time.saturating_add(1), |_| value);
    }

    /// Adds something to every bin that the stretch touches: `part` gives what so many nanoseconds of it bring.
    pub fn spread(&mut self, from: u64, to: u64, part: impl Fn(u64) -> T) {
        self.reach(to);
        let mut from = from;
        while from < to {
            let index = from / self.width;
            let end = (index + 1).saturating_mul(self.width).min(to);
            self.bins[index as usize] += part(end - from);
            from = end;
        }
    }

    /// Adds what another histogram holds, which has as many bins and began with the same width.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.bins.len(), other.bins.len(), "histograms of one kind");
        self.reach(other.reached);
        while self.width < other.width {
            self.fold();
        }
        let times = (self.width / other.width) as usize;
        for (index, &value) in other.bins().iter().enumerate() {
            self.bins[index / times] += value;
        }
    }

    /// Makes room for the time up to `end`.
    fn reach(&mut self, end: u64) {
        while end.div_ceil(self.width) > self.bins.len() as u64 {
            self.fold();
        }
        self.reached = self.reached.max(end);
    }

    fn fold(&mut self) {
        let half = self.bins.len() / 2;
        for index in 0..half {
            let mut sum = self.bins[2 * index];
            sum += self.bins[2 * index + 1];
            self.bins[index] = sum;
        }
        self.bins[half..].fill(T::default());
        self.width *= 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bins_fold_in_pairs_when_time_runs_on() {
        let mut histogram = Histogram::new(4, 1);
        [1, 1, 2, 2].into_iter().zip(0..).for_each(|(value, time)| histogram.add(time, value));
        assert_eq!((histogram.width(), histogram.bins()), (1, &[1, 1, 2, 2][..]));
        histogram.add(4, 3);
        assert_eq!((histogram.width(), histogram.bins(), histogram.reached()), (2, &[2, 4, 3][..], 5));
    }

    #[test]
    fn times_far_ahead_have_a_bin() {
        let mut histogram = Histogram::new(2, 3);
        histogram.add(u64::MAX / 4, 1);
        assert_eq!(histogram.bins().iter().sum::<i32>(), 1);
        assert_eq!(Histogram::<u64>::new(2, 3).bins().len(), 0);
    }

    /// Values at times, with the widths at the begin and the bins.
    fn any_values() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let time = prop_oneof![0_u64..20, 0_u64..2_000, 0_u64..1_000_000];
        proptest::collection::vec((time, 0_u64..1_000_000), 0..60)
    }

    fn filled(values: &[(u64, u64)], bins: usize, width: u64) -> Histogram<u64> {
        let mut histogram = Histogram::new(bins, width);
        values.iter().for_each(|&(time, value)| histogram.add(time, value));
        histogram
    }

    proptest! {
        #[test]
        fn sums_are_kept_and_stand_in_their_time(values in any_values(), half in 1_usize..9, width in 1_u64..50) {
            let histogram = filled(&values, 2 * half, width);
            prop_assert_eq!(histogram.bins().iter().sum::<u64>(), values.iter().map(|value| value.1).sum::<u64>());
            for (index, &sum) in histogram.bins().iter().enumerate() {
                let of_bin = values.iter().filter(|value| value.0 / histogram.width() == index as u64);
                prop_assert_eq!(sum, of_bin.map(|value| value.1).sum::<u64>());
            }
            // No wider than it has to be.
            let last = values.iter().map(|value| value.0).max().unwrap_or(0);
            prop_assert!(histogram.width() == width || last / (histogram.width() / 2) >= 2 * half as u64);
        }

        #[test]
        fn the_order_of_values_and_when_bins_fold_make_no_difference(
            values in any_values(), half in 1_usize..9, width in 1_u64..50, cut: prop::sample::Index,
        ) {
            let whole = filled(&values, 2 * half, width);
            let mut backwards = values.clone();
            backwards.sort_unstable_by(|one, other| other.cmp(one));
            prop_assert_eq!(&filled(&backwards, 2 * half, width), &whole);
            // In two parts that fold for themselves and are added, either to the other.
            let (one, other) = values.split_at(cut.index(values.len() + 1));
            let (one, other) = (filled(one, 2 * half, width), filled(other, 2 * half, width));
            let (mut sum, mut turned) = (one.clone(), other.clone());
            sum.merge(&other);
            turned.merge(&one);
            prop_assert_eq!(&sum, &whole);
            prop_assert_eq!(&turned, &whole);
        }

        #[test]
        fn the_mean_of_a_level_is_that_of_its_nanoseconds(
            steps in proptest::collection::vec((1_u64..40, 0_u64..100), 1..30), half in 1_usize..9, width in 1_u64..8,
        ) {
            let mut histogram = Histogram::new(2 * half, width);
            let mut levels = Vec::new();
            for (length, level) in steps {
                let from = levels.len() as u64;
                histogram.spread(from, from + length, |nanoseconds| level * nanoseconds);
                levels.extend((0..length).map(|_| level));
            }
            let expected: Vec<u64> =
                levels.chunks(histogram.width() as usize).map(|levels| levels.iter().sum()).collect();
            prop_assert_eq!(histogram.bins(), expected);
        }

        #[test]
        fn sums_of_fractions_are_kept_within_rounding(
            stretches in proptest::collection::vec((0_u64..1_000, 1_u64..5_000, -1e6..1e6), 0..40), half in 1_usize..9,
        ) {
            let mut histogram = Histogram::new(2 * half, 1);
            for &(from, length, amount) in &stretches {
                histogram.spread(from, from + length, |nanoseconds| amount * nanoseconds as f64 / length as f64);
            }
            let (found, expected) = (histogram.bins().iter().sum::<f64>(), stretches.iter().map(|one| one.2).sum::<f64>());
            prop_assert!((found - expected).abs() <= 1e-9 * 1e6 * (1 + stretches.len()) as f64);
        }
    }
}
