//! What a hook of each kind of function does around the real one, which it is handed as `call`.
//!
//! The arguments are the caller's, under its own promises about them, as the function's definition has them: that is why reading
//! what they point to is safe.
//!
//! They stand apart from the hooks: each of these is in hundreds of hooks, and a copy in each would make the library twice as large.
#![allow(clippy::undocumented_unsafe_blocks)]

use core::ffi::c_int;
use core::mem::MaybeUninit;

use longpole_ring::MpiCall;

use super::Word;
use super::abi::{OwnStatus, STATUS_WORDS, StatusValues};
use super::call::{CallArguments, ToldCall};
use super::polls;
use crate::stack::HookFrame;

/// Requests of one call that are followed.
const MOST_REQUESTS: usize = 512;
/// Requests for which there is room on the stack without a sampled stack ending there.
const USUAL_REQUESTS: usize = 48;

/// Where the call of a hook was made.
pub(super) type HookedCall = (ToldCall, HookFrame);

/// A call that passes a message, or begins to.
pub(super) struct MessageArguments {
    pub(super) call: MpiCall,
    /// Elements, and of what; zeroes where nothing is sent.
    pub(super) count: Word,
    pub(super) datatype: Word,
    pub(super) peer: Word,
    pub(super) tag: Word,
    pub(super) communicator: Word,
}

impl MessageArguments {
    /// As the agent tells them.
    fn told(&self, told: ToldCall) -> CallArguments {
        CallArguments {
            call: self.call,
            communicator: told.communicator(self.communicator),
            peer: told.rank(self.peer),
            tag: told.tag(self.tag),
            bytes: if self.datatype == 0 { 0 } else { told.bytes(Some(self.count), self.datatype) },
        }
    }
}

/// Sends; or begins to send, to receive, or what is started later, where there is a place for a request.
#[inline(never)]
pub(super) fn message(
    (told, at): HookedCall,
    arguments: &MessageArguments,
    request: Option<Word>,
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    told.enters(arguments.told(told), at);
    let result = call();
    told.leaves(result, request.map_or(0, |request| told.request(request, 0)), StatusValues::UNKNOWN);
    result
}

/// Receives.
#[inline(never)]
pub(super) fn receive(
    (told, at): HookedCall,
    arguments: &MessageArguments,
    status: Word,
    call: &mut dyn FnMut(Word) -> c_int,
) -> c_int {
    told.enters(arguments.told(told), at);
    let mut own: OwnStatus = [0; STATUS_WORDS];
    let status = told.status_or(status, &raw mut own);
    let result = call(status);
    told.leaves(result, 0, unsafe { told.abi.read_status(status, 0) });
    result
}

/// The receiving half of a call that also sends.
pub(super) struct ReceivedHalf {
    pub(super) peer: Word,
    pub(super) tag: Word,
    pub(super) status: Word,
}

/// Posts the receive, then sends, and waits for both: two calls, the first of which takes no time. Which of both the thread
/// waits for last it cannot tell: so nothing is said of when the send is over.
#[inline(never)]
pub(super) fn send_receive(
    (told, at): HookedCall,
    sent: &MessageArguments,
    received: &ReceivedHalf,
    call: &mut dyn FnMut(Word) -> c_int,
) -> c_int {
    let mut own: OwnStatus = [0; STATUS_WORDS];
    let request = (&raw const own) as u64;
    let arguments = CallArguments {
        call: MpiCall::BeginReceive,
        communicator: told.communicator(sent.communicator),
        peer: told.rank(received.peer),
        tag: told.tag(received.tag),
        bytes: 0,
    };
    told.enters(arguments, at);
    told.ends(0, request, StatusValues::UNKNOWN);
    told.enters(sent.told(told), at);
    let status = told.status_or(received.status, &raw mut own);
    let result = call(status);
    if result == 0 {
        told.completes(request, unsafe { told.abi.read_status(status, 0) });
    }
    told.leaves(result, 0, StatusValues::UNKNOWN);
    result
}

/// Meets the other members of a communicator; or begins to, where there is a place for a request.
#[inline(never)]
pub(super) fn meet(
    (told, at): HookedCall,
    call_kind: MpiCall,
    (communicator, root): (Word, Option<Word>),
    request: Option<Word>,
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let peer = root.map_or(0, |root| told.number(root));
    let communicator = told.communicator(communicator);
    told.enters(CallArguments { peer, ..CallArguments::of(call_kind, communicator) }, at);
    let result = call();
    told.leaves(result, request.map_or(0, |request| told.request(request, 0)), StatusValues::UNKNOWN);
    result
}

