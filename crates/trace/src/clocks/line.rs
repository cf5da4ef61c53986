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

/// The line in the middle of the possible ones: the polygon's centre of area. A mean of the corners would lie where it has many.
pub(super) fn middle(polygon: &[LineEnds]) -> LineEnds {
    let count = polygon.len() as f64;
    let sum = polygon.iter().fold((0.0, 0.0), |sum, corner| (sum.0 + corner.0, sum.1 + corner.1));
    let mean = (sum.0 / count, sum.1 / count);
    let (mut area, mut moment) = (0.0, (0.0, 0.0));
    for (at, one) in polygon.iter().enumerate() {
        let other = polygon[(at + 1) % polygon.len()];
        let (one, other) = ((one.0 - mean.0, one.1 - mean.1), (other.0 - mean.0, other.1 - mean.1));
        let part = one.0 * other.1 - other.0 * one.1;
        area += part;
        moment = (moment.0 + part * (one.0 + other.0), moment.1 + part * (one.1 + other.1));
    }
    if area.abs() < 1.0 {
        return mean;
    }
    (mean.0 + moment.0 / (3.0 * area), mean.1 + moment.1 / (3.0 * area))
}

/// Whether a line keeps this distance from all bounds, nanoseconds.
pub(super) fn keeps_distance(bounds: &RelativeBounds, distance: f64, (x, y): LineEnds) -> bool {
    let at = |time: f64| x + time / bounds.length * (y - x);
    bounds.lower.iter().all(|&(time, offset)| at(time) >= offset + distance)
        && bounds.upper.iter().all(|&(time, offset)| at(time) <= offset - distance)
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
