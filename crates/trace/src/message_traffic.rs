//! What processes sent to each other, and how long they waited for each other in the calls that pass messages.

use longpole_event::ProcessId;

/// The messages of a run, and how many of them are known at both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageTraffic {
    /// Messages of which both ends were recorded.
    pub matched: u64,
    /// Messages that were sent, and not seen to be received.
    pub unmatched_sends: u64,
    /// Messages that were received, and not seen to be sent.
    pub unmatched_receives: u64,
    /// Matched messages that were received with another length than they were sent with: matched wrongly.
    pub resized: u64,
    /// Collective operations that all members took part in.
    pub collectives: u64,
    /// Collective operations of which a member is missing.
    pub incomplete_collectives: u64,
    /// Matched messages that were received before they were sent: by clocks of several machines that are not joined well enough.
    pub reversed: u64,
    /// By how much the worst of them was, nanoseconds.
    pub most_reversed_nanoseconds: u64,
    /// Accesses of processes to windows of others, which are in the flows.
    pub accesses: u64,
    /// Calls of which it is not known for whom they wait, those that took longest first.
    pub not_understood: Vec<NotUnderstoodCalls>,
    /// What one process sent to another, and waited for it, in the order of processes.
    pub flows: Vec<MessageFlow>,
}

/// Calls of one function of which it is not known for whom they wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotUnderstoodCalls {
    /// The function, or what else is known of them.
    pub name: String,
    /// How many.
    pub calls: u64,
    /// How long they took in all, nanoseconds.
    pub nanoseconds: u64,
}

/// What one process sent to another, and how long the other waited for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageFlow {
    /// The process that sent, or that was waited for.
    pub from: ProcessId,
    /// The process that received, or that waited.
    pub to: ProcessId,
    /// Matched messages, and accesses to windows.
    pub messages: u64,
    /// Their length in all.
    pub bytes: u64,
    /// Waits of `to` for `from`: for a sender, for a receiver, or for the last of a collective operation.
    pub waits: u64,
    /// How long they were, nanoseconds, polling or not.
    pub waited_nanoseconds: u64,
}
