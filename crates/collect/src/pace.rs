//! How often something may be looked at, for what a look costs.

use std::time::Duration;

use longpole_event::Time;

use crate::clock;

/// Weight of the newest look in the mean cost.
const NEWEST: f64 = 0.1;

/// Keeps looks within a share of one processor.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Share of one processor that the looks may take.
    share: f64,
    /// Mean CPU time of a look, seconds.
    cost: f64,
    first: Option<Time>,
    last: Option<Time>,
    looks: u32,
}

impl Pace {
    /// For looks that may take this share of one processor.
    pub(crate) fn within(share: f64) -> Pace {
        Pace { share, cost: 0.0, first: None, last: None, looks: 0 }
    }

    /// Whether a look may be had at `now`.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        let Some(last) = self.last else { return true };
        now.nanoseconds().saturating_sub(last.nanoseconds()) as f64 >= self.cost / self.share * 1e9
    }

    /// The look before, if there was one.
    pub(crate) fn last(&self) -> Option<Time> {
        self.last
    }

    /// Takes the look at `now`, and what it cost.
    pub(crate) fn look<T>(&mut self, now: Time, look: impl FnOnce() -> T) -> T {
        let before = clock::thread_cpu();
        let result = look();
        self.took(now, clock::thread_cpu().saturating_sub(before));
        result
    }

    pub(crate) fn took(&mut self, now: Time, cost: Duration) {
        let cost = cost.as_secs_f64();
        // The first look opens files and defines series: it is dear, and happens once.
        match self.looks {
            0 => self.first = Some(now),
            1 => self.cost = cost,
            _ => self.cost += NEWEST * (cost - self.cost),
        }
        self.last = Some(now);
        self.looks = self.looks.saturating_add(1);
    }

    /// The mean time between two looks; `None` before the second.
    pub(crate) fn interval(&self) -> Option<Duration> {
        let (first, last) = self.first.zip(self.last)?;
        let steps = self.looks.checked_sub(1).filter(|&steps| steps > 0)?;
        Some(Duration::from_nanos(last.nanoseconds().saturating_sub(first.nanoseconds())) / steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::from_nanoseconds(1_000_000 * milliseconds)
    }

    #[test]
    fn a_dear_look_is_had_less_often() {
        let mut pace = Pace::within(0.01);
        assert!(pace.is_due(at(0)));
        pace.took(at(0), Duration::from_millis(5));
        pace.took(at(10), Duration::from_micros(400));
        assert!(!pace.is_due(at(40)), "0.4 ms may be had every 40 ms");
        assert!(pace.is_due(at(50)));
        pace.took(at(50), Duration::from_micros(400));
        pace.took(at(90), Duration::from_micros(400));
        assert_eq!(pace.interval(), Some(Duration::from_millis(30)));
    }

    #[test]
    fn a_cheap_look_is_had_whenever_it_is_asked_for() {
        let mut pace = Pace::within(0.01);
        for look in 0..50 {
            assert!(pace.is_due(at(10 * look)));
            pace.took(at(10 * look), Duration::from_micros(90));
        }
    }
}
