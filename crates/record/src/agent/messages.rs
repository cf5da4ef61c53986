//! Calls of MPI, as the agents tell of them, to what they say of messages: communicators and peers that are the same for all
//! processes of a job, and the messages of requests that are waited for later.
//!
//! ```text
//!   told   Communicates(begin to receive from 1)  Communicated(request r)  …  Communicates(complete)  Completes(r)  Communicated
//!   meant  Communicate Communicated                                           Communicate  MessageReceive(posted)   Communicated
//! ```
//! Communicators are told apart by a hash of the job, the communicator that they were made from, how many operations there had been
//! on that, and their first member: all their members come to the same.

mod gaps;
mod opaque;
mod persistent;
mod windows;

use longpole_event::{CollectiveMeeting, CollectiveOrder, EventKind, MessageEnvelope, Time};
use longpole_ring::{MPI_ANY, MpiCall};
use rustc_hash::FxHashMap;

use super::agent_event::{AgentEvent, MpiRequest, ToldCommunicator};
use crate::raw::{KernelTask, RawKind, RawMark, RawStack};

/// Requests of a process that are remembered.
const MOST_REQUESTS: usize = 1_000_000;

/// A communicator, as a member of it knows it.
#[derive(Debug, Default)]
struct MpiMembership {
    id: u64,
    name: String,
    rank: u32,
    size: u32,
    /// Ranks that the members have in the job; empty where they are the same.
    members: Vec<u32>,
    /// Collective operations on it.
    rounds: u64,
    /// Collective operations that were prepared on it.
    prepared: u64,
    /// Members that send to this one, and those that it sends to, in operations among neighbours.
    neighbours: [Vec<i32>; 2],
    /// Of a window: the members whose locks this one has.
    locked: Vec<WindowLock>,
    /// Of a window: the members whose accesses this one waits for, and those whose windows it accesses, with when that began.
    epochs: [Vec<(i32, Time)>; 2],
}

impl MpiMembership {
    /// A member's rank in the job; `None` for a rank that stands for no process, or is not known.
    fn in_job(&self, rank: i32) -> Option<u32> {
        let rank = u32::try_from(rank).ok().filter(|&rank| rank < self.size)?;
        if self.members.is_empty() { Some(rank) } else { self.members.get(rank as usize).copied() }
    }
}

/// What a process has begun.
#[derive(Clone, Copy, Debug)]
enum BegunRequest {
    Send(EnteredCall),
    Receive(EnteredCall),
    Meeting {
        communicator: u64,
        round: u64,
    },
    /// An operation among neighbours.
    Neighbours(EnteredCall),
    /// An access to a window.
    Access(EnteredCall),
    /// Something of which no more is known.
    Opaque {
        function: u64,
    },
}

/// The lock of a member's window, which a process has or is about to have.
#[derive(Clone, Copy, Debug)]
struct WindowLock {
    rank: i32,
    /// There were accesses since: a call that ends these has the lock.
    has_accessed: bool,
    /// There was such a call.
    is_held: bool,
}

/// A call that a thread is in.
#[derive(Clone, Copy, Debug)]
struct EnteredCall {
    call: MpiCall,
    communicator: u64,
    peer: i32,
    tag: i32,
    bytes: u64,
    since: Time,
    /// The operation that the call began, of those on its communicator.
    round: Option<u64>,
}

#[derive(Debug, Default)]
struct MpiProcess {
    communicators: FxHashMap<u64, MpiMembership>,
    requests: FxHashMap<u64, BegunRequest>,
    /// What requests do that are started later.
    prepared: FxHashMap<u64, PreparedRequest>,
}

/// What a request does each time it is started.
#[derive(Clone, Copy, Debug)]
struct PreparedRequest {
    call: EnteredCall,
    /// Collective operations that were prepared on the communicator before.
    ordinal: u64,
    /// How often it was started.
    starts: u64,
}

/// Follows the calls of all processes.
#[derive(Debug, Default)]
pub(super) struct Messages {
    processes: FxHashMap<u32, MpiProcess>,
    calls: FxHashMap<KernelTask, EnteredCall>,
}

