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
//! The rest of a call is work of it. Messages of one channel do not overtake each other: so the n-th send is the one of the n-th
//! receive, in the order in which they were posted, also where some of them name no source.
//!
//! Memory: 24 bytes a message and collective operation while this is found out, and a planned call for each that waits or
//! depends on another process.

mod windows;

use std::collections::BTreeMap;

use longpole_event::{CollectiveMeeting, CollectiveOrder, EventKind, MPI_LOCK, ProcessId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::message_traffic::{MessageFlow, MessageTraffic};
use crate::objects::ObjectKind;
use crate::program::Program;
use crate::timeline::DependenceKind;

/// Members of a scan of which each has a token of its own.
const MOST_SCANNED: usize = 64;

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
    sends: FxHashMap<u64, Vec<MessageEnd>>,
    receives: FxHashMap<u64, Vec<MessageEnd>>,
    /// Where messages were found before they were received.
    probes: FxHashMap<u64, Vec<MessageEnd>>,
    /// The other end and the communicator of each channel, as its sender and its receiver know them.
    peers: FxHashMap<u64, ChannelEnds>,
    meetings: FxHashMap<(u64, u64), LoggedMeeting>,
    names: FxHashMap<u64, longpole_event::TextId>,
}

/// Something on one machine came before something on another: each by the machine's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessagePrecedence {
    pub(crate) before: (usize, Time),
    pub(crate) after: (usize, Time),
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
pub(crate) struct PlannedToken(u64);

/// All calls in which threads wait or depend on others, by thread of the recording, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct PlannedCalls {
    calls: FxHashMap<ThreadId, Vec<PlannedCall>>,
    /// How many calls acquire each token.
    pub(crate) acquirers: FxHashMap<PlannedToken, u32>,
    /// Names of communicators.
    pub(crate) names: FxHashMap<u64, String>,
    /// Counts; without flows.
    traffic: MessageTraffic,
    /// What one thread sent to another, and waited for it.
    flows: FxHashMap<(ThreadId, ThreadId), FlowSums>,
}

/// What is summed up of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct FlowSums {
    messages: u64,
    bytes: u64,
    waits: u64,
    waited_nanoseconds: u64,
}

impl PlannedCalls {
    /// The thread's calls.
    pub(crate) fn of(&self, thread: ThreadId) -> &[PlannedCall] {
        self.calls.get(&thread).map_or(&[], Vec::as_slice)
    }

    /// What processes sent to each other.
    pub(crate) fn traffic(&self, program: &Program) -> MessageTraffic {
        let process = |thread: ThreadId| program.threads.get(thread.index()).map(|thread| thread.process);
        let mut flows: BTreeMap<(ProcessId, ProcessId), MessageFlow> = BTreeMap::new();
        for (&(from, to), sums) in &self.flows {
            let (Some(from), Some(to)) = (process(from), process(to)) else { continue };
            let none = MessageFlow { from, to, messages: 0, bytes: 0, waits: 0, waited_nanoseconds: 0 };
            let flow = flows.entry((from, to)).or_insert(none);
            flow.messages += sums.messages;
            flow.bytes += sums.bytes;
            flow.waits += sums.waits;
            flow.waited_nanoseconds += sums.waited_nanoseconds;
        }
        MessageTraffic { flows: flows.into_values().collect(), ..self.traffic.clone() }
    }
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
        if calling.open.take().is_some()
            && let Some(span) = self.spans.get_mut(&(thread, calling.calls - 1))
        {
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
            let precedence = |((from, to), (entered, left))| MessagePrecedence {
                before: (from, entered),
                after: (to, left),
            };
            found.extend(closest.into_iter().map(precedence));
        }
        found.sort_unstable_by_key(|precedence| (precedence.before, precedence.after));
        found
    }

    /// How many ranks each job has, and which of them were seen, by the id of its communicator of all ranks.
    pub(crate) fn sizes(&self) -> BTreeMap<u64, u32> {
        self.meetings.iter().map(|(&(communicator, _), meeting)| (communicator, meeting.size)).collect()
    }

    /// Matches both ends of all messages, and plans the calls.
    pub(crate) fn plan(self, names: FxHashMap<u64, String>) -> PlannedCalls {
        let mut planner = CallPlanner {
            spans: self.spans,
            found: FxHashMap::default(),
            next_token: 0,
            planned: PlannedCalls { names, ..PlannedCalls::default() },
        };
        let mut receives = self.receives;
        for (channel, sends) in &self.sends {
            let received = receives.remove(channel).unwrap_or_default();
            let probes = self.probes.get(channel).map_or(&[][..], Vec::as_slice);
            let ends = self.peers.get(channel).copied().unwrap_or_default();
            match ends.tag {
                MPI_LOCK => planner.window_lock(sends, &received, ends),
                ..0 => planner.accesses(sends, received, probes, ends),
                _ => planner.channel(sends, received, probes, ends),
            }
        }
        let is_message = |channel: &u64| self.peers.get(channel).is_none_or(|ends| ends.tag >= 0);
        let unmatched = receives.iter().filter(|(channel, _)| is_message(channel));
        planner.planned.traffic.unmatched_receives +=
            unmatched.map(|(_, received)| received.len() as u64).sum::<u64>();
        let mut meetings: Vec<_> = self.meetings.iter().collect();
        meetings.sort_unstable_by_key(|&(key, _)| key);
        for (&(communicator, _), meeting) in meetings {
            planner.meeting(communicator, meeting);
            planner.tokens(meeting);
        }
        // Calls that never ended, in which nothing was complete.
        for (&thread, calling) in &self.threads {
            let Some((_, peer, communicator)) = calling.open else { continue };
            // It may only have looked, and done something else since.
            if peer.is_none() && communicator == 0 {
                continue;
            }
            let call = (thread, calling.calls - 1);
            let kind = if peer.is_some() { ObjectKind::Sender } else { ObjectKind::Communicator };
            let found = planner.found.entry(call).or_default();
            if found.wait.is_none() {
                found.wait = Some(MessageWait { kind, communicator, peer, release: None });
            }
        }
        planner.finish()
    }
}

