//! What is planned of calls that pass messages: who waits in which of them, until when, and on whom the caller depends.

use longpole_event::{ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::message_traffic::{FlowSums, MessageTraffic, flows_of};
use crate::objects::ObjectKind;
use crate::program::Program;
use crate::timeline::DependenceKind;

/// A wait in a call, up to when another process comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageWait {
    /// Whom or what it is for.
    pub(crate) kind: ObjectKind,
    pub(crate) communicator: u64,
    pub(crate) peer: Option<u32>,
    /// When it is over, and who ended it; none where that never came.
    pub(crate) release: Option<(Time, ThreadId)>,
}

/// Something on which a call's caller depends when it leaves it, though it did not wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EarlierMessage {
    pub(crate) source: ThreadId,
    pub(crate) time: Time,
    pub(crate) kind: DependenceKind,
}

/// A call in which something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedCall {
    /// Calls of the thread before it.
    pub(crate) ordinal: u64,
    pub(crate) wait: Option<MessageWait>,
    pub(crate) earlier: Vec<EarlierMessage>,
    /// What the caller lets go on when it enters the call.
    pub(crate) releases: Vec<PlannedToken>,
    /// What it needs to go on in the call.
    pub(crate) acquires: Vec<PlannedToken>,
}

/// What the members of a collective operation do before others go on: one of these for all of them, or for each in a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PlannedToken(pub(super) u64);

/// All calls in which threads wait or depend on others, by thread of the recording, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct PlannedCalls {
    pub(super) calls: FxHashMap<ThreadId, Vec<PlannedCall>>,
    /// How many calls acquire each token.
    pub(crate) acquirers: FxHashMap<PlannedToken, u32>,
    /// Names of communicators.
    pub(crate) names: FxHashMap<u64, String>,
    /// Counts; without flows.
    pub(super) traffic: MessageTraffic,
    /// What one thread sent to another, and waited for it.
    pub(super) flows: FxHashMap<(ThreadId, ThreadId), FlowSums>,
}

impl PlannedCalls {
    /// The thread's calls.
    pub(crate) fn of(&self, thread: ThreadId) -> &[PlannedCall] {
        self.calls.get(&thread).map_or(&[], Vec::as_slice)
    }

    /// What processes sent to each other.
    pub(crate) fn traffic(&self, program: &Program) -> MessageTraffic {
        MessageTraffic { flows: flows_of(&self.flows, program, false), ..self.traffic.clone() }
    }
}
