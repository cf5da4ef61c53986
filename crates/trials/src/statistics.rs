//! Correlations, medians and their intervals, over the few values that a program has.

/// An interval of values, its ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The middle value, or the mean of the two; `None` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]))
}

/// Between which values the median of the population lies in at least 95 of 100 samples, whatever its distribution: as many
/// values are left out at each end as a fair coin would show heads at most once in 40 tries (the sign test, inverted). Of
/// fewer than 6 values it is all of them, which hold the median less often than that.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values);
    let count = sorted.len();
    let (mut chance, mut sum, mut outside) = (0.5_f64.powi(i32::try_from(count).ok()?), 0.0, 0);
    for heads in 0..count / 2 {
        sum += chance;
        if sum > 0.025 {
            break;
        }
        outside = heads;
        chance *= (count - heads) as f64 / (heads + 1) as f64;
    }
    Some(Interval { low: *sorted.get(outside)?, high: sorted[count - 1 - outside] })
}

/// Fewest values of which [`median_interval`] holds the median in 95 of 100 samples.
pub const FEWEST: usize = 6;

/// About how many values make an interval of this width as narrow as wanted: widths shrink with the root of their number.
#[must_use]
pub fn values_for(wanted: f64, (count, width): (usize, f64)) -> usize {
    let factor = (width / wanted).powi(2).max(1.0);
    ((count as f64 * factor).ceil() as usize).max(FEWEST)
}

/// Pearson's correlation of pairs; `None` of fewer than three, or where one side does not vary.
#[must_use]
pub fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let count = pairs.len() as f64;
    let mean = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        let (x, y) = (x - x_mean, y - y_mean);
        (xx, yy, xy) = (xx + x * x, yy + y * y, xy + x * y);
    }
    // What is left of equal values is rounding.
    (xx > 1e-12 && yy > 1e-12).then(|| xy / (xx * yy).sqrt())
}

/// Spearman's correlation: Pearson's of the ranks, where equal values share the mean of their ranks.
#[must_use]
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let xs = ranks(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
    let ys = ranks(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
    pearson(&xs.into_iter().zip(ys).collect::<Vec<_>>())
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of the paper's sparse Choleski (figure 4): true zeroing, critical path, slack, NPT, logical zeroing, IPS-2, gprof.
    const CHOLESKI: [[f64; 7]; 7] = [
        [21.29, 14.00, 23.91, 10.54, 14.00, 7.30, 7.00],
        [18.39, 10.63, 9.72, 13.89, 9.28, 12.84, 5.06],
        [14.27, 6.99, 1.41, 5.05, 5.54, 10.69, 1.95],
        [6.24, 7.49, 12.79, 8.56, 7.49, 3.90, 9.34],
        [6.24, 4.19, 7.16, 5.10, 4.12, 2.19, 14.01],
        [5.69, 5.69, 9.72, 4.82, 5.69, 2.97, 4.67],
        [5.02, 5.99, 7.93, 4.42, 5.99, 4.88, 7.78],
    ];

    #[test]
    fn the_correlations_of_the_paper_follow_from_its_table() {
        let of = |column: usize| {
            let pairs: Vec<(f64, f64)> = CHOLESKI.iter().map(|row| (row[column], row[0])).collect();
            (pearson(&pairs).unwrap() * 100.0).round() / 100.0
        };
        // Figure 6: critical path 0.89, zeroing 0.80, IPS-2 0.78, NPT 0.73, slack 0.45, gprof -0.43.
        assert_eq!([1, 4, 5, 3, 2, 6].map(of), [0.89, 0.80, 0.78, 0.73, 0.45, -0.43]);
    }

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 7.0]), [2.5, 1.0, 2.5, 4.0]);
        // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 · 5).
        let rho = spearman(&[(1.0, 1.0), (2.0, 2.0), (2.0, 3.0), (90.0, 4.0)]).unwrap();
        assert!((rho - 0.9_f64.sqrt()).abs() < 1e-12, "{rho}");
    }

    #[test]
    fn an_interval_of_half_the_width_needs_four_times_the_values() {
        assert_eq!(
            (values_for(1.0, (8, 2.0)), values_for(2.0, (8, 2.0)), values_for(9.0, (2, 2.0))),
            (32, 8, FEWEST)
        );
    }

    #[test]
    fn nothing_correlates_with_what_does_not_vary() {
        assert_eq!(pearson(&[(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]), None);
        assert_eq!(pearson(&[(1.0, 5.0), (2.0, 6.0)]), None);
    }

    #[test]
    fn the_interval_of_nine_leaves_the_ends_out() {
        // P(at most 1 head of 9) = 10/512 < 2.5 %, of at most 2 9 %.
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(median_interval(&nine), Some(Interval { low: 2.0, high: 8.0 }));
        // Of 5, one without a head is 3 %: all of them.
        assert_eq!(median_interval(&nine[..5]), Some(Interval { low: 1.0, high: 5.0 }));
        assert_eq!((median_interval(&[]), median(&[1.0, 2.0])), (None, Some(1.5)));
    }
}
