//! Calls of MPI, as the agents tell of them, to what they say of messages: communicators and peers that are the same for all
//! processes of a job, and the messages of requests that are waited for later.
//!
//! ```text
//!   told   Communicates(begin to receive from 1)  Communicated(request r)  …  Communicates(complete)  Completes(r)  Communicated
//!   meant  Communicate Communicated                                           Communicate  MessageReceive(posted)   Communicated
//! ```
//! Communicators are told apart by a hash of the job, the communicator that they were made from, how many operations there had been
//! on that, and their first member: all their members come to the same.

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
    rank: u32,
    size: u32,
    /// Ranks that the members have in the job; empty where they are the same.
    members: Vec<u32>,
    /// Collective operations on it.
    rounds: u64,
}

impl MpiMembership {
    /// A member's rank in the job; `None` for a rank that stands for no process, or is not known.
    fn in_job(&self, rank: i32) -> Option<u32> {
        let rank = u32::try_from(rank).ok().filter(|&rank| rank < self.size)?;
        if self.members.is_empty() { Some(rank) } else { self.members.get(rank as usize).copied() }
    }
}

/// What a process has begun to send or receive.
#[derive(Clone, Copy, Debug)]
struct BegunRequest {
    call: EnteredCall,
    is_send: bool,
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
}

#[derive(Debug, Default)]
struct MpiProcess {
    communicators: FxHashMap<u64, MpiMembership>,
    requests: FxHashMap<u64, BegunRequest>,
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
                if let Some(communicator) = self.join(task, told) {
                    let size = told.size;
                    let name = match told.parent {
                        0 => "MPI_COMM_WORLD".to_owned(),
                        _ => format!("communicator of {size} ranks"),
                    };
                    mark(RawMark::CommunicatorName { communicator, name });
                }
                if told.parent == 0 {
                    mark(RawMark::Message(EventKind::Rank { rank: told.rank }));
                }
            }
            &AgentEvent::Communicates { call, communicator, peer, tag, bytes, ref stack } => {
                let call = EnteredCall { call, communicator, peer, tag, bytes, since: time };
                self.calls.insert(task, call);
                self.enter(task, call, stack, &mut mark);
            }
            AgentEvent::Completes(request) => self.complete(time, task, request, &mut mark),
            AgentEvent::Communicated(request) => self.leave(time, task, request, &mut mark),
            AgentEvent::Gap if self.calls.remove(&task).is_some() => {
                mark(RawMark::Message(EventKind::Communicated));
            }
            AgentEvent::Ended => _ = self.calls.remove(&task),
            AgentEvent::Began { .. } | AgentEvent::Forked { .. } => {
                self.processes.remove(&task.pid);
                self.calls.retain(|other, _| other.pid != task.pid);
            }
            _ => {}
        }
    }

    /// Gives the communicator's id.
    fn join(&mut self, task: KernelTask, told: &ToldCommunicator) -> Option<u64> {
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
        let membership = MpiMembership { id, rank, size, members: members.clone(), rounds: 0 };
        process.communicators.insert(handle, membership);
        Some(id)
    }

    fn enter(
        &mut self,
        task: KernelTask,
        call: EnteredCall,
        stack: &RawStack,
        mark: &mut impl FnMut(RawMark),
    ) {
        let membership = self.membership(task, call.communicator);
        let peer = membership.as_ref().and_then(|membership| membership.in_job(call.peer));
        let communicator = membership.as_ref().map_or(0, |membership| membership.id);
        mark(RawMark::Communicate { communicator, peer, stack: stack.clone() });
        let Some(membership) = membership else { return };
        if matches!(call.call, MpiCall::Send | MpiCall::BeginSend) {
            if let Some(message) = sent(membership, call) {
                mark(RawMark::Message(EventKind::MessageSend(message)));
            }
        } else if let Some(order) = order(call.call) {
            let round = membership.rounds;
            membership.rounds += 1;
            let MpiMembership { id: communicator, rank, size, .. } = *membership;
            let root = u32::try_from(call.peer).unwrap_or(0);
            let meeting = CollectiveMeeting { communicator, round, rank, size, order, root };
            mark(RawMark::Message(EventKind::Meet(meeting)));
        }
    }

    fn leave(&mut self, time: Time, task: KernelTask, ended: &MpiRequest, mark: &mut impl FnMut(RawMark)) {
        let Some(call) = self.calls.remove(&task) else { return };
        let request = BegunRequest { call, is_send: matches!(call.call, MpiCall::Send | MpiCall::BeginSend) };
        match call.call {
            MpiCall::Send | MpiCall::Receive if ended.is_ok => {
                self.finish(time, task, request, ended, mark);
            }
            MpiCall::BeginSend | MpiCall::BeginReceive if ended.is_ok && ended.request != 0 => {
                let requests = &mut self.processes.entry(task.pid).or_default().requests;
                if requests.len() >= MOST_REQUESTS {
                    requests.clear();
                }
                requests.insert(ended.request, request);
            }
            _ => {}
        }
        mark(RawMark::Message(EventKind::Communicated));
    }

    fn complete(&mut self, time: Time, task: KernelTask, ended: &MpiRequest, mark: &mut impl FnMut(RawMark)) {
        let requests = &mut self.processes.entry(task.pid).or_default().requests;
        let Some(request) = requests.remove(&ended.request) else { return };
        self.finish(time, task, request, ended, mark);
    }

    /// What was begun is complete.
    fn finish(
        &mut self,
        time: Time,
        task: KernelTask,
        BegunRequest { call, is_send }: BegunRequest,
        ended: &MpiRequest,
        mark: &mut impl FnMut(RawMark),
    ) {
        let Some(membership) = self.membership(task, call.communicator) else { return };
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

/// Who waits for whom in a collective operation; `None` for other calls.
fn order(call: MpiCall) -> Option<CollectiveOrder> {
    Some(match call {
        MpiCall::AllToAll => CollectiveOrder::AllToAll,
        MpiCall::FromRoot => CollectiveOrder::FromRoot,
        MpiCall::ToRoot => CollectiveOrder::ToRoot,
        MpiCall::Prefix => CollectiveOrder::Prefix,
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
mod tests {
    use super::*;

    const FIRST: KernelTask = KernelTask { pid: 1, tid: 1 };
    const SECOND: KernelTask = KernelTask { pid: 2, tid: 2 };
    const WORLD: u64 = 0x100;

    fn world(rank: u32) -> AgentEvent {
        AgentEvent::Communicator(ToldCommunicator {
            handle: WORLD,
            parent: 0,
            rank,
            size: 2,
            job: 9,
            members: Vec::new(),
        })
    }

    fn begins(call: MpiCall, peer: i32, tag: i32) -> AgentEvent {
        AgentEvent::Communicates { call, communicator: WORLD, peer, tag, bytes: 8, stack: RawStack::None }
    }

    fn ends(request: u64, source: i32, tag: i32) -> MpiRequest {
        MpiRequest { request, is_ok: true, source, tag, bytes: 8 }
    }

    /// What is said of messages, with times in nanoseconds.
    fn meant(events: Vec<(u64, KernelTask, AgentEvent)>) -> Vec<(u64, KernelTask, EventKind)> {
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
