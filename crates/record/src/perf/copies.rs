//! Copies of what was in the rings, so that the kernel finds room while records are decoded.
//!
//! ```text
//!   rings ──► rounds of copies ──► PerfReader::drain
//!             a round at each drain that finds none, and whenever a ring is a quarter full
//! ```
//! Copying takes a hundredth of the time of decoding. A thread of its own copies what the kernel reports as urgent, and shortens stacks
//! while copies pile up. At most [`MOST_BYTES`] of copies wait, then the rings fill up and the kernel counts what finds no room.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use longpole_event::Time;

use super::short_stacks::{CopyBacklog, ShortStacks};
use crate::clock::now;
use crate::machine::take_short_turns;
use crate::wait::{EventCounter, PollSource, Waiter};
use longpole_privileged::{PerfEvent, PerfRing};

/// Memory of all copies that wait.
const MOST_BYTES: usize = 128 << 20;
/// The kernel wakes the copying thread where a ring is a quarter full; it looks this often besides.
const LOOK: Duration = Duration::from_millis(200);

/// So many bytes of copies are decoded at once.
const URGENT_BYTES: usize = 1 << 20;
/// A ring that is full but for one part in so many has most likely lost records.
const FULL_PART: usize = 16;

/// What was in all rings at one time.
#[derive(Debug)]
pub(super) struct CopiedRound {
    /// Everything that was written before this time is in this round, or in one before.
    pub(super) begun: Time,
    /// Of each ring, whole records.
    pub(super) copies: Vec<Vec<u8>>,
    /// One of the rings was so full that records may have found no room.
    pub(super) is_full: bool,
}

impl CopiedRound {
    fn bytes(&self) -> usize {
        self.copies.iter().map(Vec::len).sum()
    }
}

/// An event that writes into one of the rings.
#[derive(Debug)]
pub(super) struct RingWriter {
    pub(super) event: PerfEvent,
    /// Which of the reader's kinds it is.
    pub(super) kind: usize,
    /// Number of the ring.
    pub(super) ring: usize,
}

/// The rings of a reader and their copies.
#[derive(Debug)]
pub(super) struct RingCopies {
    shared: Arc<Mutex<CopiedRings>>,
    /// Readable when much was copied.
    filled: Option<Arc<EventCounter>>,
    thread: Option<CopyingThread>,
}

#[derive(Debug)]
struct CopyingThread {
    handle: JoinHandle<()>,
    is_over: Arc<AtomicBool>,
    asked: Arc<EventCounter>,
}

/// What both threads use.
#[derive(Debug)]
pub(super) struct CopiedRings {
    pub(super) rings: Vec<PerfRing>,
    /// Events beside those that the rings were made for.
    pub(super) writers: Vec<RingWriter>,
    pub(super) short_stacks: ShortStacks,
    rounds: VecDeque<CopiedRound>,
    bytes: usize,
    /// Records were lost since the last round.
    is_losing: bool,
    is_stopped: bool,
}

impl RingCopies {
    /// Of no rings yet.
    pub(super) fn new() -> RingCopies {
        let shared = CopiedRings {
            rings: Vec::new(),
            writers: Vec::new(),
            short_stacks: ShortStacks::new(),
            rounds: VecDeque::new(),
            bytes: 0,
            is_losing: false,
            is_stopped: false,
        };
        // Without the counter, what was copied waits for the next round.
        let filled = EventCounter::new().ok().map(Arc::new);
        RingCopies { shared: Arc::new(Mutex::new(shared)), filled, thread: None }
    }

    /// A descriptor that becomes readable when much was copied.
    pub(super) fn alarm(&self) -> Option<RawFd> {
        self.filled.as_ref().map(|filled| filled.descriptor())
    }

