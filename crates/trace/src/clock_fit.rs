//! How one machine's clock maps onto another's, from what is known to have come before what.
//!
//! ```text
//!   offset                 u: a message to the other machine was sent at s and received at r, so offset(s) ≤ r − s
//!     │ u    u  u
//!     │────────────────    every line between l and u is possible; the middle one is taken, and the farthest possible
//!     │  l  l     l        one says how far off that can be
//!     └──────────────► t   l: a message from there was sent at s and received at r, so offset(r) ≥ s − r
//! ```
//! A line is told by its values at the begin and the end of the time that it is for; the possible ones are a convex polygon in
//! that plane, from which each bound cuts a half. Clocks differ by 0.05 % in speed at most, as the kernel allows.
//!
//! Where no line is possible, clocks did not run evenly: bounds are loosened by the least that makes one possible. The line is off by
//! that much at least, and nothing says how much at most.

use longpole_recording::ClockModel;

/// The most by which the speeds of two clocks differ: the kernel slews by 500 parts in a million.
const MOST_DRIFT: f64 = 500e-6;
/// Halvings by which the least loosening is found.
const HALVINGS: u32 = 48;

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
}

/// A clock as a line, with what it can be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockFit {
    /// The line.
    pub model: ClockModel,
    /// How far the offset can be off at any time between the two, nanoseconds; `None` where the clocks did not run evenly.
    pub error: Option<u64>,
    /// By how much bounds had to be loosened, nanoseconds: 0 where the clocks ran evenly.
    pub loosened: u64,
}

/// A line by its offsets at the begin and the end.
type Ends = (f64, f64);

impl OffsetBounds {
    /// Bounds in both directions.
    #[must_use]
    pub fn is_two_sided(&self) -> bool {
        !self.lower.is_empty() && !self.upper.is_empty()
    }

    /// The line for the time from `begin` to `end` on the clock; `None` without bounds in both directions.
    #[must_use]
    pub fn fit(&self, begin: u64, end: u64) -> Option<ClockFit> {
        let lowest = self.upper.iter().map(|bound| bound.offset).min()?;
        let highest = self.lower.iter().map(|bound| bound.offset).max()?;
        // Large numbers are left out of what is computed with fractions.
        let base = lowest.midpoint(highest);
        let times = || self.lower.iter().chain(&self.upper).map(|bound| bound.time);
        let begin = times().fold(begin, u64::min);
        let end = times().fold(end, u64::max).max(begin + 1);
        let span = FittedSpan { begin, end, base };
        let possible = |loosened: f64| span.possible(self, loosened);
        let (mut loosened, mut polygon) = (0.0, possible(0.0));
        if polygon.is_empty() {
            let mut most = 1.0;
            while possible(most).is_empty() {
                most *= 2.0;
            }
            let mut least = most / 2.0;
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(least, most);
                if possible(middle).is_empty() { least = middle } else { most = middle }
            }
            (loosened, polygon) = (most, possible(most));
        }
        Some(span.middle(&polygon, loosened))
    }
}

/// The time that a line is for.
#[derive(Clone, Copy, Debug)]
struct FittedSpan {
    begin: u64,
    end: u64,
    /// Offsets are computed as differences to this.
    base: i64,
}

impl FittedSpan {
    /// The corners of the polygon of possible lines.
    fn possible(&self, bounds: &OffsetBounds, loosened: f64) -> Vec<Ends> {
        let relative = |bound: &OffsetBound| (bound.offset - self.base) as f64;
        let length = (self.end - self.begin) as f64;
        let drift = MOST_DRIFT * length + 1.0;
        let low = bounds.lower.iter().map(relative).fold(f64::NEG_INFINITY, f64::max) - drift - loosened;
        let high = bounds.upper.iter().map(relative).fold(f64::INFINITY, f64::min) + drift + loosened;
        if low > high {
            return Vec::new();
        }
        let mut polygon = vec![(low, low), (high, low), (high, high), (low, high)];
        cut(&mut polygon, |(x, y)| drift - (y - x));
        cut(&mut polygon, |(x, y)| drift - (x - y));
        let at = |bound: &OffsetBound| (bound.time - self.begin) as f64 / length;
        for bound in &bounds.lower {
            let (part, offset) = (at(bound), relative(bound) - loosened);
            cut(&mut polygon, |(x, y)| x + part * (y - x) - offset);
        }
        for bound in &bounds.upper {
            let (part, offset) = (at(bound), relative(bound) + loosened);
            cut(&mut polygon, |(x, y)| offset - x - part * (y - x));
        }
        polygon
    }

    /// The line in the middle of the possible ones.
    fn middle(&self, polygon: &[Ends], loosened: f64) -> ClockFit {
        let count = polygon.len() as f64;
        let sum = polygon.iter().fold((0.0, 0.0), |sum, corner| (sum.0 + corner.0, sum.1 + corner.1));
        let (first, last) = (sum.0 / count, sum.1 / count);
        let farthest = polygon
            .iter()
            .map(|corner| (corner.0 - first).abs().max((corner.1 - last).abs()))
            .fold(0.0, f64::max);
        let rounded = first.round();
        let model = ClockModel {
            offset_nanoseconds: self.base + rounded as i64,
            drift: (last - first) / (self.end - self.begin) as f64,
            reference_nanoseconds: self.begin,
        };
        // Offsets are rounded to whole nanoseconds, here and where they are added.
        let error = (loosened == 0.0).then(|| (farthest + 2.0).ceil() as u64);
        ClockFit { model, error, loosened: loosened.ceil() as u64 }
    }
}

