//! What goes in: accesses to data and synchronisation operations, each by one processor at one place.
//!
//! Ids are dense numbers of the caller. The simulation never looks behind them.

/// A processor: a thread where units are cache lines, a node where they are pages of a software DSM. Dense from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcessorId(pub u16);

impl ProcessorId {
    /// The id as an index of a table by processor.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in the program: the caller's id of a call path, with its line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteId(pub u32);

/// A data object: the caller's id of an allocation site, a global, a field or a stack variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DataObjectId(pub u32);

/// What carries synchronisation between processors: a lock, an atomic variable, a barrier, usually by its address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SyncToken(pub u64);

/// What an access does to its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessKind {
    /// Reads them.
    Read,
    /// Writes them.
    Write,
    /// Reads and then writes them in one step: an atomic read-modify-write.
    Update,
}

impl AccessKind {
    /// Whether the bytes are read.
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::Update)
    }

    /// Whether the bytes are written.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::Update)
    }
}

/// One access to data. Atomic loads and stores are reads and writes; their memory order is a [`SyncOperation`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataAccess {
    /// Who accesses.
    pub processor: ProcessorId,
    /// First byte.
    pub address: u64,
    /// Bytes; an access of 0 bytes does nothing. It may pass the ends of units.
    pub size: u32,
    /// Read, write or both.
    pub kind: AccessKind,
    /// Where in the program.
    pub site: SiteId,
    /// Nanoseconds on any clock that does not go back; only windows and records use it.
    pub time: u64,
}

/// What a synchronisation operation does to the processors' knowledge of each other (happens-before).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncKind {
    /// Acquires the clock of the token: lock, semaphore wait, acquire load. It is given after it has succeeded.
    Acquire,
    /// Joins the processor's clock into the token's: unlock, post, release read-modify-write.
    Release,
    /// Replaces the token's clock: a release store, which ends earlier release sequences.
    ReleaseStore,
    /// Empties the token: a relaxed store, which carries nothing and ends earlier release sequences.
    RelaxedStore,
    /// Arrival at a barrier of so many processors. At the last arrival each acquires the clocks of all.
    Barrier {
        /// Processors that arrive in one episode.
        expected: u32,
    },
    /// Creation of a processor, which begins with its creator's clock. The token is not used.
    Fork {
        /// The created processor.
        child: ProcessorId,
    },
    /// Waits for the end of a processor and acquires its clock. The token is not used.
    Join {
        /// The ended processor.
        child: ProcessorId,
    },
}

/// One synchronisation operation. An acquire-release operation is two of them, the acquire first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyncOperation {
    /// Who synchronises.
    pub processor: ProcessorId,
    /// Through what.
    pub token: SyncToken,
    /// How.
    pub kind: SyncKind,
    /// Where in the program.
    pub site: SiteId,
    /// Nanoseconds, on the clock of the accesses.
    pub time: u64,
}

/// The object through which a processor acquired another's clock: the object part of *I*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SyncObject {
    /// A lock, semaphore, condition or atomic variable.
    Token(SyncToken),
    /// A barrier.
    Barrier(SyncToken),
    /// The processor's own creation, by this creator.
    Fork(ProcessorId),
    /// The end of this processor.
    Join(ProcessorId),
}

/// The synchronisation *I* at which a copy became invalid: object and place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SyncOrigin {
    /// Through what.
    pub object: SyncObject,
    /// Place of the acquiring operation, in the processor that lost its copy; of the fork, for a created one.
    pub site: SiteId,
}