#[derive(Debug, Default)]
struct FoundCall {
    wait: Option<MessageWait>,
    earlier: Vec<EarlierMessage>,
    releases: Vec<PlannedToken>,
    acquires: Vec<PlannedToken>,
}

struct CallPlanner {
    spans: FxHashMap<CallIndex, (Time, Option<Time>)>,
    found: FxHashMap<CallIndex, FoundCall>,
    next_token: u64,
    planned: PlannedCalls,
}

impl CallPlanner {
    /// The messages of one channel.
    fn channel(
        &mut self,
        sends: &[MessageEnd],
        mut receives: Vec<MessageEnd>,
        probes: &[MessageEnd],
        ends: ChannelEnds,
    ) {
        let ChannelEnds { communicator, sender, receiver, .. } = ends;
        receives.sort_by_key(|receive| receive.posted);
        let traffic = &mut self.planned.traffic;
        traffic.unmatched_sends += sends.len().saturating_sub(receives.len()) as u64;
        traffic.unmatched_receives += receives.len().saturating_sub(sends.len()) as u64;
        traffic.matched += sends.len().min(receives.len()) as u64;
        for probe in probes {
            // It finds what the next receive gets.
            let next = receives.partition_point(|receive| receive.posted < probe.posted);
            if let Some(send) = sends.get(next) {
                let subject = (ObjectKind::Sender, communicator, sender);
                self.depend(probe.call, (send.posted, send.thread), subject);
            }
        }
        for (send, receive) in sends.iter().zip(&receives) {
            // Of some receives the length is not known, which is 0 then.
            if receive.bytes != send.bytes && receive.bytes != 0 {
                self.planned.traffic.resized += 1;
            }
            let received = receive.call.and_then(|call| self.spans.get(&call)).and_then(|span| span.1);
            if let Some(received) = received.filter(|&received| received < send.posted) {
                let traffic = &mut self.planned.traffic;
                traffic.reversed += 1;
                traffic.most_reversed_nanoseconds =
                    traffic.most_reversed_nanoseconds.max(send.posted.since(received));
            }
            let flow = self.planned.flows.entry((send.thread, receive.thread)).or_default();
            flow.messages += 1;
            flow.bytes += send.bytes;
            let kind = ObjectKind::Sender;
            self.depend(receive.call, (send.posted, send.thread), (kind, communicator, sender));
            let Some(call) = send.call else { continue };
            let is_over =
                self.spans.get(&call).and_then(|span| span.1).is_some_and(|end| end < receive.posted);
            // A send that was over before did not need the receive; one that came after it did not wait.
            if !is_over && self.spans.get(&call).is_some_and(|span| span.0 < receive.posted) {
                let kind = ObjectKind::Receiver;
                self.depend(Some(call), (receive.posted, receive.thread), (kind, communicator, receiver));
            }
        }
    }

