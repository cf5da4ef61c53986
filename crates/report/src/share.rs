//! Places of rows in a ranking whose shares are estimated (metrics.md §1).

use longpole_metrics::are_tied;

/// Standard error of the share `percent` estimated from `samples` observations, in percentage points; `None`
/// without observations.
pub(crate) fn standard_error(percent: f64, samples: f64) -> Option<f64> {
    (samples > 0.0).then(|| 100.0 * longpole_metrics::standard_error(percent / 100.0, samples))
}

/// Whether two shares of the same whole differ by no more than the standard error of their difference.
pub(crate) fn is_tied(percent: f64, other: f64, samples: f64) -> bool {
    are_tied(percent / 100.0, other / 100.0, samples)
}

/// Places of shares sorted from the largest down: a row that is tied with the first row of a place shares
/// it, and the next place counts them all (1, 2, 2, 4). `samples` is `None` for exact shares, which tie
/// only when equal.
pub(crate) fn places(percents: &[f64], samples: Option<f64>) -> Vec<u64> {
    let mut first = 0;
    let place = |(at, &percent): (usize, &f64)| {
        let is_same = match samples {
            Some(samples) => is_tied(percents[first], percent, samples),
            None => percents[first] == percent,
        };
        if !is_same {
            first = at;
        }
        first as u64 + 1
    };
    percents.iter().enumerate().map(place).collect()
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
