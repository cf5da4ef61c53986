//! Calls of MPI that were not told.
//!
//! How many messages they passed on which channel is not known, so neither is which of the later ones at one end are which at the
//! other. From there on the process's communicators are others than those of all other processes: no end of a message and no
//! operation of its members is matched with a wrong one, and each is counted as seen at one end only.
//!
//! ```text
//!   rank 0   send 1  send 2  (lost)  send 5' send 6'      1 and 2 are matched; 5 and 6 have no receiver,
//!   rank 1   recv 1  recv 2  recv 3  recv 4  recv 5 …     3, 4, 5, … no sender
//! ```
//! Where several threads of a process call MPI at a time, what others did meanwhile is taken as it came.

use longpole_event::Time;

use super::super::agent_event::MpiRequest;
use super::{BegunRequest, Messages, hash};
use crate::raw::{KernelTask, RawMark};

/// Tells communicators of after a loss from those made of others.
const LOSS: u64 = u64::from_le_bytes(*b"MPI loss");

impl Messages {
    /// Calls of this thread were lost before now.
    pub(super) fn lose_track(&mut self, time: Time, task: KernelTask, mark: &mut impl FnMut(RawMark)) {
        let Some(process) = self.processes.get_mut(&task.pid) else { return };
        let mut begun: Vec<_> = std::mem::take(&mut process.requests).into_iter().collect();
        begun.sort_unstable_by_key(|&(request, _)| request);
        for (request, begun) in begun {
            // Whether it was complete meanwhile is not known, but what came first was for what was posted first.
            if let BegunRequest::Receive(call) = begun {
                let unseen = MpiRequest { request, is_ok: true, source: call.peer, tag: call.tag, bytes: 0 };
                self.finish(time, task, BegunRequest::Receive(call), &unseen, mark);
            }
        }
        let Some(process) = self.processes.get_mut(&task.pid) else { return };
        let mut handles: Vec<u64> = process.communicators.keys().copied().collect();
        handles.sort_unstable();
        for handle in handles {
            let Some(membership) = process.communicators.get_mut(&handle) else { continue };
            membership.id = hash(&[LOSS, membership.id, task.pid.into()]);
            let (communicator, name) = (membership.id, membership.name.clone());
            mark(RawMark::CommunicatorName { communicator, name });
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::EventKind;
    use longpole_ring::{MPI_ANY, MpiCall};

    use super::super::super::agent_event::AgentEvent;
    use super::super::tests::{FIRST, SECOND, begins, ends, meant, world};
    use super::*;

    /// The channels of the sends and of the receives, in the order of time.
    fn channels(events: Vec<(u64, KernelTask, AgentEvent)>) -> (Vec<u64>, Vec<u64>) {
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for (_, _, kind) in meant(events) {
            match kind {
                EventKind::MessageSend(message) => sends.push(message.channel),
                EventKind::MessageReceive { message, .. } => receives.push(message.channel),
                _ => {}
            }
        }
        (sends, receives)
    }

    #[test]
    fn what_follows_a_loss_is_on_no_channel_of_before_nor_of_another_process() {
        let send = |time| {
            let ended = AgentEvent::Communicated(ends(0, MPI_ANY, MPI_ANY));
            [(time, FIRST, begins(MpiCall::Send, 1, 7)), (time + 1, FIRST, ended)]
        };
        let receive = |time| {
            let ended = AgentEvent::Communicated(ends(0, 0, 7));
            [(time, SECOND, begins(MpiCall::Receive, 0, 7)), (time + 1, SECOND, ended)]
        };
        let mut events = vec![(1, FIRST, world(0)), (1, SECOND, world(1))];
        events.extend(send(10).into_iter().chain(receive(20)));
        events.push((30, FIRST, AgentEvent::CommunicationsLost));
        events.extend(send(30).into_iter().chain(receive(40)));
        events.push((50, FIRST, AgentEvent::CommunicationsLost));
        events.extend(send(50));
        events.push((60, SECOND, AgentEvent::CommunicationsLost));
        events.extend(receive(60));
        let (sends, receives) = channels(events);
        assert_eq!(receives[..2], [sends[0]; 2], "the second has no sender");
        let rest = [sends[1], sends[2], receives[2]];
        for (index, channel) in rest.iter().enumerate() {
            assert!(*channel != sends[0] && !rest[..index].contains(channel), "{rest:x?}");
        }
    }

    #[test]
    fn what_was_posted_before_a_loss_has_its_place_in_the_order_of_receives() {
        let begin = |time, request| {
            let begun = AgentEvent::Communicated(ends(request, MPI_ANY, MPI_ANY));
            [(time, SECOND, begins(MpiCall::BeginReceive, 0, 7)), (time + 1, SECOND, begun)]
        };
        let mut events = vec![(1, SECOND, world(1))];
        events.extend(begin(10, 0x77).into_iter().chain(begin(20, 0x78)));
        // The second is complete first, the first while calls are lost.
        events.push((30, SECOND, begins(MpiCall::Complete, MPI_ANY, MPI_ANY)));
        events.push((31, SECOND, AgentEvent::Completes(ends(0x78, 0, 7))));
        events.push((40, SECOND, AgentEvent::CommunicationsLost));
        events.push((41, SECOND, AgentEvent::Completes(ends(0x77, 0, 7))));
        let posted: Vec<u64> = meant(events)
            .iter()
            .filter_map(|&(time, _, kind)| match kind {
                EventKind::MessageReceive { posted, .. } => Some(time - posted),
                _ => None,
            })
            .collect();
        assert_eq!(posted, [20, 10]);
    }

    #[test]
    fn operations_of_after_a_loss_are_met_by_nobody_else() {
        let meet = |time, task| (time, task, begins(MpiCall::AllToAll, 0, MPI_ANY));
        let events = vec![
            (1, FIRST, world(0)),
            (1, SECOND, world(1)),
            meet(10, FIRST),
            meet(10, SECOND),
            (20, FIRST, AgentEvent::CommunicationsLost),
            meet(20, FIRST),
            meet(20, SECOND),
        ];
        let met: Vec<u64> = meant(events)
            .iter()
            .filter_map(|(_, _, kind)| match kind {
                EventKind::Meet(meeting) => Some(meeting.communicator),
                _ => None,
            })
            .collect();
        assert!(met[0] == met[1] && met[2] != met[3] && met[3] == met[0], "{met:x?}");
    }
}