impl Messages {
    /// Takes the next event in time order, and hands over what it means.
    pub(super) fn follow(
        &mut self,
        time: Time,
        task: KernelTask,
        told: &AgentEvent,
        out: &mut impl FnMut(RawKind),
    ) {
        let mut mark = |mark| out(RawKind::Inside { task, mark });
        match told {
            AgentEvent::Communicator(told) => {
                if let Some(joined) = self.join(task, told) {
                    mark(RawMark::CommunicatorName { communicator: joined.id, name: joined.name.clone() });
                }
                if told.parent == 0 {
                    mark(RawMark::Message(EventKind::Rank { rank: told.rank }));
                }
            }
            &AgentEvent::Communicates { call, communicator, peer, tag, bytes, ref stack } => {
                let call = EnteredCall { call, communicator, peer, tag, bytes, since: time, round: None };
                let call = self.enter(task, call, stack, &mut mark);
                self.calls.insert(task, call);
                self.order_accesses(time, task, (call, true), &mut mark);
                if call.call == MpiCall::Free {
                    self.free(time, task, call.bytes, &mut mark);
                }
            }
            &AgentEvent::Window { window, communicator } => {
                self.open_window(task, window, communicator, &mut mark);
            }
            &AgentEvent::Addresses { window, rank } => self.address(time, task, (window, rank), &mut mark),
            AgentEvent::Neighbours { communicator, from, to } => {
                if let Some(membership) = self.membership(task, *communicator) {
                    membership.neighbours = [from.clone(), to.clone()];
                }
            }
            AgentEvent::NamesCall { name } => self.name_call(task, name, &mut mark),
            AgentEvent::Completes(request) => self.complete(time, task, request, &mut mark),
            AgentEvent::Probed { communicator, message } => {
                self.probe(time, task, *communicator, message, &mut mark);
            }
            &AgentEvent::Starts { request } => self.start(time, task, request, &mut mark),
            AgentEvent::Communicated(request) => self.leave(time, task, request, &mut mark),
            AgentEvent::Gap if self.calls.remove(&task).is_some() => {
                mark(RawMark::Message(EventKind::Communicated));
            }
            AgentEvent::CommunicationsLost => self.lose_track(time, task, &mut mark),
            AgentEvent::Ended => _ = self.calls.remove(&task),
            AgentEvent::Began { .. } | AgentEvent::Forked { .. } => {
                self.processes.remove(&task.pid);
                self.calls.retain(|other, _| other.pid != task.pid);
            }
            _ => {}
        }
    }

    fn join(&mut self, task: KernelTask, told: &ToldCommunicator) -> Option<&MpiMembership> {
        let process = self.processes.entry(task.pid).or_default();
        let id = match process.communicators.get(&told.parent) {
            _ if told.parent == 0 => hash(&[told.job]),
            Some(parent) => {
                let first = told.members.first().copied().unwrap_or(0);
                hash(&[parent.id, parent.rounds, first.into()])
            }
            None => return None,
        };
        let ToldCommunicator { handle, rank, size, ref members, .. } = *told;
        let members = members.clone();
        let name = match told.parent {
            0 => "MPI_COMM_WORLD".to_owned(),
            _ => format!("communicator of {size} ranks"),
        };
        let membership = MpiMembership { id, name, rank, size, members, ..MpiMembership::default() };
        Some(process.communicators.entry(handle).insert_entry(membership).into_mut())
    }

    fn enter(
        &mut self,
        task: KernelTask,
        mut call: EnteredCall,
        stack: &RawStack,
        mark: &mut impl FnMut(RawMark),
    ) -> EnteredCall {
        let about = self.awaited(task, call);
        let membership = self.membership(task, about.communicator);
        let peer = membership.as_ref().and_then(|membership| membership.in_job(about.peer));
        let communicator = membership.as_ref().map_or(0, |membership| membership.id);
        mark(RawMark::Communicate { communicator, peer, stack: stack.clone() });
        let Some(membership) = membership else {
            Self::enter_unknown(call, mark);
            return call;
        };
        if matches!(call.call, MpiCall::Send | MpiCall::BeginSend) {
            if let Some(message) = sent(membership, call) {
                mark(RawMark::Message(EventKind::MessageSend(message)));
            }
        } else if matches!(call.call, MpiCall::Neighbours | MpiCall::BeginNeighbours) {
            membership.meets_neighbours(mark);
        } else if let Some((order, is_begun)) = order(call.call) {
            let round = membership.rounds;
            membership.rounds += 1;
            call.round = Some(round);
            let MpiMembership { id: communicator, rank, size, .. } = *membership;
            let root = u32::try_from(call.peer).unwrap_or(0);
            let meeting = CollectiveMeeting { communicator, round, rank, size, order, root, is_begun };
            mark(RawMark::Message(EventKind::Meet(meeting)));
        }
        call
    }

