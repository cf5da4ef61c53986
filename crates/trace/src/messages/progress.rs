//! Messages that move on only while both ranks are in calls of MPI: long ones, whose receiver fetches them or whose sender has to hear that
//! there is room.
//!
//! ```text
//!   receiver   Irecv ======== |Wait~~~~~~~~~~~~~~~~~~====|     both ends were posted long ago: the receiver waits for the sender to
//!   sender     Isend =================== |Wait                 come to its next call
//! ```
//! Whether a message is such a one is a matter of the implementation. It is known by what follows: the call lasts until the other rank,
//! which was in no call, enters its next one, and ends soon after that.
//!
//! It cannot see that such a call lasts for another reason that ends by chance then, such as a processor that others have.

use longpole_event::{ThreadId, Time};
use rustc_hash::FxHashMap;

use super::CallIndex;
use super::planner::{CallPlanner, MessageSubject};

/// Waits of less than this are the message's way, nanoseconds.
const SHORT: u64 = 50_000;

/// One end of a matched message, and the thread of the other end.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovingMessage {
    pub(super) call: CallIndex,
    pub(super) other: ThreadId,
    pub(super) subject: MessageSubject,
}

/// When each thread was in calls: begins and ends, in the order of time; no end where the call was not over.
pub(super) type CallSpans = FxHashMap<ThreadId, Vec<(Time, Option<Time>)>>;

impl CallPlanner {
    /// Lets calls wait for the other rank's next call, where nothing else says what they waited for.
    pub(super) fn progress(&mut self, moving: &[MovingMessage], calls: &CallSpans) {
        let entered = |message: &MovingMessage| self.next_entry(message, calls.get(&message.other)?);
        let waits: Vec<_> = moving.iter().filter_map(|message| Some((*message, entered(message)?))).collect();
        for (MovingMessage { call, other, subject }, time) in waits {
            self.depend(Some(call), (time, other), subject);
        }
    }

    /// Whether the call takes so long that it can have waited for a message to move on.
    pub(super) fn may_wait_for_progress(&self, call: CallIndex) -> bool {
        matches!(self.spans.get(&call), Some(&(begin, Some(end))) if end.since(begin) >= SHORT)
    }

    /// When the other rank entered the call that the message's call waited for, if it did.
    fn next_entry(&self, message: &MovingMessage, others: &[(Time, Option<Time>)]) -> Option<Time> {
        let &(begin, end) = self.spans.get(&message.call)?;
        let end = end?;
        let wait = self.found.get(&message.call).and_then(|found| found.wait.as_ref());
        let known = wait.and_then(|wait| wait.release).map_or(begin, |(time, _)| time.max(begin));
        let next = others.partition_point(|&(entry, _)| entry <= known);
        let since = match next.checked_sub(1) {
            Some(last) => known.max(others[last].1?),
            None => known,
        };
        let &(entry, _) = others.get(next).filter(|&&(entry, _)| entry <= end)?;
        let waited = entry.since(since);
        (entry > since && waited >= SHORT && end.since(entry) <= waited).then_some(entry)
    }
}
