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

/// By how much a reading may be off the line between its neighbours to be left out, nanoseconds: what a look at two clocks takes.
const COLLINEAR_NANOSECONDS: f64 = 100.0;

/// The readings, in the order of time, without those between which the oscillator's offset is a line. How far the ones left out
/// were off it is in the uncertainty of the reading before them.
#[must_use]
pub fn without_collinear(mut readings: Vec<ClockReading>) -> Vec<ClockReading> {
    readings.sort_by_key(|reading| reading.event_nanoseconds);
    readings.dedup_by_key(|reading| reading.event_nanoseconds);
    let offset =
        |at: usize| (readings[at].raw_nanoseconds.wrapping_sub(readings[at].event_nanoseconds)).cast_signed();
    let mut kept = Vec::new();
    let mut open = vec![(0, readings.len().saturating_sub(1))];
    while let Some((first, last)) = open.pop() {
        let Some(length) = readings.get(last).map(|end| end.event_nanoseconds) else { break };
        let length = (length - readings[first].event_nanoseconds).max(1) as f64;
        let rise = (offset(last) - offset(first)) as f64 / length;
        let is_off = |at: usize| {
            let since = (readings[at].event_nanoseconds - readings[first].event_nanoseconds) as f64;
            ((offset(at) - offset(first)) as f64 - rise * since).abs()
        };
        let between = first + 1..last.max(first + 1);
        let worst = between.clone().max_by(|&one, &other| is_off(one).total_cmp(&is_off(other)));
        match worst.filter(|&worst| is_off(worst) > COLLINEAR_NANOSECONDS) {
            Some(worst) => open.extend([(worst, last), (first, worst)]),
            None => {
                let most = (first..last.max(first + 1)).map(|at| readings[at].uncertainty_nanoseconds).max();
                let off = worst.map_or(0, |worst| is_off(worst).ceil() as u64);
                let uncertainty_nanoseconds = most.unwrap_or(0) + off;
                kept.push(ClockReading { uncertainty_nanoseconds, ..readings[first] });
            }
        }
    }
    kept.extend(readings.last().filter(|_| readings.len() > 1));
    kept
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