    /// The call that was made to begin what this one waits for, where there is one; else this one.
    fn awaited(&self, task: KernelTask, call: EnteredCall) -> EnteredCall {
        let request = self.processes.get(&task.pid).and_then(|process| process.requests.get(&call.bytes));
        match request {
            Some(&(BegunRequest::Send(begun) | BegunRequest::Receive(begun)))
                if call.call == MpiCall::Complete =>
            {
                begun
            }
            _ => call,
        }
    }

    fn leave(&mut self, time: Time, task: KernelTask, ended: &MpiRequest, mark: &mut impl FnMut(RawMark)) {
        let Some(call) = self.calls.remove(&task) else { return };
        let begins = ended.is_ok && ended.request != 0;
        match call.call {
            MpiCall::Send if ended.is_ok => self.finish(time, task, BegunRequest::Send(call), ended, mark),
            MpiCall::Receive if ended.is_ok => {
                self.finish(time, task, BegunRequest::Receive(call), ended, mark);
            }
            MpiCall::BeginSend if begins => self.begin(task, ended.request, BegunRequest::Send(call)),
            MpiCall::BeginReceive if begins => self.begin(task, ended.request, BegunRequest::Receive(call)),
            call_kind if begins && persistent::is_prepared(call_kind) => {
                self.prepare(task, ended.request, call);
            }
            MpiCall::Neighbours if ended.is_ok => {
                self.finish(time, task, BegunRequest::Neighbours(call), ended, mark);
            }
            MpiCall::BeginNeighbours if begins => {
                self.begin(task, ended.request, BegunRequest::Neighbours(call));
            }
            MpiCall::NotUnderstood if begins => {
                self.begin(task, ended.request, BegunRequest::Opaque { function: call.communicator });
            }
            MpiCall::Put | MpiCall::Get | MpiCall::Swap if ended.is_ok => {
                if begins {
                    self.begin(task, ended.request, BegunRequest::Access(call));
                }
                self.order_accesses(time, task, (call, false), mark);
            }
            MpiCall::TakeMessage if begins => {
                let requests = &mut self.processes.entry(task.pid).or_default().requests;
                if let Some(message) = requests.remove(&call.bytes) {
                    self.begin(task, ended.request, message);
                }
            }
            _ if begins && self.membership(task, call.communicator).is_none() => {
                let function = opaque::unknown(call.call, mark);
                self.begin(task, ended.request, BegunRequest::Opaque { function });
            }
            _ if begins => {
                let communicator = self.membership(task, call.communicator).map(|membership| membership.id);
                if let (Some(communicator), Some(round)) = (communicator, call.round) {
                    self.begin(task, ended.request, BegunRequest::Meeting { communicator, round });
                }
            }
            _ if ended.is_ok => self.order_accesses(time, task, (call, false), mark),
            _ => {}
        }
        mark(RawMark::Message(EventKind::Communicated));
    }

    fn begin(&mut self, task: KernelTask, request: u64, begun: BegunRequest) {
        let requests = &mut self.processes.entry(task.pid).or_default().requests;
        if requests.len() >= MOST_REQUESTS {
            requests.clear();
        }
        requests.insert(request, begun);
    }

    /// A request is given up: what it was to receive comes unseen, from now on.
    fn free(&mut self, time: Time, task: KernelTask, request: u64, mark: &mut impl FnMut(RawMark)) {
        let process = self.processes.entry(task.pid).or_default();
        process.prepared.remove(&request);
        if let Some(begun @ BegunRequest::Receive(call)) = process.requests.remove(&request) {
            let unseen = MpiRequest { request, is_ok: true, source: call.peer, tag: call.tag, bytes: 0 };
            self.finish(time, task, begun, &unseen, mark);
        }
    }

