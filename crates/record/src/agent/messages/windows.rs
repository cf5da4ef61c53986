//! Windows of memory that several processes access: what orders these accesses, as messages would. The program sends none: so they have
//! tags that no message has.

use longpole_event::{EventKind, MPI_ACCESSED, MPI_LOCK, MPI_OPENED, MessageEnvelope, Time};
use longpole_ring::MpiCall;

use super::{EnteredCall, Messages, MpiMembership, channel, hash};
use crate::raw::{KernelTask, RawMark};

/// Tells a window from the communicator that was made by the same operation.
const WINDOW: u64 = 0x57;

/// Members of a window that one epoch is remembered for: a program that never ends what it begins fills no memory.
const MOST_ADDRESSED: usize = 65_536;

/// An index of [`MpiMembership::epochs`].
const EXPOSED: usize = 0;
/// As [`EXPOSED`].
const ACCESSED: usize = 1;

impl Messages {
    /// The members of a communicator have made a window. Gives its id and how many they are.
    pub(super) fn open_window(
        &mut self,
        task: KernelTask,
        window: u64,
        communicator: u64,
    ) -> Option<(u64, u32)> {
        let MpiMembership { id, rank, size, ref members, rounds, .. } =
            *self.membership(task, communicator)?;
        let id = hash(&[id, rounds, WINDOW]);
        let membership =
            MpiMembership { id, rank, size, members: members.clone(), ..MpiMembership::default() };
        self.processes.entry(task.pid).or_default().communicators.insert(window, membership);
        Some((id, size))
    }

    /// The window is opened to a member, or that member's window is to be accessed once it is open.
    pub(super) fn address(
        &mut self,
        time: Time,
        task: KernelTask,
        (window, rank): (u64, i32),
        mark: &mut impl FnMut(RawMark),
    ) {
        let Some(&EnteredCall { call, .. }) = self.calls.get(&task) else { return };
        let Some(membership) = self.membership(task, window) else { return };
        let (epoch, is_sent) = match call {
            MpiCall::Expose => (EXPOSED, true),
            MpiCall::Access => (ACCESSED, false),
            _ => return,
        };
        if membership.epochs[epoch].len() >= MOST_ADDRESSED {
            return;
        }
        membership.epochs[epoch].push((rank, time));
        let kind = if is_sent { EventKind::MessageSend } else { EventKind::MessageProbe };
        if let Some(order) = membership.order(rank, MPI_OPENED, is_sent) {
            mark(RawMark::Message(kind(order)));
        }
    }

    /// The thread enters or leaves a call that ends what was begun with members of a window, or that locks one.
    pub(super) fn order_accesses(
        &mut self,
        time: Time,
        task: KernelTask,
        (call, is_entered): (EnteredCall, bool),
        mark: &mut impl FnMut(RawMark),
    ) {
        use MpiCall::{EndAccess, EndExposure, LockWindow, UnlockWindow};
        if !matches!(call.call, EndAccess | EndExposure | LockWindow | UnlockWindow) {
            return;
        }
        let Some(membership) = self.membership(task, call.communicator) else { return };
        let receive = |(message, since): (MessageEnvelope, Time)| EventKind::MessageReceive {
            message,
            posted: time.since(since),
        };
        let kinds: Vec<EventKind> = match (call.call, is_entered) {
            (EndAccess, true) => {
                let ended = membership.epochs[ACCESSED].iter();
                let ends = ended.filter_map(|&(rank, _)| membership.order(rank, MPI_ACCESSED, true));
                ends.map(EventKind::MessageSend).collect()
            }
            (EndAccess | EndExposure, false) => {
                let (epoch, tag) = match call.call {
                    EndAccess => (ACCESSED, MPI_OPENED),
                    _ => (EXPOSED, MPI_ACCESSED),
                };
                let begun = std::mem::take(&mut membership.epochs[epoch]);
                let awaited =
                    |&(rank, since): &(i32, Time)| Some((membership.order(rank, tag, false)?, since));
                begun.iter().filter_map(awaited).map(receive).collect()
            }
            (LockWindow, false) => {
                let lock = membership.lock(call.peer, call.bytes);
                lock.map(|lock| receive((lock, call.since))).into_iter().collect()
            }
            (UnlockWindow, true) => {
                membership.lock(call.peer, 0).map(EventKind::MessageSend).into_iter().collect()
            }
            _ => Vec::new(),
        };
        kinds.into_iter().for_each(|kind| mark(RawMark::Message(kind)));
    }
}

impl MpiMembership {
    /// What orders an access of this member's to another's window, or one of the other's to its own: as a message, but that the
    /// program sends none.
    fn order(&self, other: i32, tag: i32, is_sent: bool) -> Option<MessageEnvelope> {
        let peer = self.in_job(other)?;
        let own = self.rank.cast_signed();
        let ends = if is_sent { (own, other) } else { (other, own) };
        let channel = channel(self.id, ends, tag);
        Some(MessageEnvelope { channel, communicator: self.id, peer, tag, bytes: 0 })
    }

    /// The lock of a member's window.
    fn lock(&self, rank: i32, bytes: u64) -> Option<MessageEnvelope> {
        let peer = self.in_job(rank)?;
        let channel = channel(self.id, (rank, rank), MPI_LOCK);
        Some(MessageEnvelope { channel, communicator: self.id, peer, tag: MPI_LOCK, bytes })
    }
}

#[cfg(test)]
mod tests {
    use longpole_ring::MPI_ANY;

    use super::super::tests::{FIRST, SECOND, WORLD, ends, meant, world};
    use super::*;
    use crate::agent::AgentEvent;
    use crate::raw::RawStack;

    #[test]
    fn accesses_to_a_window_are_ordered_by_what_both_sides_name_alike() {
        let window = |task| (2, task, AgentEvent::Window { window: 0x200, communicator: WORLD });
        let call = |call| AgentEvent::Communicates {
            call,
            communicator: 0x200,
            peer: MPI_ANY,
            tag: MPI_ANY,
            bytes: 0,
            stack: RawStack::None,
        };
        let ended = || AgentEvent::Communicated(ends(0, MPI_ANY, MPI_ANY));
        let about = |rank| AgentEvent::Addresses { window: 0x200, rank };
        let meant = meant(vec![
            (1, FIRST, world(0)),
            (1, SECOND, world(1)),
            window(FIRST),
            window(SECOND),
            (10, FIRST, call(MpiCall::Access)),
            (11, FIRST, about(1)),
            (20, SECOND, call(MpiCall::Expose)),
            (21, SECOND, about(0)),
            (22, SECOND, ended()),
            (25, FIRST, ended()),
            (30, FIRST, call(MpiCall::EndAccess)),
            (32, FIRST, ended()),
            (40, SECOND, call(MpiCall::EndExposure)),
            (41, SECOND, ended()),
        ]);
        let [
            (11, FIRST, EventKind::MessageProbe(probed)),
            (21, SECOND, EventKind::MessageSend(opened)),
            (30, FIRST, EventKind::MessageSend(accessed)),
            (32, FIRST, EventKind::MessageReceive { message: open, posted: 21 }),
            (41, SECOND, EventKind::MessageReceive { message: over, posted: 20 }),
        ] = meant[..]
        else {
            panic!("{meant:?}")
        };
        assert_eq!((opened.channel, open.channel), (probed.channel, probed.channel));
        assert_eq!((accessed.channel, accessed.tag), (over.channel, MPI_ACCESSED));
        assert_ne!(opened.channel, accessed.channel);
    }
}