    fn meeting(&mut self, communicator: u64, meeting: &LoggedMeeting) {
        let LoggedMeeting { size, order, root, members } = meeting;
        let is_whole = members.len() == *size as usize;
        if is_whole {
            self.planned.traffic.collectives += 1;
        } else {
            self.planned.traffic.incomplete_collectives += 1;
        }
        let last = |among: &dyn Fn(&&MemberEntry) -> bool| {
            members.iter().filter(among).max_by_key(|member| (member.time, member.rank))
        };
        for member in members {
            let others = |other: &&MemberEntry| other.rank != member.rank;
            let awaited = match order {
                CollectiveOrder::AllToAll => last(&others),
                CollectiveOrder::FromRoot if member.rank == *root => None,
                CollectiveOrder::FromRoot => last(&|other| other.rank == *root),
                CollectiveOrder::ToRoot if member.rank == *root => last(&others),
                CollectiveOrder::ToRoot => None,
                CollectiveOrder::Prefix => last(&|other| other.rank < member.rank),
            };
            let Some(call) = member.call else { continue };
            let has_ended = self.spans.get(&call).is_some_and(|span| span.1.is_some());
            let subject = (ObjectKind::Communicator, communicator, None);
            match awaited {
                Some(awaited) if is_whole => {
                    self.depend(Some(call), (awaited.time, awaited.thread), subject);
                }
                // Somebody never came.
                _ if !is_whole && !has_ended => {
                    let found = self.found.entry(call).or_default();
                    found.wait = Some(MessageWait {
                        kind: ObjectKind::Communicator,
                        communicator,
                        peer: None,
                        release: None,
                    });
                }
                _ => {}
            }
        }
    }

    /// Where several are awaited the last of them is not all that matters: were it earlier, the one before it would be the last.
    fn tokens(&mut self, meeting: &LoggedMeeting) {
        let LoggedMeeting { size, order, root, members } = meeting;
        if members.len() != *size as usize || *size < 3 {
            return;
        }
        let is_root = |member: &&MemberEntry| member.rank == *root;
        match order {
            CollectiveOrder::AllToAll => self.token(members.iter(), members.iter()),
            CollectiveOrder::ToRoot => self.token(members.iter(), members.iter().filter(is_root)),
            // All wait for one.
            CollectiveOrder::FromRoot => {}
            CollectiveOrder::Prefix if members.len() > MOST_SCANNED => {}
            CollectiveOrder::Prefix => {
                for member in members.iter().filter(|member| member.rank > 1) {
                    let lower = members.iter().filter(|other| other.rank < member.rank);
                    self.token(lower, std::iter::once(member));
                }
            }
        }
    }

