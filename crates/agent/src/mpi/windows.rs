//! What hooks of one-sided communication do around the real function: windows, and the calls that order accesses to them.
//!
//! ```text
//!   MPI_Win_post, MPI_Win_start         Communicates(expose or access)  Addresses(each of the group)  ── the real function ──
//!   MPI_Win_complete, MPI_Win_wait      Communicates(end of that)                                     ── the real function ──
//! ```
//! The accesses themselves are told with their length; they may wait where the lock of a window is taken late.
#![allow(clippy::undocumented_unsafe_blocks)]

use core::ffi::c_int;

use longpole_ring::MpiCall;

use super::Word;
use super::abi::StatusValues;
use super::call::CallArguments;
use super::polls;
use super::shapes::{HookedCall, pass};

/// All members of the communicator make it.
#[inline(never)]
pub(super) fn make(
    (told, at): HookedCall,
    (communicator, made): (Word, Word),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let communicator = told.communicator(communicator);
    told.enters(CallArguments::of(MpiCall::AllToAll, communicator), at);
    let result = call();
    if result == 0 {
        told.tell_window(told.window_at(made), communicator);
    }
    told.leaves(result, 0, StatusValues::UNKNOWN);
    result
}

/// All members give it up.
#[inline(never)]
pub(super) fn free((told, at): HookedCall, window: Word, call: &mut dyn FnMut() -> c_int) -> c_int {
    pass((told, at), CallArguments::of(MpiCall::AllToAll, told.window_at(window)), call)
}

/// Ends the accesses of all members. Where it is said to end none it is not told, by any member.
#[inline(never)]
pub(super) fn fence(
    (told, at): HookedCall,
    (assertion, window): (Word, Word),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    if told.abi.ends_no_access(told.number(assertion)) {
        let result = call();
        told.is_over();
        return result;
    }
    pass((told, at), CallArguments::of(MpiCall::AllToAll, told.window(window)), call)
}

/// Opens a window to a group, or begins to access the windows of one.
#[inline(never)]
pub(super) fn address(
    (told, at): HookedCall,
    kind: MpiCall,
    (group, window): (Word, Word),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let window = told.window(window);
    told.enters(CallArguments::of(kind, window), at);
    told.tell_addressed(told.group(group), window);
    let result = call();
    told.leaves(result, 0, StatusValues::UNKNOWN);
    result
}

/// Begins or ends what all members of the window are about.
#[inline(never)]
pub(super) fn of_window(
    (told, at): HookedCall,
    kind: MpiCall,
    window: Word,
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    pass((told, at), CallArguments::of(kind, told.window(window)), call)
}

/// Looks whether all others have ended their accesses.
#[inline(never)]
pub(super) fn test(
    (told, at): HookedCall,
    (window, flag): (Word, Word),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let before = told.now();
    let result = call();
    let is_found = result == 0 && unsafe { *(flag as *const c_int) } != 0;
    let arguments = CallArguments::of(MpiCall::EndExposure, told.window(window));
    if polls::looked((told, at), arguments, before, is_found) {
        told.leaves(result, 0, StatusValues::UNKNOWN);
    } else {
        told.is_over();
    }
    result
}

/// Locks the window of one member.
#[inline(never)]
pub(super) fn lock(
    (told, at): HookedCall,
    (kind, rank, window): (Word, Word, Word),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let bytes = u64::from(told.abi.is_exclusive(told.number(kind)));
    let peer = told.rank(rank);
    let arguments = CallArguments::of(MpiCall::LockWindow, told.window(window));
    pass((told, at), CallArguments { peer, bytes, ..arguments }, call)
}

/// Begins or ends what one member's window is about.
#[inline(never)]
pub(super) fn of_member(
    (told, at): HookedCall,
    kind: MpiCall,
    (rank, window): (Word, Word),
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let peer = told.rank(rank);
    let arguments = CallArguments::of(kind, told.window(window));
    pass((told, at), CallArguments { peer, ..arguments }, call)
}

/// An access to the window of a member.
pub(super) struct WindowAccess {
    /// Elements; one where there is no count.
    pub(super) count: Option<Word>,
    pub(super) datatype: Word,
    pub(super) rank: Word,
    pub(super) window: Word,
}

/// Accesses it; or begins to, where there is a place for a request.
#[inline(never)]
pub(super) fn access(
    (told, at): HookedCall,
    kind: MpiCall,
    access: &WindowAccess,
    request: Option<Word>,
    call: &mut dyn FnMut() -> c_int,
) -> c_int {
    let (peer, bytes) = (told.rank(access.rank), told.bytes(access.count, access.datatype));
    let arguments = CallArguments::of(kind, told.window(access.window));
    told.enters(CallArguments { peer, bytes, ..arguments }, at);
    let result = call();
    told.leaves(result, request.map_or(0, |request| told.request(request, 0)), StatusValues::UNKNOWN);
    result
}
