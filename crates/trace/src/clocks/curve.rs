//! A clock's time as another clock shows it: straight pieces without steps.

use longpole_recording::{ClockModel, ClockPiece, MachineDescription, piece_at};

/// Pieces of joined curves are no shorter, nanoseconds: in this time clocks that are slewed come apart by 5 ns.
const SHORTEST_PIECE: u64 = 10_000;

/// A clock as another one shows it; one piece at least, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockCurve {
    pieces: Vec<ClockPiece>,
}

/// Where two pieces meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockKnot {
    /// The time on the clock.
    pub time: u64,
    /// The same on the other one.
    pub other: i64,
    /// How far a line from here to the next knot may be off, nanoseconds.
    pub error: Option<u64>,
}

impl ClockCurve {
    /// A clock as itself.
    #[must_use]
    pub fn itself() -> ClockCurve {
        ClockCurve { pieces: vec![ClockPiece { line: ClockModel::default(), error_nanoseconds: Some(0) }] }
    }

    /// A line.
    #[must_use]
    pub fn line(line: ClockModel, error_nanoseconds: Option<u64>) -> ClockCurve {
        ClockCurve { pieces: vec![ClockPiece { line, error_nanoseconds }] }
    }

    /// A machine's clock as its recording has it.
    #[must_use]
    pub fn of(machine: &MachineDescription) -> ClockCurve {
        if machine.clock_pieces.is_empty() {
            return ClockCurve::line(machine.clock, machine.clock_error_nanoseconds);
        }
        let mut pieces = machine.clock_pieces.clone();
        pieces.sort_by_key(|piece| piece.line.reference_nanoseconds);
        ClockCurve { pieces }
    }

    /// Through these points, in the order of time; the first and the last piece go on. A clock as itself where there is none.
    #[must_use]
    pub fn through(knots: &[ClockKnot]) -> ClockCurve {
        let offset = |knot: &ClockKnot| knot.other.wrapping_sub(knot.time.cast_signed());
        let piece = |knot: &ClockKnot, drift: f64| ClockPiece {
            line: ClockModel { offset_nanoseconds: offset(knot), drift, reference_nanoseconds: knot.time },
            error_nanoseconds: knot.error,
        };
        let mut pieces: Vec<ClockPiece> = Vec::new();
        for pair in knots.windows(2) {
            let [begin, end] = pair else { continue };
            if end.time > begin.time {
                let length = (end.time - begin.time) as f64;
                pieces.push(piece(begin, (offset(end).wrapping_sub(offset(begin))) as f64 / length));
            }
        }
        match (pieces.is_empty(), knots.first()) {
            (false, _) => ClockCurve { pieces },
            (true, Some(knot)) => ClockCurve { pieces: vec![piece(knot, 0.0)] },
            (true, None) => ClockCurve::itself(),
        }
    }

    /// Its pieces.
    #[must_use]
    pub fn pieces(&self) -> &[ClockPiece] {
        &self.pieces
    }

    /// The time on the other clock.
    #[must_use]
    pub fn at(&self, time: u64) -> i64 {
        let line = piece_at(&self.pieces, time).map_or_else(ClockModel::default, |piece| piece.line);
        time.cast_signed().saturating_add(line.correction(time))
    }

    /// The same for a time that may lie before this clock's zero, where the first piece goes on.
    fn at_signed(&self, time: i64) -> i64 {
        u64::try_from(time).map_or_else(
            |_| {
                let drift = self.pieces.first().map_or(0.0, |piece| piece.line.drift);
                self.at(0).saturating_add(time).saturating_add((drift * time as f64).round() as i64)
            },
            |time| self.at(time),
        )
    }

    /// All times on the other clock are later by this, nanoseconds.
    pub(crate) fn move_by(&mut self, later: i64) {
        for piece in &mut self.pieces {
            piece.line.offset_nanoseconds = piece.line.offset_nanoseconds.saturating_add(later);
        }
    }

    /// The time on the other clock, not before its zero.
    #[must_use]
    pub fn shown(&self, time: u64) -> u64 {
        u64::try_from(self.at(time)).unwrap_or(0)
    }

    /// How far it may be off at any time; `None` where nothing bounds it.
    #[must_use]
    pub fn error(&self) -> Option<u64> {
        self.pieces
            .iter()
            .map(|piece| piece.error_nanoseconds)
            .try_fold(0, |most, error| Some(error?.max(most)))
    }

    /// The line between its ends over this span.
    #[must_use]
    pub fn through_ends(&self, (begin, end): (u64, u64)) -> ClockModel {
        let knot = |time: u64| ClockKnot { time, other: self.at(time), error: None };
        ClockCurve::through(&[begin, end.max(begin + 1)].map(knot)).pieces[0].line
    }

    /// The same where errors are taken into account otherwise.
    pub(crate) fn exact(mut self) -> ClockCurve {
        self.pieces.iter_mut().for_each(|piece| piece.error_nanoseconds = Some(0));
        self
    }

    /// The last time at which the other clock shows this time or an earlier one.
    fn before(&self, other: u64) -> u64 {
        let other = other.cast_signed();
        let (mut least, mut most) = (0, i64::MAX.unsigned_abs());
        while least < most {
            let middle = least + (most - least).div_ceil(2);
            if self.at(middle) <= other { least = middle } else { most = middle - 1 }
        }
        least
    }

    /// Where pieces of it meet within the span, and the span's ends.
    fn corners(&self, (begin, end): (u64, u64)) -> Vec<u64> {
        let begins = self.pieces.iter().skip(1).map(|piece| piece.line.reference_nanoseconds);
        let mut corners: Vec<u64> = begins.filter(|&time| begin < time && time < end).collect();
        corners.extend([begin, end.max(begin + 1)]);
        corners
    }

