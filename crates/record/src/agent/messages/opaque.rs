//! Calls of which it is not known for whom they wait: of functions that are not followed, of those that complete what such a function
//! began, and on communicators that are not known. Their time is no work of the program: so they are told by name.

use longpole_event::{EventKind, MPI_NOT_UNDERSTOOD, MessageEnvelope};
use longpole_ring::MpiCall;

use super::{EnteredCall, Messages, hash};
use crate::raw::{KernelTask, RawMark};

/// Tells a function's id from those of communicators.
const FUNCTION: u64 = 0x4e;

/// The call that the thread is in waits for something that a function of this id is about.
pub(super) fn waits(function: u64, mark: &mut impl FnMut(RawMark)) {
    let message = MessageEnvelope {
        channel: function,
        communicator: function,
        peer: 0,
        tag: MPI_NOT_UNDERSTOOD,
        bytes: 0,
    };
    mark(RawMark::Message(EventKind::MessageProbe(message)));
}

/// The same of a call of this kind on a communicator that is not known.
pub(super) fn waits_unknown(call: MpiCall, mark: &mut impl FnMut(RawMark)) {
    let function = unknown(call, mark);
    waits(function, mark);
}

/// The id of calls of this kind on communicators that are not known.
pub(super) fn unknown(call: MpiCall, mark: &mut impl FnMut(RawMark)) -> u64 {
    use MpiCall::{
        Access, BeginReceive, BeginSend, EndAccess, EndExposure, Expose, Flush, Get, LockWindow,
        PrepareReceive, PrepareSend, Probe, Put, Receive, Send, Swap, UnlockWindow,
    };
    let name = match call {
        Send | BeginSend | PrepareSend => "a send on an unknown communicator",
        Receive | BeginReceive | PrepareReceive | Probe => "a receive on an unknown communicator",
        Access | EndAccess | Expose | EndExposure | LockWindow | UnlockWindow | Put | Get | Swap | Flush => {
            "an access to an unknown window"
        }
        _ => "an operation on an unknown communicator",
    };
    named(name, mark)
}

/// The id of what has this name.
fn named(name: &str, mark: &mut impl FnMut(RawMark)) -> u64 {
    let letters = name.bytes().map(u64::from);
    let function = hash(&std::iter::once(FUNCTION).chain(letters).collect::<Vec<_>>());
    mark(RawMark::CommunicatorName { communicator: function, name: name.to_owned() });
    function
}

impl Messages {
    /// The call that the thread is in is of a function of which only the name is known.
    pub(super) fn name_call(&mut self, task: KernelTask, name: &str, mark: &mut impl FnMut(RawMark)) {
        let Some(call) = self.calls.get_mut(&task).filter(|call| call.call == MpiCall::NotUnderstood) else {
            return;
        };
        let function = named(name, mark);
        call.communicator = function;
        waits(function, mark);
    }

    /// The thread enters a call on a communicator or window that is not known, if it is on one.
    pub(super) fn enter_unknown(call: EnteredCall, mark: &mut impl FnMut(RawMark)) {
        use MpiCall::{Complete, Free, NotUnderstood, Start, TakeMessage};
        let is_on_one = !matches!(call.call, Complete | Free | NotUnderstood | Start | TakeMessage);
        if is_on_one {
            waits_unknown(call.call, mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_ring::MPI_ANY;

    use super::super::tests::{FIRST, begins, ends, meant, world};
    use super::*;
    use crate::agent::AgentEvent;

    /// When calls are not understood, and of what.
    fn waits(events: Vec<(u64, KernelTask, AgentEvent)>) -> Vec<(u64, u64)> {
        let meant = meant(events);
        let waits = meant.iter().filter_map(|&(time, _, kind)| match kind {
            EventKind::MessageProbe(probed) if probed.tag == MPI_NOT_UNDERSTOOD => {
                Some((time, probed.communicator))
            }
            _ => None,
        });
        waits.collect()
    }

    #[test]
    fn a_call_that_is_not_understood_waits_and_so_does_the_one_that_completes_what_it_began() {
        let name = || AgentEvent::NamesCall { name: "MPI_File_iwrite_all".to_owned() };
        let found = waits(vec![
            (1, FIRST, world(0)),
            (10, FIRST, begins(MpiCall::NotUnderstood, MPI_ANY, MPI_ANY)),
            (11, FIRST, name()),
            (12, FIRST, AgentEvent::Communicated(ends(0x77, MPI_ANY, MPI_ANY))),
            (20, FIRST, begins(MpiCall::Complete, MPI_ANY, MPI_ANY)),
            (29, FIRST, AgentEvent::Completes(ends(0x77, MPI_ANY, MPI_ANY))),
        ]);
        let [(11, begun), (29, completed)] = found[..] else { panic!("{found:?}") };
        assert_eq!(begun, completed);
    }

    #[test]
    fn calls_on_a_communicator_that_is_not_known_are_not_understood() {
        let calls = |is_known: bool| {
            let mut events = vec![
                (10, FIRST, begins(MpiCall::AllToAll, 0, MPI_ANY)),
                (19, FIRST, AgentEvent::Communicated(ends(0, MPI_ANY, MPI_ANY))),
                (20, FIRST, begins(MpiCall::BeginReceive, 1, 7)),
                (21, FIRST, AgentEvent::Communicated(ends(0x77, MPI_ANY, MPI_ANY))),
                (30, FIRST, begins(MpiCall::Complete, MPI_ANY, MPI_ANY)),
                (39, FIRST, AgentEvent::Completes(ends(0x77, 1, 7))),
            ];
            if is_known {
                events.insert(0, (1, FIRST, world(0)));
            }
            waits(events).iter().map(|&(time, _)| time).collect::<Vec<_>>()
        };
        assert_eq!(calls(false), [10, 20, 39]);
        assert_eq!(calls(true), Vec::<u64>::new());
    }
}
