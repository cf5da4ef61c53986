//! Whether two sets of measured times differ by more than a limit, beyond their noise (metrics.md §14).
//!
//! ```text
//!   limit +5 %      before 400 402 399    after 430 428 433      D = after − 1.05 · before = 9.9, ± t · 1.9   →  fails
//!                                         after 410 431 425      D = 1.5 ± t · 6.3                            →  not sure
//! ```
//! Welch's test, one-sided, at 99 %: the variance of each side from its recordings, at least what its samples leave. One recording
//! of each side has no variance: then the margin is two standard errors of the samples and what differs from run to run anyway.

use crate::findings::threshold::{LEAST_GAIN, SHORTEST_GAIN};

use super::condition::CheckLimit;

/// Degrees of freedom, and the one-sided 99 % point of Student's t.
const STUDENT: [(f64, f64); 16] = [
    (1.0, 31.821),
    (2.0, 6.965),
    (3.0, 4.541),
    (4.0, 3.747),
    (5.0, 3.365),
    (6.0, 3.143),
    (7.0, 2.998),
    (8.0, 2.896),
    (9.0, 2.821),
    (10.0, 2.764),
    (12.0, 2.681),
    (15.0, 2.602),
    (20.0, 2.528),
    (30.0, 2.457),
    (60.0, 2.390),
    (1e9, 2.326),
];

/// A time of one recording with its standard error, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MeasuredTime {
    pub value: f64,
    pub error: f64,
}

/// What became of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// It does not hold.
    Passed,
    /// It holds, beyond the noise.
    Failed,
    /// Noise does not let one say; that is no failure.
    NotSure,
}

/// The comparison behind an outcome; nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ComparedTimes {
    pub outcome: CheckOutcome,
    /// Means.
    pub before: f64,
    pub after: f64,
    /// How far the change may be off.
    pub margin: f64,
    /// Recordings of each side that would let one say, where this many do not.
    pub needed: Option<u64>,
}

/// Mean, variance of the mean, degrees of freedom.
#[derive(Clone, Copy)]
struct SideMean {
    mean: f64,
    variance: f64,
    freedom: f64,
}

/// Compares what was measured before and after; both have at least one recording.
pub(crate) fn compare(
    before: &[MeasuredTime],
    after: &[MeasuredTime],
    limit: CheckLimit,
    is_upper: bool,
) -> ComparedTimes {
    let sign = if is_upper { 1.0 } else { -1.0 };
    let (factor, offset) = match limit {
        CheckLimit::Relative(part) => (1.0 + part, 0.0),
        CheckLimit::Difference(time) => (1.0, time),
        CheckLimit::Absolute(time) => (0.0, time),
    };
    let spreads = [spread(before), spread(after)];
    let [one, other] =
        [(before, 0), (after, 1)].map(|(side, at)| side_mean(side, spreads[at].or(spreads[1 - at])));
    let excess = sign * (other.mean - factor * one.mean - offset);
    let (before_part, after_part) = (factor * factor * one.variance, other.variance);
    let error = (before_part + after_part).sqrt();
    let has_spread = spreads.iter().flatten().count() > 0;
    let critical = if has_spread { student(freedom((before_part, one), (after_part, other))) } else { 2.0 };
    let chance =
        if has_spread { 0.0 } else { SHORTEST_GAIN.max(LEAST_GAIN / 100.0 * one.mean.max(other.mean)) };
    let margin = critical * error + chance;
    let outcome = match excess {
        excess if excess > margin => CheckOutcome::Failed,
        // On the limit is not beyond it.
        excess if excess <= -margin => CheckOutcome::Passed,
        _ => CheckOutcome::NotSure,
    };
    let needed = (outcome == CheckOutcome::NotSure).then(|| needed(excess, (one, before), (other, after)));
    ComparedTimes { outcome, before: one.mean, after: other.mean, margin, needed: needed.flatten() }
}

fn mean(times: &[MeasuredTime]) -> f64 {
    times.iter().map(|time| time.value).sum::<f64>() / times.len() as f64
}

/// Variance of single recordings, where there are several.
fn spread(times: &[MeasuredTime]) -> Option<f64> {
    let mean = mean(times);
    let squares: f64 = times.iter().map(|time| (time.value - mean).powi(2)).sum();
    (times.len() > 1).then(|| squares / (times.len() - 1) as f64)
}

/// The mean of a side whose recordings vary so.
fn side_mean(times: &[MeasuredTime], spread: Option<f64>) -> SideMean {
    let count = times.len() as f64;
    let sampled = times.iter().map(|time| time.error.powi(2)).sum::<f64>() / count;
    let variance = spread.unwrap_or(0.0).max(sampled) / count;
    SideMean { mean: mean(times), variance, freedom: (count - 1.0).max(0.0) }
}

/// Degrees of freedom of the difference (Welch and Satterthwaite); a single recording takes the other side's.
fn freedom((before, one): (f64, SideMean), (after, other): (f64, SideMean)) -> f64 {
    let least = match (one.freedom, other.freedom) {
        (0.0, freedom) | (freedom, 0.0) => return freedom,
        (one, other) => one.min(other),
    };
    let whole = before.powi(2) / one.freedom + after.powi(2) / other.freedom;
    if whole > 0.0 { (before + after).powi(2) / whole } else { least }
}