/// Which of the requests are complete when a call is over.
pub(super) enum CompleteOnes {
    /// All.
    All,
    /// The one with the index that the call writes there.
    One(Word),
    /// As many as it writes there, with indices there.
    Some(Word, Word),
}

/// A call that waits for requests, or looks whether they are complete.
pub(super) struct CompletedRequests {
    pub(super) count: usize,
    pub(super) requests: Word,
    /// Where a call that only looks says whether it found what it looked for; 0 of those that wait.
    pub(super) flag: Word,
    pub(super) which: CompleteOnes,
    pub(super) statuses: Word,
    /// They are messages that were found before, not requests.
    pub(super) are_messages: bool,
}

/// Waits, or looks.
#[inline(never)]
pub(super) fn complete(
    hooked: HookedCall,
    completed: &CompletedRequests,
    call: &mut dyn FnMut(Word) -> c_int,
) -> c_int {
    match completed.count {
        0..=1 => complete_up_to::<1>(hooked, completed, call),
        2..=USUAL_REQUESTS => complete_up_to::<USUAL_REQUESTS>(hooked, completed, call),
        _ => complete_up_to::<MOST_REQUESTS>(hooked, completed, call),
    }
}

/// The same of this many requests at most. A frame of its own: what is kept of the stack begins at the hook's.
#[inline(never)]
fn complete_up_to<const MOST: usize>(
    (told, at): HookedCall,
    completed: &CompletedRequests,
    call: &mut dyn FnMut(Word) -> c_int,
) -> c_int {
    let CompletedRequests { count, requests, flag, ref which, statuses, are_messages } = *completed;
    let handle =
        |index| if are_messages { told.message(requests, index) } else { told.request(requests, index) };
    let mut waited = [const { MaybeUninit::<u64>::uninit() }; MOST];
    let kept = count.min(MOST);
    for (index, request) in waited[..kept].iter_mut().enumerate() {
        request.write(handle(index));
    }
    // Those before `kept` are written.
    let waited = |index: usize| (index < kept).then(|| unsafe { waited[index].assume_init() });
    let looks = flag != 0;
    let before = told.now();
    let arguments =
        CallArguments { bytes: waited(0).unwrap_or(0), ..CallArguments::of(MpiCall::Complete, 0) };
    if !looks {
        told.enters(arguments, at);
        if matches!(which, CompleteOnes::All) {
            // Of more requests than there is room for the sources are those that were asked for.
            for index in kept..count {
                told.completes(handle(index), StatusValues::UNKNOWN);
            }
        }
    }
    let mut own = MaybeUninit::<[OwnStatus; MOST]>::uninit();
    let is_ignored = told.is_ignored(statuses);
    let is_read = !is_ignored || kept == count;
    let statuses = if is_ignored && is_read { own.as_mut_ptr() as Word } else { statuses };
    let result = call(statuses);
    let is_found = result == 0 && (!looks || unsafe { *(flag as *const c_int) } != 0);
    if looks {
        let is_some = match *which {
            CompleteOnes::Some(many, _) => unsafe { *(many as *const c_int) > 0 },
            _ => is_found,
        };
        if !polls::looked((told, at), arguments, before, is_some && result == 0) {
            told.is_over();
            return result;
        }
    }
    let status = |index: usize| {
        if is_read { unsafe { told.abi.read_status(statuses, index) } } else { StatusValues::UNKNOWN }
    };
    let tell = |index: usize, at: usize| {
        if let Some(request) = waited(index) {
            told.completes(request, status(at));
        }
    };
    if is_found {
        match *which {
            CompleteOnes::All => (0..kept).for_each(|index| tell(index, index)),
            CompleteOnes::One(index) => {
                told.index(unsafe { *(index as *const c_int) }).into_iter().for_each(|index| tell(index, 0));
            }
            CompleteOnes::Some(many, indices) => {
                let many = usize::try_from(unsafe { *(many as *const c_int) }).unwrap_or(0).min(count);
                for at in 0..many {
                    let index = told.index(unsafe { *(indices as *const c_int).add(at) });
                    index.into_iter().for_each(|index| tell(index, at));
                }
            }
        }
    }
    told.leaves(result, 0, StatusValues::UNKNOWN);
    result
}

/// What a probe writes where it has found a message: a flag, of one that only looks; and a handle, of one that takes the
/// message; zeroes where it does not.
pub(super) struct ProbedMessage {
    pub(super) flag: Word,
    pub(super) message: Word,
    pub(super) status: Word,
}

