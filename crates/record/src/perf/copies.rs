//! Copies of what was in the rings, so that the kernel finds room while records are decoded.
//!
//! ```text
//!   rings ──► rounds of copies ──► PerfReader::drain
//!             a round at each drain that finds none, and whenever a ring is a quarter full
//! ```
//! Copying takes a hundredth of the time of decoding. A thread of its own copies what the kernel reports as urgent; at most
//! [`MOST_BYTES`] of copies wait, then the rings fill up and the kernel counts what finds no room.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use longpole_event::Time;

use crate::clock::now;
use crate::machine::take_short_turns;
use crate::wait::{EventCounter, PollSource, Waiter};
use longpole_privileged::PerfRing;

/// Memory of all copies that wait.
const MOST_BYTES: usize = 128 << 20;
/// The kernel wakes the copying thread where a ring is a quarter full; it looks this often besides.
const LOOK: Duration = Duration::from_millis(200);

/// What was in all rings at one time.
#[derive(Debug)]
pub(super) struct CopiedRound {
    /// Everything that was written before this time is in this round, or in one before.
    pub(super) begun: Time,
    /// Of each ring, whole records.
    pub(super) copies: Vec<Vec<u8>>,
    /// Bytes of the copies that wait behind it; `None` where none waits.
    pub(super) waiting_bytes: Option<usize>,
}

/// The rings of a reader and their copies.
#[derive(Debug)]
pub(super) struct RingCopies {
    shared: Arc<Mutex<CopiedRings>>,
    thread: Option<CopyingThread>,
}

#[derive(Debug)]
struct CopyingThread {
    handle: JoinHandle<()>,
    is_over: Arc<AtomicBool>,
    asked: Arc<EventCounter>,
}

#[derive(Debug, Default)]
struct CopiedRings {
    rings: Vec<PerfRing>,
    rounds: VecDeque<(Time, Vec<Vec<u8>>)>,
    bytes: usize,
}

impl RingCopies {
    /// Of no rings yet.
    pub(super) fn new() -> RingCopies {
        RingCopies { shared: Arc::default(), thread: None }
    }

    /// Also of this one.
    pub(super) fn add(&self, ring: PerfRing) {
        self.lock().rings.push(ring);
    }

    /// Does something with the rings.
    pub(super) fn with_rings<T>(&self, act: impl FnOnce(&[PerfRing]) -> T) -> T {
        act(&self.lock().rings)
    }

    /// Copies urgent rings in a thread of its own from now on. No ring is added afterwards.
    pub(super) fn start(&mut self) -> io::Result<()> {
        if self.thread.is_some() {
            return Ok(());
        }
        let (waiter, asked) = (Waiter::new()?, Arc::new(EventCounter::new()?));
        waiter.add(asked.descriptor(), PollSource::Request)?;
        let alarms: Vec<RawFd> =
            self.with_rings(|rings| rings.iter().map(|ring| ring.event().as_raw_fd()).collect());
        alarms.into_iter().try_for_each(|alarm| waiter.add(alarm, PollSource::Alarm))?;
        let (shared, is_over) = (Arc::clone(&self.shared), Arc::new(AtomicBool::new(false)));
        let over = Arc::clone(&is_over);
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
            }
        })?;
        self.thread = Some(CopyingThread { handle, is_over, asked });
        Ok(())
    }

    /// The oldest round; a new one where none waits.
    pub(super) fn take(&self) -> CopiedRound {
        let mut shared = self.lock();
        if shared.rounds.is_empty() {
            shared.copy_round();
        }
        let (begun, copies) = shared.rounds.pop_front().unwrap_or_else(|| (now(), Vec::new()));
        shared.bytes -= copies.iter().map(Vec::len).sum::<usize>();
        let waiting_bytes = (!shared.rounds.is_empty()).then_some(shared.bytes);
        CopiedRound { begun, copies, waiting_bytes }
    }

    /// Copies the rings once more, whatever waits already: nothing is written into them any more.
    pub(super) fn copy_last(&self) {
        let mut shared = self.lock();
        shared.bytes = 0;
        shared.copy_round();
        shared.bytes = shared.rounds.iter().flat_map(|(_, copies)| copies).map(Vec::len).sum();
    }

    fn lock(&self) -> MutexGuard<'_, CopiedRings> {
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
        let copies: Vec<Vec<u8>> = self.rings.iter_mut().map(PerfRing::take_bytes).collect();
        self.bytes += copies.iter().map(Vec::len).sum::<usize>();
        self.rounds.push_back((begun, copies));
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
