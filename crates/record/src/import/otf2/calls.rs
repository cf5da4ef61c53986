//! Calls that pass messages, as native recordings have them: both ends of messages and the members of collective operations are
//! matched when the recording is opened.
//!
//! ```text
//!   trace      Enter(MPI_Recv)               Receive              Leave
//!   events     Communicate                   MessageReceive       Communicated
//!   trace      Enter(MPI_Bcast)  BeginCollective  EndCollective   Leave        who waits for whom is known at the end only:
//!   events     Communicate Meet                                   Communicated   it is looked for when the call begins
//! ```

use longpole_event::{CollectiveMeeting, CollectiveOrder, EventKind, MPI_NOT_UNDERSTOOD, MessageEnvelope};
use longpole_otf2::{CollectiveEnd, TraceEvent, TraceMessage};

use super::super::error::ImportResult;
use super::communicators::WHOLE_JOB;
use super::regions::MessageCall;
use super::writer::{LookAhead, TraceWriter};

/// Events of a call that are looked at when it begins.
const MOST_IN_CALL: usize = 4096;
/// Events among which the end of a collective operation is looked for that a call only begins.
const MOST_UNTIL_COMPLETE: usize = 1 << 16;
/// What a process can have begun; what is more is forgotten.
const MOST_REQUESTS: usize = 1 << 20;

/// The call that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracedCall {
    begin: u64,
    /// Regions that the thread is in while it is in the call and no other region in that.
    depth: usize,
    /// Messages of it that were announced at its begin and whose event is still to come.
    announced: u32,
    /// Receives that it has posted.
    posted: u64,
}

/// What a process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TracedRequest {
    /// A send, on this channel, at this time.
    Send(u64, u64),
    /// A receive, posted at this time.
    Receive(u64),
    /// The so manieth operation on a communicator.
    Collective(u64, u64),
}

/// What a call does, by its events.
#[derive(Debug, Default)]
struct CallContents {
    sends: Vec<TraceMessage>,
    collectives: Vec<CollectiveEnd>,
    begun_collectives: Vec<u64>,
    is_used: bool,
}