    fn error_at(&self, time: u64) -> Option<u64> {
        piece_at(&self.pieces, time)?.error_nanoseconds
    }

    /// As a third clock shows it that shows the other one by `next`, for this span of its time. Errors add up.
    #[must_use]
    pub fn then(&self, next: &ClockCurve, span: (u64, u64)) -> ClockCurve {
        let mut corners = self.corners(span);
        let seen = (self.shown(span.0), self.shown(span.1));
        corners.extend(next.corners(seen).into_iter().map(|time| self.before(time)));
        corners.retain(|&time| span.0 <= time && time <= span.1.max(span.0 + 1));
        corners.sort_unstable();
        // The slope of a shorter piece would be that of rounding.
        corners.dedup_by(|later, kept| *later - *kept < SHORTEST_PIECE);
        let knot = |time: u64| ClockKnot {
            time,
            other: next.at_signed(self.at(time)),
            // Both are rounded to whole nanoseconds.
            error: self
                .error_at(time)
                .zip(next.error_at(self.shown(time) + 1))
                .map(|(one, other)| one + other),
        };
        ClockCurve::through(&corners.into_iter().map(knot).collect::<Vec<_>>()).simplified()
    }

    /// The other clock as this one shows it, for this span of this one's time.
    #[must_use]
    pub fn inverse(&self, span: (u64, u64)) -> ClockCurve {
        let mut corners = self.corners(span);
        corners.sort_unstable();
        let knot = |time: u64| ClockKnot {
            time: self.shown(time),
            other: time.cast_signed(),
            error: self.error_at(time),
        };
        ClockCurve::through(&corners.into_iter().map(knot).collect::<Vec<_>>())
    }

    /// Pieces that go on in the one before, but for rounding, are one with it.
    fn simplified(mut self) -> ClockCurve {
        /// The most by which a piece may miss where it meets others, nanoseconds.
        const ROUNDING: u64 = 2;
        let is_on = |line: ClockModel, time: u64, other: i64| {
            let shown = time.cast_signed().saturating_add(line.correction(time));
            shown.abs_diff(other) <= ROUNDING
        };
        let mut pieces: Vec<ClockPiece> = Vec::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            let next = self.pieces.get(at + 1).map(|next| next.line.reference_nanoseconds);
            // The last one ends nowhere: looked at one as long as itself may be, it is as good as on the line.
            let end = next.unwrap_or(piece.line.reference_nanoseconds.saturating_add(1_000_000_000));
            match pieces.last_mut() {
                Some(last) if is_on(last.line, end, piece.line.correction(end) + end.cast_signed()) => {
                    let both = last.error_nanoseconds.zip(piece.error_nanoseconds);
                    last.error_nanoseconds = both.map(|(one, other)| one.max(other + ROUNDING));
                }
                _ => pieces.push(*piece),
            }
        }
        self.pieces = pieces;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: (u64, u64) = (1_000_000_000, 9_000_000_000);

    fn knot(time: u64, other: i64, error: u64) -> ClockKnot {
        ClockKnot { time, other, error: Some(error) }
    }

    /// Bent twice, and 5,000 s ahead.
    fn bent() -> ClockCurve {
        let ahead = 5_000_000_000_000;
        ClockCurve::through(&[
            knot(SPAN.0, ahead, 10),
            knot(3_000_000_000, ahead + 2_000_100_000, 20),
            knot(5_000_000_000, ahead + 3_999_900_000, 30),
            knot(SPAN.1, ahead + 8_000_000_000, 0),
        ])
    }

    #[test]
    fn it_goes_through_its_knots_and_on() {
        let curve = bent();
        assert_eq!(curve.pieces().len(), 3);
        assert_eq!(curve.at(3_000_000_000), 5_002_000_100_000);
        assert_eq!(curve.at(4_000_000_000), 5_003_000_000_000);
        assert_eq!(curve.at(0), 5_000_000_000_000 - 1_000_050_000, "as in the first piece");
        assert_eq!(curve.error(), Some(30));
    }

    #[test]
    fn there_and_back_is_the_same_time() {
        let curve = bent();
        let back = curve.inverse(SPAN);
        let both = curve.then(&back, SPAN);
        for time in (SPAN.0..=SPAN.1).step_by(123_456_789) {
            assert!(back.at(curve.shown(time)).abs_diff(time.cast_signed()) <= 2, "{time}");
            assert!(both.at(time).abs_diff(time.cast_signed()) <= 3, "{time}");
        }
        assert_eq!(both.pieces().len(), 1, "{both:?}");
        assert_eq!(both.error().map(|error| error / 10), Some(6), "errors add up");
    }

    #[test]
    fn a_line_after_a_curve_bends_where_the_curve_does() {
        let line =
            ClockModel { offset_nanoseconds: -7, drift: 3e-6, reference_nanoseconds: 5_000_000_000_000 };
        let both = bent().then(&ClockCurve::line(line, Some(5)), SPAN);
        assert_eq!(both.pieces().len(), 3);
        let through = |time: u64| ClockCurve::line(line, None).at(bent().shown(time));
        for time in (SPAN.0..=SPAN.1).step_by(123_456_789) {
            assert!(both.at(time).abs_diff(through(time)) <= 2, "{time}");
        }
        assert_eq!(both.error(), Some(35));
        let unknown = bent().then(&ClockCurve::line(line, None), SPAN);
        assert_eq!(unknown.error(), None);
    }
}
