//! A window of time, cut into equal bins.
//!
//! ```text
//!   from 10, to 20, 4 bins       |10  12|12  15|15  17|17  20|      cut at whole nanoseconds
//! ```

use longpole_event::Time;

use crate::search::last_from;

/// Bins at most.
pub(crate) const MOST_BINS: u32 = 20_000;

/// A window and its bins. The window lies within the run and does not end before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeBins {
    /// Begins of the bins, and the end of the last.
    edges: Vec<u64>,
}

impl TimeBins {
    /// The part of `from` to `to` that lies within a run of this length, in so many bins, at least one and at most
    /// [`MOST_BINS`].
    pub fn new(from: Time, to: Time, count: u32, elapsed: u64) -> TimeBins {
        let from = from.nanoseconds().min(elapsed);
        let length = u128::from(to.nanoseconds().clamp(from, elapsed) - from);
        let count = u128::from(count.clamp(1, MOST_BINS));
        TimeBins { edges: (0..=count).map(|bin| from + (length * bin / count) as u64).collect() }
    }

    /// Begin of the window.
    pub fn from(&self) -> u64 {
        self.edges[0]
    }

    /// End of the window.
    pub fn to(&self) -> u64 {
        self.edges[self.count()]
    }

    /// Bins.
    pub fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// Begins of the bins, and the end of the last.
    pub fn edges(&self) -> &[u64] {
        &self.edges
    }

    /// Begin and end of a bin.
    pub fn span(&self, bin: usize) -> (u64, u64) {
        (self.edges[bin], self.edges[bin + 1])
    }

    /// The first bin from `bin` on that does not lie before this time; one without length lies before what is later.
    pub fn not_before(&self, bin: usize, time: u64) -> usize {
        let is_before =
            |last: usize| self.edges.get(last).is_some_and(|&end| end <= time && self.edges[last - 1] < time);
        last_from(bin, |next| next == bin || is_before(next))
    }
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(from: u64, to: u64, count: u32, elapsed: u64) -> TimeBins {
        TimeBins::new(Time::from_nanoseconds(from), Time::from_nanoseconds(to), count, elapsed)
    }

    #[test]
    fn bins_meet_and_fill_the_window() {
        assert_eq!(bins(10, 20, 4, 100).edges(), [10, 12, 15, 17, 20]);
        assert_eq!(bins(5, 7, 4, 6).edges(), [5, 5, 5, 5, 6], "cut at the end of the run");
        assert_eq!(bins(9, 3, 0, 100).edges(), [9, 9]);
    }

    #[test]
    fn so_many_bins_lie_before_a_time() {
        let wide = bins(10, 20, 4, 100);
        let found: Vec<_> = (10..22).map(|time| wide.not_before(0, time)).collect();
        assert_eq!(found, [0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4]);
        assert_eq!(wide.not_before(2, 17), 3);
        // 0..0, 0..1, 1..1, 1..2
        let narrow = bins(0, 2, 4, 100);
        assert_eq!([0, 1, 2].map(|time| narrow.not_before(0, time)), [0, 2, 4]);
    }
}
