//! Shares estimated from samples: their standard error, and rows that it ties (metrics.md §1).

/// Standard error of the share `percent` estimated from `samples` observations, in percentage points:
/// sqrt(p(1 − p)/n). `None` without observations.
pub(crate) fn standard_error(percent: f64, samples: f64) -> Option<f64> {
    if samples <= 0.0 {
        return None;
    }
    let p = (percent / 100.0).clamp(0.0, 1.0);
    Some(100.0 * (p * (1.0 - p) / samples).sqrt())
}

/// Whether two shares of the same whole differ by no more than the standard error of their difference,
/// sqrt((p + q − (p − q)²)/n): the two are counted from the same samples and exclude each other.
pub(crate) fn is_tied(percent: f64, other: f64, samples: f64) -> bool {
    if samples <= 0.0 {
        return true;
    }
    let (p, q) = (percent / 100.0, other / 100.0);
    let difference = (p - q).abs();
    difference <= ((p + q - difference * difference).max(0.0) / samples).sqrt()
}

/// Places of shares sorted from the largest down: a row that is tied with the first row of a place shares
/// it, and the next place counts them all (1, 2, 2, 4). `samples` is `None` for exact shares, which tie
/// only when equal.
pub(crate) fn places(percents: &[f64], samples: Option<f64>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::with_capacity(percents.len());
    let mut first = 0;
    for (at, &percent) in percents.iter().enumerate() {
        let is_same = at > 0
            && match samples {
                Some(samples) => is_tied(percents[first], percent, samples),
                None => percents[first] == percent,
            };
        if is_same {
            places[first].is_tied = true;
        } else {
            first = at;
        }
        places.push(Place { rank: first as u64 + 1, is_tied: is_same });
    }
    places
}

/// A place in a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// 1 for the first.
    pub rank: u64,
    /// Whether another row has the same place.
    pub is_tied: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_share_is_the_binomial_one() {
        // sqrt(0.5 × 0.5 / 100) = 5 points.
        assert_eq!(standard_error(50.0, 100.0), Some(5.0));
        assert_eq!(standard_error(0.0, 100.0), Some(0.0));
        assert_eq!(standard_error(50.0, 0.0), None);
    }

    #[test]
    fn shares_within_the_error_of_their_difference_are_tied() {
        // p = 0.30, q = 0.25, n = 100: sqrt((0.55 − 0.0025)/100) = 0.074 > 0.05.
        assert!(is_tied(30.0, 25.0, 100.0));
        // n = 10,000: 0.0074 < 0.05.
        assert!(!is_tied(30.0, 25.0, 10_000.0));
    }

    #[test]
    fn tied_rows_share_a_place_with_the_first_of_them() {
        let ranks = |samples| -> Vec<(u64, bool)> {
            places(&[50.0, 30.0, 25.0, 5.0], samples)
                .iter()
                .map(|place| (place.rank, place.is_tied))
                .collect()
        };
        assert_eq!(ranks(Some(100.0)), [(1, false), (2, true), (2, true), (4, false)]);
        assert_eq!(ranks(None), [(1, false), (2, false), (3, false), (4, false)]);
    }
}
