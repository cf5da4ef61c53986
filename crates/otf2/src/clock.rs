//! The clock of a location: how its times become those of the trace.
//!
//! ```text
//!   offset    o0 ────────── o1 ───── o2          between two measurements a line, before the first and after the last one the
//!   time      t0            t1       t2          lines beside them
//! ```

/// What a location's clock lacked of the trace's at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockOffset {
    /// The location's time, ticks.
    pub time: u64,
    /// Ticks to add.
    pub offset: i64,
    /// How well that was known, ticks.
    pub deviation: f64,
}

/// The offsets of a location's clock, and where among them its events are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocationClock {
    offsets: Vec<ClockOffset>,
    at: usize,
}

impl LocationClock {
    /// Of offsets as they were measured; those that do not come after the one before are left out. One alone makes no line, and
    /// changes nothing, as in OTF2's own library.
    #[must_use]
    pub fn new(measured: impl IntoIterator<Item = ClockOffset>) -> LocationClock {
        let mut offsets: Vec<ClockOffset> = Vec::new();
        for offset in measured {
            if offsets.last().is_none_or(|last| last.time < offset.time) {
                offsets.push(offset);
            }
        }
        if offsets.len() == 1 {
            offsets.clear();
        }
        LocationClock { offsets, at: 0 }
    }

    /// The trace's time. Times come in their order.
    pub fn correct(&mut self, time: u64) -> u64 {
        let Some(mut begin) = self.offsets.get(self.at) else { return time };
        while self.offsets.len() > self.at + 2 && time > self.offsets[self.at + 1].time {
            self.at += 1;
            begin = &self.offsets[self.at];
        }
        let Some(end) = self.offsets.get(self.at + 1) else { return time };
        let slope = end.offset.wrapping_sub(begin.offset) as f64 / (end.time - begin.time) as f64;
        let since =
            if time >= begin.time { (time - begin.time) as f64 } else { -((begin.time - time) as f64) };
        let correction = (slope * since).round_ties_even();
        time.saturating_add_signed(begin.offset.saturating_add(correction as i64))
    }

    /// Whether the clock was compared with others at all.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        !self.offsets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(measured: &[(u64, i64)]) -> LocationClock {
        LocationClock::new(measured.iter().map(|&(time, offset)| ClockOffset {
            time,
            offset,
            deviation: 0.0,
        }))
    }

    #[test]
    fn times_between_two_measurements_are_on_the_line_between_them() {
        let mut clock = clock(&[(100, 10), (200, 30), (300, 30)]);
        let corrected: Vec<u64> = [50, 100, 150, 200, 250, 300, 400].map(|time| clock.correct(time)).into();
        assert_eq!(corrected, [50, 110, 170, 230, 280, 330, 430]);
    }

    #[test]
    fn without_a_line_times_stay() {
        assert_eq!(clock(&[(100, -7)]).correct(1000), 1000);
        assert_eq!(clock(&[]).correct(1000), 1000);
    }
}
