//! How far the estimated part of a figure may be off (metrics.md §1, rule 4).
//!
//! In a pool of time W whose n samples have the weights w and say y (1 where the sample is the row's, else 0), sample i adds
//!
//! ```text
//!   c_i = W / Σw · w_i · (y_i − share) · √(n / (n − 1))              variance = Σ c_i²
//!
//!   W = 100 ms, 20 equal samples, 5 of them the row's: 5 · (0.75 · 100/20)² + 15 · (0.25 · 100/20)² = 93.75, · 20/19
//!   error = 9.9 ms
//! ```
//! Samples that follow each other in one long burst are alike, and so tell more together than as many drawn at random: with
//! the correlation r of neighbours the variance is times 1 + 2 / ln r + 2 r / (1 − r). How many samples fall into a burst is
//! chance, too: the factor is at least the share of samples that are the first of their burst, so that bursts of one or two
//! samples each count as drawn at random. A pool whose samples all agree is not
//! known exactly either; it counts as if one more sample had been drawn from all pools.
//!
//! Time: per question a look-up in each pool. It cannot see bias: a timer in step with the program.

use std::collections::BTreeMap;

use longpole_trace::{PathId, stored};

use crate::strata::SampleTally;

/// What is known of the errors of one figure.
#[derive(Clone, Debug, Default)]
pub struct Precision {
    pools: Vec<SampledPool>,
}

/// A pool that samples divide.
#[derive(Clone, Debug)]
pub(crate) struct SampledPool {
    /// What is divided, nanoseconds.
    pub total: f64,
    pub tallies: Vec<(PathId, SampleTally)>,
    /// Products of the weights of samples that follow each other in a burst, by their paths.
    pub pairs: Vec<(PathId, PathId, f64)>,
}

/// What is known of the errors of one figure, for rows that are groups of paths.
#[derive(Clone, Debug)]
pub struct RowPrecision<K> {
    pools: Vec<RowPool<K>>,
}

/// A pool by row.
#[derive(Clone, Debug)]
struct RowPool<K> {
    total: f64,
    all: SampleTally,
    rows: BTreeMap<K, SampleTally>,
    /// Sum of the products of neighbours: of all, of those with one in the row (twice if both are), of those in two rows.
    product: f64,
    products: BTreeMap<K, f64>,
    products_of_two: BTreeMap<(K, K), f64>,
}

/// Mean of y and of its square.
#[derive(Clone, Copy, Default)]
struct Moments {
    mean: f64,
    square: f64,
}

stored! {
    Precision { pools }
    SampledPool { total, tallies, pairs }
}

impl Precision {
    pub(crate) fn of(pools: Vec<SampledPool>) -> Precision {
        Precision { pools }
    }

    /// Samples that the figure's estimates rest on.
    #[must_use]
    pub fn samples(&self) -> u64 {
        let count = |pool: &SampledPool| pool.tallies.iter().map(|(_, tally)| tally.count).sum::<u64>();
        self.pools.iter().map(count).sum()
    }

    /// The same with each sample at the owner of its path.
    pub(crate) fn folded(&self, owner: impl Fn(PathId) -> PathId) -> Precision {
        let pool = |pool: &SampledPool| SampledPool {
            total: pool.total,
            tallies: pool.tallies.iter().map(|(path, tally)| (owner(*path), *tally)).collect(),
            pairs: pool.pairs.iter().map(|&(one, other, sum)| (owner(one), owner(other), sum)).collect(),
        };
        Precision { pools: self.pools.iter().map(pool).collect() }
    }

    /// The same for rows: `row` gives the row of a path.
    pub fn by_row<K: Copy + Ord>(&self, row: impl Fn(PathId) -> Option<K>) -> RowPrecision<K> {
        RowPrecision { pools: self.pools.iter().map(|pool| RowPool::of(pool, &row)).collect() }
    }
}

