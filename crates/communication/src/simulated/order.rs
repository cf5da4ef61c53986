//! Events of all threads in the order of time, though the simulation tells of each thread as far as it has got.
//!
//! ```text
//!   told       T0 5, T0 9 (a request ends), T1 6, …      all that is still to come is at 7 or later: 5 and 6 are written
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use longpole_event::Event;
use longpole_recording::{LogBuilder, Result};

/// An event on its way: events of one time keep the order in which they were told.
#[derive(Clone, Copy, Debug)]
struct PendingEvent {
    time: u64,
    number: u64,
    event: Event,
}

impl PartialEq for PendingEvent {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.number) == (other.time, other.number)
    }
}

impl Eq for PendingEvent {}

impl PartialOrd for PendingEvent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PendingEvent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

/// Events that are not written yet.
#[derive(Debug, Default)]
pub(super) struct EventOrder {
    pending: BinaryHeap<Reverse<PendingEvent>>,
    number: u64,
}

impl EventOrder {
    /// Takes an event.
    pub(super) fn push(&mut self, event: Event) {
        self.number += 1;
        let pending = PendingEvent { time: event.time.nanoseconds(), number: self.number, event };
        self.pending.push(Reverse(pending));
    }

    /// Events that are not written yet.
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Writes the events before a time.
    pub(super) fn write_before(&mut self, time: u64, log: &mut LogBuilder) -> Result<()> {
        while self.pending.peek().is_some_and(|Reverse(first)| first.time < time) {
            if let Some(Reverse(first)) = self.pending.pop() {
                log.event(first.event)?;
            }
        }
        Ok(())
    }
}
