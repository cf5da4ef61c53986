//! Windows of memory that several processes access: what orders these accesses, as messages would. The program sends none: so they have
//! tags that no message has.

use longpole_event::{
    EventKind, MPI_ACCESSED, MPI_ACCESSES, MPI_LOCK, MPI_NEIGHBOUR, MPI_OPENED, MessageEnvelope, Time,
};
use longpole_ring::{MPI_ANY, MpiCall};

use super::{EnteredCall, Messages, MpiMembership, WindowLock, channel, hash, opaque};
use crate::raw::{KernelTask, RawMark};

/// Tells a window from the communicator that was made by the same operation.
const WINDOW: u64 = 0x57;

/// Members of a window that one epoch is remembered for: a program that never ends what it begins fills no memory.
const MOST_ADDRESSED: usize = 65_536;

/// Members of which one call locks the windows.
const MOST_LOCKED: u32 = 512;

/// A call that lasts less did not wait for the lock of a window.
const SHORTEST_WAIT: u64 = 10_000;

/// An index of [`MpiMembership::epochs`].
const EXPOSED: usize = 0;
/// As [`EXPOSED`].
const ACCESSED: usize = 1;

impl Messages {
    /// The members of a communicator have made a window. Each says whose memory it is that others access.
    pub(super) fn open_window(
        &mut self,
        task: KernelTask,
        window: u64,
        communicator: u64,
        mark: &mut impl FnMut(RawMark),
    ) {
        let Some(parent) = self.membership(task, communicator) else { return };
        let MpiMembership { id, rank, size, ref members, rounds, .. } = *parent;
        let id = hash(&[id, rounds, WINDOW]);
        let membership =
            MpiMembership { id, rank, size, members: members.clone(), ..MpiMembership::default() };
        let name = format!("window of {size} ranks");
        mark(RawMark::CommunicatorName { communicator: id, name });
        if let Some(own) = membership.of_memory(rank.cast_signed(), 0) {
            mark(RawMark::Message(EventKind::MessageProbe(own)));
        }
        self.processes.entry(task.pid).or_default().communicators.insert(window, membership);
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
        use MpiCall::{EndAccess, EndExposure, Flush, Get, LockWindow, Put, Swap, UnlockWindow};
        let is_about_windows = matches!(
            call.call,
            EndAccess | EndExposure | Flush | Get | LockWindow | Put | Swap | UnlockWindow
        );
        if !is_about_windows {
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
                let ranks = match call.peer {
                    MPI_ANY => (0..membership.size.min(MOST_LOCKED)).map(u32::cast_signed).collect(),
                    rank => vec![rank],
                };
                if membership.locked.len() < MOST_ADDRESSED {
                    let lock = |&rank| WindowLock { rank, has_accessed: false, is_held: false };
                    membership.locked.extend(ranks.iter().map(lock));
                }
                let locks = ranks.iter().filter_map(|&rank| membership.lock(rank, call.bytes));
                locks.map(|lock| receive((lock, call.since))).collect()
            }
            (UnlockWindow, true) => {
                let ended = membership.locked.iter().filter(|lock| is_about(lock, call.peer));
                ended.filter_map(|lock| membership.lock(lock.rank, 0)).map(EventKind::MessageSend).collect()
            }
            (UnlockWindow | Flush | Put | Get | Swap, false) => {
                let is_long = time.since(call.since) >= SHORTEST_WAIT;
                let locks = membership.awaited_locks(call.peer).filter(|_| is_long);
                let kinds = locks.map(EventKind::MessageProbe).collect();
                match call.call {
                    UnlockWindow => membership.locked.retain(|lock| !is_about(lock, call.peer)),
                    _ => membership.access(call.peer, call.call == Flush),
                }
                kinds
            }
            (Put | Get | Swap, true) => {
                let access = membership.of_memory(call.peer, call.bytes);
                let written = access.filter(|_| call.call != Get).map(EventKind::MessageSend);
                let read = access
                    .filter(|_| call.call != Put)
                    .map(|message| EventKind::MessageReceive { message, posted: 0 });
                written.into_iter().chain(read).collect()
            }
            _ => Vec::new(),
        };
        kinds.into_iter().for_each(|kind| mark(RawMark::Message(kind)));
    }

    /// The call that the thread is in completes an access: it may be the one that waits for the lock of the window.
    pub(super) fn end_access(
        &mut self,
        task: KernelTask,
        access: EnteredCall,
        mark: &mut impl FnMut(RawMark),
    ) {
        match self.membership(task, access.communicator) {
            Some(membership) => {
                let locks = membership.awaited_locks(access.peer);
                locks.for_each(|lock| mark(RawMark::Message(EventKind::MessageProbe(lock))));
                membership.access(access.peer, true);
            }
            None => opaque::waits_unknown(access.call, mark),
        }
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

    /// The member's memory, in which others write and read.
    fn of_memory(&self, rank: i32, bytes: u64) -> Option<MessageEnvelope> {
        let peer = self.in_job(rank)?;
        let channel = channel(self.id, (rank, rank), MPI_ACCESSES);
        Some(MessageEnvelope { channel, communicator: self.id, peer, tag: MPI_ACCESSES, bytes })
    }

    /// The locks of a member's window, or of all, that this member is not yet known to have.
    fn awaited_locks(&self, rank: i32) -> impl Iterator<Item = MessageEnvelope> {
        let awaited = self.locked.iter().filter(move |lock| is_about(lock, rank) && !lock.is_held);
        awaited.filter_map(|lock| self.lock(lock.rank, 0))
    }

    /// Accesses to a member's window, or to all, have begun, or are over.
    fn access(&mut self, rank: i32, are_over: bool) {
        for lock in self.locked.iter_mut().filter(|lock| is_about(lock, rank)) {
            lock.is_held |= are_over && lock.has_accessed;
            lock.has_accessed |= !are_over;
        }
    }

    /// The member has come to an operation with its neighbours.
    pub(super) fn meets_neighbours(&self, mark: &mut impl FnMut(RawMark)) {
        let [_, to] = &self.neighbours;
        for message in to.iter().filter_map(|&rank| self.order(rank, MPI_NEIGHBOUR, true)) {
            mark(RawMark::Message(EventKind::MessageSend(message)));
        }
    }

    /// The operation to which it came at a time is over: those have come that send to it.
    pub(super) fn met_neighbours(&self, (since, time): (Time, Time), mark: &mut impl FnMut(RawMark)) {
        let [from, _] = &self.neighbours;
        for message in from.iter().filter_map(|&rank| self.order(rank, MPI_NEIGHBOUR, false)) {
            mark(RawMark::Message(EventKind::MessageReceive { message, posted: time.since(since) }));
        }
    }

    /// The lock of a member's window.
    fn lock(&self, rank: i32, bytes: u64) -> Option<MessageEnvelope> {
        let peer = self.in_job(rank)?;
        let channel = channel(self.id, (rank, rank), MPI_LOCK);
        Some(MessageEnvelope { channel, communicator: self.id, peer, tag: MPI_LOCK, bytes })
    }
}