impl<K: Copy + Ord> RowPool<K> {
    fn of(pool: &SampledPool, row: &impl Fn(PathId) -> Option<K>) -> RowPool<K> {
        let mut by_row = RowPool {
            total: pool.total,
            all: SampleTally::default(),
            rows: BTreeMap::new(),
            product: 0.0,
            products: BTreeMap::new(),
            products_of_two: BTreeMap::new(),
        };
        for &(path, tally) in &pool.tallies {
            by_row.all.add(tally);
            if let Some(row) = row(path) {
                by_row.rows.entry(row).or_default().add(tally);
            }
        }
        for &(one, other, product) in &pool.pairs {
            let (one, other) = (row(one), row(other));
            by_row.product += product;
            for row in [one, other].into_iter().flatten() {
                *by_row.products.entry(row).or_default() += product;
            }
            if let (Some(one), Some(other)) = (one, other) {
                *by_row.products_of_two.entry((one.min(other), one.max(other))).or_default() += product;
            }
        }
        by_row
    }

    fn moments(&self, y: &[(K, f64)]) -> Moments {
        let mut sum = Moments::default();
        for &(row, y) in y {
            let weight = self.rows.get(&row).map_or(0.0, |tally| tally.weight) / self.all.weight;
            sum.mean += y * weight;
            sum.square += y * y * weight;
        }
        sum
    }

    /// The variance where samples differ, and how much of it neighbours share.
    fn spread(&self, mean: f64, y: &[(K, f64)]) -> (f64, f64) {
        let count = self.all.count as f64;
        let scale = (self.total / self.all.weight).powi(2) * count / (count - 1.0).max(1.0);
        let mut spread = self.all.squares * mean * mean;
        let mut shared = self.product * mean * mean;
        for (at, &(row, own)) in y.iter().enumerate() {
            let squares = self.rows.get(&row).map_or(0.0, |tally| tally.squares);
            spread += squares * ((own - mean).powi(2) - mean * mean);
            shared -= mean * own * self.products.get(&row).copied().unwrap_or(0.0);
            for &(other, with) in &y[at..] {
                let both = (row.min(other), row.max(other));
                shared += own * with * self.products_of_two.get(&both).copied().unwrap_or(0.0);
            }
        }
        (scale * spread.max(0.0), scale * shared)
    }
}

impl<K: Copy + Ord> RowPrecision<K> {
    /// Standard error of a row's estimated time, nanoseconds; `None` without any sample.
    #[must_use]
    pub fn error(&self, row: K) -> Option<f64> {
        self.standard_error(&[(row, 1.0)])
    }

    /// Standard error of the difference of two rows, nanoseconds.
    #[must_use]
    pub fn error_of_difference(&self, row: K, other: K) -> Option<f64> {
        self.standard_error(&[(row, 1.0), (other, -1.0)])
    }

    fn standard_error(&self, y: &[(K, f64)]) -> Option<f64> {
        let total: f64 = self.pools.iter().map(|pool| pool.total).sum();
        let mut all = Moments::default();
        for pool in &self.pools {
            let moments = pool.moments(y);
            all.mean += pool.total * moments.mean / total;
            all.square += pool.total * moments.square / total;
        }
        if all.square - all.mean * all.mean <= 1e-12 {
            // No sample at all differs: the one more might as well be of another row.
            all = Moments { mean: 0.5, square: 0.5 };
        }
        let (mut differing, mut shared, mut agreeing, mut count) = (0.0, 0.0, 0.0, 0.0);
        let mut first_of_bursts = 0.0;
        for pool in &self.pools {
            let (moments, samples) = (pool.moments(y), pool.all.count as f64);
            count += samples;
            if moments.square - moments.mean * moments.mean > 1e-12 {
                let spread = pool.spread(moments.mean, y);
                differing += spread.0;
                shared += spread.1;
                first_of_bursts += samples * (1.0 - pool.product / pool.all.squares).clamp(0.0, 1.0);
            } else {
                let with_one_more = |own: f64, all: f64| (samples * own + all) / (samples + 1.0);
                let mean = with_one_more(moments.mean, all.mean);
                let square = with_one_more(moments.square, all.square);
                agreeing += pool.total.powi(2) * (square - mean * mean).max(0.0) / samples;
            }
        }
        let correlation = if differing > 0.0 { shared / differing } else { 0.0 };
        let factor = || within_bursts(correlation, count).max(first_of_bursts / count);
        (count > 0.0).then(|| (differing * factor() + agreeing).sqrt())
    }
}

