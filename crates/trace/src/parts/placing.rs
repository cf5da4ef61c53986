//! The clocks of all parts, put onto the first one's.
//!
//! ```text
//!   clock of B ──readings──► oscillator of B ──bounds from messages──► oscillator of A ──readings──► clock of A
//! ```
//! Where one of the two was not read, its clock of events stands for its oscillator, and may be slewed.

use std::collections::BTreeMap;

use longpole_recording::{ClockModel, ClockReading};

use super::RunPart;
use crate::clocks::logical::{MendedClocks, PlacedPrecedence, mend};
use crate::clocks::{ClockCurve, ClockFit, DriftLimits, OffsetBound, OffsetBounds, oscillator};
use crate::messages::MessagePrecedence;

/// No message gets to another machine in less: a bus alone takes longer.
const SMALLEST_LATENCY: u64 = 100;
/// Steps of the time of day by less are what it takes to read it.
const STEP_NANOSECONDS: u64 = 1_000_000;

/// The clocks of all parts, of which some are the same one.
pub(super) struct PartClocks {
    /// The clock of each part.
    pub(super) of_part: Vec<usize>,
    clocks: Vec<PartClock>,
}

/// A clock of one or more parts.
struct PartClock {
    /// From the first event to the last.
    span: (u64, u64),
    /// The clock as its oscillator; `None` where that was not read.
    oscillator: Option<ClockCurve>,
}

