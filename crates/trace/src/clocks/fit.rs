//! A clock's offset to another one, from its bounds: a line where one is possible, else pieces, with what they can be off.

use longpole_recording::broken_line;

use super::corridor::{Corridor, CorridorCorner, DriftRange, RelativeBounds};
use super::curve::{ClockCurve, ClockKnot};
use super::line::{keeps_distance, middle, possible_lines};

/// Halvings by which the least loosening is found.
const HALVINGS: u32 = 48;

/// How far a likely line is from all bounds, where it counts more than their middle.
const SURE_NANOSECONDS: f64 = 100_000.0;

/// What a clock's offset to another one is at least, or at most, at a time of it; nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetBound {
    /// The time on the clock.
    pub time: u64,
    /// The offset.
    pub offset: i64,
}

/// Bounds of a clock's offset to another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetBounds {
    /// It is at least this.
    pub lower: Vec<OffsetBound>,
    /// It is at most this.
    pub upper: Vec<OffsetBound>,
    /// It is about this, which says where between the others.
    pub likely: Vec<OffsetBound>,
}

/// How fast the offset of two clocks changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftLimits {
    /// The most by which their speeds differ.
    pub most: f64,
    /// By how much that difference changes over the run, to either side; `most` where they may be slewed.
    pub wander: f64,
    /// How far times on the two clocks may be off themselves, nanoseconds.
    pub slack: u64,
}

/// A clock as another one shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockFit {
    /// Its pieces, each with what it can be off; with no error where bounds contradict each other.
    pub curve: ClockCurve,
    /// By how much bounds had to be loosened, nanoseconds: 0 where they do not contradict each other.
    pub loosened: u64,
}

impl DriftLimits {
    /// Of clocks that may be slewed, as the kernel allows.
    pub const SLEWED: DriftLimits = DriftLimits { most: 500e-6, wander: 500e-6, slack: 0 };

    /// Of oscillators that were read with this uncertainty. Crystals change by less than a part in a million a kelvin.
    #[must_use]
    pub fn oscillators(slack: u64) -> DriftLimits {
        DriftLimits { most: 500e-6, wander: 5e-6, slack }
    }
}

/// The time that a fit is for, and what differences are taken to.
#[derive(Clone, Copy, Debug)]
struct FittedSpan {
    begin: u64,
    end: u64,
    /// Large numbers are left out of what is computed with fractions.
    base: i64,
}

impl OffsetBounds {
    /// Bounds in both directions.
    #[must_use]
    pub fn is_two_sided(&self) -> bool {
        !self.lower.is_empty() && !self.upper.is_empty()
    }

    /// The clock for the time from `begin` to `end` on it; `None` without bounds in both directions.
    #[must_use]
    pub fn fit(&self, (begin, end): (u64, u64), limits: DriftLimits) -> Option<ClockFit> {
        let lowest = self.upper.iter().map(|bound| bound.offset).min()?;
        let highest = self.lower.iter().map(|bound| bound.offset).max()?;
        let times = || self.lower.iter().chain(&self.upper).map(|bound| bound.time);
        let begin = times().fold(begin, u64::min);
        let end = times().fold(end, u64::max).max(begin + 1);
        let span = FittedSpan { begin, end, base: lowest.midpoint(highest) };
        let bounds = span.relative(self);
        let slack = limits.slack as f64;
        let lines = possible_lines(&bounds, slack, limits.most);
        let (corridor, loosened) = corridor_of(&bounds, limits);
        let points = if lines.is_empty() {
            bent(&corridor)
        } else {
            let centre = middle(&lines);
            let likely = span.median(&self.likely).map(|offset| (offset, offset));
            // Between close bounds the middle is as good.
            let is_better = |line: &(f64, f64)| keeps_distance(&bounds, SURE_NANOSECONDS, *line);
            let (first, last) = likely.filter(is_better).unwrap_or(centre);
            vec![(0.0, first), (bounds.length, last)]
        };
        let curve = span.curve(&points, &corridor, loosened == 0.0);
        Some(ClockFit { curve, loosened: loosened.ceil() as u64 })
    }
}

