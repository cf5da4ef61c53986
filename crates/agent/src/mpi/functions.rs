//! The table of MPI's functions: one line makes the hook of each.
//!
//! Each hook passes the caller's arguments to the real function, under the caller's own promises about them: that is why
//! its calls are safe.
#![allow(clippy::undocumented_unsafe_blocks, non_snake_case)]

use core::ffi::c_int;

use longpole_ring::MpiCall;

use super::Word;
use super::abi::{OwnStatus, STATUS_WORDS, StatusValues};
use super::call::{CallArguments, ToldCall};

/// `MPI_ERR_OTHER`: what a hook gives where no library has the function, which then nobody can have called.
const MISSING: c_int = 15;
/// Requests of one call whose statuses are read.
const MOST_STATUSES: usize = 64;
/// Requests of one call of which some may be complete.
const MOST_REQUESTS: usize = 128;

/// Makes hooks. What a function does is one of the shapes below; names in braces are of its arguments.
macro_rules! mpi {
    ($( fn $name:ident($($argument:ident),*) $shape:ident { $($field:ident: $value:tt),* $(,)? } )*) => {$(
        /// As MPI defines it.
        ///
        /// # Safety
        /// As the function of this name.
        #[cfg_attr(feature = "preload", unsafe(no_mangle))]
        #[inline(never)]
        pub unsafe extern "C-unwind" fn $name($($argument: Word),*) -> c_int {
            type Function = unsafe extern "C-unwind" fn($(mpi!(@word $argument)),*) -> c_int;
            static ENTRY: $crate::openmp::entry::EntryPoint =
                $crate::openmp::entry::EntryPoint::new($crate::real::text(concat!(stringify!($name), "\0")));
            let at = $crate::frame!();
            let Some((real, _)) = (unsafe { ENTRY.find::<Function>(at.caller()) }) else { return MISSING };
            let Some(told) = ToldCall::new(at) else { return unsafe { real($($argument),*) } };
            mpi!(@$shape told, at, real, ($($argument),*), { $($field: $value),* })
        }
    )*};
    (@word $argument:ident) => { Word };
    // Sends, and begins to send where it makes a request.
    (@send $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { count: $count:expr, datatype: $datatype:expr, peer: $peer:expr, tag: $tag:expr, communicator: $communicator:expr }) => {{
        let bytes = $told.bytes($count, $datatype);
        let (peer, tag) = ($told.abi.rank($peer), $told.abi.tag($tag));
        $told.enters(CallArguments { call: MpiCall::Send, communicator: $communicator, peer, tag, bytes }, $at);
        let result = unsafe { $real($($argument),*) };
        $told.leaves(result, 0, StatusValues::UNKNOWN);
        result
    }};
    (@begin_send $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { count: $count:expr, datatype: $datatype:expr, peer: $peer:expr, tag: $tag:expr, communicator: $communicator:expr, request: $request:expr }) => {{
        let bytes = $told.bytes($count, $datatype);
        let (peer, tag) = ($told.abi.rank($peer), $told.abi.tag($tag));
        $told.enters(CallArguments { call: MpiCall::BeginSend, communicator: $communicator, peer, tag, bytes }, $at);
        let result = unsafe { $real($($argument),*) };
        $told.leaves(result, unsafe { $told.abi.read_handle($request, 0) }, StatusValues::UNKNOWN);
        result
    }};
    (@begin_receive $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { peer: $peer:expr, tag: $tag:expr, communicator: $communicator:expr, request: $request:expr }) => {{
        let (peer, tag) = ($told.abi.rank($peer), $told.abi.tag($tag));
        $told.enters(CallArguments { call: MpiCall::BeginReceive, communicator: $communicator, peer, tag, bytes: 0 }, $at);
        let result = unsafe { $real($($argument),*) };
        $told.leaves(result, unsafe { $told.abi.read_handle($request, 0) }, StatusValues::UNKNOWN);
        result
    }};
    // Posts the receive, then sends, and waits for both: two calls, the first of which takes no time. Which of both the thread
    // waits for last it cannot tell: so nothing is said of when the send is over.
    (@send_receive $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { count: $count:tt, datatype: $datatype:tt, to: $to:tt, sent: $sent:tt, from: $from:tt, received: $received:tt, communicator: $communicator:tt, status: $status:ident }) => {{
        let mut own: OwnStatus = [0; STATUS_WORDS];
        let request = (&raw const own) as u64;
        let (peer, tag) = ($told.abi.rank($from), $told.abi.tag($received));
        $told.enters(CallArguments { call: MpiCall::BeginReceive, communicator: $communicator, peer, tag, bytes: 0 }, $at);
        $told.ends(0, request, StatusValues::UNKNOWN);
        let bytes = $told.bytes($count, $datatype);
        let (peer, tag) = ($told.abi.rank($to), $told.abi.tag($sent));
        $told.enters(CallArguments { call: MpiCall::BeginSend, communicator: $communicator, peer, tag, bytes }, $at);
        let $status = $told.abi.status_or($status, &raw mut own);
        let result = unsafe { $real($($argument),*) };
        if result == 0 {
            $told.completes(request, unsafe { $told.abi.read_status($status, 0) });
        }
        $told.leaves(result, 0, StatusValues::UNKNOWN);
        result
    }};
    // A look whether a request is complete is told where it is: others are many.
    (@test $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { request: $request:tt, flag: $flag:tt, status: $status:ident }) => {{
        let request = unsafe { $told.abi.read_handle($request, 0) };
        let mut own: OwnStatus = [0; STATUS_WORDS];
        let $status = $told.abi.status_or($status, &raw mut own);
        let result = unsafe { $real($($argument),*) };
        if result == 0 && unsafe { *($flag as *const c_int) } != 0 {
            $told.enters(CallArguments::of(MpiCall::Complete, 0), $at);
            $told.completes(request, unsafe { $told.abi.read_status($status, 0) });
            $told.ends(result, 0, StatusValues::UNKNOWN);
        }
        $told.is_over();
        result
    }};
    // Receives, or waits for a message that is to be received.
    (@receive $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { call: $call:ident, peer: $peer:expr, tag: $tag:expr, communicator: $communicator:expr, status: $status:ident }) => {{
        let (peer, tag) = ($told.abi.rank($peer), $told.abi.tag($tag));
        $told.enters(CallArguments { call: MpiCall::$call, communicator: $communicator, peer, tag, bytes: 0 }, $at);
        let mut own: OwnStatus = [0; STATUS_WORDS];
        let $status = $told.abi.status_or($status, &raw mut own);
        let result = unsafe { $real($($argument),*) };
        $told.leaves(result, 0, unsafe { $told.abi.read_status($status, 0) });
        result
    }};
    (@collective $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { call: $call:ident, communicator: $communicator:expr, root: $root:expr }) => {{
        let peer = ($root as u32).cast_signed();
        $told.enters(CallArguments { peer, ..CallArguments::of(MpiCall::$call, $communicator) }, $at);
        let result = unsafe { $real($($argument),*) };
        $told.leaves(result, 0, StatusValues::UNKNOWN);
        result
    }};
    (@initialise $told:ident, $at:ident, $real:ident, ($($argument:ident),*), {}) => {{
        let result = unsafe { $real($($argument),*) };
        if result == 0 {
            $told.tell_world();
        }
        $told.is_over();
        result
    }};
    (@finalise $told:ident, $at:ident, $real:ident, ($($argument:ident),*), {}) => {{
        $told.enters(CallArguments::of(MpiCall::AllToAll, $told.world().unwrap_or(0)), $at);
        let result = unsafe { $real($($argument),*) };
        $told.leaves(result, 0, StatusValues::UNKNOWN);
        result
    }};
    // Every member of the parent takes part; some get no communicator.
    (@makes_communicator $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { parent: $parent:expr, made: $made:expr }) => {{
        $told.enters(CallArguments::of(MpiCall::AllToAll, $parent), $at);
        let result = unsafe { $real($($argument),*) };
        if result == 0 {
            unsafe { $told.tell_made($made, $parent) };
        }
        $told.leaves(result, 0, StatusValues::UNKNOWN);
        result
    }};
    (@wait $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { request: $request:expr, status: $status:ident }) => {{
        let request = unsafe { $told.abi.read_handle($request, 0) };
        $told.enters(CallArguments::of(MpiCall::Complete, 0), $at);
        let mut own: OwnStatus = [0; STATUS_WORDS];
        let $status = $told.abi.status_or($status, &raw mut own);
        let result = unsafe { $real($($argument),*) };
        if result == 0 {
            $told.completes(request, unsafe { $told.abi.read_status($status, 0) });
        }
        $told.leaves(result, 0, StatusValues::UNKNOWN);
        result
    }};
    (@wait_all $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { count: $count:expr, requests: $requests:expr, statuses: $statuses:ident }) => {{
        let count = ($count as u32).cast_signed().max(0) as usize;
        let mut waited = [0; MOST_STATUSES];
        let kept = count.min(MOST_STATUSES);
        for (index, request) in waited[..kept].iter_mut().enumerate() {
            *request = unsafe { $told.abi.read_handle($requests, index) };
        }
        $told.enters(CallArguments::of(MpiCall::Complete, 0), $at);
        // Of more requests than there is room for the sources are those that were asked for.
        for index in kept..count {
            $told.completes(unsafe { $told.abi.read_handle($requests, index) }, StatusValues::UNKNOWN);
        }
        let mut own: [OwnStatus; MOST_STATUSES] = [[0; STATUS_WORDS]; MOST_STATUSES];
        let is_read = !$told.abi.is_ignored($statuses) || count <= MOST_STATUSES;
        let $statuses =
            if $told.abi.is_ignored($statuses) && is_read { (&raw mut own) as Word } else { $statuses };
        let result = unsafe { $real($($argument),*) };
        for (index, &request) in waited[..kept].iter().enumerate() {
            let status =
                if is_read { unsafe { $told.abi.read_status($statuses, index) } } else { StatusValues::UNKNOWN };
            $told.completes(request, status);
        }
        $told.leaves(result, 0, StatusValues::UNKNOWN);
        result
    }};
    (@wait_any $told:ident, $at:ident, $real:ident, ($($argument:ident),*), { count: $count:expr, requests: $requests:expr, index: $index:expr, status: $status:ident }) => {{
        let count = ($count as u32).cast_signed().max(0) as usize;
        let mut waited = [0; MOST_REQUESTS];
        for (index, request) in waited.iter_mut().enumerate().take(count) {
            *request = unsafe { $told.abi.read_handle($requests, index) };
        }
        $told.enters(CallArguments::of(MpiCall::Complete, 0), $at);
        let mut own: OwnStatus = [0; STATUS_WORDS];
        let $status = $told.abi.status_or($status, &raw mut own);
        let result = unsafe { $real($($argument),*) };
        if let Some(&request) = usize::try_from(unsafe { *($index as *const c_int) })
            .ok()
            .and_then(|index| waited.get(index))
        {
            $told.completes(request, unsafe { $told.abi.read_status($status, 0) });
        }
        $told.leaves(result, 0, StatusValues::UNKNOWN);
        result
    }};
}

