//! What a thread had done by a time in the past: its CPU time and its normalised processor time so far.
//!
//! ```text
//!   cpu     ____/‾‾‾‾/‾‾      a point is kept at each change
//!               1    2
//! ```
//! A lock's holder is known only when it hands over; what it did since somebody waited is then the difference of two
//! points of its past. Up to 256 points per thread are kept, the newest all, older ones thinned out: between two
//! that are not neighbours the past is interpolated. Constant amortised time per change, logarithmic per question.

use longpole_event::Time;

/// Points that are kept per thread.
const POINTS: usize = 256;

/// Time, and the integral of 1/U up to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SharePoint {
    pub time: Time,
    pub share: f64,
}

/// What a thread has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WorkDone {
    /// Useful CPU time.
    pub cpu: u64,
    /// Normalised processor time.
    pub npt: f64,
}

/// A thread's past.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuHistory {
    points: Vec<(SharePoint, WorkDone)>,
    is_running: bool,
    is_busy: bool,
}

impl CpuHistory {
    /// The thread changes its state.
    pub fn change(&mut self, now: SharePoint, is_running: bool, is_busy: bool) {
        if (is_running, is_busy) == (self.is_running, self.is_busy) {
            return;
        }
        let done = self.at(now);
        (self.is_running, self.is_busy) = (is_running, is_busy);
        if self.points.len() == POINTS {
            let mut place = 0;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 1 || place > POINTS / 2
            });
        }
        self.points.push((now, done));
    }

    /// What it had done at a moment that is not in the future.
    pub fn at(&self, moment: SharePoint) -> WorkDone {
        // Most questions are about now.
        let after = match self.points.last() {
            Some((last, _)) if last.time <= moment.time => self.points.len(),
            _ => self.points.partition_point(|(point, _)| point.time <= moment.time),
        };
        let Some((from, done)) = after.checked_sub(1).map(|index| self.points[index]) else {
            return WorkDone::default();
        };
        let (time, share) = (moment.time.since(from.time), moment.share - from.share);
        let Some((to, then)) = self.points.get(after) else {
            return WorkDone {
                cpu: done.cpu + if self.is_running { time } else { 0 },
                npt: done.npt + if self.is_busy { share } else { 0.0 },
            };
        };
        let part = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let of_time = part(time as f64, to.time.since(from.time) as f64);
        let of_share = part(share, to.share - from.share);
        WorkDone {
            cpu: done.cpu + ((then.cpu - done.cpu) as f64 * of_time).round() as u64,
            npt: done.npt + (then.npt - done.npt) * of_share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(time: u64, share: f64) -> SharePoint {
        SharePoint { time: Time::from_nanoseconds(time), share }
    }

    #[test]
    fn the_past_is_remembered_between_its_changes() {
        let mut past = CpuHistory::default();
        past.change(moment(10, 5.0), true, true);
        past.change(moment(20, 15.0), false, false);
        past.change(moment(30, 20.0), true, true);
        let at = |time, share| past.at(moment(time, share));
        assert_eq!(at(5, 2.0), WorkDone::default());
        assert_eq!(at(14, 7.0), WorkDone { cpu: 4, npt: 2.0 });
        assert_eq!(at(25, 17.0), WorkDone { cpu: 10, npt: 10.0 });
        assert_eq!(at(33, 21.5), WorkDone { cpu: 13, npt: 11.5 });
    }

    #[test]
    fn a_long_past_is_thinned_out_and_still_nearly_right() {
        let mut past = CpuHistory::default();
        for step in 0..10_000_u64 {
            past.change(moment(step * 10, (step * 10) as f64), step % 2 == 0, step % 2 == 0);
        }
        assert!(past.points.len() <= POINTS);
        // It ran every other ten: half of the time.
        for time in [1_000, 30_000, 77_770, 99_000_u64] {
            let cpu = past.at(moment(time, time as f64)).cpu as f64;
            assert!((cpu / (time as f64 / 2.0) - 1.0).abs() < 0.05, "{time}: {cpu}");
        }
    }
}
