//! What the agent inside a program and the recorder share: one piece of memory, its layout, and the way events
//! pass through it.
//!
//! The recorder makes the memory (a file without a name); the agent of each process maps it. Every thread of the
//! program has an [`Area`] of its own: a [`Ring`] of events that it alone writes and the recorder alone reads, and
//! what it publishes of itself for a sampling thread ([`PublishedState`], [`ProfileStack`]). Where there is no room an event
//! is counted as lost. Nobody waits for anybody, but a call of MPI for room, for a bounded time: a message that is lost makes
//! the order of all later ones unknown.
//!
//! Every word of the memory is atomic, since the other side is another process; either side can be killed at any
//! instruction and leaves the other a readable memory.
#![cfg_attr(not(test), no_std)]

mod area;
mod atomic;
mod copies;
mod event;
mod header;
mod holds;
mod known_stacks;
mod loss;
mod mpi;
mod numbered;
mod pool;
mod profile;
mod ring;
mod state;

pub use area::{AREA_BYTES, Area, AreaStatus, LONG_RING_BYTES, Owner, RingLength};
pub use copies::StackCopies;
pub use event::{
    DEEPEST_CALL, EventWords, LONGEST_EVENT, RingEvent, RingEventKind, call_event, event, event_in,
};
pub use header::{AgentHeader, EventClock, MAGIC, Mode, VERSION, WAITER_COUNTERS};
pub use holds::{HOLD_ROWS, HoldRow, LockAcquisition, MOST_HELD, ThreadHolds, UNTIMED};
pub use known_stacks::KnownStacks;
pub use loss::LossCounters;
pub use mpi::{
    MPI_ANY, MPI_NO_PROCESS, MpiCall, call_and_bytes, rank_and_tag, split_call_and_bytes, split_rank_and_tag,
};
pub use pool::{AREAS, AreaPool};
pub use profile::{EntryPlace, MOST_FRAMES, ProfileStack};
pub use ring::Ring;
pub use state::{PublishedState, TEAM_RELEASE, WaitKind};

/// Bytes before the first [`Area`] of the shared memory.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Areas that a process maps together.
pub const AREAS_PER_SEGMENT: usize = 16;
/// Bytes of the whole memory; pages that nobody touches take no room.
#[must_use]
pub const fn memory_bytes(mode: Mode) -> usize {
    HEADER_BYTES + AREAS * stride(mode)
}

/// Bytes from one area to the next: threads that tell of every call, or pass messages, have a long ring beside theirs.
#[must_use]
pub const fn stride(mode: Mode) -> usize {
    match RingLength::of(mode) {
        RingLength::Long => AREA_BYTES + LONG_RING_BYTES,
        RingLength::Short => AREA_BYTES,
    }
}

const _: () = assert!(size_of::<AgentHeader>() <= HEADER_BYTES);
#[cfg(not(all(loom, test)))]
const _: () = assert!(size_of::<Area>() <= AREA_BYTES);
