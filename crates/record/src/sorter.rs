//! Brings the events of several buffers into time order.
//!
//! Each round hands over what the buffers held. An event that happened before a round began may come out
//! of it or, where its processor was slow to write it down, out of the next one; not later. So the events
//! before the *previous* round's beginning are complete when a round ends:
//!
//! ```text
//! round        1            2            3
//! begins       |            |            |
//! time   ------+------------+------------+------>
//!          complete after 2 | complete after 3
//! ```
//! A collector that keeps an event back names a time before it as the round's beginning: nothing later is complete then.
//! Memory is bounded by what two rounds can hand over, that is by the sizes of the buffers.

use longpole_event::Time;

use crate::raw::RawEvent;

/// Holds events back until nothing earlier can come.
#[derive(Debug, Default)]
pub struct Sorter {
    held: Vec<RawEvent>,
    previous_round: Time,
}

impl Sorter {
    /// Takes the events of a round that began at `round`, and appends to `out` those that are complete, in
    /// time order. Events of one time stay in the order in which they came.
    pub fn round(&mut self, round: Time, events: &mut Vec<RawEvent>, out: &mut Vec<RawEvent>) {
        self.held.append(events);
        self.held.sort_by_key(|event| event.time);
        let until = self.previous_round.min(round);
        let complete = self.held.partition_point(|event| event.time < until);
        out.extend(self.held.drain(..complete));
        self.previous_round = round;
    }

    /// Appends everything that is still held back, in time order.
    pub fn finish(&mut self, out: &mut Vec<RawEvent>) {
        out.append(&mut self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{KernelTask, RawKind};

    fn at(nanoseconds: u64) -> RawEvent {
        let kind = RawKind::Exit { task: KernelTask { pid: 1, tid: 1 } };
        RawEvent { time: Time::from_nanoseconds(nanoseconds), cpu: 0, kind }
    }

    fn times(events: &[RawEvent]) -> Vec<u64> {
        events.iter().map(|event| event.time.nanoseconds()).collect()
    }

    #[test]
    fn an_event_that_came_a_round_late_still_finds_its_place() {
        let mut sorter = Sorter::default();
        let mut out = Vec::new();
        sorter.round(Time::from_nanoseconds(100), &mut vec![at(90), at(70)], &mut out);
        assert!(out.is_empty());
        sorter.round(Time::from_nanoseconds(200), &mut vec![at(150), at(80)], &mut out);
        assert_eq!(times(&out), [70, 80, 90]);
        sorter.round(Time::from_nanoseconds(300), &mut vec![at(120)], &mut out);
        assert_eq!(times(&out), [70, 80, 90, 120, 150]);
    }

    #[test]
    fn what_follows_an_event_that_is_kept_back_waits_for_it() {
        let mut sorter = Sorter::default();
        let mut out = Vec::new();
        sorter.round(Time::from_nanoseconds(100), &mut vec![at(70)], &mut out);
        // The one at 80 came a round late, and is kept back.
        sorter.round(Time::from_nanoseconds(80), &mut vec![at(90), at(75)], &mut out);
        assert_eq!(times(&out), [70, 75]);
        sorter.round(Time::from_nanoseconds(300), &mut vec![at(80)], &mut out);
        sorter.round(Time::from_nanoseconds(400), &mut Vec::new(), &mut out);
        assert_eq!(times(&out), [70, 75, 80, 90]);
    }

    #[test]
    fn nothing_is_left_behind_at_the_end() {
        let mut sorter = Sorter::default();
        let mut out = Vec::new();
        sorter.round(Time::from_nanoseconds(100), &mut vec![at(300), at(200)], &mut out);
        sorter.finish(&mut out);
        assert_eq!(times(&out), [200, 300]);
    }
}
