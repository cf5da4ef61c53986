//! Where an offset can be at each time, by its bounds and by how fast it changes at most.
//!
//! ```text
//!     u                 u: at most this      high: from a bound on, the offset rises by the steepest drift at most, and came from
//!    / \      u               where the flattest one leads back to it
//!   /   \____/ \__
//!  __    ___    __      low: likewise, from below
//!    \__/   l\_/
//!     l                 l: at least this
//! ```
//! Nothing else is presumed of the clocks: every function between the two sides that changes no faster is possible, and each side
//! is one of them. So the distance to the farther side is the tightest error that can be said.

/// Bounds of an offset, as differences: `(time, offset)`, each side in the order of time, nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct RelativeBounds {
    /// The time that the offset is wanted for, from 0 on.
    pub(super) length: f64,
    pub(super) lower: Vec<(f64, f64)>,
    pub(super) upper: Vec<(f64, f64)>,
}

/// A time at which a side of the corridor bends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CorridorCorner {
    pub(super) time: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What an offset can be, from the begin to the end: linear between corners.
#[derive(Clone, Debug)]
pub(super) struct Corridor {
    pub(super) corners: Vec<CorridorCorner>,
}

/// The least and the largest drift.
pub(super) type DriftRange = (f64, f64);

impl CorridorCorner {
    pub(super) fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// The distance of an offset to the farther side.
    pub(super) fn farthest(self, offset: f64) -> f64 {
        (self.high - offset).max(offset - self.low)
    }

    /// How far an offset is outside; below 0 inside.
    pub(super) fn outside(self, offset: f64) -> f64 {
        (offset - self.high).max(self.low - offset)
    }
}

impl Corridor {
    /// The corridor of bounds that are loosened by so much; `None` where its sides cross, so that no offset is possible.
    pub(super) fn of(bounds: &RelativeBounds, loosened: f64, drifts: DriftRange) -> Option<Corridor> {
        let mut corners = points(bounds, loosened);
        let own = corners.clone();
        narrow(&mut corners, drifts);
        if corners.iter().any(|corner| corner.low > corner.high) {
            return None;
        }
        let last = corners.len() - 1;
        let is_bent = |at: usize| {
            at == 0 || at == last || corners[at].low == own[at].low || corners[at].high == own[at].high
        };
        let kept: Vec<CorridorCorner> =
            (0..corners.len()).filter(|&at| is_bent(at)).map(|at| corners[at]).collect();
        let between = kept.windows(2).flat_map(|pair| crossings(pair[0], pair[1], drifts));
        let mut corners: Vec<CorridorCorner> = kept.iter().copied().chain(between).collect();
        corners.sort_by(|one, other| one.time.total_cmp(&other.time));
        Some(Corridor { corners })
    }
}

/// Times with bounds, and the ends, with what the bounds at this very time say.
fn points(bounds: &RelativeBounds, loosened: f64) -> Vec<CorridorCorner> {
    let corner = |time, low, high| CorridorCorner { time, low, high };
    let mut points = vec![
        corner(0.0, f64::NEG_INFINITY, f64::INFINITY),
        corner(bounds.length, f64::NEG_INFINITY, f64::INFINITY),
    ];
    points.extend(bounds.lower.iter().map(|&(time, offset)| corner(time, offset - loosened, f64::INFINITY)));
    points.extend(
        bounds.upper.iter().map(|&(time, offset)| corner(time, f64::NEG_INFINITY, offset + loosened)),
    );
    points.sort_by(|one, other| one.time.total_cmp(&other.time));
    points.dedup_by(|next, kept| {
        let is_same = next.time == kept.time;
        if is_same {
            *kept = corner(kept.time, kept.low.max(next.low), kept.high.min(next.high));
        }
        is_same
    });
    points
}

/// Narrows each point by what all others leave possible there.
fn narrow(corners: &mut [CorridorCorner], (least, most): DriftRange) {
    for at in 1..corners.len() {
        let before = corners[at - 1];
        let corner = &mut corners[at];
        let past = corner.time - before.time;
        corner.high = corner.high.min(before.high + most * past);
        corner.low = corner.low.max(before.low + least * past);
    }
    for at in (1..corners.len()).rev() {
        let after = corners[at];
        let corner = &mut corners[at - 1];
        let left = after.time - corner.time;
        corner.high = corner.high.min(after.high - least * left);
        corner.low = corner.low.max(after.low - most * left);
    }
}

/// Where the sides bend between two points.
fn crossings(
    begin: CorridorCorner,
    end: CorridorCorner,
    (least, most): DriftRange,
) -> impl Iterator<Item = CorridorCorner> {
    let length = end.time - begin.time;
    let upper = (end.high - begin.high - least * length) / (most - least);
    let lower = (begin.low - end.low + most * length) / (most - least);
    let at = move |past: f64| CorridorCorner {
        time: begin.time + past,
        low: (begin.low + least * past).max(end.low - most * (length - past)),
        high: (begin.high + most * past).min(end.high - least * (length - past)),
    };
    [upper, lower].into_iter().filter(move |&past| past > 0.0 && past < length).map(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corridor(lower: &[(f64, f64)], upper: &[(f64, f64)], drifts: DriftRange) -> Option<Corridor> {
        let bounds = RelativeBounds { length: 100.0, lower: lower.to_vec(), upper: upper.to_vec() };
        Corridor::of(&bounds, 0.0, drifts)
    }

    /// By its definition, from all bounds.
    fn side(bounds: &[(f64, f64)], time: f64, (least, most): DriftRange) -> f64 {
        let of = |&(at, offset): &(f64, f64)| {
            offset + if time > at { most * (time - at) } else { least * (time - at) }
        };
        bounds.iter().map(of).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn sides_are_the_farthest_functions_that_the_bounds_allow() {
        let (lower, upper) =
            ([(10.0, -5.0), (40.0, -3.0), (80.0, -9.0)], [(20.0, 4.0), (30.0, 9.0), (70.0, 2.0)]);
        for drifts in [(-0.5, 0.5), (-0.1, 0.3), (0.05, 0.06)] {
            let found = corridor(&lower, &upper, drifts).expect("they do not cross");
            for corner in &found.corners {
                assert!((corner.high - side(&upper, corner.time, drifts)).abs() < 1e-9, "{corner:?}");
                let mirrored = lower.map(|(time, offset)| (time, -offset));
                let low = -side(&mirrored, corner.time, (-drifts.1, -drifts.0));
                assert!((corner.low - low).abs() < 1e-9, "{corner:?} {low}");
            }
            assert_eq!((found.corners[0].time, found.corners.last().unwrap().time), (0.0, 100.0));
        }
    }

    #[test]
    fn sides_that_cross_are_no_corridor() {
        // From at most 0 to at least 10 within 10 ns.
        assert!(corridor(&[(20.0, 10.0)], &[(10.0, 0.0)], (-0.5, 0.5)).is_none());
        assert!(corridor(&[(20.0, 10.0)], &[(10.0, 0.0)], (-1.0, 1.0)).is_some());
    }
}
