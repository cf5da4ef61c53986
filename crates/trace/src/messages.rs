//! Calls that pass messages, from the first reading: who waits in which of them, until when, and on whom the caller depends.
//!
//! ```text
//!   receiver   |Communicate~~~~~~~~~~~~~~~~====MessageReceive|      late sender: from the receiver's entry to the sender's
//!   sender     ==========|Communicate MessageSend
//!
//!   sender     |Communicate~~~~~~~~~~~====MessageSent|              late receiver: from the sender's entry to where the receive
//!   receiver   ===============|posted                               was posted, if the send was not over before
//!
//!   member     |Communicate Meet~~~~~~~~~~====|                     collective: from its entry to that of the last of those whom
//!   the last   ====================|Meet                            it has to wait for
//! ```
//! A message that both have posted may still need both in calls to move on ([`progress`]). The rest of a call is work of it.
//!
//! Messages of one channel do not overtake each other: so the n-th send is the one of the n-th receive, in the order in which they were
//! posted, also where some of them name no source.
//!
//! Memory: 24 bytes a call, a message and a collective operation while this is found out, twice that for each end of a message in a call
//! that takes long, and a planned call for each that waits or depends on another process.

mod opaque;
mod planned;
mod planner;
mod progress;
mod windows;

use std::collections::BTreeMap;

use longpole_event::{
    CollectiveMeeting, CollectiveOrder, EventKind, MPI_LOCK, MPI_NOT_UNDERSTOOD, ThreadId, Time,
};
use rustc_hash::FxHashMap;

pub(crate) use planned::{PlannedCall, PlannedCalls, PlannedToken};
pub(crate) use planner::dependence_kind;
use progress::CallSpans;
use windows::LoggedAccesses;

/// One end of a message, in a call.
#[derive(Clone, Copy, Debug)]
struct MessageEnd {
    /// When it was posted.
    posted: Time,
    thread: ThreadId,
    /// The call in which it was complete; none where that was not seen.
    call: Option<CallIndex>,
    /// The message's length.
    bytes: u64,
}

/// The `ordinal`-th call of a thread.
type CallIndex = (ThreadId, u64);

/// A member's part in a collective operation.
#[derive(Clone, Copy, Debug)]
struct MemberEntry {
    time: Time,
    rank: u32,
    thread: ThreadId,
    /// The call in which it came.
    begun: Option<CallIndex>,
    /// The call that waits; none where what was begun was not seen to be complete.
    call: Option<CallIndex>,
}

/// A collective operation.
#[derive(Clone, Debug)]
struct LoggedMeeting {
    size: u32,
    order: CollectiveOrder,
    root: u32,
    members: Vec<MemberEntry>,
}

/// A thread's call that is not over.
#[derive(Clone, Debug, Default)]
struct CallingThread {
    /// Calls before this one, and this one.
    calls: u64,
    open: Option<(Time, Option<u32>, u64)>,
}

/// What the calls of all machines say; threads are the recording's.
#[derive(Debug, Default)]
pub(crate) struct LoggedMessages {
    threads: FxHashMap<ThreadId, CallingThread>,
    /// When calls began and ended, of those in which something was complete.
    spans: FxHashMap<CallIndex, (Time, Option<Time>)>,
    /// When threads were in calls.
    all_spans: CallSpans,
    sends: FxHashMap<u64, Vec<MessageEnd>>,
    receives: FxHashMap<u64, Vec<MessageEnd>>,
    /// Where messages were found before they were received.
    probes: FxHashMap<u64, Vec<MessageEnd>>,
    /// The other end and the communicator of each channel, as its sender and its receiver know them.
    peers: FxHashMap<u64, ChannelEnds>,
    meetings: FxHashMap<(u64, u64), LoggedMeeting>,
    accesses: LoggedAccesses,
    /// Calls that are not understood, and of which function.
    opaque: Vec<(CallIndex, u64)>,
    names: FxHashMap<u64, longpole_event::TextId>,
}

