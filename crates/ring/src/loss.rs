//! What a thread has not told for want of room, counted in its area.

use crate::atomic::{AtomicU64, Ordering};
use crate::event::{is_call, is_communication};

/// Events of a call of MPI at least: it is entered and left.
const EVENTS_OF_CALL: u64 = 2;

/// Counts since the beginning. The thread alone writes them, the recorder reads.
#[repr(C)]
#[derive(Debug)]
pub struct LossCounters {
    /// Events that found no room.
    all: AtomicU64,
    /// How many of them were calls of instrumented procedures and returns.
    calls: AtomicU64,
    /// Calls of MPI that were not told, or not in whole: their events are among the lost ones.
    communications: AtomicU64,
    /// Of all these, what the thread has told of.
    told: AtomicU64,
    communications_told: AtomicU64,
}

impl LossCounters {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        LossCounters {
            all: zero(),
            calls: zero(),
            communications: zero(),
            told: zero(),
            communications_told: zero(),
        }
    }

    pub(crate) fn reset(&self) {
        let counters = [&self.all, &self.calls, &self.communications, &self.told, &self.communications_told];
        counters.into_iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }

    /// The event found no room.
    pub(crate) fn lose(&self, event: &[u64]) {
        match event.first() {
            Some(&first) if is_call(first) => add(&self.calls, 1, Ordering::Relaxed),
            Some(&first) if is_communication(first) => add(&self.communications, 1, Ordering::Relaxed),
            _ => {}
        }
        // After the calls among them: who reads in the other order takes no call for another event.
        add(&self.all, 1, Ordering::Release);
    }

    /// Nothing is told of a call of MPI.
    pub(crate) fn lose_communication(&self) {
        add(&self.communications, 1, Ordering::Relaxed);
        add(&self.all, EVENTS_OF_CALL, Ordering::Release);
    }

    /// Events that were lost and that the thread has not told of, and whether calls of MPI are among them.
    pub(crate) fn untold(&self) -> (u64, bool) {
        let untold = |all: &AtomicU64, told: &AtomicU64| {
            all.load(Ordering::Relaxed).wrapping_sub(told.load(Ordering::Relaxed))
        };
        (untold(&self.all, &self.told), untold(&self.communications, &self.communications_told) != 0)
    }

    /// The thread has told of all.
    pub(crate) fn tell(&self) {
        self.told.store(self.all.load(Ordering::Relaxed), Ordering::Relaxed);
        self.communications_told.store(self.communications(), Ordering::Relaxed);
    }

    /// Events that found no room.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.all.load(Ordering::Acquire)
    }

    /// How many of them were calls of instrumented procedures and returns.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Calls of MPI that were not told, or not in whole.
    #[must_use]
    pub fn communications(&self) -> u64 {
        self.communications.load(Ordering::Relaxed)
    }

    /// Whether events were lost that the thread has not told of yet.
    #[inline]
    #[must_use]
    pub fn has_gap(&self) -> bool {
        self.all.load(Ordering::Relaxed) != self.told.load(Ordering::Relaxed)
    }
}

fn add(counter: &AtomicU64, count: u64, order: Ordering) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(count), order);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::area::{Area, RingLength};
    use crate::event::{EventWords, RingEventKind, event};

    #[test]
    fn a_gap_says_whether_calls_of_mpi_are_in_it() {
        let area = Area::new();
        let gaps = || {
            let mut gaps = Vec::new();
            let mut take = |words: &EventWords| {
                let gap = words.event().filter(|event| event.kind == RingEventKind::Lost);
                gaps.extend(gap.map(|event| event.call(9).1));
            };
            // SAFETY: the area's own ring.
            assert!(unsafe { area.drain(RingLength::Short, &mut take) });
            gaps
        };
        let fill = || while area.push(&event::<2>(RingEventKind::Ends, 0, 7, &[])) {};
        fill();
        assert!(!area.has_room(2) && area.losses.communications() == 0);
        assert_eq!(gaps(), []);
        assert!(area.has_room(16 * 1024));
        fill();
        assert_eq!(gaps(), [0]);
        fill();
        area.lose_communication();
        assert!(!area.push(&event::<6>(RingEventKind::Communicates, 0, 8, &[0; 4])));
        assert!(!area.push(&event::<5>(RingEventKind::Communicated, 0, 8, &[0; 3])));
        assert_eq!((area.losses.communications(), gaps()), (2, vec![0]));
        fill();
        assert_eq!(gaps(), [1]);
        fill();
        assert_eq!(gaps(), [0], "the one that found no room since");
    }
}