/// A clock that has its place on the axis.
#[derive(Clone, Debug)]
pub(super) struct PlacedClock {
    pub(super) curve: ClockCurve,
    /// By how much its bounds contradict each other, nanoseconds.
    pub(super) loosened: u64,
    pub(super) by: PlacedBy,
    /// How many bounds from messages to it and from it there were.
    pub(super) bounds: (usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlacedBy {
    Itself,
    /// Messages with this clock.
    Messages(usize),
    TimeOfDay,
    Nothing,
}

/// Where all clocks are on the axis.
pub(super) struct ClockPlacing {
    pub(super) clocks: Vec<PlacedClock>,
    /// What the logical clock did.
    pub(super) mended: MendedClocks,
}

impl PartClocks {
    pub(super) fn of(parts: &[RunPart]) -> PartClocks {
        let (mut boots, mut of_part): (Vec<&str>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut read: Vec<((u64, u64), Vec<ClockReading>)> = Vec::new();
        for part in parts {
            let boot = part.machine().boot_id.as_str();
            let own = part.own_clock();
            let span = (own.shown(part.span.0), own.shown(part.span.1));
            let known = boots.iter().position(|known| !boot.is_empty() && *known == boot);
            let clock = known.unwrap_or_else(|| {
                boots.push(boot);
                read.push((span, Vec::new()));
                boots.len() - 1
            });
            let (whole, readings) = &mut read[clock];
            *whole = (whole.0.min(span.0), whole.1.max(span.1));
            readings.extend(part.machine().clock_readings.iter().map(|reading| ClockReading {
                event_nanoseconds: own.shown(reading.event_nanoseconds),
                ..*reading
            }));
            of_part.push(clock);
        }
        let clock = |(span, readings)| PartClock { span, oscillator: oscillator(readings) };
        PartClocks { of_part, clocks: read.into_iter().map(clock).collect() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.clocks.len()
    }

    /// The first part of a clock.
    pub(super) fn first_part<'a>(&self, parts: &'a [RunPart], clock: usize) -> Option<&'a RunPart> {
        parts.iter().zip(&self.of_part).find(|(_, of)| **of == clock).map(|(part, _)| part)
    }

    /// Puts all clocks onto the first one's, so that nothing is received before it was sent.
    pub(super) fn place(&self, parts: &[RunPart], precedences: &[MessagePrecedence]) -> ClockPlacing {
        let mut clocks = self.placed(parts, &self.bounds(precedences));
        let at = |(clock, time): (usize, longpole_event::Time)| {
            (clock, clocks[clock].curve.shown(time.nanoseconds()))
        };
        let placed: Vec<PlacedPrecedence> = precedences
            .iter()
            .map(|precedence| PlacedPrecedence { before: at(precedence.before), after: at(precedence.after) })
            .collect();
        let mended = mend(&placed, self.len(), SMALLEST_LATENCY);
        for (place, (clock, moved)) in clocks.iter_mut().zip(self.clocks.iter().zip(&mended.curves)) {
            if let Some(moved) = moved {
                place.curve = place.curve.then(moved, clock.span);
            }
        }
        ClockPlacing { clocks, mended }
    }

    /// The clock's time as its oscillator's.
    fn raw(&self, clock: usize, time: u64) -> u64 {
        self.clocks[clock].oscillator.as_ref().map_or(time, |oscillator| oscillator.shown(time))
    }

    /// Bounds between oscillators, by clock and other clock.
    fn bounds(&self, precedences: &[MessagePrecedence]) -> BTreeMap<(usize, usize), OffsetBounds> {
        let mut bounds: BTreeMap<(usize, usize), OffsetBounds> = BTreeMap::new();
        for precedence in precedences {
            let ((from, sent), (to, received)) = (precedence.before, precedence.after);
            let (sent, received) = (self.raw(from, sent.nanoseconds()), self.raw(to, received.nanoseconds()));
            let at_least = sent.cast_signed() - received.cast_signed();
            let bound = OffsetBound { time: received, offset: at_least };
            bounds.entry((to, from)).or_default().lower.push(bound);
            let bound = OffsetBound { time: sent, offset: -at_least };
            bounds.entry((from, to)).or_default().upper.push(bound);
            if let Some(left) = precedence.leaves_with {
                let offset = self.raw(from, left.nanoseconds()).cast_signed() - received.cast_signed();
                bounds.entry((to, from)).or_default().likely.push(OffsetBound { time: received, offset });
            }
        }
        bounds
    }

    /// The place of each clock: from those that have one, the one with the smallest error next.
    fn placed(&self, parts: &[RunPart], bounds: &BTreeMap<(usize, usize), OffsetBounds>) -> Vec<PlacedClock> {
        let itself =
            PlacedClock { curve: ClockCurve::itself(), loosened: 0, by: PlacedBy::Itself, bounds: (0, 0) };
        let mut all: Vec<Option<PlacedClock>> = vec![None; self.len()];
        all[0] = Some(itself);
        loop {
            let mut best: Option<(usize, PlacedClock)> = None;
            for (&(clock, other), bounds) in bounds {
                let (None, Some(other_place)) = (&all[clock], &all[other]) else { continue };
                let Some(found) = self.by_way_of((clock, other), bounds, other_place) else { continue };
                let rank = |place: &PlacedClock| {
                    let error = place.curve.error();
                    (error.is_none(), error, place.loosened)
                };
                if best.as_ref().is_none_or(|(_, before)| rank(&found) < rank(before)) {
                    best = Some((clock, found));
                }
            }
            let Some((clock, found)) = best else { break };
            all[clock] = Some(found);
        }
        let place = |(clock, known): (usize, Option<PlacedClock>)| {
            known.unwrap_or_else(|| self.by_time_of_day(clock, parts))
        };
        let mut all: Vec<PlacedClock> = all.into_iter().enumerate().map(place).collect();
        // Times that an imported trace counts from its own begin may lie before the first one's zero, which no recording can have.
        let begins = all.iter().zip(&self.clocks).map(|(place, clock)| place.curve.at(clock.span.0));
        let before_zero = begins.min().filter(|&begin| begin < 0).unwrap_or(0);
        all.iter_mut().for_each(|place| place.curve.move_by(before_zero.saturating_neg()));
        all
    }

    /// The clock's place where bounds tie it to another one that has a place.
    fn by_way_of(
        &self,
        (clock, other): (usize, usize),
        bounds: &OffsetBounds,
        place: &PlacedClock,
    ) -> Option<PlacedClock> {
        let [own, others] = [clock, other].map(|clock| self.clocks[clock].oscillator.clone());
        let error = |of: &ClockCurve| of.error().unwrap_or(0);
        let limits = match (&own, &others) {
            (Some(own), Some(others)) => DriftLimits::oscillators(error(own) + error(others)),
            _ => DriftLimits::SLEWED,
        };
        let span = self.clocks[clock].span;
        let [own, others] = [own, others].map(|curve| curve.unwrap_or_else(ClockCurve::itself));
        // How far readings are off is in the fit's slack.
        let own = own.exact();
        let raw = (own.shown(span.0), own.shown(span.1));
        let ClockFit { curve, loosened } = bounds.fit(raw, limits)?;
        let back = others.exact().inverse(self.clocks[other].span);
        let curve = own.then(&curve, span).then(&back, span).then(&place.curve, span);
        Some(PlacedClock {
            curve,
            loosened: place.loosened.max(loosened),
            by: PlacedBy::Messages(other),
            bounds: (bounds.lower.len(), bounds.upper.len()),
        })
    }

    /// A clock that no messages tie to the others in both directions.
    fn by_time_of_day(&self, clock: usize, parts: &[RunPart]) -> PlacedClock {
        let of = |clock: usize| {
            let part = self.first_part(parts, clock)?;
            let moment = part.machine().wall_clock?;
            let event = part.own_clock().shown(moment.event_nanoseconds);
            Some((moment.unix_nanoseconds.cast_signed() - event.cast_signed(), time_of_day_error(part)))
        };
        let bounds = (0, 0);
        let (Some((first, first_error)), Some((own, own_error))) = (of(0), of(clock)) else {
            let curve = ClockCurve::line(ClockModel::default(), None);
            return PlacedClock { curve, loosened: 0, by: PlacedBy::Nothing, bounds };
        };
        let line = ClockModel { offset_nanoseconds: own - first, ..ClockModel::default() };
        let error = first_error.zip(own_error).map(|(one, other)| one + other);
        let curve = ClockCurve::line(line, error);
        PlacedClock { curve, loosened: 0, by: PlacedBy::TimeOfDay, bounds }
    }
}

/// How far the time of day is off on a part's machine, by its kernel; `None` where nothing synchronised it all the time, or it was set.
fn time_of_day_error(part: &RunPart) -> Option<u64> {
    let readings = &part.machine().clock_readings;
    let ahead = |reading: &ClockReading| {
        reading.unix_nanoseconds.cast_signed() - reading.event_nanoseconds.cast_signed()
    };
    let (least, most) = (readings.iter().map(ahead).min()?, readings.iter().map(ahead).max()?);
    if most.abs_diff(least) > STEP_NANOSECONDS {
        return None;
    }
    let mut errors = readings.iter().map(|reading| reading.unix_error_nanoseconds);
    errors.try_fold(most.abs_diff(least), |worst, error| Some(worst.max(error?)))
}
