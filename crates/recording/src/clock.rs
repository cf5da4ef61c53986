//! Clocks of machines: what a recorder read from them, and how one maps onto the recording's time axis.

use serde::{Deserialize, Serialize};

/// `axis = time + offset + drift × (time − reference)`, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockModel {
    /// Nanoseconds to add.
    pub offset_nanoseconds: i64,
    /// Relative drift, dimensionless.
    pub drift: f64,
    /// The time at which the offset was measured, in nanoseconds.
    pub reference_nanoseconds: u64,
}

impl ClockModel {
    /// What is to be added to a time of the clock.
    #[must_use]
    pub fn correction(self, time: u64) -> i64 {
        let since = time.wrapping_sub(self.reference_nanoseconds).cast_signed();
        self.offset_nanoseconds.saturating_add((self.drift * since as f64) as i64)
    }
}

/// A clock from one time on until the next piece begins; the first piece also holds before its begin, the last one without end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockPiece {
    /// Its line; the reference is where the piece begins.
    #[serde(flatten)]
    pub line: ClockModel,
    /// How far the line may be off within the piece, nanoseconds. `None` where nothing bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_nanoseconds: Option<u64>,
}

/// The piece of a clock, which has one at least, in which a time is.
#[must_use]
pub fn piece_at(pieces: &[ClockPiece], time: u64) -> Option<&ClockPiece> {
    let behind = pieces.partition_point(|piece| piece.line.reference_nanoseconds <= time);
    pieces.get(behind.saturating_sub(1))
}

/// The clock of events and the time of day, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallClock {
    /// The clock of events, nanoseconds.
    pub event_nanoseconds: u64,
    /// Since 1970, nanoseconds.
    pub unix_nanoseconds: u64,
}

/// What the clocks of a machine said at one moment of the run, and what the kernel said of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockReading {
    /// The clock of events, nanoseconds.
    pub event_nanoseconds: u64,
    /// The machine's oscillator (`CLOCK_MONOTONIC_RAW`), which nobody slews, nanoseconds.
    pub raw_nanoseconds: u64,
    /// Since 1970, nanoseconds.
    pub unix_nanoseconds: u64,
    /// How far the first two can be from what they were at one moment; between this reading and the next, from a line, nanoseconds.
    pub uncertainty_nanoseconds: u64,
    /// By how much the kernel makes the clock of events faster than its oscillator, parts per million.
    #[serde(default)]
    pub frequency_ppm: f64,
    /// The most by which the time of day is wrong, as the kernel estimates it, nanoseconds; `None` where nothing synchronises it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_error_nanoseconds: Option<u64>,
}

/// The points of a broken line from the first to the last of a row, in their order: `bend` says at which one between two of them the
/// line has to be bent, `None` where it can stay straight.
pub fn broken_line(
    (first, last): (usize, usize),
    mut bend: impl FnMut(usize, usize) -> Option<usize>,
) -> Vec<usize> {
    let mut points = Vec::new();
    let mut open = vec![(first, last)];
    while let Some((begin, end)) = open.pop() {
        match bend(begin, end) {
            Some(at) => open.extend([(at, end), (begin, at)]),
            None => points.push(begin),
        }
    }
    points.extend((last > first).then_some(last));
    points
}

/// By how much a reading may be off the line between its neighbours to be left out, nanoseconds: what a look at two clocks takes.
const COLLINEAR_NANOSECONDS: f64 = 100.0;