impl TraceWriter<'_> {
    /// The thread enters a procedure of MPI.
    pub(super) fn begin_call(
        &mut self,
        (thread, time): (usize, u64),
        call: MessageCall,
        ahead: &mut LookAhead<'_>,
    ) -> ImportResult<()> {
        if self.threads[thread].call.is_some() {
            return Ok(());
        }
        let contents = contents(ahead)?;
        if call == MessageCall::Told && !contents.is_used {
            return Ok(());
        }
        let (stack, depth) = (self.threads[thread].path(), self.threads[thread].entered.len());
        self.event(thread, time, EventKind::Communicate { communicator: 0, peer: None, stack })?;
        let announced = contents.sends.len() as u32;
        self.threads[thread].call = Some(TracedCall { begin: time, depth, announced, posted: 0 });
        for message in contents.sends {
            self.send((thread, time), message)?;
        }
        let is_told = contents.is_used;
        for end in contents.collectives {
            self.meet((thread, time), end, false)?;
        }
        for request in contents.begun_collectives {
            self.begin_collective((thread, time), request, ahead)?;
        }
        match call {
            MessageCall::Finalise if !is_told => self.meet_all((thread, time)),
            MessageCall::Opaque if !is_told => self.not_understood((thread, time)),
            _ => Ok(()),
        }
    }

    /// The thread leaves the innermost region, which may be its call.
    pub(super) fn end_call_at(&mut self, (thread, time): (usize, u64)) -> ImportResult<()> {
        let progress = &mut self.threads[thread];
        if progress.call.is_some_and(|call| call.depth == progress.entered.len()) {
            progress.call = None;
            self.event(thread, time, EventKind::Communicated)?;
        }
        Ok(())
    }

    /// An event of messages. Outside of calls of MPI it is a call of its own, that takes no time.
    pub(super) fn message(&mut self, (thread, time): (usize, u64), event: TraceEvent) -> ImportResult<()> {
        let is_outside = self.threads[thread].call.is_none();
        if is_outside {
            let stack = self.threads[thread].path();
            self.observe(thread, time)?;
            self.event(thread, time, EventKind::Communicate { communicator: 0, peer: None, stack })?;
            self.threads[thread].call = Some(TracedCall { begin: time, depth: 0, announced: 0, posted: 0 });
        }
        self.in_call((thread, time), event)?;
        if is_outside {
            self.threads[thread].call = None;
            self.event(thread, time, EventKind::Communicated)?;
        }
        Ok(())
    }

    fn in_call(&mut self, (thread, time): (usize, u64), event: TraceEvent) -> ImportResult<()> {
        let Some(call) = self.threads[thread].call else { return Ok(()) };
        match event {
            TraceEvent::Send(message) => {
                let begin = self.announced((thread, time), message)?;
                let Some(sent) = self.envelope(thread, message, true) else { return Ok(()) };
                let (channel, posted) = (sent.channel, time - begin);
                self.event(thread, time, EventKind::MessageSent { channel, posted })
            }
            TraceEvent::BeginSend(message, request) => {
                let begin = self.announced((thread, time), message)?;
                if let Some(sent) = self.envelope(thread, message, true) {
                    self.remember(thread, request, TracedRequest::Send(sent.channel, begin));
                }
                Ok(())
            }
            TraceEvent::BeginReceive(request) => {
                // Several that one call posts are posted one after the other.
                let posted = (call.begin + call.posted).min(time);
                self.threads[thread].call = Some(TracedCall { posted: call.posted + 1, ..call });
                self.remember(thread, request, TracedRequest::Receive(posted));
                Ok(())
            }
            TraceEvent::Receive(message) => self.receive((thread, time), message, call.begin),
            TraceEvent::EndReceive(message, request) => {
                let begun = self.forget(thread, request);
                let posted =
                    if let Some(TracedRequest::Receive(posted)) = begun { posted } else { call.begin };
                self.receive((thread, time), message, posted)
            }
            TraceEvent::EndSend(request) => match self.forget(thread, request) {
                Some(TracedRequest::Send(channel, begin)) => {
                    self.event(thread, time, EventKind::MessageSent { channel, posted: time - begin })
                }
                _ => Ok(()),
            },
            TraceEvent::CompleteCollective(_, request) => match self.forget(thread, request) {
                Some(TracedRequest::Collective(communicator, round)) => {
                    self.event(thread, time, EventKind::MeetingComplete { communicator, round })
                }
                _ => Ok(()),
            },
            TraceEvent::Cancel(request) => {
                self.forget(thread, request);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A send whose event has come: when it was posted. What was not announced at the begin of the call is sent now.
    fn announced(&mut self, (thread, time): (usize, u64), message: TraceMessage) -> ImportResult<u64> {
        match &mut self.threads[thread].call {
            Some(call) if call.announced > 0 => {
                call.announced -= 1;
                Ok(call.begin)
            }
            _ => {
                self.send((thread, time), message)?;
                Ok(time)
            }
        }
    }

    fn envelope(&self, thread: usize, message: TraceMessage, is_sent: bool) -> Option<MessageEnvelope> {
        self.communicators.envelope(self.rank(thread)?, message, is_sent)
    }

    fn send(&mut self, (thread, time): (usize, u64), message: TraceMessage) -> ImportResult<()> {
        match self.envelope(thread, message, true) {
            Some(sent) => self.event(thread, time, EventKind::MessageSend(sent)),
            None => {
                self.counts.unknown_ends += 1;
                Ok(())
            }
        }
    }

    fn receive(
        &mut self,
        (thread, time): (usize, u64),
        message: TraceMessage,
        posted: u64,
    ) -> ImportResult<()> {
        match self.envelope(thread, message, false) {
            Some(message) => {
                self.event(thread, time, EventKind::MessageReceive { message, posted: time - posted })
            }
            None => {
                self.counts.unknown_ends += 1;
                Ok(())
            }
        }
    }

    /// The number of the next operation of the thread's process on a communicator.
    fn next_round(&mut self, thread: usize, communicator: u64) -> u64 {
        let next = self.rounds.entry((self.layout.threads[thread].process, communicator)).or_default();
        *next += 1;
        *next - 1
    }

    /// The thread comes to a collective operation; returns which one it is of its communicator.
    fn meet(
        &mut self,
        (thread, time): (usize, u64),
        end: CollectiveEnd,
        is_begun: bool,
    ) -> ImportResult<Option<(u64, u64)>> {
        if self.communicators.is_own(end.communicator) {
            return Ok(None);
        }
        let Some(found) = self.rank(thread).and_then(|rank| self.communicators.collective(rank, end)) else {
            self.counts.unknown_collectives += 1;
            return Ok(None);
        };
        let communicator = found.communicator;
        let name = self.definitions.communicators.get(&end.communicator).map_or(u32::MAX, |found| found.name);
        self.name_communicator((thread, time), communicator, Some(name))?;
        let round = self.next_round(thread, communicator);
        let (rank, size, order, root) = (found.place, found.size, found.order, found.root);
        let meeting = CollectiveMeeting { communicator, round, rank, size, order, root, is_begun };
        self.event(thread, time, EventKind::Meet(meeting))?;
        Ok(Some((communicator, round)))
    }

    /// The thread comes to what all ranks come to.
    fn meet_all(&mut self, (thread, time): (usize, u64)) -> ImportResult<()> {
        let (Some(rank), size) = (self.rank(thread), self.layout.ranks) else { return Ok(()) };
        let (communicator, order) = (WHOLE_JOB, CollectiveOrder::AllToAll);
        self.name_communicator((thread, time), communicator, None)?;
        let round = self.next_round(thread, communicator);
        let meeting = CollectiveMeeting { communicator, round, rank, size, order, root: 0, is_begun: false };
        self.event(thread, time, EventKind::Meet(meeting))
    }

    /// The call begins a collective operation: which one is said where it is complete.
    fn begin_collective(
        &mut self,
        (thread, time): (usize, u64),
        request: u64,
        ahead: &mut LookAhead<'_>,
    ) -> ImportResult<()> {
        for place in 0..MOST_UNTIL_COMPLETE {
            match ahead(place)? {
                Some((_, TraceEvent::CompleteCollective(end, found))) if found == request => {
                    if let Some((communicator, round)) = self.meet((thread, time), end, true)? {
                        self.remember(thread, request, TracedRequest::Collective(communicator, round));
                    }
                    return Ok(());
                }
                Some(_) => {}
                None => break,
            }
        }
        self.counts.unknown_collectives += 1;
        Ok(())
    }

    /// The thread is in a call that may wait for others, and nothing says for whom.
    fn not_understood(&mut self, (thread, time): (usize, u64)) -> ImportResult<()> {
        let Some(&region) = self.threads[thread].entered.last().map(|entered| &entered.region) else {
            return Ok(());
        };
        let name = self.definitions.regions.get(&region).map_or(u32::MAX, |region| region.name);
        let number = (1 << 48) + u64::from(region);
        self.name_communicator((thread, time), number, Some(name))?;
        let opaque = MessageEnvelope {
            channel: number,
            communicator: number,
            peer: 0,
            tag: MPI_NOT_UNDERSTOOD,
            bytes: 0,
        };
        self.event(thread, time, EventKind::MessageProbe(opaque))
    }

    fn remember(&mut self, thread: usize, request: u64, begun: TracedRequest) {
        let requests = &mut self.requests[self.layout.threads[thread].process];
        if requests.len() >= MOST_REQUESTS {
            requests.clear();
        }
        requests.insert(request, begun);
    }

    fn forget(&mut self, thread: usize, request: u64) -> Option<TracedRequest> {
        self.requests[self.layout.threads[thread].process].remove(&request)
    }
}

/// What stands between the begin of a call and its end.
fn contents(ahead: &mut LookAhead<'_>) -> ImportResult<CallContents> {
    let (mut found, mut depth) = (CallContents::default(), 1);
    for place in 0..MOST_IN_CALL {
        let Some((_, event)) = ahead(place)? else { break };
        match event {
            TraceEvent::Enter(_) | TraceEvent::EnterContext(_) => depth += 1,
            TraceEvent::Leave(_) | TraceEvent::LeaveContext(_) => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            TraceEvent::Send(message) | TraceEvent::BeginSend(message, _) => found.sends.push(message),
            TraceEvent::EndCollective(end) => found.collectives.push(end),
            TraceEvent::PostCollective(request) => found.begun_collectives.push(request),
            TraceEvent::Receive(_)
            | TraceEvent::EndReceive(..)
            | TraceEvent::BeginReceive(_)
            | TraceEvent::EndSend(_)
            | TraceEvent::CompleteCollective(..)
            | TraceEvent::BeginCollective => {}
            _ => continue,
        }
        found.is_used |= !matches!(
            event,
            TraceEvent::Enter(_)
                | TraceEvent::EnterContext(_)
                | TraceEvent::Leave(_)
                | TraceEvent::LeaveContext(_)
        );
    }
    Ok(found)
}