/// Something on one machine came before something on another: each by the machine's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessagePrecedence {
    pub(crate) before: (usize, Time),
    pub(crate) after: (usize, Time),
    /// When the one that was before left the same operation, where all leave it at about the same time: as the last one has come.
    pub(crate) leaves_with: Option<Time>,
}

/// Who sends on a channel, and who receives.
#[derive(Clone, Copy, Debug, Default)]
struct ChannelEnds {
    communicator: u64,
    /// The tag; below 0 of what orders accesses to windows, and is no message of the program.
    tag: i32,
    sender: Option<u32>,
    receiver: Option<u32>,
}

impl LoggedMessages {
    /// Takes the next event of a log. `thread` and `time` are the recording's, and so is what `at` makes of a time of the log.
    pub(crate) fn take(&mut self, thread: ThreadId, time: Time, kind: EventKind) {
        let posted = |before: u64| Time::from_nanoseconds(time.nanoseconds().saturating_sub(before));
        match kind {
            EventKind::Communicate { communicator, peer, .. } => {
                self.leave(thread, time);
                let calling = self.threads.entry(thread).or_default();
                calling.calls += 1;
                calling.open = Some((time, peer, communicator));
            }
            EventKind::Communicated => self.leave(thread, time),
            EventKind::MessageProbe(message) if message.tag == MPI_NOT_UNDERSTOOD => {
                if let Some(call) = self.call(thread) {
                    self.opaque.push((call, message.communicator));
                }
            }
            _ if self.accesses.take(thread, kind) => {}
            EventKind::MessageSend(message) => {
                let ends = self.peers.entry(message.channel).or_default();
                (ends.communicator, ends.tag) = (message.communicator, message.tag);
                ends.receiver = Some(message.peer);
                let end = MessageEnd { posted: time, thread, call: None, bytes: message.bytes };
                self.sends.entry(message.channel).or_default().push(end);
            }
            EventKind::MessageSent { channel, posted: before } => {
                let (call, posted) = (self.call(thread), posted(before));
                let sends = self.sends.get_mut(&channel);
                // Few are under way: it is one of the last.
                let send = sends.and_then(|sends| {
                    sends
                        .iter_mut()
                        .rev()
                        .find(|send| send.call.is_none() && send.thread == thread && send.posted == posted)
                });
                if let Some(send) = send {
                    send.call = call;
                }
            }
            EventKind::MessageReceive { message, posted: before } => {
                let ends = self.peers.entry(message.channel).or_default();
                (ends.communicator, ends.tag) = (message.communicator, message.tag);
                ends.sender = Some(message.peer);
                let (posted, bytes) = (posted(before), message.bytes);
                let end = MessageEnd { posted, thread, call: self.call(thread), bytes };
                self.receives.entry(message.channel).or_default().push(end);
            }
            EventKind::MessageProbe(message) => {
                let end = MessageEnd { posted: time, thread, call: self.call(thread), bytes: message.bytes };
                self.probes.entry(message.channel).or_default().push(end);
            }
            EventKind::Meet(meeting) => {
                let CollectiveMeeting { communicator, round, rank, size, order, root, is_begun } = meeting;
                let begun = self.call(thread);
                let call = begun.filter(|_| !is_begun);
                let found = self.meetings.entry((communicator, round)).or_insert_with(|| LoggedMeeting {
                    size,
                    order,
                    root,
                    members: Vec::new(),
                });
                found.members.push(MemberEntry { time, rank, thread, begun, call });
            }
            EventKind::MeetingComplete { communicator, round } => {
                let call = self.call(thread);
                let meeting = self.meetings.get_mut(&(communicator, round));
                let member = meeting
                    .and_then(|meeting| meeting.members.iter_mut().find(|member| member.thread == thread));
                if let Some(member) = member {
                    member.call = call;
                }
            }
            EventKind::CommunicatorName { communicator, name } => {
                self.names.insert(communicator, name);
            }
            _ => {}
        }
    }

    /// The names of communicators, out of the texts of a log.
    pub(crate) fn name(
        &mut self,
        into: &mut FxHashMap<u64, String>,
        text: impl Fn(longpole_event::TextId) -> String,
    ) {
        into.extend(self.names.drain().map(|(communicator, name)| (communicator, text(name))));
    }

