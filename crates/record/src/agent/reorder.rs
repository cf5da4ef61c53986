//! Events that are known late, brought back to their place.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

use longpole_event::Time;

use crate::raw::RawEvent;

/// What is known late goes at most so far back.
const HORIZON: Duration = Duration::from_millis(100);

/// What is known from `now` on stands at this time or after it.
pub(super) fn horizon(now: Time) -> Time {
    now - HORIZON.as_nanos() as u64
}

/// Holds events back for a while, so that one that is known late can still go before them.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    held: BinaryHeap<BufferedEvent>,
    next: u64,
    /// Everything before this time has been handed on.
    horizon: Time,
    /// Events that came too late for their place, and stand at the horizon.
    pub(super) late: u64,
}

#[derive(Debug)]
struct BufferedEvent {
    event: RawEvent,
    number: u64,
}

impl Reorder {
    pub(super) fn push(&mut self, mut event: RawEvent) {
        if event.time < self.horizon {
            event.time = self.horizon;
            self.late += 1;
        }
        self.held.push(BufferedEvent { event, number: self.next });
        self.next += 1;
    }

    /// Hands on what nothing can come before any more, in time order.
    pub(super) fn go_to(&mut self, now: Time, out: &mut impl FnMut(RawEvent)) {
        self.horizon = self.horizon.max(horizon(now));
        while self.held.peek().is_some_and(|held| held.event.time < self.horizon) {
            out(self.held.pop().expect("just seen").event);
        }
    }

    /// Hands on everything.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(RawEvent)) {
        while let Some(held) = self.held.pop() {
            out(held.event);
        }
    }
}

/// The earliest is the greatest; of one time, the one that came first.
impl Ord for BufferedEvent {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.event.time, other.number).cmp(&(self.event.time, self.number))
    }
}

impl PartialOrd for BufferedEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for BufferedEvent {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for BufferedEvent {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{KernelTask, RawKind};

    fn at(time: u64, tid: u32) -> RawEvent {
        let kind = RawKind::Exit { task: KernelTask { pid: 1, tid } };
        RawEvent { time: Time::from_nanoseconds(time), cpu: 0, kind }
    }

    #[test]
    fn events_come_out_in_time_order_and_late_ones_at_the_horizon() {
        let mut reorder = Reorder::default();
        let mut out = Vec::new();
        for event in [at(30, 1), at(10, 2), at(10, 3), at(20, 4)] {
            reorder.push(event);
        }
        reorder.go_to(Time::from_nanoseconds(20) + HORIZON.as_nanos() as u64, &mut |event| out.push(event));
        reorder.push(at(5, 5));
        reorder.finish(&mut |event| out.push(event));
        assert_eq!(out, [at(10, 2), at(10, 3), at(20, 4), at(20, 5), at(30, 1)]);
        assert_eq!(reorder.late, 1);
    }
}
