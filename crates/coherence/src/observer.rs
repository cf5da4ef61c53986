//! What a run in virtual time tells of itself while it goes on, for who writes it down.
//!
//! ```text
//!   p0   Begin  compute  Request        compute  Block(Barrier)        Resume   Exchange   compute   End
//!        0      |========|..............|========|.....................|        |..........|=========|
//! ```
//! Times of one processor never go back. What one processor does to another (a resumption) is told at the time of both.

use crate::access::{ProcessorId, SiteId, SyncToken};
use crate::requests::DataRequest;

/// What a processor waits for until another one lets it go on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VirtualWaitSubject {
    /// A lock that another one holds.
    Lock(SyncToken),
    /// A semaphore of which the count is 0.
    Semaphore(SyncToken),
    /// A version of a condition or an atomic variable.
    Version(SyncToken),
    /// A barrier to which not all have come.
    Barrier(SyncToken),
    /// The end of this processor.
    Join(ProcessorId),
}

/// What takes messages besides requests; no other processor's work is waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VirtualExchange {
    /// A write takes the unit at this address from all other copies.
    Upgrade(u64),
    /// The lock is taken, or one of the semaphore.
    Acquisition(SyncToken),
    /// All have come to the barrier, and it lets them go on.
    Passing(SyncToken),
}

/// What happens to a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VirtualEvent<'a> {
    /// It begins; another one may have created it.
    Begin {
        /// Which one.
        creator: Option<ProcessorId>,
    },
    /// It waits for a unit for so many nanoseconds.
    Request {
        /// The request.
        request: &'a DataRequest,
        /// How long.
        cost: u64,
    },
    /// It waits for messages for so many nanoseconds.
    Exchange {
        /// What for.
        exchange: VirtualExchange,
        /// How long.
        cost: u64,
    },
    /// It waits for another processor.
    Block(VirtualWaitSubject),
    /// That wait is over.
    Resume {
        /// Who ended it, and where; `None`: it could not come in this order.
        by: Option<(ProcessorId, SiteId)>,
    },
    /// It has the lock from now on.
    Acquire {
        /// The lock.
        lock: SyncToken,
        /// It had to wait for it.
        is_contended: bool,
    },
    /// It gives the lock back.
    Release(SyncToken),
    /// It adds 1 to the semaphore.
    Post(SyncToken),
    /// It has taken 1 from the semaphore.
    Take(SyncToken),
    /// It comes to the barrier.
    Arrive(SyncToken),
    /// It leaves the barrier.
    Depart(SyncToken),
    /// Another's end is before what it does from now on.
    Joined(ProcessorId),
    /// It ends.
    End,
}

/// Who is told of a run.
pub trait VirtualRunObserver {
    /// Whether anything is told.
    const IS_TOLD: bool = true;

    /// The processor computed at `site` for so many nanoseconds, from `from` on.
    fn compute(&mut self, processor: ProcessorId, site: SiteId, from: u64, nanoseconds: u64);

    /// Something happens to the processor, which is at `site`.
    fn happen(&mut self, processor: ProcessorId, site: SiteId, time: u64, event: VirtualEvent<'_>);

    /// All that is told from now on is at this time or later, but for what processors compute until then.
    fn pass(&mut self, _time: u64) {}
}

/// Nobody.
pub(crate) struct Unobserved;

impl VirtualRunObserver for Unobserved {
    const IS_TOLD: bool = false;

    #[inline]
    fn compute(&mut self, _: ProcessorId, _: SiteId, _: u64, _: u64) {}

    #[inline]
    fn happen(&mut self, _: ProcessorId, _: SiteId, _: u64, _: VirtualEvent<'_>) {}
}