    /// The call that the thread is in. Its span is kept from now on.
    fn call(&mut self, thread: ThreadId) -> Option<CallIndex> {
        let calling = self.threads.get(&thread)?;
        let (begin, ..) = calling.open?;
        let call = (thread, calling.calls - 1);
        self.spans.entry(call).or_insert((begin, None));
        Some(call)
    }

    fn leave(&mut self, thread: ThreadId, time: Time) {
        let Some(calling) = self.threads.get_mut(&thread) else { return };
        let Some((begin, ..)) = calling.open.take() else { return };
        self.all_spans.entry(thread).or_default().push((begin, Some(time)));
        if let Some(span) = self.spans.get_mut(&(thread, calling.calls - 1)) {
            span.1 = Some(time);
        }
    }

    /// What came before what on another machine, by the messages between them: the begin of a send before the end of the call
    /// that received, who was needed at a collective operation before the end of others' calls. `machine` says where a thread is.
    pub(crate) fn precedences(&self, machine: impl Fn(ThreadId) -> usize) -> Vec<MessagePrecedence> {
        let mut found = Vec::new();
        let end = |call: Option<CallIndex>| self.spans.get(&call?).and_then(|span| span.1);
        let is_matched = |channel: &u64| self.peers.get(channel).is_none_or(|ends| ends.tag != MPI_LOCK);
        for (channel, sends) in self.sends.iter().filter(|(channel, _)| is_matched(channel)) {
            let mut receives: Vec<&MessageEnd> = self.receives.get(channel).into_iter().flatten().collect();
            receives.sort_by_key(|receive| receive.posted);
            for (send, receive) in sends.iter().zip(receives) {
                let places = (machine(send.thread), machine(receive.thread));
                if let Some(received) = end(receive.call).filter(|_| places.0 != places.1) {
                    found.push(MessagePrecedence {
                        before: (places.0, send.posted),
                        after: (places.1, received),
                        leaves_with: None,
                    });
                }
            }
        }
        for meeting in self.meetings.values() {
            let is_root = |member: &MemberEntry| member.rank == meeting.root;
            let is_needed = |member: &MemberEntry, by: &MemberEntry| match meeting.order {
                CollectiveOrder::AllToAll => true,
                CollectiveOrder::FromRoot => is_root(member),
                CollectiveOrder::ToRoot => is_root(by),
                CollectiveOrder::Prefix => false,
            };
            // Of a machine's members the last that is needed, and of those that need it the first that goes on, say most.
            let mut closest: BTreeMap<(usize, usize), (Time, Time)> = BTreeMap::new();
            // In a scan each pair is for itself.
            if meeting.members.len() != meeting.size as usize || meeting.order == CollectiveOrder::Prefix {
                continue;
            }
            for by in &meeting.members {
                let Some(left) = end(by.call) else { continue };
                for member in meeting.members.iter().filter(|member| is_needed(member, by)) {
                    let places = (machine(member.thread), machine(by.thread));
                    if places.0 != places.1 {
                        let pair = closest.entry(places).or_insert((member.time, left));
                        *pair = (pair.0.max(member.time), pair.1.min(left));
                    }
                }
            }
            let is_mutual = matches!(meeting.order, CollectiveOrder::AllToAll);
            let precedence = |(&(from, to), &(entered, left))| MessagePrecedence {
                before: (from, entered),
                after: (to, left),
                leaves_with: closest.get(&(to, from)).filter(|_| is_mutual).map(|there| there.1),
            };
            found.extend(closest.iter().map(precedence));
        }
        found.sort_unstable_by_key(|precedence| (precedence.before, precedence.after));
        found
    }

    /// How many ranks each job has, and which of them were seen, by the id of its communicator of all ranks.
    pub(crate) fn sizes(&self) -> BTreeMap<u64, u32> {
        self.meetings.iter().map(|(&(communicator, _), meeting)| (communicator, meeting.size)).collect()
    }
}

#[cfg(test)]
mod tests;
