//! What can fail; each text completes “failed to …”.

use crate::access::{ProcessorId, SyncToken};

/// Why a simulation cannot be made or cannot go on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The unit of transfer has no supported size.
    #[error("simulate units of {bytes} bytes: the size is a power of two from 8 to 1048576")]
    Unit {
        /// Bytes asked for.
        bytes: u64,
    },
    /// Streams in which every processor that is left waits for another.
    #[error("run the streams: processors {blocked:?} wait for each other at step {steps:?}")]
    Deadlock {
        /// Who waits.
        blocked: Vec<ProcessorId>,
        /// The step at which each of them waits, counted from 0.
        steps: Vec<usize>,
    },
    /// A lock is released by a processor that does not hold it.
    #[error("run the streams: processor {} releases lock {:#x}, which it does not hold", .processor.0, .token.0)]
    NotHeld {
        /// Who releases.
        processor: ProcessorId,
        /// The lock.
        token: SyncToken,
    },
    /// The tables would be larger than they may be.
    #[error(
        "run the streams in {mebibytes} MiB of memory: so far they touch {units} units of {unit} bytes, and what was done to each takes room"
    )]
    Memory {
        /// What they may take, in 2^20 bytes.
        mebibytes: u64,
        /// Units touched so far.
        units: u64,
        /// Bytes of a unit.
        unit: u64,
    },
    /// A stream creates or joins a processor that has no stream, or creates one twice.
    #[error("run the streams: processor {} cannot create or join processor {}", .processor.0, .child.0)]
    NoStream {
        /// Who creates or joins.
        processor: ProcessorId,
        /// The processor without a stream of its own.
        child: ProcessorId,
    },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