/// Waits for a message that is to be received later, or looks for one.
#[inline(never)]
pub(super) fn probe(
    (told, at): HookedCall,
    arguments: &MessageArguments,
    probed: &ProbedMessage,
    call: &mut dyn FnMut(Word) -> c_int,
) -> c_int {
    let ProbedMessage { flag, message, status } = *probed;
    let arguments = arguments.told(told);
    let before = told.now();
    if flag == 0 {
        told.enters(arguments, at);
    }
    let mut own: OwnStatus = [0; STATUS_WORDS];
    let status = told.status_or(status, &raw mut own);
    let result = call(status);
    let is_found = result == 0 && (flag == 0 || unsafe { *(flag as *const c_int) } != 0);
    if flag != 0 && !polls::looked((told, at), arguments, before, is_found) {
        told.is_over();
        return result;
    }
    if is_found {
        let handle = if message == 0 { 0 } else { told.message(message, 0) };
        told.probed(arguments.communicator, handle, unsafe { told.abi.read_status(status, 0) });
    }
    told.leaves(result, 0, StatusValues::UNKNOWN);
    result
}

/// Begins to receive a message that a probe has taken.
#[inline(never)]
pub(super) fn take_message(
    (told, at): HookedCall,
    (message, request): (Word, Word),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let bytes = told.message(message, 0);
    told.enters(CallArguments { bytes, ..CallArguments::of(MpiCall::TakeMessage, 0) }, at);
    let result = call();
    told.leaves(result, told.request(request, 0), StatusValues::UNKNOWN);
    result
}

/// Starts what was made before, as often as wanted.
#[inline(never)]
pub(super) fn start(
    (told, at): HookedCall,
    (count, requests): (usize, Word),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    told.enters(CallArguments::of(MpiCall::Start, 0), at);
    (0..count).for_each(|index| told.starts(told.request(requests, index)));
    let result = call();
    told.leaves(result, 0, StatusValues::UNKNOWN);
    result
}

/// Gives a request up: it completes unseen where it was begun.
#[inline(never)]
pub(super) fn free((told, at): HookedCall, request: Word, call: &mut dyn FnMut() -> c_int) -> c_int {
    let handle = told.request(request, 0);
    let result = call();
    if result == 0 {
        told.enters(CallArguments { bytes: handle, ..CallArguments::of(MpiCall::Free, 0) }, at);
        told.ends(result, 0, StatusValues::UNKNOWN);
    }
    told.is_over();
    result
}

/// A function of which nothing is known but that it may wait, or that it looks whether something has come where it has a flag.
/// It may make a request, of which no more is known.
#[inline(never)]
pub(super) fn not_understood(
    (told, at): HookedCall,
    name: &dyn Fn() -> &'static [u8],
    (request, flag): (Option<Word>, Option<Word>),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let arguments = CallArguments::of(MpiCall::NotUnderstood, 0);
    let before = told.now();
    if flag.is_none() {
        told.enters(arguments, at);
        told.names(name());
    }
    let result = call();
    if let Some(flag) = flag {
        let is_found = result == 0 && unsafe { *(flag as *const c_int) } != 0;
        if !polls::looked((told, at), arguments, before, is_found) {
            told.is_over();
            return result;
        }
        told.names(name());
    }
    told.leaves(result, request.map_or(0, |request| told.request(request, 0)), StatusValues::UNKNOWN);
    result
}

#[inline(never)]
pub(super) fn initialise((told, _): HookedCall, call: &mut dyn FnMut() -> c_int) -> c_int {
    let result = call();
    if result == 0 {
        told.tell_world();
    }
    told.is_over();
    result
}

pub(super) fn finalise((told, at): HookedCall, call: &mut dyn FnMut() -> c_int) -> c_int {
    pass((told, at), CallArguments::of(MpiCall::AllToAll, told.world().unwrap_or(0)), call)
}

/// Tells of the call with these arguments, and that it is over.
#[inline(never)]
pub(super) fn pass(
    (told, at): HookedCall,
    arguments: CallArguments,
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    told.enters(arguments, at);
    let result = call();
    told.leaves(result, 0, StatusValues::UNKNOWN);
    result
}

/// Every member of the parent takes part; some get no communicator.
#[inline(never)]
pub(super) fn make_communicator(
    (told, at): HookedCall,
    (parent, made): (Word, Word),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let parent = told.communicator(parent);
    told.enters(CallArguments::of(MpiCall::AllToAll, parent), at);
    let result = call();
    if result == 0 {
        told.tell_made(told.communicator_at(made), parent);
    }
    told.leaves(result, 0, StatusValues::UNKNOWN);
    result
}

/// What begins to receive sends nothing.
pub(super) const fn receives(call: MpiCall, peer: Word, tag: Word, communicator: Word) -> MessageArguments {
    MessageArguments { call, count: 0, datatype: 0, peer, tag, communicator }
}
