//! Errors of rows whose shares are estimated, and their places in a ranking (metrics.md §1).

use longpole_metrics::{Analysis, By, Node, Precision, RowPrecision, are_tied};

use crate::findings::threshold::FEWEST_OF_ROW;
use crate::input::ReportTables;

/// What the shares of rows are estimated from.
pub(crate) struct Estimate {
    rows: RowPrecision<Node>,
    /// Timer samples behind all rows together; 0: each observation was exact.
    timer: u64,
    /// Effective observations behind all rows together.
    samples: f64,
    /// What shares are shares of, nanoseconds.
    whole: f64,
}

/// A figure's precision, and the effective number of observations behind it.
pub(crate) type PrecisionBehind<'a> = (&'a Precision, f64);

/// What stands behind CPU time.
pub(crate) fn behind_cpu(analysis: &Analysis) -> PrecisionBehind<'_> {
    (&analysis.precisions.cpu, analysis.effective_samples.cpu)
}

/// What stands behind normalised processor time.
pub(crate) fn behind_npt(analysis: &Analysis) -> PrecisionBehind<'_> {
    (&analysis.precisions.npt, analysis.effective_samples.npt)
}

/// What stands behind time on the critical path.
pub(crate) fn behind_path(analysis: &Analysis) -> PrecisionBehind<'_> {
    (&analysis.precisions.critical, analysis.effective_samples.critical)
}

impl Estimate {
    /// Of rows of this kind, which are parts of `whole`; `None` where they are exact.
    pub(crate) fn of(
        input: &ReportTables<'_>,
        by: By,
        behind: PrecisionBehind<'_>,
        whole: f64,
    ) -> Option<Estimate> {
        let (precision, samples) = behind;
        let paths = input.paths;
        let rows = precision.by_row(|path| {
            let place = paths.innermost(path)?;
            match by {
                By::Procedure => Some(Node::Procedure(place.procedure)),
                By::Line => Some(Node::Line(place.procedure, place.line)),
                _ => None,
            }
        });
        let is_estimated = matches!(by, By::Procedure | By::Line);
        is_estimated.then(|| Estimate { rows, timer: precision.samples(), samples, whole })
    }

    /// Standard error of the row's share, in percentage points; `None` where too few samples are behind it to say.
    pub(crate) fn error(&self, node: Node, percent: f64) -> Option<f64> {
        if self.timer == 0 {
            return standard_error(percent, self.samples);
        }
        let expected = percent / 100.0 * self.timer as f64;
        self.rows.error(node).filter(|_| expected >= FEWEST_OF_ROW).map(|error| 100.0 * error / self.whole)
    }

    /// Whether the difference of two rows' shares is within its error.
    pub(crate) fn is_tied(&self, (one, percent): (Node, f64), (other, second): (Node, f64)) -> bool {
        if self.timer == 0 {
            return is_tied(percent, second, self.samples);
        }
        let error = self.rows.error_of_difference(one, other);
        error.is_none_or(|error| (percent - second).abs() <= 100.0 * error / self.whole)
    }
}

/// Standard error of the share `percent` estimated from `samples` observations, in percentage points; `None`
/// without observations, and where nothing is estimated.
pub(crate) fn standard_error(percent: f64, samples: f64) -> Option<f64> {
    (samples > 0.0 && samples.is_finite())
        .then(|| 100.0 * longpole_metrics::standard_error(percent / 100.0, samples))
}

/// Whether two shares of the same whole differ by no more than the standard error of their difference.
pub(crate) fn is_tied(percent: f64, other: f64, samples: f64) -> bool {
    are_tied(percent / 100.0, other / 100.0, samples)
}

/// Places of shares sorted from the largest down: a row that is tied with the first row of a place shares
/// it, and the next place counts them all (1, 2, 2, 4). `samples` is `None` for exact shares, which tie
/// only when equal.
pub(crate) fn places(percents: &[f64], samples: Option<f64>) -> Vec<u64> {
    let is_same = |first: usize, at: usize| match samples {
        Some(samples) => is_tied(percents[first], percents[at], samples),
        None => percents[first] == percents[at],
    };
    placed_by(percents.len(), is_same)
}

/// The same for rows with what they are estimated from.
pub(crate) fn places_of(rows: &[(Node, f64)], estimate: Option<&Estimate>) -> Vec<u64> {
    let is_same = |first: usize, at: usize| match estimate {
        Some(estimate) => estimate.is_tied(rows[first], rows[at]),
        None => rows[first].1 == rows[at].1,
    };
    placed_by(rows.len(), is_same)
}

fn placed_by(count: usize, is_same: impl Fn(usize, usize) -> bool) -> Vec<u64> {
    let mut first = 0;
    let place = |at: usize| {
        if !is_same(first, at) {
            first = at;
        }
        first as u64 + 1
    };
    (0..count).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_percentage_points() {
        // sqrt(0.5 × 0.5 / 100) = 5 points.
        assert_eq!(standard_error(50.0, 100.0), Some(5.0));
        assert_eq!(standard_error(50.0, 0.0), None);
    }

    #[test]
    fn tied_rows_share_a_place_with_the_first_of_them() {
        // p = 0.30, q = 0.25, n = 100: sqrt((0.55 − 0.0025)/100) = 0.074 > 0.05.
        assert_eq!(places(&[50.0, 30.0, 25.0, 5.0], Some(100.0)), [1, 2, 2, 4]);
        // n = 10,000: 0.0074 < 0.05.
        assert_eq!(places(&[50.0, 30.0, 25.0, 5.0], Some(10_000.0)), [1, 2, 3, 4]);
        assert_eq!(places(&[50.0, 25.0, 25.0], None), [1, 2, 2]);
    }
}