/// The readings, in the order of time, without those between which the oscillator's offset is a line. How far the ones left out
/// were off it is in the uncertainty of the reading before them.
#[must_use]
pub fn without_collinear(mut readings: Vec<ClockReading>) -> Vec<ClockReading> {
    readings.sort_by_key(|reading| reading.event_nanoseconds);
    readings.dedup_by_key(|reading| reading.event_nanoseconds);
    let Some(end) = readings.len().checked_sub(1) else { return readings };
    let since =
        |first: usize, at: usize| (readings[at].event_nanoseconds - readings[first].event_nanoseconds) as f64;
    let offset =
        |at: usize| (readings[at].raw_nanoseconds.wrapping_sub(readings[at].event_nanoseconds)).cast_signed();
    let rise = |first: usize, at: usize| (offset(at) - offset(first)) as f64;
    // The reading between two others that is farthest off their line, and by how much.
    let worst = |first: usize, last: usize| {
        let slope = rise(first, last) / since(first, last).max(1.0);
        let off = |at: usize| (at, (rise(first, at) - slope * since(first, at)).abs());
        (first + 1..last).map(off).max_by(|one, other| one.1.total_cmp(&other.1))
    };
    let is_off = |first: usize, last: usize| {
        worst(first, last).filter(|worst| worst.1 > COLLINEAR_NANOSECONDS).map(|worst| worst.0)
    };
    let points = broken_line((0, end), is_off);
    let part = |pair: &[usize]| {
        let most = readings[pair[0]..pair[1]].iter().map(|reading| reading.uncertainty_nanoseconds).max();
        let off = worst(pair[0], pair[1]).map_or(0, |worst| worst.1.ceil() as u64);
        ClockReading { uncertainty_nanoseconds: most.unwrap_or(0) + off, ..readings[pair[0]] }
    };
    points.windows(2).map(part).chain([readings[end]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_on_a_line_are_its_two_ends() {
        let reading = |second: u64, raw: i64, uncertainty_nanoseconds| ClockReading {
            event_nanoseconds: second * 1_000_000_000,
            raw_nanoseconds: (second * 1_000_000_000).saturating_add_signed(raw),
            uncertainty_nanoseconds,
            ..ClockReading::default()
        };
        // Slewed by 20 ppm from the 10th second on; one look was slow, two a little off.
        let bend = |second: u64| 500 - 20_000 * second.saturating_sub(10).cast_signed();
        let line = (0..30).map(|second| {
            let noise = [0, 40, -30][second as usize % 3];
            reading(second, bend(second) + noise, if second == 5 { 90 } else { 20 })
        });
        let kept = without_collinear(line.collect());
        let seconds: Vec<u64> =
            kept.iter().map(|reading| reading.event_nanoseconds / 1_000_000_000).collect();
        assert_eq!((seconds.first(), seconds.last(), seconds.len()), (Some(&0), Some(&29), 3), "{seconds:?}");
        assert!((9..=11).contains(&seconds[1]), "{seconds:?}");
        assert!((90..=90 + 100).contains(&kept[0].uncertainty_nanoseconds), "{kept:?}");
        assert!((20..=20 + 100).contains(&kept[1].uncertainty_nanoseconds), "{kept:?}");
    }

    #[test]
    fn few_readings_stay() {
        assert_eq!(without_collinear(Vec::new()), []);
        let one = ClockReading { event_nanoseconds: 5, ..ClockReading::default() };
        let two = ClockReading { event_nanoseconds: 9, ..one };
        assert_eq!(without_collinear(vec![one]), [one]);
        assert_eq!(without_collinear(vec![two, one, two]), [one, two]);
    }

    #[test]
    fn a_piece_holds_until_the_next_and_the_ends_go_on() {
        let piece = |reference_nanoseconds, offset_nanoseconds| ClockPiece {
            line: ClockModel { offset_nanoseconds, drift: 0.0, reference_nanoseconds },
            error_nanoseconds: None,
        };
        let pieces = [piece(100, 1), piece(200, 2)];
        let at = |time| piece_at(&pieces, time).map(|piece| piece.line.correction(time));
        assert_eq!([at(0), at(100), at(199), at(200), at(900)], [1, 1, 1, 2, 2].map(Some));
        assert_eq!(piece_at(&[], 5), None);
    }

    #[test]
    fn a_piece_is_one_flat_object_in_the_manifest() {
        let line = ClockModel { offset_nanoseconds: -3, drift: 1e-6, reference_nanoseconds: 7 };
        let text = serde_json::to_string(&ClockPiece { line, error_nanoseconds: Some(9) }).unwrap();
        assert_eq!(
            text,
            r#"{"offset_nanoseconds":-3,"drift":1e-6,"reference_nanoseconds":7,"error_nanoseconds":9}"#
        );
        assert_eq!(serde_json::from_str::<ClockPiece>(&text).unwrap().line, line);
    }
}
