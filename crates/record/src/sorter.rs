//! Brings the events of several buffers into time order.
//!
//! Each round hands over what the buffers held. An event that happened before a round began may come out
//! of it or, where its thread or processor was slow to write it down, out of a later one: a thread can lose its processor between
//! reading the clock and writing. So the events before the *previous* round's beginning are complete when a round ends, and no sooner
//! than [`PATIENCE`] after they happened:
//!
//! ```text
//! round        1            2            3
//! begins       |            |            |
//! time   ------+------------+------------+------>
//!          complete after 2 | complete after 3
//! ```
//! A collector that keeps an event back names a time before it as the round's beginning: nothing later is complete then.
//! Memory is bounded by what two rounds, or the rounds of that time, can hand over.

use std::collections::VecDeque;
use std::time::Duration;

use longpole_event::Time;

use crate::raw::RawEvent;

/// A thread that other programs keep from its processor gets it back within this time, mostly.
const PATIENCE: Duration = Duration::from_millis(50);

/// Holds events back until nothing earlier can come.
#[derive(Debug, Default)]
pub struct Sorter {
    /// In order.
    held: VecDeque<RawEvent>,
    previous_round: Time,
}

impl Sorter {
    /// Takes the events of a round that began at `round`, and appends to `out` those that are complete, in
    /// time order. Events of one time stay in the order in which they came.
    pub fn round(&mut self, round: Time, events: &mut Vec<RawEvent>, out: &mut Vec<RawEvent>) {
        self.take(events);
        let until = self.previous_round.min(round - PATIENCE.as_nanos() as u64);
        let complete = self.held.partition_point(|event| event.time < until);
        out.extend(self.held.drain(..complete));
        self.previous_round = round;
    }

    /// Puts events in their places among those that are held, most of which are earlier.
    fn take(&mut self, events: &mut Vec<RawEvent>) {
        let Some(first) = events.iter().map(|event| event.time).min() else { return };
        let earlier = self.held.partition_point(|event| event.time <= first);
        let mut later: Vec<RawEvent> = self.held.drain(earlier..).collect();
        later.append(events);
        later.sort_by_key(|event| event.time);
        self.held.extend(later);
    }

    /// Appends everything that is still held back, in time order.
    pub fn finish(&mut self, out: &mut Vec<RawEvent>) {
        out.extend(self.held.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{KernelTask, RawKind};

    fn time(milliseconds: u64) -> Time {
        Time::from_nanoseconds(milliseconds * 1_000_000)
    }

    fn at(milliseconds: u64) -> RawEvent {
        let kind = RawKind::Exit { task: KernelTask { pid: 1, tid: 1 } };
        RawEvent { time: time(milliseconds), cpu: 0, kind }
    }

    fn times(events: &[RawEvent]) -> Vec<u64> {
        events.iter().map(|event| event.time.nanoseconds() / 1_000_000).collect()
    }

    #[test]
    fn an_event_that_came_a_round_late_still_finds_its_place() {
        let mut sorter = Sorter::default();
        let mut out = Vec::new();
        sorter.round(time(100), &mut vec![at(90), at(70)], &mut out);
        assert!(out.is_empty());
        sorter.round(time(200), &mut vec![at(150), at(80)], &mut out);
        assert_eq!(times(&out), [70, 80, 90]);
        sorter.round(time(300), &mut vec![at(120)], &mut out);
        assert_eq!(times(&out), [70, 80, 90, 120, 150]);
    }

    #[test]
    fn what_follows_an_event_that_is_kept_back_waits_for_it() {
        let mut sorter = Sorter::default();
        let mut out = Vec::new();
        sorter.round(time(100), &mut vec![at(70)], &mut out);
        // The one at 80 came a round late, and is kept back.
        sorter.round(time(80), &mut vec![at(90), at(75)], &mut out);
        sorter.round(time(300), &mut vec![at(80)], &mut out);
        assert_eq!(times(&out), [70, 75]);
        sorter.round(time(400), &mut Vec::new(), &mut out);
        assert_eq!(times(&out), [70, 75, 80, 90]);
    }

    #[test]
    fn rounds_in_quick_succession_wait_for_threads_without_a_processor() {
        let mut sorter = Sorter::default();
        let mut out = Vec::new();
        for begin in 101..150 {
            sorter.round(time(begin), &mut vec![at(begin - 1)], &mut out);
        }
        assert!(out.is_empty());
        // It read the clock, lost its processor for 49 ms, and wrote the event down then.
        sorter.round(time(150), &mut vec![at(101), at(149)], &mut out);
        sorter.round(time(152), &mut Vec::new(), &mut out);
        sorter.round(time(153), &mut Vec::new(), &mut out);
        assert_eq!(times(&out), [100, 101, 101, 102]);
    }

    #[test]
    fn nothing_is_left_behind_at_the_end() {
        let mut sorter = Sorter::default();
        let mut out = Vec::new();
        sorter.round(time(100), &mut vec![at(300), at(200)], &mut out);
        sorter.finish(&mut out);
        assert_eq!(times(&out), [200, 300]);
    }
}