/// What the correlation of neighbours within bursts leaves of the variance of `count` samples.
fn within_bursts(correlation: f64, count: f64) -> f64 {
    if correlation <= 2.0 / count.sqrt() {
        return 1.0;
    }
    let r = correlation.min(0.99);
    1.0 + 2.0 / r.ln() + 2.0 * r / (1.0 - r)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: PathId = PathId(1);
    const OTHER: PathId = PathId(2);

    fn pool(total: f64, counts: [(PathId, u64); 2]) -> SampledPool {
        let tally =
            |(path, count)| (path, SampleTally { count, weight: count as f64, squares: count as f64 });
        let tallies = counts.into_iter().filter(|&(_, count)| count > 0).map(tally).collect();
        SampledPool { total, tallies, pairs: Vec::new() }
    }

    fn rows(pools: Vec<SampledPool>) -> RowPrecision<PathId> {
        Precision::of(pools).by_row(Some)
    }

    #[test]
    fn the_example_above() {
        let error = rows(vec![pool(100.0, [(ROW, 5), (OTHER, 15)])]).error(ROW).expect("there are samples");
        assert!((error - (93.75_f64 * 20.0 / 19.0).sqrt()).abs() < 1e-9, "{error}");
    }

    #[test]
    fn the_difference_of_two_rows_is_less_sure_than_either() {
        let precision = rows(vec![pool(100.0, [(ROW, 10), (OTHER, 10)])]);
        // One is what the other is not: twice the error of one, where independent ones would have √2 of it.
        let (one, both) = (precision.error(ROW), precision.error_of_difference(ROW, OTHER));
        assert!((both.expect("samples") - 2.0 * one.expect("samples")).abs() < 1e-9);
    }

    #[test]
    fn samples_that_agree_leave_a_doubt() {
        // All 9 of the pool are the row's; of all time the row has half: p = (9 + 0.5) / 10.
        let precision = rows(vec![pool(100.0, [(ROW, 9), (OTHER, 0)]), pool(100.0, [(ROW, 0), (OTHER, 9)])]);
        let each = 100.0 * 100.0 * 0.95 * 0.05 / 9.0;
        let error = precision.error(ROW).expect("there are samples");
        assert!((error - (2.0_f64 * each).sqrt()).abs() < 1e-9, "{error}");
        assert_eq!(rows(Vec::new()).error(ROW), None);
        // Five samples that all agree are no proof: p = (5 + 0.5) / 6.
        let error = rows(vec![pool(100.0, [(ROW, 5), (OTHER, 0)])]).error(ROW).expect("there are samples");
        assert!((error - 100.0 * (0.5 * 5.5 / 36.0 / 5.0_f64).sqrt()).abs() < 1e-9, "{error}");
    }

    #[test]
    fn neighbours_that_are_alike_tell_more() {
        let mut pool = pool(100.0, [(ROW, 50), (OTHER, 50)]);
        let loose = rows(vec![pool.clone()]).error(ROW).expect("samples");
        pool.pairs = vec![(ROW, ROW, 40.0), (OTHER, OTHER, 40.0), (ROW, OTHER, 19.0)];
        // r = (40 + 40 − 19) / 100.
        let r: f64 = 0.61;
        let tight = rows(vec![pool]).error(ROW).expect("samples");
        let factor = 1.0 + 2.0 / r.ln() + 2.0 * r / (1.0 - r);
        assert!((tight / loose - factor.sqrt()).abs() < 1e-9, "{tight} {loose}");
    }
}