/// The critical value; between two degrees of freedom that of the lower ones, which is more careful.
fn student(freedom: f64) -> f64 {
    let at = STUDENT.iter().rposition(|&(known, _)| known <= freedom).unwrap_or(0);
    STUDENT[at].1
}

/// Recordings of each side with which this excess would be sure.
fn needed(
    excess: f64,
    (one, before): (SideMean, &[MeasuredTime]),
    (other, after): (SideMean, &[MeasuredTime]),
) -> Option<u64> {
    const MOST: u64 = 1000;
    let single = one.variance * before.len() as f64 + other.variance * after.len() as f64;
    if excess == 0.0 || single == 0.0 {
        return None;
    }
    let is_enough =
        |&count: &u64| student(2.0 * (count - 1) as f64) * (single / count as f64).sqrt() < excess.abs();
    let most = before.len().max(after.len()) as u64;
    (most.max(2)..=MOST).find(is_enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: &[f64]) -> Vec<MeasuredTime> {
        values.iter().map(|&value| MeasuredTime { value: value * 1e6, error: 0.0 }).collect()
    }

    fn outcome(before: &[f64], after: &[f64], limit: CheckLimit) -> CheckOutcome {
        compare(&times(before), &times(after), limit, true).outcome
    }

    const FIVE: CheckLimit = CheckLimit::Relative(0.05);

    #[test]
    fn a_change_beyond_the_limit_and_the_noise_fails() {
        let before = [400.0, 402.0, 399.0, 401.0];
        assert_eq!(outcome(&before, &[430.0, 428.0, 433.0, 431.0], FIVE), CheckOutcome::Failed);
        assert_eq!(outcome(&before, &[401.0, 400.0, 402.0, 399.0], FIVE), CheckOutcome::Passed);
        assert_eq!(outcome(&before, &[405.0, 440.0, 425.0, 419.0], FIVE), CheckOutcome::NotSure);
    }

    #[test]
    fn one_outlier_fails_nothing() {
        let before = [400.0, 402.0, 399.0, 401.0, 400.0];
        assert_ne!(outcome(&before, &[400.0, 401.0, 4000.0, 399.0, 402.0], FIVE), CheckOutcome::Failed);
    }

    #[test]
    fn single_recordings_have_the_margin_of_chance() {
        // 2 % of 430 is 8.6: 430 − 420 = 10 is more than that, 428 − 420 is not.
        assert_eq!(outcome(&[400.0], &[430.0], FIVE), CheckOutcome::Failed);
        assert_eq!(outcome(&[400.0], &[428.0], FIVE), CheckOutcome::NotSure);
        assert_eq!(outcome(&[400.0], &[400.0], FIVE), CheckOutcome::Passed);
        // A single one takes the spread of the other side.
        assert_eq!(outcome(&[400.0, 390.0, 410.0], &[430.0], FIVE), CheckOutcome::NotSure);
    }

    #[test]
    fn limits_are_changes_or_times() {
        let before = [400.0, 401.0, 399.0];
        let after = [500.0, 501.0, 499.0];
        assert_eq!(outcome(&before, &after, CheckLimit::Difference(50e6)), CheckOutcome::Failed);
        assert_eq!(outcome(&before, &after, CheckLimit::Difference(150e6)), CheckOutcome::Passed);
        assert_eq!(outcome(&before, &after, CheckLimit::Absolute(450e6)), CheckOutcome::Failed);
        assert_eq!(outcome(&before, &after, CheckLimit::Absolute(550e6)), CheckOutcome::Passed);
        let less = compare(&times(&after), &times(&before), CheckLimit::Relative(-0.1), false);
        assert_eq!(less.outcome, CheckOutcome::Failed);
    }

    #[test]
    fn it_says_how_many_recordings_would_be_enough() {
        let compared = compare(&times(&[400.0, 380.0, 420.0]), &times(&[440.0, 420.0, 460.0]), FIVE, true);
        assert_eq!(compared.outcome, CheckOutcome::NotSure);
        // 20 ms beyond the limit with 28 ms of spread: t(2n − 2) · 28.3 / √n < 20 from n = 14 on.
        assert!((12..=16).contains(&compared.needed.unwrap()), "{:?}", compared.needed);
    }

    #[test]
    fn noise_alone_hardly_ever_fails() {
        // 2000 checks of 3 against 3 recordings that differ by noise alone, with a limit of 0 %: one in a hundred at most.
        let mut state = 7_u64;
        let mut draw = || {
            let mut sum = 0.0;
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sum += (state >> 33) as f64 / f64::from(1_u32 << 31);
            }
            400.0 + 10.0 * (sum - 6.0)
        };
        let failed = (0..2000).filter(|_| {
            let (before, after) = ([draw(), draw(), draw()], [draw(), draw(), draw()]);
            outcome(&before, &after, CheckLimit::Relative(0.0)) == CheckOutcome::Failed
        });
        let failed = failed.count();
        assert!(failed <= 30, "{failed}");
    }
}