    fn token<'a>(
        &mut self,
        awaited: impl Iterator<Item = &'a MemberEntry>,
        waiting: impl Iterator<Item = &'a MemberEntry>,
    ) {
        let token = PlannedToken(self.next_token);
        self.next_token += 1;
        for call in awaited.filter_map(|member| member.begun) {
            self.found.entry(call).or_default().releases.push(token);
        }
        for call in waiting.filter_map(|member| member.call) {
            self.found.entry(call).or_default().acquires.push(token);
            *self.planned.acquirers.entry(token).or_default() += 1;
        }
    }

    /// What the caller does after the call comes after what `source` did before this time.
    fn depend(
        &mut self,
        call: Option<CallIndex>,
        (time, source): (Time, ThreadId),
        (kind, communicator, peer): (ObjectKind, u64, Option<u32>),
    ) {
        let Some(call) = call.filter(|call| call.0 != source) else { return };
        let Some(&(begin, end)) = self.spans.get(&call) else { return };
        let found = self.found.entry(call).or_default();
        let dependence = dependence_kind(kind);
        // What came after the call is over, by clocks that differ, came when it was.
        let time = end.map_or(time, |end| time.min(end));
        if time <= begin {
            found.earlier.push(EarlierMessage { source, time, kind: dependence });
            return;
        }
        let is_later = |wait: &MessageWait| wait.release.is_none_or(|(before, _)| before < time);
        if found.wait.as_ref().is_none_or(is_later) {
            let before =
                found.wait.replace(MessageWait { kind, communicator, peer, release: Some((time, source)) });
            if let Some((time, source)) = before.and_then(|before| before.release) {
                found.earlier.push(EarlierMessage { source, time, kind: DependenceKind::Message });
            }
        } else {
            found.earlier.push(EarlierMessage { source, time, kind: dependence });
        }
    }

    fn finish(self) -> PlannedCalls {
        let CallPlanner { found, mut planned, spans, .. } = self;
        for ((thread, ordinal), FoundCall { wait, mut earlier, releases, acquires }) in found {
            if let Some((until, source)) = wait.and_then(|wait| wait.release)
                && let Some(&(since, _)) = spans.get(&(thread, ordinal))
            {
                let flow = planned.flows.entry((source, thread)).or_default();
                flow.waits += 1;
                flow.waited_nanoseconds += until.since(since);
            }
            earlier.sort_by_key(|message| (message.time, message.source));
            let call = PlannedCall { ordinal, wait, earlier, releases, acquires };
            planned.calls.entry(thread).or_default().push(call);
        }
        planned.calls.values_mut().for_each(|calls| calls.sort_by_key(|call| call.ordinal));
        planned
    }
}

