//! What processes that pass messages say of them.
//!
//! ```text
//!   sender     Communicate  MessageSend{channel}  …  MessageSent  Communicated
//!   receiver   Communicate                        …  MessageReceive{channel, posted}  Communicated
//! ```
//! A *channel* is a communicator, a sender, a receiver and a tag. Messages of one channel do not overtake each other: the n-th that
//! is sent goes to the n-th receive of the channel, in the order in which receives were posted (MPI-4 §3.5).

use crate::codec::flags;

/// The tag of what is no message of the program, but orders accesses to windows of memory as a message would: a member has opened
/// its window to another.
pub const MPI_OPENED: i32 = -1;

/// As [`MPI_OPENED`]: a member has ended its accesses to another's window.
pub const MPI_ACCESSED: i32 = -2;

/// As [`MPI_OPENED`]: the lock of a member's window is given back (sent), or taken (received, with 1 byte where no other process
/// may have it meanwhile). Unlike a message's its two ends are not matched by their order.
pub const MPI_LOCK: i32 = -3;

/// As [`MPI_OPENED`]: the call that found it is not understood. The communicator's name is that of the function.
pub const MPI_NOT_UNDERSTOOD: i32 = -4;

/// As [`MPI_OPENED`]: a member has come to an operation with its neighbours.
pub const MPI_NEIGHBOUR: i32 = -5;

/// As [`MPI_OPENED`]: accesses to a member's window. It says so itself (found); others write into it (sent, with their length), or read
/// from it (received).
pub const MPI_ACCESSES: i32 = -6;

/// A message, as one of its ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageEnvelope {
    /// Identifies the channel within the recording.
    pub channel: u64,
    /// Identifies the communicator within the recording.
    pub communicator: u64,
    /// The other end, by its rank in the job.
    pub peer: u32,
    /// Its tag.
    pub tag: i32,
    /// Its length.
    pub bytes: u64,
}

/// An operation of all members of a communicator, as one of them sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CollectiveMeeting {
    /// Identifies the communicator within the recording.
    pub communicator: u64,
    /// How many operations there were on it before.
    pub round: u64,
    /// The member's rank in the communicator.
    pub rank: u32,
    /// Members of the communicator.
    pub size: u32,
    /// Who waits for whom.
    pub order: CollectiveOrder,
    /// The root's rank in the communicator, where the order has one.
    pub root: u32,
    /// The call does not wait: another one does, in which the operation is complete.
    pub is_begun: bool,
}

flags! {
    /// Who waits for whom in a collective operation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    "order of a collective operation" enum CollectiveOrder {
        /// Each for all.
        AllToAll,
        /// Each for the root.
        FromRoot,
        /// The root for all.
        ToRoot,
        /// Each for those of lower ranks.
        Prefix,
    }
}
