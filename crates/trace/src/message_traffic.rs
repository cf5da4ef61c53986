//! What processes sent to each other, and how long they waited for each other in the calls that pass messages.

use std::collections::BTreeMap;

use longpole_event::{ProcessId, ThreadId};
use rustc_hash::FxHashMap;

use crate::program::Program;

/// The messages of a run, and how many of them are known at both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageTraffic {
    /// Calls of MPI that were recorded.
    pub calls: u64,
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
    /// It went through sockets and pipes, and not by calls of MPI.
    pub is_stream: bool,
}

/// What is summed up of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowSums {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) waits: u64,
    pub(crate) waited_nanoseconds: u64,
}

/// What threads sent to each other, by process, in the order of processes. Of streams those between two processes of which one has
/// no rank: what an MPI passes inside are no messages of the program.
pub(crate) fn flows_of(
    sums: &FxHashMap<(ThreadId, ThreadId), FlowSums>,
    program: &Program,
    is_stream: bool,
) -> Vec<MessageFlow> {
    let process = |thread: ThreadId| program.threads.get(thread.index()).map(|thread| thread.process);
    let has_rank = |process: ProcessId| program.processes[process.index()].rank.is_some();
    let mut flows: BTreeMap<(ProcessId, ProcessId), MessageFlow> = BTreeMap::new();
    for (&(from, to), sums) in sums {
        let (Some(from), Some(to)) = (process(from), process(to)) else { continue };
        if is_stream && (from == to || (has_rank(from) && has_rank(to))) {
            continue;
        }
        let none =
            MessageFlow { from, to, messages: 0, bytes: 0, waits: 0, waited_nanoseconds: 0, is_stream };
        let flow = flows.entry((from, to)).or_insert(none);
        flow.messages += sums.messages;
        flow.bytes += sums.bytes;
        flow.waits += sums.waits;
        flow.waited_nanoseconds += sums.waited_nanoseconds;
    }
    // A process that only woke another one up sent it nothing.
    flows.into_values().filter(|flow| !is_stream || flow.bytes > 0).collect()
}
