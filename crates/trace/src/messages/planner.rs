//! Matches both ends of messages and the members of collective operations, and plans the calls in which threads wait.

use longpole_event::{CollectiveOrder, MPI_LOCK, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::planned::{EarlierMessage, MessageWait, PlannedCall, PlannedCalls, PlannedToken};
use super::progress::MovingMessage;
use super::{CallIndex, ChannelEnds, LoggedMeeting, LoggedMessages, MemberEntry, MessageEnd};
use crate::objects::ObjectKind;
use crate::timeline::DependenceKind;

/// Members of a scan of which each has a token of its own.
const MOST_SCANNED: usize = 64;

impl LoggedMessages {
    /// Matches both ends of all messages, and plans the calls.
    pub(crate) fn plan(self, names: FxHashMap<u64, String>) -> PlannedCalls {
        let mut planner = CallPlanner {
            spans: self.spans,
            found: FxHashMap::default(),
            moving: Vec::new(),
            next_token: 0,
            planned: PlannedCalls { names, ..PlannedCalls::default() },
        };
        let mut receives = self.receives;
        for (channel, sends) in &self.sends {
            let received = receives.remove(channel).unwrap_or_default();
            let probes = self.probes.get(channel).map_or(&[][..], Vec::as_slice);
            let ends = self.peers.get(channel).copied().unwrap_or_default();
            match ends.tag {
                MPI_LOCK => planner.window_lock(sends, &received, probes, ends),
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
        let mut calls = self.all_spans;
        for (&thread, calling) in &self.threads {
            let open = calling.open.map(|(begin, ..)| (begin, None));
            calls.entry(thread).or_default().extend(open);
        }
        let moving = std::mem::take(&mut planner.moving);
        planner.progress(&moving, &calls);
        planner.flow_of(&self.accesses);
        planner.planned.traffic.calls = self.threads.values().map(|calling| calling.calls).sum();
        planner.opaque(&self.opaque);
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

/// What a wait is for: the kind of object, the communicator, and the other rank.
pub(super) type MessageSubject = (ObjectKind, u64, Option<u32>);

#[derive(Debug, Default)]
pub(super) struct FoundCall {
    pub(super) wait: Option<MessageWait>,
    earlier: Vec<EarlierMessage>,
    releases: Vec<PlannedToken>,
    acquires: Vec<PlannedToken>,
}

pub(super) struct CallPlanner {
    pub(super) spans: FxHashMap<CallIndex, (Time, Option<Time>)>,
    pub(super) found: FxHashMap<CallIndex, FoundCall>,
    /// Ends of messages that were matched, in calls that may have waited for them to move on.
    moving: Vec<MovingMessage>,
    next_token: u64,
    pub(super) planned: PlannedCalls,
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
            let from = (ObjectKind::Sender, communicator, sender);
            self.depend(receive.call, (send.posted, send.thread), from);
            let to = (ObjectKind::Receiver, communicator, receiver);
            let ends = [(receive.call, send.thread, from), (send.call, receive.thread, to)];
            let moving: Vec<_> = ends
                .into_iter()
                .filter_map(|(call, other, subject)| {
                    let call = call.filter(|call| call.0 != other && self.may_wait_for_progress(*call))?;
                    Some(MovingMessage { call, other, subject })
                })
                .collect();
            self.moving.extend(moving);
            let Some(call) = send.call else { continue };
            let is_over =
                self.spans.get(&call).and_then(|span| span.1).is_some_and(|end| end < receive.posted);
            // A send that was over before did not need the receive; one that came after it did not wait.
            if !is_over && self.spans.get(&call).is_some_and(|span| span.0 < receive.posted) {
                self.depend(Some(call), (receive.posted, receive.thread), to);
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
    pub(super) fn depend(
        &mut self,
        call: Option<CallIndex>,
        (time, source): (Time, ThreadId),
        (kind, communicator, peer): MessageSubject,
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
