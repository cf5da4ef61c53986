//! What to change: one list of procedures, objects and kinds of waiting, merged from all metrics (metrics.md §12).
//!
//! Each entry says what the run would gain at least and at most by the metrics that apply, why, and what kind of
//! change it asks for (Q §3.1–3.2). One file per kind of evidence:
//!
//! ```text
//!   procedures   critical path, normalised processor time, zeroing and slack, idle blame
//!   objects      waits for locks, their holders, zeroing of the object
//!   barriers     waits at barriers: the mean of what the others wait
//!   devices      io, page faults and sleep on the elapsed-weighted critical path
//!   processors   time ready on that path
//! ```
//! Gains are of each change alone; they overlap and do not add up.

mod barriers;
mod devices;
mod gain;
mod held;
mod objects;
mod procedures;
mod processors;

use std::cmp::Reverse;

use longpole_trace::{ObjectKind, ProcedureId};

use crate::diagnosis::Facts;
use crate::input::Source;
use gain::Bounds;
pub(crate) use gain::Range;

/// Entries at most.
const MOST: usize = 6;
/// Part of the run below which a gain is not worth an entry.
const LEAST: f64 = 0.02;

/// What is to be changed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Subject {
    /// A procedure.
    Procedure(ProcedureId),
    /// Objects of one kind and name.
    Object(ObjectKind, String),
    /// A kind of waiting.
    Waiting(String),
}

/// The kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Remedy {
    /// It runs alone: divide it among threads, or do other work meanwhile.
    Parallelise,
    /// Less work.
    Shorten,
    /// It is done with a lock that others want: less of it, or less with the lock.
    HoldShorter,
    /// Many want a lock: several locks, or none.
    SplitLock,
    /// Threads wait for the slowest: even shares.
    Balance,
    /// Waits for devices: other work meanwhile.
    OverlapIo,
    /// Waits for the clock: wait for what it is really about.
    AwaitEvent,
    /// More can run than there are processors.
    MoreProcessors,
    /// Threads could run, but others, a quota or pinning keep them from it.
    FreeProcessors,
}

impl Remedy {
    /// The kind of change in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Remedy::Parallelise => "parallelise",
            Remedy::Shorten => "shorten",
            Remedy::HoldShorter => "hold the lock shorter",
            Remedy::SplitLock => "split the lock",
            Remedy::Balance => "balance the work",
            Remedy::OverlapIo => "overlap the io",
            Remedy::AwaitEvent => "wait for the event",
            Remedy::MoreProcessors => "more CPUs",
            Remedy::FreeProcessors => "free the CPUs",
        }
    }
}

/// An entry of the list.
#[derive(Clone, Debug)]
pub(crate) struct Recommendation {
    pub subject: Subject,
    pub remedy: Remedy,
    pub gain: Range,
    /// In a few words each, the weightiest first.
    pub evidence: Vec<String>,
}

/// The list, the largest gain first.
pub(crate) fn recommendations(input: &Source<'_>) -> Vec<Recommendation> {
    let facts = Facts::of(input);
    let bounds = Bounds::of(input, &facts);
    let mut all = procedures::recommendations(input, &facts, &bounds);
    all.extend(objects::recommendations(input, &bounds));
    all.extend(barriers::recommendation(input, &facts, &bounds));
    all.extend(devices::recommendations(&facts, &bounds));
    all.extend(processors::recommendation(&facts, &bounds));
    let least = LEAST * input.analysis.elapsed as f64;
    all.retain(|entry| entry.gain.high >= least);
    // Stable: of equal gains the kinds keep their order.
    all.sort_by_key(|entry| Reverse((entry.gain.low + entry.gain.high) as u64));
    all.truncate(MOST);
    all
}

#[cfg(test)]
mod tests;
