//! The time of very many threads among many paths: of each thread only so many parts as it has time for.
//!
//! ```text
//!   pool: A 50 %, B 30 %, C 20 %         quanta of all threads, one after another:  A B A C A B A B A C ...
//!   T1  2 quanta                         A, B: half of its time each
//!   T2  1 quantum                        A: all of it
//! ```
//! A process that lives for half a millisecond has no sample as a rule: its time is divided as that of all like it, among hundreds of
//! paths. For 100,000 of them that is neither kept nor worth anything. So where threads and paths are too many, the whole time of
//! a pool is cut into quanta, and each is given one path; points of equal distance on the circle (the golden section) are one of the
//! most even ways to do it, so that the sum of each path over all threads is right to a few quanta, and each thread keeps all of its time.

use std::collections::BTreeMap;

use longpole_trace::PathId;

/// Parts of threads' times at paths that are kept at most, or little more.
const MOST_PARTS: u64 = 1 << 17;
/// What is left of multiples of the golden section lies as evenly as can be, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Paths with the running sums of their shares of a pool's time and of its normalised time; the last sums are 1.
pub(crate) type RunningShares = [(PathId, f64, f64)];

/// What threads were given so far.
#[derive(Debug)]
pub(crate) struct ShareDraws {
    /// Nanoseconds; 0 where all is divided exactly.
    quantum: u64,
    /// Quanta of each pool that are given.
    given: Vec<u64>,
}

impl ShareDraws {
    /// For so many parts at most, if each thread's time is divided among all paths, and so much time in all, nanoseconds.
    pub fn new(pools: usize, parts: u64, time: u64) -> ShareDraws {
        let quantum = if parts <= MOST_PARTS { 0 } else { time.div_ceil(MOST_PARTS).max(1) };
        ShareDraws { quantum, given: vec![0; pools] }
    }

    /// The shares of the next thread that has so much time in this pool; `None`: the pool's own.
    pub fn draw(
        &mut self,
        pool: usize,
        shares: &RunningShares,
        time: u64,
    ) -> Option<Vec<(PathId, f64, f64)>> {
        let quanta = time.checked_div(self.quantum)?.max(1);
        if quanta >= shares.len() as u64 {
            return None;
        }
        let mut drawn: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for number in self.given[pool]..self.given[pool] + quanta {
            let point = (number as f64 * GOLDEN).fract();
            drawn.entry(at(shares, |share| share.1 <= point)).or_default().0 += 1.0;
            drawn.entry(at(shares, |share| share.2 <= point)).or_default().1 += 1.0;
        }
        self.given[pool] += quanta;
        let (mut time, mut normalised) = (0.0, 0.0);
        let shares = drawn.into_iter().map(|(index, count)| {
            (time, normalised) = (time + count.0, normalised + count.1);
            (shares[index].0, time / quanta as f64, normalised / quanta as f64)
        });
        Some(shares.collect())
    }
}

/// The first share for which this does not hold.
fn at(shares: &RunningShares, is_before: impl Fn(&(PathId, f64, f64)) -> bool) -> usize {
    shares.partition_point(is_before).min(shares.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(paths: u32) -> Vec<(PathId, f64, f64)> {
        // The first path has as much as all others, and less of the normalised time.
        let part = |path: u32, first: f64| first + (1.0 - first) * f64::from(path) / f64::from(paths - 1);
        (0..paths).map(|path| (PathId(path), part(path, 0.5), part(path, 0.2))).collect()
    }

    #[test]
    fn few_parts_are_divided_exactly() {
        let mut draws = ShareDraws::new(1, MOST_PARTS, 1 << 40);
        assert_eq!(draws.draw(0, &shares(100), 1_000), None);
    }

    #[test]
    fn sums_over_many_threads_are_as_the_shares_and_parts_are_few() {
        let (threads, time, shares) = (100_000_u64, 500_000_u64, shares(400));
        let mut draws = ShareDraws::new(1, threads * 400, threads * time);
        let (mut sums, mut parts) = (vec![(0.0, 0.0); 400], 0);
        for thread in 0..threads {
            // Of several lengths.
            let drawn = draws.draw(0, &shares, time / 2 + time * (thread % 3) / 2).expect("they are many");
            let (mut before, mut normalised) = (0.0, 0.0);
            for &(path, sum, sum_normalised) in &drawn {
                sums[path.0 as usize].0 += sum - before;
                sums[path.0 as usize].1 += sum_normalised - normalised;
                (before, normalised) = (sum, sum_normalised);
            }
            assert_eq!((before, normalised), (1.0, 1.0));
            parts += drawn.len() as u64;
        }
        assert!(parts < 2 * MOST_PARTS + 2 * threads, "{parts}");
        let (mut before, mut normalised) = (0.0, 0.0);
        for (path, found) in sums.iter().enumerate() {
            let share = shares[path];
            let expected = ((share.1 - before) * threads as f64, (share.2 - normalised) * threads as f64);
            assert!((found.0 - expected.0).abs() < 1.0 + 0.02 * expected.0, "{path}: {found:?} {expected:?}");
            assert!((found.1 - expected.1).abs() < 1.0 + 0.02 * expected.1, "{path}: {found:?} {expected:?}");
            (before, normalised) = (share.1, share.2);
        }
    }
}