/// The corridor, and by how much bounds had to be loosened for it.
fn corridor_of(bounds: &RelativeBounds, limits: DriftLimits) -> (Corridor, f64) {
    let slack = limits.slack as f64;
    let any = (-limits.most, limits.most);
    let narrow = drifts(bounds, limits).and_then(|drifts| Corridor::of(bounds, slack, drifts));
    if let Some(corridor) = narrow.or_else(|| Corridor::of(bounds, slack, any)) {
        return (corridor, 0.0);
    }
    let with = |loosened: f64| Corridor::of(bounds, slack + loosened, any);
    let mut most = 1.0;
    while with(most).is_none() {
        most *= 2.0;
    }
    let mut least = most / 2.0;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(least, most);
        if with(middle).is_none() { least = middle } else { most = middle }
    }
    let corridor = with(most).unwrap_or_else(|| unreachable!("it was possible with this loosening"));
    (corridor, most)
}

/// The drifts that are possible where the drift changes by the wander only: those of all lines from which the offset need not be
/// farther than that makes it.
fn drifts(bounds: &RelativeBounds, limits: DriftLimits) -> Option<DriftRange> {
    if limits.wander >= limits.most {
        return None;
    }
    let far = limits.wander * bounds.length + limits.slack as f64;
    let lines = possible_lines(bounds, far, limits.most);
    let drift = |line: &(f64, f64)| (line.1 - line.0) / bounds.length;
    let least = lines.iter().map(drift).reduce(f64::min)?;
    let most = lines.iter().map(drift).reduce(f64::max)?;
    Some(((least - limits.wander).max(-limits.most), (most + limits.wander).min(limits.most)))
}

/// Few points that are in the corridor together with the lines between them: the middle at both ends, and where the line between
/// two of them is farthest outside.
fn bent(corridor: &Corridor) -> Vec<(f64, f64)> {
    let corners = &corridor.corners;
    let point = |at: usize| (corners[at].time, corners[at].middle());
    let bend = |first: usize, last: usize| {
        let (begin, end) = (point(first), point(last));
        let outside = |at: usize| corners[at].outside(on_line(begin, end, corners[at].time));
        let worst = (first + 1..last).max_by(|&one, &other| outside(one).total_cmp(&outside(other)));
        worst.filter(|&worst| outside(worst) > 0.0)
    };
    broken_line((0, corners.len() - 1), bend).into_iter().map(point).collect()
}

fn on_line(begin: (f64, f64), end: (f64, f64), time: f64) -> f64 {
    let length = end.0 - begin.0;
    if length <= 0.0 { begin.1 } else { begin.1 + (end.1 - begin.1) * (time - begin.0) / length }
}

impl FittedSpan {
    /// The offset in the middle of these.
    fn median(&self, of: &[OffsetBound]) -> Option<f64> {
        let mut offsets: Vec<i64> = of.iter().map(|bound| bound.offset - self.base).collect();
        offsets.sort_unstable();
        offsets.get(offsets.len() / 2).map(|&offset| offset as f64)
    }

    fn relative(&self, bounds: &OffsetBounds) -> RelativeBounds {
        let side = |of: &[OffsetBound]| {
            let relative =
                |bound: &OffsetBound| ((bound.time - self.begin) as f64, (bound.offset - self.base) as f64);
            of.iter().map(relative).collect()
        };
        RelativeBounds {
            length: (self.end - self.begin) as f64,
            lower: side(&bounds.lower),
            upper: side(&bounds.upper),
        }
    }