    /// A message was found, and taken where there is a handle for it.
    fn probe(
        &mut self,
        time: Time,
        task: KernelTask,
        communicator: u64,
        found: &MpiRequest,
        mark: &mut impl FnMut(RawMark),
    ) {
        let Some(membership) = self.membership(task, communicator) else { return };
        let Some(peer) = membership.in_job(found.source) else { return };
        let channel = channel(membership.id, (found.source, membership.rank.cast_signed()), found.tag);
        let message = MessageEnvelope {
            channel,
            communicator: membership.id,
            peer,
            tag: found.tag,
            bytes: found.bytes,
        };
        mark(RawMark::Message(EventKind::MessageProbe(message)));
        if found.request != 0 {
            let MpiRequest { source: peer, tag, bytes, .. } = *found;
            let call = MpiCall::BeginReceive;
            let call = EnteredCall { call, communicator, peer, tag, bytes, since: time, round: None };
            self.begin(task, found.request, BegunRequest::Receive(call));
        }
    }

    fn complete(&mut self, time: Time, task: KernelTask, ended: &MpiRequest, mark: &mut impl FnMut(RawMark)) {
        let requests = &mut self.processes.entry(task.pid).or_default().requests;
        let Some(request) = requests.remove(&ended.request) else { return };
        if ended.is_ok {
            self.finish(time, task, request, ended, mark);
        }
    }

    /// What was begun is complete.
    fn finish(
        &mut self,
        time: Time,
        task: KernelTask,
        begun: BegunRequest,
        ended: &MpiRequest,
        mark: &mut impl FnMut(RawMark),
    ) {
        let (call, is_send) = match begun {
            BegunRequest::Send(call) => (call, true),
            BegunRequest::Receive(call) => (call, false),
            BegunRequest::Meeting { communicator, round } => {
                return mark(RawMark::Message(EventKind::MeetingComplete { communicator, round }));
            }
            BegunRequest::Neighbours(call) => {
                let membership = self.membership(task, call.communicator);
                return membership
                    .into_iter()
                    .for_each(|membership| membership.met_neighbours((call.since, time), mark));
            }
            BegunRequest::Access(call) => return self.end_access(task, call, mark),
            BegunRequest::Opaque { function } => return opaque::waits(function, mark),
        };
        let Some(membership) = self.membership(task, call.communicator) else {
            return opaque::waits_unknown(call.call, mark);
        };
        let posted = time.since(call.since);
        if is_send {
            if let Some(MessageEnvelope { channel, .. }) = sent(membership, call) {
                mark(RawMark::Message(EventKind::MessageSent { channel, posted }));
            }
            return;
        }
        // What was asked for is what came, where that was no wildcard.
        let source = if call.peer == MPI_ANY { ended.source } else { call.peer };
        let tag = if call.tag == MPI_ANY { ended.tag } else { call.tag };
        let Some(peer) = membership.in_job(source) else { return };
        let channel = channel(membership.id, (source, membership.rank.cast_signed()), tag);
        let communicator = membership.id;
        let message = MessageEnvelope { channel, communicator, peer, tag, bytes: ended.bytes };
        mark(RawMark::Message(EventKind::MessageReceive { message, posted }));
    }

    fn membership(&mut self, task: KernelTask, communicator: u64) -> Option<&mut MpiMembership> {
        self.processes.get_mut(&task.pid)?.communicators.get_mut(&communicator)
    }
}

/// The message of a send; `None` where it goes to no process.
fn sent(membership: &MpiMembership, call: EnteredCall) -> Option<MessageEnvelope> {
    let EnteredCall { peer: to, tag, bytes, .. } = call;
    let peer = membership.in_job(to)?;
    let channel = channel(membership.id, (membership.rank.cast_signed(), to), tag);
    Some(MessageEnvelope { channel, communicator: membership.id, peer, tag, bytes })
}

