//! What a metric came to in each bin.

use crate::bins::TimeBins;

/// Nanoseconds by bin.
#[derive(Clone, Debug)]
pub(super) struct BinSums<'a> {
    bins: &'a TimeBins,
    sums: Vec<f64>,
    /// The bin that was added to last.
    at: usize,
}

impl<'a> BinSums<'a> {
    pub fn new(bins: &'a TimeBins) -> BinSums<'a> {
        BinSums { bins, sums: vec![0.0; bins.count()], at: 0 }
    }

    /// The window.
    pub fn span(&self) -> (u64, u64) {
        (self.bins.from(), self.bins.to())
    }

    /// Adds to a bin.
    pub fn add_to(&mut self, bin: usize, amount: f64) {
        self.sums[bin] += amount;
    }

    /// Adds the time between `from` and `to`, which lie in the window.
    pub fn add(&mut self, from: u64, to: u64) {
        self.add_parts(from, to, |from, to| (to - from) as f64);
    }

    /// Adds what `amount` says of each bin's part of the time between `from` and `to`, which lie in the window; the
    /// parts come in the order of time.
    pub fn add_parts(&mut self, from: u64, to: u64, mut amount: impl FnMut(u64, u64) -> f64) {
        self.seek(from);
        let mut now = from;
        while now < to {
            let end = self.bins.span(self.at).1.min(to);
            if end > now {
                self.sums[self.at] += amount(now, end);
                now = end;
            }
            if now < to {
                self.at += 1;
            }
        }
    }

    /// To a bin that holds this time, or that ends with it.
    fn seek(&mut self, time: u64) {
        let edges = self.bins.edges();
        let is_in = |bin: usize| edges[bin] <= time && time <= edges[bin + 1];
        if is_in(self.at) {
            return;
        }
        let next = (self.at + 1).min(self.sums.len() - 1);
        self.at = if is_in(next) {
            next
        } else {
            edges.partition_point(|&edge| edge <= time).clamp(1, self.sums.len()) - 1
        };
    }

    /// Adds what others came to in the same bins.
    pub fn merge(&mut self, other: &BinSums<'_>) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
    }

    /// The sums by the length of their bins; 0 of no length.
    pub fn into_values(self) -> Vec<f64> {
        let lengths = self.bins.edges().windows(2).map(|edges| edges[1] - edges[0]);
        let value = |(sum, length): (&f64, u64)| if length == 0 { 0.0 } else { sum / length as f64 };
        self.sums.iter().zip(lengths).map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::Time;

    use super::*;

    fn bins(from: u64, to: u64, count: u32) -> TimeBins {
        TimeBins::new(Time::from_nanoseconds(from), Time::from_nanoseconds(to), count, 1000)
    }

    #[test]
    fn time_goes_to_the_bins_that_it_lies_in() {
        let bins = bins(10, 20, 4);
        let mut sums = BinSums::new(&bins);
        sums.add(11, 16);
        sums.add(19, 20);
        sums.add(10, 11);
        // 10..12, 12..15, 15..17, 17..20
        assert_eq!(sums.sums, [2.0, 3.0, 1.0, 1.0]);
        assert_eq!(sums.into_values(), [1.0, 1.0, 0.5, 1.0 / 3.0]);
    }

    #[test]
    fn bins_without_length_get_nothing() {
        let bins = bins(0, 3, 7);
        let mut sums = BinSums::new(&bins);
        sums.add(0, 3);
        sums.add(2, 3);
        assert_eq!(sums.sums.iter().sum::<f64>(), 4.0);
        let values = sums.into_values();
        assert_eq!(values.iter().sum::<f64>(), 4.0);
        assert!(values.iter().all(|&value| value == 0.0 || value == 1.0 || value == 2.0));
    }
}