mpi! {
    fn MPI_Init(count, arguments) initialise {}
    fn MPI_Init_thread(count, arguments, required, provided) initialise {}
    fn MPI_Finalize() finalise {}

    fn MPI_Send(buffer, count, datatype, peer, tag, communicator) send {
        count: count, datatype: datatype, peer: peer, tag: tag, communicator: communicator
    }
    fn MPI_Ssend(buffer, count, datatype, peer, tag, communicator) send {
        count: count, datatype: datatype, peer: peer, tag: tag, communicator: communicator
    }
    fn MPI_Bsend(buffer, count, datatype, peer, tag, communicator) send {
        count: count, datatype: datatype, peer: peer, tag: tag, communicator: communicator
    }
    fn MPI_Rsend(buffer, count, datatype, peer, tag, communicator) send {
        count: count, datatype: datatype, peer: peer, tag: tag, communicator: communicator
    }
    fn MPI_Isend(buffer, count, datatype, peer, tag, communicator, request) begin_send {
        count: count, datatype: datatype, peer: peer, tag: tag, communicator: communicator, request: request
    }
    fn MPI_Issend(buffer, count, datatype, peer, tag, communicator, request) begin_send {
        count: count, datatype: datatype, peer: peer, tag: tag, communicator: communicator, request: request
    }
    fn MPI_Ibsend(buffer, count, datatype, peer, tag, communicator, request) begin_send {
        count: count, datatype: datatype, peer: peer, tag: tag, communicator: communicator, request: request
    }
    fn MPI_Irsend(buffer, count, datatype, peer, tag, communicator, request) begin_send {
        count: count, datatype: datatype, peer: peer, tag: tag, communicator: communicator, request: request
    }
    fn MPI_Recv(buffer, count, datatype, peer, tag, communicator, status) receive {
        call: Receive, peer: peer, tag: tag, communicator: communicator, status: status
    }
    fn MPI_Sendrecv(buffer, count, datatype, to, sent, into, room, kind, from, received, communicator, status) send_receive {
        count: count, datatype: datatype, to: to, sent: sent, from: from, received: received, communicator: communicator, status: status
    }
    fn MPI_Sendrecv_replace(buffer, count, datatype, to, sent, from, received, communicator, status) send_receive {
        count: count, datatype: datatype, to: to, sent: sent, from: from, received: received, communicator: communicator, status: status
    }
    fn MPI_Test(request, flag, status) test { request: request, flag: flag, status: status }
    fn MPI_Probe(peer, tag, communicator, status) receive {
        call: Probe, peer: peer, tag: tag, communicator: communicator, status: status
    }
    fn MPI_Irecv(buffer, count, datatype, peer, tag, communicator, request) begin_receive {
        peer: peer, tag: tag, communicator: communicator, request: request
    }
    fn MPI_Wait(request, status) wait { request: request, status: status }
    fn MPI_Waitall(count, requests, statuses) wait_all { count: count, requests: requests, statuses: statuses }
    fn MPI_Waitany(count, requests, index, status) wait_any {
        count: count, requests: requests, index: index, status: status
    }

    fn MPI_Barrier(communicator) collective { call: AllToAll, communicator: communicator, root: 0_usize }
    fn MPI_Allreduce(send, receive, count, datatype, operation, communicator) collective {
        call: AllToAll, communicator: communicator, root: 0_usize
    }
    fn MPI_Alltoall(send, sends, sent, receive, receives, received, communicator) collective {
        call: AllToAll, communicator: communicator, root: 0_usize
    }
    fn MPI_Alltoallv(send, sends, from, sent, receive, receives, to, received, communicator) collective {
        call: AllToAll, communicator: communicator, root: 0_usize
    }
    fn MPI_Alltoallw(send, sends, from, sent, receive, receives, to, received, communicator) collective {
        call: AllToAll, communicator: communicator, root: 0_usize
    }
    fn MPI_Allgather(send, sends, sent, receive, receives, received, communicator) collective {
        call: AllToAll, communicator: communicator, root: 0_usize
    }
    fn MPI_Allgatherv(send, sends, sent, receive, receives, to, received, communicator) collective {
        call: AllToAll, communicator: communicator, root: 0_usize
    }
    fn MPI_Reduce_scatter(send, receive, counts, datatype, operation, communicator) collective {
        call: AllToAll, communicator: communicator, root: 0_usize
    }
    fn MPI_Reduce_scatter_block(send, receive, count, datatype, operation, communicator) collective {
        call: AllToAll, communicator: communicator, root: 0_usize
    }
    fn MPI_Bcast(buffer, count, datatype, root, communicator) collective {
        call: FromRoot, communicator: communicator, root: root
    }
    fn MPI_Scatter(send, sends, sent, receive, receives, received, root, communicator) collective {
        call: FromRoot, communicator: communicator, root: root
    }
    fn MPI_Scatterv(send, sends, from, sent, receive, receives, received, root, communicator) collective {
        call: FromRoot, communicator: communicator, root: root
    }
    fn MPI_Reduce(send, receive, count, datatype, operation, root, communicator) collective {
        call: ToRoot, communicator: communicator, root: root
    }
    fn MPI_Gather(send, sends, sent, receive, receives, received, root, communicator) collective {
        call: ToRoot, communicator: communicator, root: root
    }
    fn MPI_Gatherv(send, sends, sent, receive, receives, to, received, root, communicator) collective {
        call: ToRoot, communicator: communicator, root: root
    }
    fn MPI_Scan(send, receive, count, datatype, operation, communicator) collective {
        call: Prefix, communicator: communicator, root: 0_usize
    }
    fn MPI_Exscan(send, receive, count, datatype, operation, communicator) collective {
        call: Prefix, communicator: communicator, root: 0_usize
    }

    fn MPI_Comm_dup(communicator, made) makes_communicator { parent: communicator, made: made }
    fn MPI_Comm_split(communicator, colour, key, made) makes_communicator { parent: communicator, made: made }
    fn MPI_Comm_create(communicator, group, made) makes_communicator { parent: communicator, made: made }
}
