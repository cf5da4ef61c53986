//! What a change would gain: a range, and what no gain can exceed.

use crate::diagnosis::Facts;
use crate::input::Source;
use crate::quantity::{percent, percent_text, time_text};

/// From the least to the most that the metrics predict, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub low: f64,
    pub high: f64,
}

/// Parts of the most below which the least is told as nothing.
const NOTHING: f64 = 0.05;

impl Range {
    /// The range of these predictions, widened by one standard error, which is a part of the run.
    pub(super) fn of(predictions: &[f64], error: f64, bounds: &Bounds, limit: f64) -> Range {
        let low = predictions.iter().copied().fold(f64::INFINITY, f64::min) - error;
        let high = predictions.iter().copied().fold(0.0, f64::max) + error;
        let limit = limit.min(bounds.elapsed).max(0.0);
        let high = high.min(limit);
        Range { low: low.clamp(0.0, high), high }
    }

    /// At most this much.
    pub(super) fn up_to(high: f64, bounds: &Bounds) -> Range {
        Range { low: 0.0, high: high.min(bounds.elapsed).max(0.0) }
    }

    /// `0.69–0.91 s`, `up to 0.40 s`.
    pub(crate) fn text(&self) -> String {
        let [low, high] = [self.low, self.high].map(|time| time_text(time.round() as u64));
        if self.low < NOTHING * self.high {
            return format!("up to {high}");
        }
        between(&low, &high)
    }

    /// `69–91 %` of the run.
    pub(crate) fn share_text(&self, elapsed: u64) -> String {
        let [low, high] = [self.low, self.high].map(|time| percent_text(percent(time, elapsed as f64)));
        if self.low < NOTHING * self.high { high } else { between(&low, &high) }
    }
}

/// Two quantities as one where they read the same, with one unit where they share it.
fn between(low: &str, high: &str) -> String {
    let unit = |text: &str| text.rsplit(' ').next().unwrap_or_default().to_owned();
    match low.rsplit_once(' ') {
        _ if low == high => high.to_owned(),
        Some((number, _)) if unit(low) == unit(high) => format!("{number}–{high}"),
        _ => format!("{low} – {high}"),
    }
}

/// What no gain exceeds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Length of the run, nanoseconds.
    pub elapsed: f64,
    /// Useful CPU time.
    cpu: f64,
    processors: f64,
}

impl Bounds {
    pub(super) fn of(input: &Source<'_>, facts: &Facts) -> Bounds {
        let processors = match input.program.cpus() {
            0 => f64::INFINITY,
            cpus => f64::from(cpus),
        };
        Bounds { elapsed: input.analysis.elapsed as f64, cpu: facts.cpu as f64, processors }
    }

    /// What is gained at most when `less` of the useful CPU time is left out: the rest has to be done by the
    /// processors that there are.
    pub(super) fn without(&self, less: f64) -> f64 {
        (self.elapsed - (self.cpu - less).max(0.0) / self.processors).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { elapsed: 10e9, cpu: 12e9, processors: 2.0 };

    #[test]
    fn a_range_is_of_all_predictions_and_their_error() {
        let range = Range::of(&[3e9, 5e9], 0.5e9, &BOUNDS, 10e9);
        assert_eq!((range.low, range.high), (2.5e9, 5.5e9));
        assert_eq!(range.text(), "2.50–5.50 s");
        assert_eq!(range.share_text(10_000_000_000), "25–55 %");
    }

    #[test]
    fn nothing_gains_more_than_the_processors_leave() {
        // 12 s of work on two processors take 6 s; without 4 s of it 4 s.
        assert_eq!(BOUNDS.without(0.0), 4e9);
        assert_eq!(BOUNDS.without(4e9), 6e9);
        let range = Range::of(&[3e9, 9e9], 0.0, &BOUNDS, BOUNDS.without(4e9));
        assert_eq!((range.low, range.high), (3e9, 6e9));
    }

    #[test]
    fn a_range_from_nothing_is_told_by_its_end() {
        assert_eq!(Range::up_to(0.4e9, &BOUNDS).text(), "up to 400 ms");
        assert_eq!(Range { low: 1e9, high: 1e9 }.text(), "1.00 s");
        assert_eq!(Range { low: 0.9e9, high: 1.2e9 }.text(), "900 ms – 1.20 s");
    }
}
