//! Values with times of their own, as the recorder takes them.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use longpole_event::Time;
use longpole_runtime::interface::series::{ENTRIES, SeriesMemory};

use crate::sink::Sink;

/// After this time a writer that has a ticket and gives no value is taken for dead.
const PATIENCE_NANOSECONDS: u64 = 1_000_000_000;

/// How far the ring was read. What the memory says of that is for the writers, and not believed.
#[derive(Debug, Default)]
pub(super) struct SeriesRing {
    taken: u64,
    /// Since when the next entry is waited for.
    waiting: Option<Time>,
}

/// A value with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RingSample {
    /// Of which slot, as it says.
    pub(super) slot: usize,
    pub(super) time: Time,
    pub(super) value: f64,
}

impl SeriesRing {
    /// Takes what there is, at most as much as there is room for.
    pub(super) fn take(
        &mut self,
        memory: &SeriesMemory,
        now: Time,
        is_last: bool,
        sink: &mut Sink<'_>,
    ) -> Vec<RingSample> {
        let tickets = memory.header.tickets.0.load(Acquire);
        let mut samples = Vec::new();
        if tickets.wrapping_sub(self.taken) > ENTRIES as u64 {
            sink.trouble("the memory of the program's metrics was overwritten");
            self.taken = tickets;
        }
        while self.taken != tickets {
            let entry = &memory.entries[self.taken as usize % ENTRIES];
            if entry.sequence.load(Acquire) == self.taken.wrapping_add(1) {
                samples.push(RingSample {
                    slot: usize::try_from(entry.slot.load(Relaxed)).unwrap_or(usize::MAX),
                    time: Time::from_nanoseconds(entry.time.load(Relaxed)),
                    value: f64::from_bits(entry.value.load(Relaxed)),
                });
            } else if is_last || self.has_waited(now) {
                sink.trouble("a value was begun and not ended");
            } else {
                break;
            }
            self.waiting = None;
            self.taken = self.taken.wrapping_add(1);
        }
        memory.header.taken.0.store(self.taken, Release);
        samples
    }

    fn has_waited(&mut self, now: Time) -> bool {
        let since = *self.waiting.get_or_insert(now);
        now.since(since) > PATIENCE_NANOSECONDS
    }
}
