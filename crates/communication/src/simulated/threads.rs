//! What the writer knows of each simulated thread.

use longpole_coherence::{SiteId, SyncToken};
use longpole_event::{PrimitiveId, StackId, ThreadId};

/// Places that a stretch of computing keeps apart.
const MOST_PLACES: usize = 64;
/// Accesses of a stretch.
const MOST_PIECES: u32 = 1 << 16;

/// A lock that a thread has.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedHold {
    pub lock: SyncToken,
    pub since: u64,
    pub is_contended: bool,
    pub stack: Option<StackId>,
}

/// A thread.
#[derive(Debug, Default)]
pub(super) struct SimulatedThread {
    /// Once it has begun.
    pub id: Option<ThreadId>,
    pub has_ended: bool,
    /// What it computed since it was last written, by place: its accesses at one place stand together.
    pub pieces: Vec<(SiteId, u64)>,
    count: u32,
    /// When that begins.
    pub from: u64,
    pub holds: Vec<SimulatedHold>,
    /// A lock that is handed to it, and since when.
    pub handed: Option<u64>,
    /// It has told that it waits.
    pub is_waiting: bool,
    /// The barrier at which it is.
    pub barrier: Option<PrimitiveId>,
}

impl SimulatedThread {
    /// Adds to what it computes; whether that is to be written now.
    #[inline]
    pub(super) fn compute(&mut self, site: SiteId, from: u64, nanoseconds: u64) -> bool {
        if self.pieces.is_empty() {
            (self.from, self.count) = (from, 0);
        }
        self.count += 1;
        match self.pieces.iter_mut().rev().find(|(known, _)| *known == site) {
            Some((_, sum)) => *sum += nanoseconds,
            None => self.pieces.push((site, nanoseconds)),
        }
        self.pieces.len() > MOST_PLACES || self.count > MOST_PIECES
    }
}