    /// Copies urgent rings in a thread of its own from now on. No ring is added afterwards.
    pub(super) fn start(&mut self) -> io::Result<()> {
        if self.thread.is_some() {
            return Ok(());
        }
        let (waiter, asked) = (Waiter::new()?, Arc::new(EventCounter::new()?));
        waiter.add(asked.descriptor(), PollSource::Request)?;
        let alarms: Vec<RawFd> = self.lock().rings.iter().map(|ring| ring.event().as_raw_fd()).collect();
        alarms.into_iter().try_for_each(|alarm| waiter.add(alarm, PollSource::Alarm))?;
        let (shared, is_over) = (Arc::clone(&self.shared), Arc::new(AtomicBool::new(false)));
        let (over, filled) = (Arc::clone(&is_over), self.filled.clone());
        let handle = std::thread::Builder::new().name("copier".to_owned()).spawn(move || {
            take_short_turns();
            while !over.load(Ordering::Acquire) {
                if waiter.wait(LOOK).is_err() {
                    std::thread::sleep(LOOK);
                }
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if shared.is_any_filling() {
                    shared.copy_round();
                }
                let is_urgent = shared.bytes >= URGENT_BYTES;
                drop(shared);
                if is_urgent && let Some(filled) = &filled {
                    filled.add();
                }
            }
        })?;
        self.thread = Some(CopyingThread { handle, is_over, asked });
        Ok(())
    }

    /// The oldest round, or a new one where none waits, and whether others wait behind it. `is_losing`: the one before told of lost
    /// records.
    pub(super) fn take(&self, is_losing: bool) -> (CopiedRound, bool) {
        if let Some(filled) = &self.filled {
            filled.clear();
        }
        let mut shared = self.lock();
        shared.is_losing |= is_losing;
        if shared.rounds.is_empty() {
            shared.copy_round();
        }
        let nothing = || CopiedRound { begun: now(), copies: Vec::new(), is_full: false };
        let round = shared.rounds.pop_front().unwrap_or_else(nothing);
        shared.bytes -= round.bytes();
        (round, !shared.rounds.is_empty())
    }

    /// Stops all events, and copies the rings once more, whatever waits already: nothing is written into them any more.
    pub(super) fn stop(&self) {
        let mut shared = self.lock();
        shared.is_stopped = true;
        // An event that cannot be stopped ends with its descriptor.
        shared.rings.iter().for_each(|ring| _ = ring.event().disable());
        shared.writers.iter().for_each(|writer| _ = writer.event.disable());
        shared.short_stacks.stop();
        shared.bytes = 0;
        shared.copy_round();
        shared.bytes = shared.rounds.iter().map(CopiedRound::bytes).sum();
    }

    /// The rings and events.
    pub(super) fn lock(&self) -> MutexGuard<'_, CopiedRings> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CopiedRings {
    fn is_any_filling(&self) -> bool {
        self.rings.iter().any(|ring| ring.waiting_bytes() >= ring.size_bytes() / 8)
    }

    fn copy_round(&mut self) {
        if self.bytes > MOST_BYTES {
            return;
        }
        let begun = now();
        let is_full = |ring: &PerfRing| {
            ring.size_bytes().saturating_sub(ring.waiting_bytes()) < ring.size_bytes() / FULL_PART
        };
        let is_full = self.rings.iter().any(is_full);
        let is_losing = std::mem::take(&mut self.is_losing) || is_full;
        let is_decoded = self.rounds.is_empty();
        let copies = self.rings.iter_mut().map(PerfRing::take_bytes).collect();
        let round = CopiedRound { begun, copies, is_full };
        self.bytes += round.bytes();
        self.rounds.push_back(round);
        if !self.is_stopped {
            let CopiedRings { writers, short_stacks, bytes, .. } = self;
            let backlog = CopyBacklog { bytes: *bytes, is_decoded, is_losing };
            short_stacks.adapt(begun, backlog, |number| &writers[number].event);
        }
    }
}

impl Drop for RingCopies {
    fn drop(&mut self) {
        if let Some(CopyingThread { handle, is_over, asked }) = self.thread.take() {
            is_over.store(true, Ordering::Release);
            asked.add();
            // Its panic has been told.
            let _ = handle.join();
        }
    }
}