    /// The pieces between the points, each with its farthest distance to a side of the corridor.
    fn curve(&self, points: &[(f64, f64)], corridor: &Corridor, has_error: bool) -> ClockCurve {
        let knots: Vec<ClockKnot> = points
            .iter()
            .enumerate()
            .map(|(at, &(time, offset))| {
                let next = *points.get(at + 1).unwrap_or(&points[at]);
                let from = corridor.corners.partition_point(|corner| corner.time < time);
                let within = corridor.corners[from..].iter().take_while(|corner| corner.time <= next.0);
                let far =
                    |corner: &CorridorCorner| corner.farthest(on_line((time, offset), next, corner.time));
                let error = within.map(far).fold(0.0, f64::max);
                let time = self.begin + time.round() as u64;
                ClockKnot {
                    time,
                    other: time.cast_signed() + self.base + offset.round() as i64,
                    // Offsets and times are rounded to whole nanoseconds, here and where they are added.
                    error: has_error.then(|| (error + 3.0).ceil() as u64),
                }
            })
            .collect();
        ClockCurve::through(&knots)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BEGIN: u64 = 1_000_000_000;
    const AHEAD: i64 = 5_000_000_000_000;

    /// A clock whose drift changes at times: from each on it is this, in parts of a million.
    fn truth(drifts: &[(u64, f64)]) -> impl Fn(u64) -> i64 + use<> {
        let drifts = drifts.to_vec();
        move |time| {
            let mut offset = 0.0;
            for (at, &(from, drift)) in drifts.iter().enumerate() {
                let end = drifts.get(at + 1).map_or(time, |next| next.0.min(time));
                offset += drift * 1e-6 * (end.saturating_sub(from.min(end))) as f64;
            }
            AHEAD + offset.round() as i64
        }
    }

    /// Messages each 0.1 to 1.9 ms in both directions, of 5 to 55 µs.
    fn bounds(offset: &impl Fn(u64) -> i64, messages: u64, seed: u64) -> (OffsetBounds, u64) {
        let (mut bounds, mut state, mut time) = (OffsetBounds::default(), seed | 1, BEGIN);
        for message in 0..messages {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let latency = 5_000 + (state >> 33) as i64 % 50_000;
            time += 100_000 + (state >> 40) % 1_800_000;
            if message % 2 == 0 {
                bounds.lower.push(OffsetBound { time, offset: offset(time) - latency });
            } else {
                bounds.upper.push(OffsetBound { time, offset: offset(time) + latency });
            }
        }
        (bounds, time + 1_000_000)
    }

    #[track_caller]
    fn assert_within(truth: &impl Fn(u64) -> i64, messages: u64, limits: DriftLimits) -> ClockFit {
        let (bounds, end) = bounds(truth, messages, 7);
        let fit = bounds.fit((BEGIN, end), limits).expect("bounds in both directions");
        assert_holds(&fit.curve, truth, (BEGIN, end));
        fit
    }

    #[track_caller]
    fn assert_holds(curve: &ClockCurve, truth: &impl Fn(u64) -> i64, (begin, end): (u64, u64)) {
        for part in 0..=500 {
            let time = begin + part * (end - begin) / 500;
            let piece = longpole_recording::piece_at(curve.pieces(), time).unwrap();
            let off = curve.at(time) - time.cast_signed() - truth(time);
            let error = piece.error_nanoseconds.expect("the bounds do not contradict each other");
            assert!(off.unsigned_abs() <= error, "{off} ns at {time}, not {error}: {piece:?}");
        }
    }

    #[test]
    fn one_line_is_enough_for_a_clock_that_runs_evenly() {
        for drift in [0.0, 3.0, -120.0, 490.0] {
            for messages in [2, 3, 10, 1000, 10_000] {
                let truth = truth(&[(BEGIN, drift)]);
                let slewed = assert_within(&truth, messages, DriftLimits::SLEWED);
                assert_eq!(slewed.curve.pieces().len(), 1);
                let fit = assert_within(&truth, messages, DriftLimits::oscillators(0));
                assert_eq!(fit.curve.pieces().len(), 1);
                assert!(fit.curve.error() <= slewed.curve.error(), "oscillators wander less");
            }
        }
        // Messages take 5 µs at least. What is known of clocks that are slewed is old after milliseconds.
        let truth = truth(&[(BEGIN, 3.0)]);
        for (limits, most) in [(DriftLimits::SLEWED, 30_000), (DriftLimits::oscillators(0), 10_000)] {
            let fit = assert_within(&truth, 10_000, limits);
            assert!((fit.curve.pieces()[0].line.drift - 3e-6).abs() < 2e-6, "{fit:?}");
            assert!(fit.curve.error().unwrap() < most, "{fit:?}");
        }
    }

    #[test]
    fn a_clock_whose_drift_changes_has_a_piece_for_each() {
        let truth = truth(&[(BEGIN, 0.0), (2_500_000_000, 300.0), (4_000_000_000, -200.0)]);
        let fit = assert_within(&truth, 5000, DriftLimits::SLEWED);
        let pieces = fit.curve.pieces().len();
        assert!((3..=8).contains(&pieces), "{pieces} pieces: {fit:?}");
        assert!(fit.curve.error().unwrap() < 60_000, "as far as the corridor is wide: {fit:?}");
        // The speed changes more than oscillators' do: they are taken for slewed.
        assert_within(&truth, 5000, DriftLimits::oscillators(100));
    }

    #[test]
    fn a_clock_that_was_set_has_no_bound() {
        let truth = |time: u64| AHEAD + if time > BEGIN + 500_000_000 { 400_000 } else { 0 };
        let (bounds, end) = bounds(&truth, 1000, 7);
        let fit = bounds.fit((BEGIN, end), DriftLimits::SLEWED).expect("bounds in both directions");
        assert_eq!(fit.curve.error(), None, "{fit:?}");
        assert!(
            (150_000..200_000).contains(&fit.loosened),
            "half of the jump, less what messages take: {}",
            fit.loosened
        );
    }

    #[test]
    fn where_an_operation_is_left_together_says_where_between_the_bounds() {
        // One is in each operation for 2 s, the other for 30 ms: it comes last.
        let (mut bounds, at) = (OffsetBounds::default(), |second: u64| BEGIN + 1_000_000_000 * second);
        for operation in 0..5 {
            let time = at(3 * operation);
            bounds.lower.push(OffsetBound { time, offset: AHEAD - 2_000_000_000 });
            bounds.upper.push(OffsetBound { time, offset: AHEAD + 30_000_000 });
            bounds.likely.push(OffsetBound { time, offset: AHEAD + 1000 });
        }
        let fit = bounds.fit((BEGIN, at(15)), DriftLimits::SLEWED).expect("bounds in both directions");
        assert!((fit.curve.at(at(6)) - at(6).cast_signed() - AHEAD).abs() < 2000, "{fit:?}");
        // What is likely is no bound.
        bounds.likely.iter_mut().for_each(|likely| likely.offset = AHEAD + 100_000_000);
        let fit = bounds.fit((BEGIN, at(15)), DriftLimits::SLEWED).expect("bounds in both directions");
        let off = fit.curve.at(at(6)) - at(6).cast_signed() - AHEAD;
        assert!((-1_000_000_000..-900_000_000).contains(&off), "{off}: in the middle");
    }

    #[test]
    fn messages_in_one_direction_are_no_fit() {
        let (OffsetBounds { lower, .. }, end) = bounds(&truth(&[]), 100, 7);
        let one_sided = OffsetBounds { lower, ..OffsetBounds::default() };
        assert_eq!(one_sided.fit((BEGIN, end), DriftLimits::SLEWED), None);
    }

    proptest! {
        #[test]
        fn random_drifts_are_within_the_errors_that_are_said(
            drifts in proptest::collection::vec((0..2_000_000_000_u64, -490.0..490.0_f64), 0..6),
            messages in 2..3000_u64,
            seed in any::<u64>(),
        ) {
            let mut drifts: Vec<(u64, f64)> =
                drifts.into_iter().map(|(from, drift)| (BEGIN + from, drift)).collect();
            drifts.sort_by_key(|drift| drift.0);
            let truth = truth(&drifts);
            let (bounds, end) = bounds(&truth, messages, seed);
            let fit = bounds.fit((BEGIN, end), DriftLimits::SLEWED).unwrap();
            prop_assert_eq!(fit.loosened, 0);
            assert_holds(&fit.curve, &truth, (BEGIN, end));
        }

        #[test]
        fn oscillators_that_wander_are_within_the_errors_that_are_said(
            drift in -480.0..480.0_f64,
            wander in proptest::collection::vec((0..2_000_000_000_u64, -5.0..5.0_f64), 0..8),
            messages in 2..3000_u64,
            seed in any::<u64>(),
        ) {
            let mut drifts: Vec<(u64, f64)> =
                wander.into_iter().map(|(from, wander)| (BEGIN + from, drift + wander)).collect();
            drifts.push((BEGIN, drift));
            drifts.sort_by_key(|drift| drift.0);
            let truth = truth(&drifts);
            let (bounds, end) = bounds(&truth, messages, seed);
            let fit = bounds.fit((BEGIN, end), DriftLimits::oscillators(0)).unwrap();
            assert_holds(&fit.curve, &truth, (BEGIN, end));
        }
    }
}