/// Who waits for whom in a collective operation, and whether it is only begun; `None` for other calls.
fn order(call: MpiCall) -> Option<(CollectiveOrder, bool)> {
    Some(match call {
        MpiCall::AllToAll => (CollectiveOrder::AllToAll, false),
        MpiCall::FromRoot => (CollectiveOrder::FromRoot, false),
        MpiCall::ToRoot => (CollectiveOrder::ToRoot, false),
        MpiCall::Prefix => (CollectiveOrder::Prefix, false),
        MpiCall::BeginAllToAll => (CollectiveOrder::AllToAll, true),
        MpiCall::BeginFromRoot => (CollectiveOrder::FromRoot, true),
        MpiCall::BeginToRoot => (CollectiveOrder::ToRoot, true),
        MpiCall::BeginPrefix => (CollectiveOrder::Prefix, true),
        _ => return None,
    })
}

fn channel(communicator: u64, (from, to): (i32, i32), tag: i32) -> u64 {
    let word = |number: i32| u64::from(number.cast_unsigned());
    hash(&[communicator, word(from), word(to), word(tag)])
}

/// A hash that is the same on every machine.
fn hash(words: &[u64]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &word| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) const FIRST: KernelTask = KernelTask { pid: 1, tid: 1 };
    pub(crate) const SECOND: KernelTask = KernelTask { pid: 2, tid: 2 };
    pub(crate) const WORLD: u64 = 0x100;

    pub(crate) fn world(rank: u32) -> AgentEvent {
        AgentEvent::Communicator(ToldCommunicator {
            handle: WORLD,
            parent: 0,
            rank,
            size: 2,
            job: 9,
            members: Vec::new(),
        })
    }

    pub(crate) fn begins(call: MpiCall, peer: i32, tag: i32) -> AgentEvent {
        AgentEvent::Communicates { call, communicator: WORLD, peer, tag, bytes: 8, stack: RawStack::None }
    }

    pub(crate) fn ends(request: u64, source: i32, tag: i32) -> MpiRequest {
        MpiRequest { request, is_ok: true, source, tag, bytes: 8 }
    }

    /// What is said of messages, with times in nanoseconds.
    pub(crate) fn meant(events: Vec<(u64, KernelTask, AgentEvent)>) -> Vec<(u64, KernelTask, EventKind)> {
        let (mut messages, mut meant) = (Messages::default(), Vec::new());
        for (time, task, told) in events {
            messages.follow(Time::from_nanoseconds(time), task, &told, &mut |kind| {
                if let RawKind::Inside { mark: RawMark::Message(kind), .. } = kind {
                    meant.push((time, task, kind));
                }
            });
        }
        meant.retain(|(_, _, kind)| !matches!(kind, EventKind::Communicated | EventKind::Rank { .. }));
        meant
    }

    #[test]
    fn both_ends_of_a_message_name_one_channel() {
        let meant = meant(vec![
            (1, FIRST, world(0)),
            (1, SECOND, world(1)),
            (10, FIRST, begins(MpiCall::Send, 1, 7)),
            (12, FIRST, AgentEvent::Communicated(ends(0, MPI_ANY, MPI_ANY))),
            (15, SECOND, begins(MpiCall::Receive, MPI_ANY, MPI_ANY)),
            (19, SECOND, AgentEvent::Communicated(ends(0, 0, 7))),
        ]);
        let [
            (10, FIRST, EventKind::MessageSend(sent)),
            (12, FIRST, EventKind::MessageSent { channel, posted: 2 }),
            (19, SECOND, EventKind::MessageReceive { message, posted: 4 }),
        ] = meant[..]
        else {
            panic!("{meant:?}")
        };
        assert_eq!((channel, message.channel), (sent.channel, sent.channel));
        assert_eq!((sent.peer, message.peer, message.tag, message.bytes), (1, 0, 7, 8));
    }

    #[test]
    fn a_request_is_what_was_begun_when_it_is_complete() {
        let meant = meant(vec![
            (1, SECOND, world(1)),
            (15, SECOND, begins(MpiCall::BeginReceive, 0, 7)),
            (16, SECOND, AgentEvent::Communicated(ends(0x77, MPI_ANY, MPI_ANY))),
            (40, SECOND, begins(MpiCall::Complete, MPI_ANY, MPI_ANY)),
            (50, SECOND, AgentEvent::Completes(ends(0x77, MPI_ANY, MPI_ANY))),
            (50, SECOND, AgentEvent::Completes(ends(0x77, MPI_ANY, MPI_ANY))),
        ]);
        let [(50, SECOND, EventKind::MessageReceive { message, posted: 35 })] = meant[..] else {
            panic!("{meant:?}")
        };
        assert_eq!((message.peer, message.tag), (0, 7));
    }

    #[test]
    fn a_prepared_request_is_a_message_each_time_it_is_started() {
        let mut events = vec![
            (1, FIRST, world(0)),
            (2, FIRST, begins(MpiCall::PrepareSend, 1, 7)),
            (3, FIRST, AgentEvent::Communicated(ends(0x77, MPI_ANY, MPI_ANY))),
        ];
        for time in [10, 20] {
            events.extend([
                (time, FIRST, begins(MpiCall::Start, MPI_ANY, MPI_ANY)),
                (time + 1, FIRST, AgentEvent::Starts { request: 0x77 }),
                (time + 5, FIRST, AgentEvent::Completes(ends(0x77, MPI_ANY, MPI_ANY))),
            ]);
        }
        let found: Vec<(u64, bool)> = meant(events)
            .iter()
            .map(|&(time, _, kind)| (time, matches!(kind, EventKind::MessageSend(_))))
            .collect();
        assert_eq!(found, [(11, true), (15, false), (21, true), (25, false)]);
    }

    #[test]
    fn a_message_that_a_probe_takes_is_received_in_the_order_of_probes() {
        let found = MpiRequest { request: 0x99, ..ends(0, 0, 7) };
        let meant = meant(vec![
            (1, SECOND, world(1)),
            (10, SECOND, begins(MpiCall::Probe, MPI_ANY, MPI_ANY)),
            (15, SECOND, AgentEvent::Probed { communicator: WORLD, message: found }),
            (30, SECOND, begins(MpiCall::Complete, MPI_ANY, MPI_ANY)),
            (35, SECOND, AgentEvent::Completes(ends(0x99, 0, 7))),
        ]);
        let [
            (15, SECOND, EventKind::MessageProbe(probed)),
            (35, SECOND, EventKind::MessageReceive { message, posted: 20 }),
        ] = meant[..]
        else {
            panic!("{meant:?}")
        };
        assert_eq!(probed, message);
    }

    #[test]
    fn a_cancelled_receive_gets_no_message() {
        let cancelled = MpiRequest { is_ok: false, ..ends(0x77, MPI_ANY, MPI_ANY) };
        let meant = meant(vec![
            (1, SECOND, world(1)),
            (15, SECOND, begins(MpiCall::BeginReceive, 0, 7)),
            (16, SECOND, AgentEvent::Communicated(ends(0x77, MPI_ANY, MPI_ANY))),
            (50, SECOND, AgentEvent::Completes(cancelled)),
        ]);
        assert_eq!(meant, []);
    }

    #[test]
    fn an_operation_that_is_begun_is_over_when_its_request_is_complete() {
        let meant = meant(vec![
            (1, SECOND, world(1)),
            (15, SECOND, begins(MpiCall::BeginAllToAll, 0, MPI_ANY)),
            (16, SECOND, AgentEvent::Communicated(ends(0x77, MPI_ANY, MPI_ANY))),
            (50, SECOND, AgentEvent::Completes(ends(0x77, MPI_ANY, MPI_ANY))),
        ]);
        let [(15, _, EventKind::Meet(met)), (50, _, EventKind::MeetingComplete { communicator, round: 0 })] =
            meant[..]
        else {
            panic!("{meant:?}")
        };
        assert!(met.is_begun && met.communicator == communicator);
    }

    #[test]
    fn a_send_to_no_process_is_no_message() {
        let to_nobody = begins(MpiCall::Send, longpole_ring::MPI_NO_PROCESS, 7);
        assert_eq!(meant(vec![(1, FIRST, world(0)), (10, FIRST, to_nobody)]), []);
    }

    #[test]
    fn operations_on_a_communicator_are_counted() {
        let meet = || begins(MpiCall::AllToAll, 0, MPI_ANY);
        let meant = meant(vec![(1, FIRST, world(0)), (10, FIRST, meet()), (20, FIRST, meet())]);
        let rounds: Vec<u64> = meant
            .iter()
            .filter_map(|(_, _, kind)| match kind {
                EventKind::Meet(meeting) => Some(meeting.round),
                _ => None,
            })
            .collect();
        assert_eq!(rounds, [0, 1]);
    }
}
