//! Reads the machine's clocks once a second while the program runs, so that recordings of several machines can be joined.

use longpole_event::Time;
use longpole_recording::{ClockReading, without_collinear};

use crate::clock::{now, raw_now, wall_clock};

/// Time between two readings.
const INTERVAL_NANOSECONDS: u64 = 1_000_000_000;
/// Of so many looks the one that took least counts: nothing interrupted it.
const LOOKS: usize = 5;
/// Readings from which on those between others on a line are dropped at once.
const MANY: usize = 4096;

/// The readings of a run so far.
#[derive(Debug, Default)]
pub(crate) struct ClockReadings {
    readings: Vec<ClockReading>,
    last: Option<Time>,
}

impl ClockReadings {
    /// Reads the clocks if it is time to.
    pub(crate) fn look(&mut self, time: Time) {
        if self.last.is_none_or(|last| time.since(last) >= INTERVAL_NANOSECONDS) {
            self.read();
        }
    }

    fn read(&mut self) {
        let reading = (0..LOOKS).map(|_| read()).min_by_key(|reading| reading.uncertainty_nanoseconds);
        if let Some(reading) = reading {
            self.last = Some(Time::from_nanoseconds(reading.event_nanoseconds));
            self.readings.push(reading);
        }
        if self.readings.len() >= MANY {
            // The last one may yet be the begin of a bend.
            let recent = self.readings.split_off(MANY - 2);
            let mut older = std::mem::take(&mut self.readings);
            allow_for_bends(&mut older);
            self.readings = without_collinear(older);
            self.readings.extend(recent);
        }
    }

    /// Reads them once more, and gives those that say something.
    pub(crate) fn finish(mut self) -> Vec<ClockReading> {
        self.read();
        allow_for_bends(&mut self.readings);
        without_collinear(self.readings)
    }
}

/// All clocks at one moment, as near as can be.
fn read() -> ClockReading {
    let begin = now().nanoseconds();
    let raw_nanoseconds = raw_now();
    let unix_nanoseconds = wall_clock().unix_nanoseconds;
    let took = now().nanoseconds().saturating_sub(begin);
    let (frequency_ppm, unix_error_nanoseconds) = kernel_estimates();
    ClockReading {
        event_nanoseconds: begin + took / 2,
        raw_nanoseconds,
        unix_nanoseconds,
        uncertainty_nanoseconds: took.div_ceil(2),
        frequency_ppm,
        unix_error_nanoseconds,
    }
}

/// How fast the kernel makes its clocks, and how wrong the time of day can be where it is synchronised.
fn kernel_estimates() -> (f64, Option<u64>) {
    /// Microseconds of a tick at the oscillator's own speed, as programs see it.
    const TICK_MICROSECONDS: f64 = 10_000.0;
    // SAFETY: a structure of numbers, of which zero asks for nothing to be changed.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes into the structure only.
    if unsafe { libc::adjtimex(&raw mut state) } < 0 {
        return (0.0, None);
    }
    let frequency_ppm = state.freq as f64 / 65_536.0 + 1e6 * (state.tick as f64 / TICK_MICROSECONDS - 1.0);
    let is_synchronised = state.status & libc::STA_UNSYNC == 0;
    let error = u64::try_from(state.maxerror).ok().map(|microseconds| microseconds * 1000);
    (frequency_ppm, error.filter(|_| is_synchronised))
}

/// Where the speed of the oscillator by the clock of events changes from one reading to the next, it did so anywhere between them:
/// adds how far that is from a line.
fn allow_for_bends(readings: &mut [ClockReading]) {
    let speeds: Vec<(f64, f64, f64)> = readings
        .windows(2)
        .map(|pair| {
            let length = (pair[1].event_nanoseconds.saturating_sub(pair[0].event_nanoseconds)).max(1) as f64;
            let raw = pair[1].raw_nanoseconds.wrapping_sub(pair[0].raw_nanoseconds).cast_signed() as f64;
            let noise = (pair[0].uncertainty_nanoseconds + pair[1].uncertainty_nanoseconds) as f64;
            (length, raw / length, noise / length)
        })
        .collect();
    for (at, &(length, speed, noise)) in speeds.iter().enumerate() {
        let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let change = neighbours
            .filter_map(|neighbour| speeds.get(neighbour))
            .map(|other| (other.1 - speed).abs() - other.2 - noise)
            .fold(0.0, f64::max);
        // A bend in the middle is farthest from the line.
        readings[at].uncertainty_nanoseconds += (change * length / 4.0).ceil() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_this_machine_are_read_within_microseconds() {
        let mut readings = ClockReadings::default();
        readings.look(now());
        readings.look(now());
        assert_eq!(readings.readings.len(), 1, "a second has not passed");
        let readings = readings.finish();
        assert_eq!(readings.len(), 2);
        let [first, last] = [readings[0], readings[1]];
        assert!(first.event_nanoseconds < last.event_nanoseconds);
        let ahead = |of: ClockReading| of.raw_nanoseconds.cast_signed() - of.event_nanoseconds.cast_signed();
        let uncertain = first.uncertainty_nanoseconds + last.uncertainty_nanoseconds;
        assert!(ahead(first).abs_diff(ahead(last)) <= uncertain + 1000, "{readings:?}");
        assert!(first.frequency_ppm.abs() < 110_000.0, "{first:?}");
    }

    #[test]
    fn a_change_of_speed_between_two_readings_makes_them_less_certain() {
        // From the third second on it is slewed by 100 ppm, from 200 ms of it on.
        let reading = |second: u64| {
            let slewed = (second * 1_000_000_000).saturating_sub(3_200_000_000);
            ClockReading {
                event_nanoseconds: second * 1_000_000_000,
                raw_nanoseconds: second * 1_000_000_000 + slewed / 10_000,
                uncertainty_nanoseconds: 20,
                ..ClockReading::default()
            }
        };
        let mut readings: Vec<ClockReading> = (0..8).map(reading).collect();
        allow_for_bends(&mut readings);
        let uncertain: Vec<u64> = readings.iter().map(|reading| reading.uncertainty_nanoseconds).collect();
        assert_eq!([uncertain[0], uncertain[6], uncertain[7]], [20; 3]);
        // At 3.2 s the clock is 16 µs off the line from 3 to 4 s.
        assert!((16_000..26_000).contains(&uncertain[3]), "{uncertain:?}");
    }
}
