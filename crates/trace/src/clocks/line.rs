//! The lines that bounds of an offset leave possible.
//!
//! A line is known by its values at the begin and the end of the time that it is for; the possible ones are a convex polygon in
//! that plane, from which each bound cuts a half.

use super::corridor::RelativeBounds;

/// A line by its offsets at the begin and the end, nanoseconds.
pub(super) type LineEnds = (f64, f64);

/// The corners of the polygon of possible lines, which are no steeper than `most_drift`; empty where no line is possible.
pub(super) fn possible_lines(bounds: &RelativeBounds, loosened: f64, most_drift: f64) -> Vec<LineEnds> {
    let drift = most_drift * bounds.length + 1.0;
    let offsets = |of: &[(f64, f64)]| of.iter().map(|bound| bound.1).collect::<Vec<f64>>();
    let low = offsets(&bounds.lower).into_iter().fold(f64::NEG_INFINITY, f64::max) - drift - loosened;
    let high = offsets(&bounds.upper).into_iter().fold(f64::INFINITY, f64::min) + drift + loosened;
    if low > high {
        return Vec::new();
    }
    let mut polygon = vec![(low, low), (high, low), (high, high), (low, high)];
    cut(&mut polygon, |(x, y)| drift - (y - x));
    cut(&mut polygon, |(x, y)| drift - (x - y));
    for &(time, offset) in &bounds.lower {
        let (part, offset) = (time / bounds.length, offset - loosened);
        cut(&mut polygon, |(x, y)| x + part * (y - x) - offset);
    }
    for &(time, offset) in &bounds.upper {
        let (part, offset) = (time / bounds.length, offset + loosened);
        cut(&mut polygon, |(x, y)| offset - x - part * (y - x));
    }
    polygon
}

/// The line in the middle of the possible ones: between the two that are farthest apart. A mean of the corners would lie where the
/// polygon has many.
pub(super) fn middle(polygon: &[LineEnds]) -> LineEnds {
    let distance = |one: &LineEnds, other: &LineEnds| (one.0 - other.0).hypot(one.1 - other.1);
    let pairs =
        polygon.iter().enumerate().flat_map(|(at, one)| polygon[at..].iter().map(move |other| (one, other)));
    let farthest = pairs.max_by(|one, other| distance(one.0, one.1).total_cmp(&distance(other.0, other.1)));
    farthest.map_or((0.0, 0.0), |(one, other)| (f64::midpoint(one.0, other.0), f64::midpoint(one.1, other.1)))
}

/// The line that is farthest on the way from a possible one to another, and still possible.
pub(super) fn farthest_possible(
    bounds: &RelativeBounds,
    loosened: f64,
    (from, to): (LineEnds, LineEnds),
) -> LineEnds {
    const HALVINGS: u32 = 40;
    let line = |part: f64| (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1));
    let is_possible = |(x, y): LineEnds| {
        let at = |time: f64| x + time / bounds.length * (y - x);
        bounds.lower.iter().all(|&(time, offset)| at(time) >= offset - loosened)
            && bounds.upper.iter().all(|&(time, offset)| at(time) <= offset + loosened)
    };
    if is_possible(to) {
        return to;
    }
    let (mut least, mut most) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(least, most);
        if is_possible(line(middle)) { least = middle } else { most = middle }
    }
    line(least)
}

/// Keeps of a convex polygon where `inside`, which is linear, is not negative.
fn cut(polygon: &mut Vec<LineEnds>, inside: impl Fn(LineEnds) -> f64) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_not_where_most_corners_are() {
        let polygon = [
            (-873.0, -880.0),
            (882.0, 875.0),
            (879.0, 879.0),
            (877.0, 880.0),
            (873.0, 880.0),
            (-885.0, -878.0),
        ];
        let (begin, end) = middle(&polygon);
        assert!(begin.abs() < 5.0 && end.abs() < 5.0, "{begin} {end}");
    }
}
