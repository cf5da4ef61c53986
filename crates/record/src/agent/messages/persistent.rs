//! Requests that are prepared once and started again and again: messages, collective operations, and those among neighbours.
//!
//! Members prepare collective operations in the same order, but may start several in different ones: so an operation is the n-th
//! start of the m-th that was prepared on its communicator.

use longpole_event::{CollectiveMeeting, EventKind, Time};
use longpole_ring::MpiCall;

use super::{BegunRequest, EnteredCall, MOST_REQUESTS, Messages, PreparedRequest, order, sent};
use crate::raw::{KernelTask, RawMark};

/// Above the operations of a communicator that are not prepared, and above the starts of each one that is.
const ROUNDS: u64 = 1 << 32;

/// Whether a call makes such a request.
pub(super) fn is_prepared(call: MpiCall) -> bool {
    started(call).is_some()
}

/// What a request that this call makes does when it is started.
fn started(call: MpiCall) -> Option<MpiCall> {
    Some(match call {
        MpiCall::PrepareSend => MpiCall::BeginSend,
        MpiCall::PrepareReceive => MpiCall::BeginReceive,
        MpiCall::PrepareAllToAll => MpiCall::BeginAllToAll,
        MpiCall::PrepareFromRoot => MpiCall::BeginFromRoot,
        MpiCall::PrepareToRoot => MpiCall::BeginToRoot,
        MpiCall::PreparePrefix => MpiCall::BeginPrefix,
        MpiCall::PrepareNeighbours => MpiCall::BeginNeighbours,
        _ => return None,
    })
}

impl Messages {
    /// The call has made such a request.
    pub(super) fn prepare(&mut self, task: KernelTask, request: u64, call: EnteredCall) {
        let membership = self.membership(task, call.communicator);
        let is_collective = started(call.call).is_some_and(|call| order(call).is_some());
        let ordinal = membership.filter(|_| is_collective).map_or(0, |membership| {
            membership.prepared += 1;
            membership.prepared
        });
        let prepared = &mut self.processes.entry(task.pid).or_default().prepared;
        if prepared.len() >= MOST_REQUESTS {
            prepared.clear();
        }
        prepared.insert(request, PreparedRequest { call, ordinal, starts: 0 });
    }

    /// Such a request is started.
    pub(super) fn start(
        &mut self,
        time: Time,
        task: KernelTask,
        request: u64,
        mark: &mut impl FnMut(RawMark),
    ) {
        let process = self.processes.entry(task.pid).or_default();
        let Some(prepared) = process.prepared.get_mut(&request) else { return };
        let PreparedRequest { call, ordinal, starts } = *prepared;
        prepared.starts += 1;
        let Some(kind) = started(call.call) else { return };
        let call = EnteredCall { call: kind, since: time, ..call };
        let begun = match kind {
            MpiCall::BeginReceive => BegunRequest::Receive(call),
            MpiCall::BeginSend => {
                let message =
                    self.membership(task, call.communicator).and_then(|membership| sent(membership, call));
                if let Some(message) = message {
                    mark(RawMark::Message(EventKind::MessageSend(message)));
                }
                BegunRequest::Send(call)
            }
            MpiCall::BeginNeighbours => {
                if let Some(membership) = self.membership(task, call.communicator) {
                    membership.meets_neighbours(mark);
                }
                BegunRequest::Neighbours(call)
            }
            _ => {
                let membership = self.membership(task, call.communicator);
                let (Some(membership), Some((order, is_begun))) = (membership, order(kind)) else { return };
                let round = ordinal * ROUNDS + starts;
                let (communicator, rank, size) = (membership.id, membership.rank, membership.size);
                let root = u32::try_from(call.peer).unwrap_or(0);
                let meeting = CollectiveMeeting { communicator, round, rank, size, order, root, is_begun };
                mark(RawMark::Message(EventKind::Meet(meeting)));
                BegunRequest::Meeting { communicator, round }
            }
        };
        self.begin(task, request, begun);
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::{CollectiveOrder, MPI_NEIGHBOUR};
    use longpole_ring::MPI_ANY;

    use super::super::tests::{FIRST, SECOND, WORLD, begins, ends, meant, world};
    use super::*;
    use crate::agent::AgentEvent;

    fn ended(request: u64) -> AgentEvent {
        AgentEvent::Communicated(ends(request, MPI_ANY, MPI_ANY))
    }

    #[test]
    fn each_start_of_a_prepared_operation_is_one_whatever_the_order_in_which_several_are_started() {
        let mut events = vec![(1, FIRST, world(0)), (1, SECOND, world(1))];
        for (task, order) in [(FIRST, [0x71, 0x72]), (SECOND, [0x72, 0x71])] {
            for request in [0x71, 0x72] {
                events.push((5, task, begins(MpiCall::PrepareAllToAll, 0, MPI_ANY)));
                events.push((6, task, ended(request)));
            }
            for time in [10, 20] {
                for request in order {
                    events.push((time, task, begins(MpiCall::Start, MPI_ANY, MPI_ANY)));
                    events.push((time, task, AgentEvent::Starts { request }));
                    events.push((time + 1, task, ended(0)));
                }
            }
            events.push((30, task, begins(MpiCall::Complete, MPI_ANY, MPI_ANY)));
            events.push((35, task, AgentEvent::Completes(ends(0x72, MPI_ANY, MPI_ANY))));
        }
        let meant = meant(events);
        let rounds = |of: KernelTask| -> Vec<(u64, u64)> {
            let met = meant.iter().filter_map(|&(time, task, kind)| match kind {
                EventKind::Meet(met) if task == of => {
                    assert!(met.is_begun && met.order == CollectiveOrder::AllToAll);
                    Some((time, met.round))
                }
                _ => None,
            });
            met.collect()
        };
        let [first, second] = [1, 2].map(|ordinal| ordinal * ROUNDS);
        assert_eq!(rounds(FIRST), [(10, first), (10, second), (20, first + 1), (20, second + 1)]);
        assert_eq!(rounds(SECOND), [(10, second), (10, first), (20, second + 1), (20, first + 1)]);
        let completed = meant.iter().filter_map(|&(.., kind)| match kind {
            EventKind::MeetingComplete { round, .. } => Some(round),
            _ => None,
        });
        assert_eq!(completed.collect::<Vec<_>>(), [second + 1, second + 1]);
    }

    #[test]
    fn neighbours_are_those_to_whom_a_process_sends_and_those_that_send_to_it() {
        let has = |task, from: &[i32], to: &[i32]| {
            let (from, to) = (from.to_vec(), to.to_vec());
            (2, task, AgentEvent::Neighbours { communicator: WORLD, from, to })
        };
        let meant = meant(vec![
            (1, FIRST, world(0)),
            (1, SECOND, world(1)),
            has(FIRST, &[], &[1]),
            has(SECOND, &[0], &[]),
            (10, SECOND, begins(MpiCall::Neighbours, 0, MPI_ANY)),
            (20, FIRST, begins(MpiCall::BeginNeighbours, 0, MPI_ANY)),
            (21, FIRST, ended(0x77)),
            (25, SECOND, ended(0)),
            (30, FIRST, AgentEvent::Completes(ends(0x77, MPI_ANY, MPI_ANY))),
        ]);
        let [
            (20, FIRST, EventKind::MessageSend(sent)),
            (25, SECOND, EventKind::MessageReceive { message, posted: 15 }),
        ] = meant[..]
        else {
            panic!("{meant:?}")
        };
        assert_eq!((sent.channel, sent.tag, sent.peer), (message.channel, MPI_NEIGHBOUR, 1));
    }
}
