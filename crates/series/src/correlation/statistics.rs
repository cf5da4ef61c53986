//! How strongly two curves move together, and how likely chance alone is to make them do so.
//!
//! Values that lie beyond the span from the 5th to the 95th hundredth by more than half of it count as if they did not
//! (Winsor), so that no outlier decides, and the straight line through them is taken out: two things that just grow
//! with time have nothing to do with each other.
//!
//! Bins are no independent samples: a curve that is high now is high in the next bin too, and two such curves
//! look alike by chance (Yule 1926). So of `n` bins only `n*` count (Bartlett 1946; Pyper and Peterman 1998, eq. 1),
//! here with the positive products only, which makes fewer of them; and never more than the bins of either curve that
//! have another than its most frequent value.
//!
//! ```text
//!   1/n* = 1/n + 2/n · Σ_{j=1..n/4} (n−j)/n · max(0, r_x(j) · r_y(j))      r(j): autocorrelation at lag j
//! ```
//! Under chance the correlation of `n*` samples has a density that goes with `(1 − r²)^((n* − 4) / 2)`.

/// A curve made ready: its values within 0 and 1 without their straight line, `NaN` where it has none, and what it
/// says of itself.
#[derive(Clone, Debug)]
pub(super) struct PreparedCurve {
    values: Vec<f64>,
    autocorrelation: Vec<f64>,
    /// Bins with another than the most frequent value.
    distinct: usize,
}

impl PreparedCurve {
    /// Of a curve; `None` when it is constant or a straight line, but for a twentieth of its bins.
    pub(super) fn of(curve: &[f64]) -> Option<PreparedCurve> {
        let (mut values, distinct) = clipped(curve)?;
        take_out_line(&mut values);
        let known = || values.iter().filter(|value| !value.is_nan());
        // What is left of a straight line is rounding.
        if known().map(|value| value * value).sum::<f64>() < 1e-9 * known().count() as f64 {
            return None;
        }
        let lags = 1..=values.len() / 4;
        let autocorrelation = lags.map(|lag| at_lag(&values, &values, lag.cast_signed()).0).collect();
        Some(PreparedCurve { values, autocorrelation, distinct })
    }

    /// Correlation with a curve that is moved `lag` bins back, and how many bins have both: what `other` does at
    /// `bin + lag` belongs to what this one does at `bin`.
    pub(super) fn with(&self, other: &PreparedCurve, lag: isize) -> (f64, usize) {
        at_lag(&self.values, &other.values, lag)
    }

    /// How many independent samples the bins are worth.
    pub(super) fn effective(&self, other: &PreparedCurve, bins: usize) -> f64 {
        let n = bins as f64;
        let both = self.autocorrelation.iter().zip(&other.autocorrelation).enumerate();
        let sum: f64 =
            both.map(|(index, (x, y))| (1.0 - (index + 1) as f64 / n).max(0.0) * (x * y).max(0.0)).sum();
        (n / (1.0 + 2.0 * sum)).min(self.distinct.min(other.distinct) as f64)
    }
}

/// The values without outliers, within 0 and 1, and how many are not the most frequent one; `None` when nine tenths
/// of them are the same.
fn clipped(values: &[f64]) -> Option<(Vec<f64>, usize)> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let low = sorted[(last as f64 * 0.05).round() as usize];
    let high = sorted[(last as f64 * 0.95).round() as usize];
    let (begin, span) = (low - (high - low) / 2.0, (high - low) * 2.0);
    // Not where the span is beyond what a number holds either.
    if !(high > low && span.is_finite()) {
        return None;
    }
    let frequent = sorted.chunk_by(|one, other| one == other).map(<[f64]>::len).max().unwrap_or(0);
    let place = |value: &f64| ((value - begin) / span).clamp(0.0, 1.0);
    Some((values.iter().map(place).collect(), sorted.len() - frequent))
}

/// Takes the line of least squares out of what has values.
fn take_out_line(values: &mut [f64]) {
    let points = || values.iter().enumerate().filter(|point| !point.1.is_nan()).map(|(x, &y)| (x as f64, y));
    let count = points().count() as f64;
    let (x_mean, y_mean) = points().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x / count, sum.1 + y / count));
    let (above, below) = points().fold((0.0, 0.0), |sum, (x, y)| {
        (sum.0 + (x - x_mean) * (y - y_mean), sum.1 + (x - x_mean) * (x - x_mean))
    });
    let slope = if below > 0.0 { above / below } else { 0.0 };
    for (x, value) in values.iter_mut().enumerate() {
        *value -= y_mean + slope * (x as f64 - x_mean);
    }
}

/// Pearson's correlation of `one[bin]` and `other[bin + lag]` where both have values, and how many have; 0 where one
/// of them does not vary.
fn at_lag(one: &[f64], other: &[f64], lag: isize) -> (f64, usize) {
    let (one, other) = (one.get((-lag).max(0) as usize..), other.get(lag.max(0) as usize..));
    let both = || one.into_iter().flatten().zip(other.into_iter().flatten());
    let pairs = || both().filter(|(x, y)| !x.is_nan() && !y.is_nan());
    let (mut count, mut sums) = (0, [0.0; 5]);
    for (&x, &y) in pairs() {
        count += 1;
        for (sum, term) in sums.iter_mut().zip([x, y, x * x, y * y, x * y]) {
            *sum += term;
        }
    }
    let n = count as f64;
    let [x, y, xx, yy, xy] = sums;
    let (x_spread, y_spread) = (n * xx - x * x, n * yy - y * y);
    if x_spread <= 0.0 || y_spread <= 0.0 {
        return (0.0, count);
    }
    (((n * xy - x * y) / (x_spread.sqrt() * y_spread.sqrt())).clamp(-1.0, 1.0), count)
}

/// How likely chance gives a correlation at least as strong, of either sign, in so many independent samples.
///
/// With `r = sin θ` the density goes with `cos^(n−3) θ`; both integrals by Simpson's rule.
pub(super) fn probability(correlation: f64, samples: f64) -> f64 {
    const STEPS: u32 = 200;
    let power = samples - 3.0;
    if power < 0.0 {
        return 1.0;
    }
    let integral = |from: f64| {
        let step = (std::f64::consts::FRAC_PI_2 - from) / f64::from(STEPS);
        let term = |index: u32| {
            let weight = match index {
                0 | STEPS => 1.0,
                _ if index % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * (from + step * f64::from(index)).cos().max(0.0).powf(power)
        };
        step / 3.0 * (0..=STEPS).map(term).sum::<f64>()
    };
    (integral(correlation.abs().min(1.0).asin()) / integral(0.0)).min(1.0)
}
