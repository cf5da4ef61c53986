//! A window of time, cut into equal bins.
//!
//! ```text
//!   from 10, to 20, 4 bins       |10  12|12  15|15  17|17  20|      cut at whole nanoseconds
//! ```

use longpole_event::Time;

/// Bins at most.
pub(crate) const MOST_BINS: u32 = 20_000;

/// A window and its bins. The window lies within the run and does not end before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bins {
    pub from: u64,
    pub to: u64,
    pub count: u32,
}

impl Bins {
    /// The part of `from` to `to` that lies within a run of this length, in so many bins, at least one and at most
    /// [`MOST_BINS`].
    pub fn new(from: Time, to: Time, count: u32, elapsed: u64) -> Bins {
        let from = from.nanoseconds().min(elapsed);
        let to = to.nanoseconds().clamp(from, elapsed);
        Bins { from, to, count: count.clamp(1, MOST_BINS) }
    }

    /// Begin of the bin; of the one after the last, the end of the window.
    pub fn edge(&self, bin: u32) -> u64 {
        let length = u128::from(self.to - self.from);
        self.from + (length * u128::from(bin) / u128::from(self.count)) as u64
    }

    /// Begins and ends of the bins.
    pub fn spans(self) -> impl Iterator<Item = (u64, u64)> {
        let mut from = self.from;
        (1..=self.count).map(move |bin| {
            let begin = std::mem::replace(&mut from, self.edge(bin));
            (begin, from)
        })
    }
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_meet_and_fill_the_window() {
        let at = Time::from_nanoseconds;
        let spans: Vec<_> = Bins::new(at(10), at(20), 4, 100).spans().collect();
        assert_eq!(spans, [(10, 12), (12, 15), (15, 17), (17, 20)]);
        let spans: Vec<_> = Bins::new(at(5), at(7), 4, 6).spans().collect();
        assert_eq!(spans, [(5, 5), (5, 5), (5, 5), (5, 6)], "cut at the end of the run");
        assert_eq!(Bins::new(at(9), at(3), 0, 100), Bins { from: 9, to: 9, count: 1 });
    }
}