/// What a dependence is by which a wait for this ends.
pub(crate) fn dependence_kind(kind: ObjectKind) -> DependenceKind {
    match kind {
        ObjectKind::Communicator => DependenceKind::Barrier,
        ObjectKind::Lock => DependenceKind::Unlock,
        _ => DependenceKind::Message,
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::{MPI_OPENED, MessageEnvelope};

    use super::*;

    fn at(nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds)
    }

    fn enters() -> EventKind {
        EventKind::Communicate { communicator: 1, peer: Some(0), stack: None }
    }

    fn message(channel: u64) -> MessageEnvelope {
        MessageEnvelope { channel, communicator: 1, peer: 0, tag: 0, bytes: 4 }
    }

    fn receives(channel: u64, posted: u64) -> EventKind {
        EventKind::MessageReceive { message: message(channel), posted }
    }

    /// What is planned of events of threads 0, 1, … at times, in the order of time.
    fn planned(events: &[(u32, u64, EventKind)]) -> PlannedCalls {
        let mut logged = LoggedMessages::default();
        for &(thread, time, kind) in events {
            logged.take(ThreadId(thread), at(time), kind);
        }
        logged.plan(FxHashMap::default())
    }

    /// An ordinal, what the wait is for, and when and by whom it is ended.
    type TestedWait = (u64, ObjectKind, Option<(Time, ThreadId)>);

    fn waits(calls: &PlannedCalls, thread: u32) -> Vec<TestedWait> {
        let of = |call: &PlannedCall| call.wait.map(|wait| (call.ordinal, wait.kind, wait.release));
        calls.of(ThreadId(thread)).iter().filter_map(of).collect()
    }

    #[test]
    fn a_receive_waits_until_the_sender_comes() {
        let calls = planned(&[
            (0, 10, enters()),
            (1, 50, enters()),
            (1, 50, EventKind::MessageSend(message(7))),
            (1, 51, EventKind::MessageSent { channel: 7, posted: 1 }),
            (1, 51, EventKind::Communicated),
            (0, 55, receives(7, 45)),
            (0, 55, EventKind::Communicated),
        ]);
        assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(50), ThreadId(1))))]);
        assert_eq!(waits(&calls, 1), [], "the receive was there");
        let MessageTraffic { matched, unmatched_sends, unmatched_receives, resized, .. } = calls.traffic;
        assert_eq!((matched, unmatched_sends, unmatched_receives, resized), (1, 0, 0, 0));
        let flow = calls.flows[&(ThreadId(1), ThreadId(0))];
        assert_eq!((flow.messages, flow.bytes, flow.waits, flow.waited_nanoseconds), (1, 4, 1, 40));
    }

    #[test]
    fn a_send_waits_only_where_it_was_not_over_before_the_receive() {
        let of = |sent: u64| {
            planned(&[
                (1, 10, enters()),
                (1, 10, EventKind::MessageSend(message(7))),
                (1, sent, EventKind::MessageSent { channel: 7, posted: sent - 10 }),
                (1, sent, EventKind::Communicated),
                (0, 40, enters()),
                (0, 45, receives(7, 5)),
                (0, 45, EventKind::Communicated),
            ])
        };
        assert_eq!(waits(&of(42), 1), [(0, ObjectKind::Receiver, Some((at(40), ThreadId(0))))]);
        assert_eq!(waits(&of(11), 1), [], "it was eager");
        let earlier = &of(11).of(ThreadId(0))[0].earlier.clone();
        let expected = EarlierMessage { source: ThreadId(1), time: at(10), kind: DependenceKind::Message };
        assert_eq!(earlier[..], [expected]);
    }

    #[test]
    fn a_message_that_comes_before_it_is_sent_is_counted_and_was_sent_when_it_came() {
        let calls = planned(&[
            (0, 10, enters()),
            (0, 20, receives(7, 10)),
            (0, 20, EventKind::Communicated),
            (1, 27, enters()),
            (1, 27, EventKind::MessageSend(message(7))),
            (1, 28, EventKind::Communicated),
        ]);
        assert_eq!((calls.traffic.reversed, calls.traffic.most_reversed_nanoseconds), (1, 7));
        // It was sent when it arrived at the latest.
        assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(20), ThreadId(1))))]);
    }

    #[test]
    fn receives_of_a_channel_get_its_messages_in_the_order_in_which_they_were_posted() {
        let calls = planned(&[
            (1, 30, enters()),
            (1, 30, EventKind::MessageSend(message(7))),
            (1, 31, EventKind::Communicated),
            (1, 60, enters()),
            (1, 60, EventKind::MessageSend(message(7))),
            (1, 61, EventKind::Communicated),
            // The one that was posted at 10 is complete after the one that was posted at 12.
            (0, 20, enters()),
            (0, 65, receives(7, 53)),
            (0, 65, EventKind::Communicated),
            (0, 66, enters()),
            (0, 67, receives(7, 57)),
            (0, 67, EventKind::Communicated),
        ]);
        assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(60), ThreadId(1))))]);
        assert_eq!(calls.of(ThreadId(0))[1].earlier[0].time, at(30));
    }

    #[test]
    fn a_probe_waits_for_what_the_next_receive_gets() {
        let calls = planned(&[
            (0, 5, enters()),
            (1, 30, enters()),
            (1, 30, EventKind::MessageSend(message(7))),
            (1, 31, EventKind::Communicated),
            (0, 35, EventKind::MessageProbe(message(7))),
            (0, 35, EventKind::Communicated),
            (0, 40, enters()),
            (0, 41, receives(7, 1)),
            (0, 41, EventKind::Communicated),
        ]);
        assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(30), ThreadId(1))))]);
    }

    #[test]
    fn what_was_begun_is_waited_for_where_it_is_completed() {
        let begun = CollectiveMeeting {
            communicator: 1,
            round: 0,
            rank: 0,
            size: 2,
            order: CollectiveOrder::AllToAll,
            root: 0,
            is_begun: true,
        };
        let calls = planned(&[
            (0, 5, enters()),
            (0, 5, EventKind::Meet(begun)),
            (0, 6, EventKind::Communicated),
            (0, 20, enters()),
            (1, 30, enters()),
            (1, 30, EventKind::Meet(CollectiveMeeting { rank: 1, is_begun: false, ..begun })),
            (1, 36, EventKind::Communicated),
            (0, 35, EventKind::MeetingComplete { communicator: 1, round: 0 }),
            (0, 36, EventKind::Communicated),
        ]);
        assert_eq!(waits(&calls, 0), [(1, ObjectKind::Communicator, Some((at(30), ThreadId(1))))]);
    }

    fn meets(rank: u32, order: CollectiveOrder) -> EventKind {
        EventKind::Meet(CollectiveMeeting {
            communicator: 1,
            round: 0,
            rank,
            size: 3,
            order,
            root: 1,
            is_begun: false,
        })
    }

    /// Who waits until when where rank r comes at 10 (r + 1), and all leave at 50.
    fn met(order: CollectiveOrder) -> [Option<u64>; 3] {
        let mut events = Vec::new();
        for rank in 0..3 {
            let time = 10 * (u64::from(rank) + 1);
            events.extend([(rank, time, enters()), (rank, time, meets(rank, order))]);
        }
        events.extend((0..3).map(|rank| (rank, 50, EventKind::Communicated)));
        let calls = planned(&events);
        [0, 1, 2].map(|rank| {
            let wait = waits(&calls, rank).first().copied();
            wait.and_then(|(_, _, release)| release).map(|(time, _)| time.nanoseconds())
        })
    }

    #[test]
    fn members_wait_for_those_whom_the_operation_needs() {
        assert_eq!(met(CollectiveOrder::AllToAll), [Some(30), Some(30), None]);
        assert_eq!(met(CollectiveOrder::FromRoot), [Some(20), None, None]);
        assert_eq!(met(CollectiveOrder::ToRoot), [None, Some(30), None]);
        assert_eq!(met(CollectiveOrder::Prefix), [None, None, None]);
    }

    fn orders(channel: u64, tag: i32, bytes: u64) -> MessageEnvelope {
        MessageEnvelope { tag, bytes, ..message(channel) }
    }

    /// A window is opened at 30; its access begins at 10 in a call until then, and ends in one from `completed` to 60.
    fn accessed(started: u64, completed: u64) -> PlannedCalls {
        let (opened, call) = (orders(7, MPI_OPENED, 0), EventKind::Communicated);
        let mut events = vec![
            (0, 10, enters()),
            (0, 10, EventKind::MessageProbe(opened)),
            (0, started, call),
            (0, completed, enters()),
            (1, 30, enters()),
            (1, 30, EventKind::MessageSend(opened)),
            (1, 31, call),
            (0, 60, EventKind::MessageReceive { message: opened, posted: 50 }),
            (0, 60, call),
        ];
        events.sort_by_key(|&(_, time, _)| time);
        planned(&events)
    }

    #[test]
    fn an_access_waits_for_its_window_where_the_call_goes_on_until_that_is_opened() {
        let calls = accessed(35, 40);
        assert_eq!(waits(&calls, 0), [(0, ObjectKind::Sender, Some((at(30), ThreadId(1))))]);
        let MessageTraffic { matched, unmatched_sends, unmatched_receives, .. } = calls.traffic;
        assert_eq!((matched, unmatched_sends, unmatched_receives), (0, 0, 0), "it is no message");
        assert_eq!(waits(&accessed(12, 20), 0), [(1, ObjectKind::Sender, Some((at(30), ThreadId(1))))]);
    }

    /// Threads 0 and 1 want the lock of a window at 10 and at 20, and have it until 50 and until 80.
    fn locked(bytes: u64) -> PlannedCalls {
        let lock = |posted| EventKind::MessageReceive { message: orders(7, MPI_LOCK, bytes), posted };
        let unlock = EventKind::MessageSend(orders(7, MPI_LOCK, 0));
        planned(&[
            (0, 10, enters()),
            (0, 11, lock(1)),
            (0, 11, EventKind::Communicated),
            (1, 20, enters()),
            (0, 50, enters()),
            (0, 50, unlock),
            (0, 52, EventKind::Communicated),
            (1, 53, lock(33)),
            (1, 53, EventKind::Communicated),
            (1, 80, enters()),
            (1, 80, unlock),
            (1, 81, EventKind::Communicated),
        ])
    }

    #[test]
    fn who_wants_the_lock_of_a_window_waits_until_it_is_given_back_unless_both_share_it() {
        assert_eq!(waits(&locked(1), 1), [(0, ObjectKind::Lock, Some((at(50), ThreadId(0))))]);
        assert_eq!(waits(&locked(1), 0), []);
        assert_eq!(waits(&locked(0), 1), []);
    }

    #[test]
    fn where_one_never_comes_nobody_is_let_go() {
        let calls = planned(&[
            (0, 10, enters()),
            (0, 10, meets(0, CollectiveOrder::AllToAll)),
            (1, 20, enters()),
            (1, 20, meets(1, CollectiveOrder::AllToAll)),
        ]);
        assert_eq!(waits(&calls, 0), [(0, ObjectKind::Communicator, None)]);
        assert_eq!((calls.traffic.collectives, calls.traffic.incomplete_collectives), (0, 1));
    }
}