/// Whether a call for this member's window, or for all, is about a lock.
fn is_about(lock: &WindowLock, rank: i32) -> bool {
    rank == MPI_ANY || lock.rank == rank
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
        let mut meant = meant(vec![
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
        meant.retain(|(.., kind)| !matches!(kind, EventKind::MessageProbe(own) if own.tag == MPI_ACCESSES));
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

    #[test]
    fn a_call_may_wait_for_a_lock_until_one_that_ends_accesses_has_it() {
        let lock = |call, peer, bytes| AgentEvent::Communicates {
            call,
            communicator: 0x200,
            peer,
            tag: MPI_ANY,
            bytes,
            stack: RawStack::None,
        };
        let ended = || AgentEvent::Communicated(ends(0, MPI_ANY, MPI_ANY));
        let mut events = vec![
            (1, FIRST, world(0)),
            (2, FIRST, AgentEvent::Window { window: 0x200, communicator: WORLD }),
            (10, FIRST, lock(MpiCall::LockWindow, MPI_ANY, 0)),
            (11, FIRST, ended()),
        ];
        let mut time = 100_000;
        for (call, peer) in [
            (MpiCall::Flush, 0),
            (MpiCall::Put, 1),
            (MpiCall::Flush, MPI_ANY),
            (MpiCall::Flush, 1),
            (MpiCall::UnlockWindow, MPI_ANY),
        ] {
            events.push((time, FIRST, lock(call, peer, 8)));
            events.push((time + SHORTEST_WAIT, FIRST, ended()));
            time += 100_000;
        }
        let found: Vec<(u64, u32)> = meant(events)
            .iter()
            .filter_map(|&(time, _, kind)| match kind {
                EventKind::MessageProbe(probed) if probed.tag == MPI_LOCK => {
                    Some((time / 100_000, probed.peer))
                }
                _ => None,
            })
            .collect();
        // The third call has the lock of rank 1 at last; of rank 0 nothing was accessed before.
        assert_eq!(found, [(1, 0), (2, 1), (3, 0), (3, 1), (5, 0)]);
    }
}
