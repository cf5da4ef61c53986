//! How long waits were: a histogram whose buckets are an eighth of an octave wide.
//!
//! ```text
//!   nanoseconds   0 1 2 … 15 | 16 18 20 … 30 | 32 36 … 60 | 64 …       each octave has eight buckets
//! ```
//! Each bucket keeps the sum of what is in it, so that a quantile is the mean of its bucket: right within an eighth,
//! and exact where all lengths of a bucket are the same. Memory: only buckets that hold something.

use longpole_trace::stored;

/// A histogram of lengths in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LengthHistogram {
    /// By bucket: number and sum.
    buckets: Vec<(u16, u64, u64)>,
    largest: u64,
}

stored! {
    LengthHistogram { buckets, largest }
}

fn bucket(length: u64) -> u16 {
    let octave = 63 - length.max(8).leading_zeros();
    let shift = octave - 3;
    ((shift << 3) as u64 + (length >> shift)) as u16
}

impl LengthHistogram {
    /// Adds a length.
    pub(crate) fn add(&mut self, length: u64) {
        self.add_to(bucket(length), 1, length);
        self.largest = self.largest.max(length);
    }

    fn add_to(&mut self, bucket: u16, count: u64, sum: u64) {
        match self.buckets.binary_search_by_key(&bucket, |entry| entry.0) {
            Ok(at) => {
                self.buckets[at].1 += count;
                self.buckets[at].2 += sum;
            }
            Err(at) => self.buckets.insert(at, (bucket, count, sum)),
        }
    }

    /// Adds all lengths of the other.
    pub fn merge(&mut self, other: &LengthHistogram) {
        for &(bucket, count, sum) in &other.buckets {
            self.add_to(bucket, count, sum);
        }
        self.largest = self.largest.max(other.largest);
    }

    /// How many lengths.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|entry| entry.1).sum()
    }

    /// All lengths together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.buckets.iter().map(|entry| entry.2).sum()
    }

    /// The largest; 0 of none.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// The mean; 0 of none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            count => self.sum() as f64 / count as f64,
        }
    }

    /// The length that `share` (0 to 1) of all are not above, within an eighth; 0 of none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = (share.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for &(_, count, sum) in &self.buckets {
            seen += count;
            if seen >= wanted {
                return sum as f64 / count as f64;
            }
        }
        0.0
    }

    /// Number and sum of the lengths in each bucket, from the shortest.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().map(|&(_, count, sum)| (count, sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_an_eighth_of_an_octave_and_without_gaps() {
        let edges: Vec<u64> = (0..200).filter(|&n| n == 0 || bucket(n) != bucket(n - 1)).collect();
        assert_eq!(edges[..20], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22]);
        assert!((1..100_000_u64).all(|n| bucket(n) - bucket(n - 1) <= 1));
        assert_eq!(bucket(u64::MAX), 495);
    }

    #[test]
    fn quantiles_are_right_within_an_eighth() {
        let mut lengths = LengthHistogram::default();
        (1..=1000).for_each(|length| lengths.add(length * 1000));
        for (share, exact) in [(0.1, 100_000.0), (0.5, 500_000.0), (0.9, 900_000.0), (1.0, 1_000_000.0)] {
            let found: f64 = lengths.quantile(share);
            assert!((found / exact - 1.0).abs() < 0.125, "{share}: {found}");
        }
        assert_eq!((lengths.count(), lengths.largest()), (1000, 1_000_000));
        assert_eq!(lengths.mean(), 500_500.0);
    }

    #[test]
    fn equal_lengths_are_told_exactly() {
        let mut lengths = LengthHistogram::default();
        (0..9).for_each(|_| lengths.add(60_000_001));
        lengths.add(5_000_000_003);
        assert_eq!((lengths.quantile(0.5), lengths.quantile(0.9)), (60_000_001.0, 60_000_001.0));
        assert_eq!(lengths.quantile(0.91), 5_000_000_003.0);
        let mut both = lengths.clone();
        both.merge(&lengths);
        assert_eq!((both.count(), both.sum()), (20, 2 * lengths.sum()));
        assert_eq!(LengthHistogram::default().quantile(0.5), 0.0);
    }
}