/// Keeps of a convex polygon where `inside`, which is linear, is not negative.
fn cut(polygon: &mut Vec<Ends>, inside: impl Fn(Ends) -> f64) {
    if polygon.iter().all(|&corner| inside(corner) >= 0.0) {
        return;
    }
    let mut kept = Vec::with_capacity(polygon.len() + 1);
    for (at, &corner) in polygon.iter().enumerate() {
        let next = polygon[(at + 1) % polygon.len()];
        let (here, there) = (inside(corner), inside(next));
        if here >= 0.0 {
            kept.push(corner);
        }
        if (here >= 0.0) != (there >= 0.0) {
            let part = here / (here - there);
            kept.push((corner.0 + part * (next.0 - corner.0), corner.1 + part * (next.1 - corner.1)));
        }
    }
    *polygon = kept;
}

/// The time on the other clock.
#[must_use]
pub fn placed(model: ClockModel, time: u64) -> i64 {
    let since = time.wrapping_sub(model.reference_nanoseconds).cast_signed();
    time.cast_signed() + model.offset_nanoseconds + (model.drift * since as f64) as i64
}

/// The line through two points: a time on the clock, and the same on the other one.
#[must_use]
pub fn line_through(begin: (u64, i64), end: (u64, i64)) -> ClockModel {
    let offset = |(time, other): (u64, i64)| other - time.cast_signed();
    let length = end.0.saturating_sub(begin.0).max(1);
    ClockModel {
        offset_nanoseconds: offset(begin),
        drift: (offset(end) - offset(begin)) as f64 / length as f64,
        reference_nanoseconds: begin.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is 5,000 s behind and drifts, seen through messages of 5 to 55 µs, in both directions.
    fn bounds(offset: impl Fn(u64) -> i64, messages: u64) -> OffsetBounds {
        let mut bounds = OffsetBounds::default();
        let mut state = 7_u64;
        for message in 0..messages {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (time, latency) =
                (1_000_000_000 + message * 1_000_000, 5_000 + (state >> 33) as i64 % 50_000);
            if message % 2 == 0 {
                bounds.lower.push(OffsetBound { time, offset: offset(time) - latency });
            } else {
                bounds.upper.push(OffsetBound { time, offset: offset(time) + latency });
            }
        }
        bounds
    }

    const BEGIN: u64 = 1_000_000_000;

    fn line(drift: f64) -> impl Fn(u64) -> i64 {
        move |time| 5_000_000_000_000 + (drift * (time - BEGIN) as f64) as i64
    }

    #[track_caller]
    fn assert_within(truth: &impl Fn(u64) -> i64, messages: u64) -> (u64, ClockModel) {
        let end = BEGIN + messages * 1_000_000;
        let fit = bounds(truth, messages).fit(BEGIN, end).expect("bounds in both directions");
        let error = fit.error.expect("the clock runs evenly");
        for part in 0..=10 {
            let time = BEGIN + part * (end - BEGIN) / 10;
            let off = placed(fit.model, time) - time.cast_signed() - truth(time);
            assert!(off.unsigned_abs() <= error, "{off} ns at {part}: {fit:?}");
        }
        (error, fit.model)
    }

    #[test]
    fn offset_and_drift_are_within_the_error_that_is_said() {
        for drift in [0.0, 3e-6, -120e-6, 499e-6] {
            for messages in [2, 3, 10, 1000] {
                assert_within(&line(drift), messages);
            }
            let (error, model) = assert_within(&line(drift), 10_000);
            assert!(error < 6_000, "latencies are 5 µs at least: {error}");
            assert!((model.drift - drift).abs() < 2e-6, "{model:?}");
        }
    }

    #[test]
    fn few_messages_leave_a_larger_error() {
        let [few, many] = [4, 4000].map(|messages| assert_within(&line(3e-6), messages).0);
        assert!(few > 2 * many, "{few} {many}");
    }

    #[test]
    fn a_clock_that_does_not_run_evenly_has_no_bound() {
        // It jumps by 400 µs in the middle.
        let truth = |time: u64| line(0.0)(time) + if time > BEGIN + 500_000_000 { 400_000 } else { 0 };
        let fit = bounds(truth, 1000).fit(BEGIN, 2 * BEGIN).expect("bounds in both directions");
        assert_eq!(fit.error, None, "{fit:?}");
        assert!(
            (150_000..200_000).contains(&fit.loosened),
            "half of the jump, less what messages take: {fit:?}"
        );
    }

    #[test]
    fn messages_in_one_direction_are_no_fit() {
        let OffsetBounds { lower, .. } = bounds(line(0.0), 100);
        assert_eq!(OffsetBounds { lower, upper: Vec::new() }.fit(BEGIN, 2 * BEGIN), None);
    }

    #[test]
    fn a_line_goes_through_its_two_points() {
        let model = line_through((1_000, 500), (2_001_000, 2_000_900));
        assert_eq!([1_000, 2_001_000].map(|time| placed(model, time)), [500, 2_000_900]);
    }
}
