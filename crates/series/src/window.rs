//! A part of the time axis, cut into bins of one length.

use longpole_event::Time;

/// A part of the run in bins: the first begins at `from`, the last ends at `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Begin, since the begin of the run.
    pub from: Time,
    /// End; not before the begin.
    pub to: Time,
    /// Bins, at least one.
    pub bins: usize,
}

impl Window {
    /// Length of a bin, seconds.
    #[must_use]
    pub fn width_seconds(&self) -> f64 {
        (self.to.nanoseconds() - self.from.nanoseconds()) as f64 / 1e9 / self.bins as f64
    }

    /// Where the bin begins, and the one before it ends; `bins` gives the window's end.
    #[must_use]
    pub fn edge(&self, bin: usize) -> Time {
        let length = u128::from(self.to.nanoseconds() - self.from.nanoseconds());
        let offset = length * bin as u128 / self.bins as u128;
        Time::from_nanoseconds(
            self.from.nanoseconds() + u64::try_from(offset).expect("not longer than the window"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_cut_the_window_whatever_its_length() {
        let at = Time::from_nanoseconds;
        let window = Window { from: at(10), to: at(20), bins: 4 };
        let edges: Vec<_> = (0..=4).map(|bin| window.edge(bin).nanoseconds()).collect();
        assert_eq!(edges, [10, 12, 15, 17, 20]);
        assert_eq!(window.width_seconds(), 2.5e-9);
        assert_eq!(Window { from: at(0), to: at(u64::MAX), bins: 20_000 }.edge(20_000), at(u64::MAX));
    }
}
