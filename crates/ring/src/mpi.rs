//! Calls of MPI, by who depends on whom in them.

use crate::numbered::numbered;

numbered! {
    /// What a call of MPI does.
    pub enum MpiCall {
        /// It sends, and returns when the buffer can be used again.
        Send = 1,
        /// It receives.
        Receive = 2,
        /// It begins to send.
        BeginSend = 3,
        /// It begins to receive.
        BeginReceive = 4,
        /// It waits for requests that were begun.
        Complete = 5,
        /// It waits until there is something to receive.
        Probe = 6,
        /// No process leaves it before all have entered it.
        AllToAll = 7,
        /// No process leaves it before the root has entered it.
        FromRoot = 8,
        /// The root does not leave it before all have entered it.
        ToRoot = 9,
        /// No process leaves it before those of lower ranks have entered it.
        Prefix = 10,
        /// The same four, which are over when their request is complete.
        BeginAllToAll = 11,
        /// As [`MpiCall::FromRoot`].
        BeginFromRoot = 12,
        /// As [`MpiCall::ToRoot`].
        BeginToRoot = 13,
        /// As [`MpiCall::Prefix`].
        BeginPrefix = 14,
        /// It makes a request that sends each time it is started.
        PrepareSend = 15,
        /// It makes a request that receives each time it is started.
        PrepareReceive = 16,
        /// It starts such requests.
        Start = 17,
        /// It begins to receive a message that was taken by a probe.
        TakeMessage = 18,
        /// It gives a request up.
        Free = 19,
        /// It opens a window of the process's memory to some others (`MPI_Win_post`).
        Expose = 20,
        /// It begins to access the windows of some others, and may wait until these have opened them (`MPI_Win_start`).
        Access = 21,
        /// It ends those accesses, once the windows were open (`MPI_Win_complete`).
        EndAccess = 22,
        /// It waits until those to whom the window was opened have ended their accesses (`MPI_Win_wait`).
        EndExposure = 23,
        /// It locks the window of one process. Bytes: 1 where no other process may have it meanwhile.
        LockWindow = 24,
        /// It unlocks it.
        UnlockWindow = 25,
        /// What it does is not known: it may wait for others.
        NotUnderstood = 26,
        /// It makes a request that is [`MpiCall::BeginAllToAll`] each time it is started.
        PrepareAllToAll = 27,
        /// As [`MpiCall::PrepareAllToAll`], of [`MpiCall::BeginFromRoot`].
        PrepareFromRoot = 28,
        /// As [`MpiCall::PrepareAllToAll`], of [`MpiCall::BeginToRoot`].
        PrepareToRoot = 29,
        /// As [`MpiCall::PrepareAllToAll`], of [`MpiCall::BeginPrefix`].
        PreparePrefix = 30,
        /// No process leaves it before its neighbours have entered it that send to it.
        Neighbours = 31,
        /// The same, which is over when its request is complete.
        BeginNeighbours = 32,
        /// It makes a request that is [`MpiCall::BeginNeighbours`] each time it is started.
        PrepareNeighbours = 33,
        /// It writes into the window of one process, or begins to.
        Put = 34,
        /// It reads from the window of one process, or begins to.
        Get = 35,
        /// Both.
        Swap = 36,
        /// It waits until accesses to the window of one process are over.
        Flush = 37,
    }
}

/// A rank or tag that is not known, or a wildcard.
pub const MPI_ANY: i32 = i32::MIN;

/// A rank that stands for no process.
pub const MPI_NO_PROCESS: i32 = i32::MIN + 1;

const CALL_BITS: u32 = 8;

/// Packs a call and a length or request, of which 56 bits are kept, into a word.
#[must_use]
#[inline]
pub const fn call_and_bytes(call: MpiCall, bytes: u64) -> u64 {
    call as u64 | bytes << CALL_BITS
}

/// The call and the length or request that a word holds; `None` where it is of no known kind.
#[must_use]
pub fn split_call_and_bytes(word: u64) -> Option<(MpiCall, u64)> {
    Some((MpiCall::of(word as u8)?, word >> CALL_BITS))
}

/// Packs a rank and a tag into a word.
#[must_use]
#[inline]
pub const fn rank_and_tag(rank: i32, tag: i32) -> u64 {
    rank.cast_unsigned() as u64 | (tag.cast_unsigned() as u64) << 32
}

/// The rank and the tag that a word holds.
#[must_use]
pub const fn split_rank_and_tag(word: u64) -> (i32, i32) {
    ((word as u32).cast_signed(), ((word >> 32) as u32).cast_signed())
}
