//! A machine's clock of events as its oscillator, from what its recorders read.
//!
//! The kernel slews the clock of events to synchronise the time of day, by up to 500 parts in a million; the oscillator
//! (`CLOCK_MONOTONIC_RAW`) is left alone. Readings tell how the one went by the other.

use longpole_recording::{ClockReading, without_collinear};

use super::curve::{ClockCurve, ClockKnot};

/// The clock of events as the oscillator; `None` where it was not read twice.
pub(crate) fn oscillator(readings: Vec<ClockReading>) -> Option<ClockCurve> {
    let kept = without_collinear(readings);
    let knot = |reading: &ClockReading| ClockKnot {
        time: reading.event_nanoseconds,
        other: reading.raw_nanoseconds.cast_signed(),
        error: Some(reading.uncertainty_nanoseconds),
    };
    (kept.len() > 1).then(|| ClockCurve::through(&kept.iter().map(knot).collect::<Vec<_>>()))
}
