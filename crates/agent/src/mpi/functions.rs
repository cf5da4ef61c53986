//! The table of MPI's functions: one line makes the hooks of each, under the names by which C and Fortran call it.
//!
//! Open MPI's functions for `mpi_f08` call the ones behind `mpi_…_`, whose own names (`ompi_…_f`) are hooked too. MPICH's are
//! `mpi_…_f08_`, or `mpi_…_f08ts_` where there is a buffer, which comes in a descriptor; some of them call those of C.
//!
//! Each hook passes the caller's arguments to the real function, under the caller's own promises about them: that is why
//! its calls are safe.
#![allow(clippy::undocumented_unsafe_blocks, non_snake_case)]

use core::ffi::c_int;

use longpole_ring::MpiCall;

use super::Word;
use super::call::ToldCall;
use super::language::Language;
use super::shapes::{self, CompleteOnes, CompletedRequests, MessageArguments, ProbedMessage, ReceivedHalf};
use super::windows;

/// `MPI_ERR_OTHER`: what a hook gives where no library has the function, which then no program can have called.
const MISSING: c_int = 15;

/// Places of calls that each function remembers, where MPI is not loaded with the program.
const PLACES: usize = 4;

/// Makes hooks. What a function does is one of the shapes below, of its arguments.
macro_rules! mpi {
    ($( fn $name:ident $fortran:ident $inner:ident $modern:ident ($($argument:ident),*) = $shape:ident ($($detail:tt),* $(,)?); )*) => {$(
        mpi!(@c $name ($($argument),*) = $shape ($($detail),*));
        mpi!(@fortran $fortran ($($argument),*) = $shape ($($detail),*));
        mpi!(@fortran $inner ($($argument),*) = $shape ($($detail),*));
        mpi!(@fortran $modern ($($argument),*) = $shape ($($detail),*));
    )*};
    (@c $name:ident ($($argument:ident),*) = $shape:ident ($($detail:tt),*)) => {
        /// As MPI defines it.
        ///
        /// # Safety
        /// As the function of this name.
        #[cfg_attr(feature = "preload", unsafe(no_mangle))]
        #[inline(never)]
        pub unsafe extern "C-unwind" fn $name($($argument: Word),*) -> c_int {
            type Function = unsafe extern "C-unwind" fn($(mpi!(@word $argument)),*) -> c_int;
            static ENTRY: $crate::openmp::entry::EntryPoint<PLACES> =
                $crate::openmp::entry::EntryPoint::new($crate::real::text(concat!(stringify!($name), "\0")));
            let at = $crate::frame!();
            let Some((real, _)) = (unsafe { ENTRY.find::<Function>(at.caller()) }) else { return MISSING };
            let Some(told) = ToldCall::new(at, Language::C) else { return unsafe { real($($argument),*) } };
            let call = |$($argument: Word),*| unsafe { real($($argument),*) };
            mpi!(@$shape told, (told, at), call, ($($argument),*), ($($detail),*))
        }
    };
    // Arguments are where the program keeps them; the last one is where the result goes, if anywhere.
    (@fortran $name:ident ($($argument:ident),*) = $shape:ident ($($detail:tt),*)) => {
        /// As MPI defines it for Fortran.
        ///
        /// # Safety
        /// As the function of this name.
        #[cfg_attr(feature = "preload", unsafe(no_mangle))]
        #[inline(never)]
        pub unsafe extern "C-unwind" fn $name($($argument: Word,)* error: Word) {
            type Function = unsafe extern "C-unwind" fn($(mpi!(@word $argument),)* Word);
            static ENTRY: $crate::openmp::entry::EntryPoint<PLACES> =
                $crate::openmp::entry::EntryPoint::new($crate::real::text(concat!(stringify!($name), "\0")));
            let at = $crate::frame!();
            let Some((real, _)) = (unsafe { ENTRY.find::<Function>(at.caller()) }) else { return };
            let Some(told) = ToldCall::new(at, Language::Fortran) else {
                return unsafe { real($($argument,)* error) };
            };
            let call = |$($argument: Word),*| unsafe {
                real($($argument,)* error);
                if error == 0 { 0 } else { *(error as *const c_int) }
            };
            _ = mpi!(@$shape told, (told, at), call, ($($argument),*), ($($detail),*));
        }
    };
    (@word $argument:ident) => { Word };
    (@message $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($kind:ident, $count:tt, $datatype:tt, $peer:tt, $tag:tt, $communicator:tt)) => {
        mpi!(@begin $told, $at, $call, ($($argument),*), ($kind, $count, $datatype, $peer, $tag, $communicator, None))
    };
    (@begin $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($kind:ident, $count:tt, $datatype:tt, $peer:tt, $tag:tt, $communicator:tt, $request:tt)) => {{
        let arguments = MessageArguments {
            call: MpiCall::$kind, count: $count, datatype: $datatype, peer: $peer, tag: $tag, communicator: $communicator
        };
        shapes::message($at, &arguments, mpi!(@option $request), &mut || $call($($argument),*))
    }};
    (@begin_receive $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($kind:ident, $peer:tt, $tag:tt, $communicator:tt, $request:tt)) => {
        shapes::message($at, &shapes::receives(MpiCall::$kind, $peer, $tag, $communicator), Some($request), &mut || $call($($argument),*))
    };
    (@receive $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($peer:tt, $tag:tt, $communicator:tt, $status:tt)) => {
        shapes::receive($at, &shapes::receives(MpiCall::Receive, $peer, $tag, $communicator), $status, &mut |$status| $call($($argument),*))
    };
    (@send_receive $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($count:tt, $datatype:tt, $to:tt, $sent:tt, $from:tt, $received:tt, $communicator:tt, $status:tt)) => {{
        let sent = MessageArguments {
            call: MpiCall::BeginSend, count: $count, datatype: $datatype, peer: $to, tag: $sent, communicator: $communicator
        };
        let received = ReceivedHalf { peer: $from, tag: $received, status: $status };
        shapes::send_receive($at, &sent, &received, &mut |$status| $call($($argument),*))
    }};
    (@probe $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($peer:tt, $tag:tt, $communicator:tt, $flag:tt, $message:tt, $status:tt)) => {{
        let arguments = shapes::receives(MpiCall::Probe, $peer, $tag, $communicator);
        let probed = ProbedMessage { flag: $flag, message: $message, status: $status };
        shapes::probe($at, &arguments, &probed, &mut |$status| $call($($argument),*))
    }};
    (@take_message $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($message:tt, $request:tt)) => {
        shapes::take_message($at, ($message, $request), &mut || $call($($argument),*))
    };
    // One request, or message that was found before.
    (@complete $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($requests:tt, $flag:tt, $are_messages:tt, $status:tt)) => {{
        let completed = CompletedRequests {
            count: 1, requests: $requests, flag: $flag, which: CompleteOnes::All, statuses: $status, are_messages: $are_messages
        };
        shapes::complete($at, &completed, &mut |$status| $call($($argument),*))
    }};
    (@complete_all $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($count:tt, $requests:tt, $flag:tt, $statuses:tt)) => {
        mpi!(@complete_many $told, $at, $call, ($($argument),*), $count, $requests, $flag, CompleteOnes::All, $statuses)
    };
    (@complete_one $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($count:tt, $requests:tt, $index:tt, $flag:tt, $status:tt)) => {
        mpi!(@complete_many $told, $at, $call, ($($argument),*), $count, $requests, $flag, CompleteOnes::One($index), $status)
    };
    (@complete_some $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($count:tt, $requests:tt, $many:tt, $indices:tt, $flag:tt, $statuses:tt)) => {
        mpi!(@complete_many $told, $at, $call, ($($argument),*), $count, $requests, $flag, CompleteOnes::Some($many, $indices), $statuses)
    };
    (@complete_many $told:ident, $at:expr, $call:ident, ($($argument:ident),*), $count:tt, $requests:tt, $flag:tt, $which:expr, $statuses:ident) => {{
        let completed = CompletedRequests {
            count: $told.count($count), requests: $requests, flag: $flag, which: $which, statuses: $statuses, are_messages: false
        };
        shapes::complete($at, &completed, &mut |$statuses| $call($($argument),*))
    }};
    (@start $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($requests:tt)) => {
        shapes::start($at, (1, $requests), &mut || $call($($argument),*))
    };
    (@start_all $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($count:tt, $requests:tt)) => {
        shapes::start($at, ($told.count($count), $requests), &mut || $call($($argument),*))
    };
    (@free $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($request:tt)) => {
        shapes::free($at, $request, &mut || $call($($argument),*))
    };
    (@collective $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($kind:ident, $root:tt, $communicator:tt, $request:tt)) => {
        shapes::meet($at, MpiCall::$kind, ($communicator, mpi!(@option $root)), mpi!(@option $request), &mut || $call($($argument),*))
    };
    (@initialise $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ()) => {
        shapes::initialise($at, &mut || $call($($argument),*))
    };
    (@finalise $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ()) => {
        shapes::finalise($at, &mut || $call($($argument),*))
    };
    (@make_communicator $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($parent:tt, $made:tt)) => {
        shapes::make_communicator($at, ($parent, $made), &mut || $call($($argument),*))
    };
    (@make_window $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($communicator:tt, $made:tt)) => {
        windows::make($at, ($communicator, $made), &mut || $call($($argument),*))
    };
    (@free_window $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($window:tt)) => {
        windows::free($at, $window, &mut || $call($($argument),*))
    };
    (@fence $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($assertion:tt, $window:tt)) => {
        windows::fence($at, ($assertion, $window), &mut || $call($($argument),*))
    };
    (@address $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($kind:ident, $group:tt, $window:tt)) => {
        windows::address($at, MpiCall::$kind, ($group, $window), &mut || $call($($argument),*))
    };
    (@end_epoch $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($kind:ident, $window:tt)) => {
        windows::end_epoch($at, MpiCall::$kind, $window, &mut || $call($($argument),*))
    };
    (@test_window $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($window:tt, $flag:tt)) => {
        windows::test($at, ($window, $flag), &mut || $call($($argument),*))
    };
    (@lock $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($kind:tt, $rank:tt, $window:tt)) => {
        windows::lock($at, ($kind, $rank, $window), &mut || $call($($argument),*))
    };
    (@unlock $told:ident, $at:expr, $call:ident, ($($argument:ident),*), ($rank:tt, $window:tt)) => {
        windows::unlock($at, ($rank, $window), &mut || $call($($argument),*))
    };
    (@option None) => { None };
    (@option $value:ident) => { Some($value) };
}

mpi!(@c MPI_Init (count, arguments) = initialise ());
mpi!(@fortran mpi_init_ () = initialise ());
mpi!(@fortran ompi_init_f () = initialise ());
mpi!(@fortran mpi_init_f08_ () = initialise ());
mpi!(@c MPI_Init_thread (count, arguments, required, provided) = initialise ());
mpi!(@fortran mpi_init_thread_ (required, provided) = initialise ());
mpi!(@fortran ompi_init_thread_f (required, provided) = initialise ());
mpi!(@fortran mpi_init_thread_f08_ (required, provided) = initialise ());

mpi! {
    fn MPI_Finalize mpi_finalize_ ompi_finalize_f mpi_finalize_f08_ () = finalise();

    fn MPI_Send mpi_send_ ompi_send_f mpi_send_f08ts_ (buffer, count, datatype, peer, tag, communicator) = message(Send, count, datatype, peer, tag, communicator);
    fn MPI_Ssend mpi_ssend_ ompi_ssend_f mpi_ssend_f08ts_ (buffer, count, datatype, peer, tag, communicator) = message(Send, count, datatype, peer, tag, communicator);
    fn MPI_Bsend mpi_bsend_ ompi_bsend_f mpi_bsend_f08ts_ (buffer, count, datatype, peer, tag, communicator) = message(Send, count, datatype, peer, tag, communicator);
    fn MPI_Rsend mpi_rsend_ ompi_rsend_f mpi_rsend_f08ts_ (buffer, count, datatype, peer, tag, communicator) = message(Send, count, datatype, peer, tag, communicator);
    fn MPI_Isend mpi_isend_ ompi_isend_f mpi_isend_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin(BeginSend, count, datatype, peer, tag, communicator, request);
    fn MPI_Issend mpi_issend_ ompi_issend_f mpi_issend_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin(BeginSend, count, datatype, peer, tag, communicator, request);
    fn MPI_Ibsend mpi_ibsend_ ompi_ibsend_f mpi_ibsend_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin(BeginSend, count, datatype, peer, tag, communicator, request);
    fn MPI_Irsend mpi_irsend_ ompi_irsend_f mpi_irsend_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin(BeginSend, count, datatype, peer, tag, communicator, request);
    fn MPI_Send_init mpi_send_init_ ompi_send_init_f mpi_send_init_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin(PrepareSend, count, datatype, peer, tag, communicator, request);
    fn MPI_Ssend_init mpi_ssend_init_ ompi_ssend_init_f mpi_ssend_init_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin(PrepareSend, count, datatype, peer, tag, communicator, request);
    fn MPI_Bsend_init mpi_bsend_init_ ompi_bsend_init_f mpi_bsend_init_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin(PrepareSend, count, datatype, peer, tag, communicator, request);
    fn MPI_Rsend_init mpi_rsend_init_ ompi_rsend_init_f mpi_rsend_init_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin(PrepareSend, count, datatype, peer, tag, communicator, request);
    fn MPI_Recv mpi_recv_ ompi_recv_f mpi_recv_f08ts_ (buffer, count, datatype, peer, tag, communicator, status) = receive(peer, tag, communicator, status);
    fn MPI_Irecv mpi_irecv_ ompi_irecv_f mpi_irecv_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin_receive(BeginReceive, peer, tag, communicator, request);
    fn MPI_Recv_init mpi_recv_init_ ompi_recv_init_f mpi_recv_init_f08ts_ (buffer, count, datatype, peer, tag, communicator, request) = begin_receive(PrepareReceive, peer, tag, communicator, request);
    fn MPI_Sendrecv mpi_sendrecv_ ompi_sendrecv_f mpi_sendrecv_f08ts_ (buffer, count, datatype, to, sent, into, room, kind, from, received, communicator, status) = send_receive(count, datatype, to, sent, from, received, communicator, status);
    fn MPI_Sendrecv_replace mpi_sendrecv_replace_ ompi_sendrecv_replace_f mpi_sendrecv_replace_f08ts_ (buffer, count, datatype, to, sent, from, received, communicator, status) = send_receive(count, datatype, to, sent, from, received, communicator, status);

    fn MPI_Probe mpi_probe_ ompi_probe_f mpi_probe_f08_ (peer, tag, communicator, status) = probe(peer, tag, communicator, 0, 0, status);
    fn MPI_Iprobe mpi_iprobe_ ompi_iprobe_f mpi_iprobe_f08_ (peer, tag, communicator, flag, status) = probe(peer, tag, communicator, flag, 0, status);
    fn MPI_Mprobe mpi_mprobe_ ompi_mprobe_f mpi_mprobe_f08_ (peer, tag, communicator, message, status) = probe(peer, tag, communicator, 0, message, status);
    fn MPI_Improbe mpi_improbe_ ompi_improbe_f mpi_improbe_f08_ (peer, tag, communicator, flag, message, status) = probe(peer, tag, communicator, flag, message, status);
    fn MPI_Mrecv mpi_mrecv_ ompi_mrecv_f mpi_mrecv_f08ts_ (buffer, count, datatype, message, status) = complete(message, 0, true, status);
    fn MPI_Imrecv mpi_imrecv_ ompi_imrecv_f mpi_imrecv_f08ts_ (buffer, count, datatype, message, request) = take_message(message, request);

    fn MPI_Wait mpi_wait_ ompi_wait_f mpi_wait_f08_ (request, status) = complete(request, 0, false, status);
    fn MPI_Waitall mpi_waitall_ ompi_waitall_f mpi_waitall_f08_ (count, requests, statuses) = complete_all(count, requests, 0, statuses);
    fn MPI_Waitany mpi_waitany_ ompi_waitany_f mpi_waitany_f08_ (count, requests, index, status) = complete_one(count, requests, index, 0, status);
    fn MPI_Waitsome mpi_waitsome_ ompi_waitsome_f mpi_waitsome_f08_ (count, requests, many, indices, statuses) = complete_some(count, requests, many, indices, 0, statuses);
    fn MPI_Test mpi_test_ ompi_test_f mpi_test_f08_ (request, flag, status) = complete(request, flag, false, status);
    fn MPI_Testall mpi_testall_ ompi_testall_f mpi_testall_f08_ (count, requests, flag, statuses) = complete_all(count, requests, flag, statuses);
    fn MPI_Testany mpi_testany_ ompi_testany_f mpi_testany_f08_ (count, requests, index, flag, status) = complete_one(count, requests, index, flag, status);
    fn MPI_Testsome mpi_testsome_ ompi_testsome_f mpi_testsome_f08_ (count, requests, many, indices, statuses) = complete_some(count, requests, many, indices, many, statuses);
    fn MPI_Start mpi_start_ ompi_start_f mpi_start_f08_ (request) = start(request);
    fn MPI_Startall mpi_startall_ ompi_startall_f mpi_startall_f08_ (count, requests) = start_all(count, requests);
    fn MPI_Request_free mpi_request_free_ ompi_request_free_f mpi_request_free_f08_ (request) = free(request);

    fn MPI_Barrier mpi_barrier_ ompi_barrier_f mpi_barrier_f08_ (communicator) = collective(AllToAll, None, communicator, None);
    fn MPI_Allreduce mpi_allreduce_ ompi_allreduce_f mpi_allreduce_f08ts_ (send, receive, count, datatype, operation, communicator) = collective(AllToAll, None, communicator, None);
    fn MPI_Alltoall mpi_alltoall_ ompi_alltoall_f mpi_alltoall_f08ts_ (send, sends, sent, receive, receives, received, communicator) = collective(AllToAll, None, communicator, None);
    fn MPI_Alltoallv mpi_alltoallv_ ompi_alltoallv_f mpi_alltoallv_f08ts_ (send, sends, from, sent, receive, receives, to, received, communicator) = collective(AllToAll, None, communicator, None);
    fn MPI_Alltoallw mpi_alltoallw_ ompi_alltoallw_f mpi_alltoallw_f08ts_ (send, sends, from, sent, receive, receives, to, received, communicator) = collective(AllToAll, None, communicator, None);
    fn MPI_Allgather mpi_allgather_ ompi_allgather_f mpi_allgather_f08ts_ (send, sends, sent, receive, receives, received, communicator) = collective(AllToAll, None, communicator, None);
    fn MPI_Allgatherv mpi_allgatherv_ ompi_allgatherv_f mpi_allgatherv_f08ts_ (send, sends, sent, receive, receives, to, received, communicator) = collective(AllToAll, None, communicator, None);
    fn MPI_Reduce_scatter mpi_reduce_scatter_ ompi_reduce_scatter_f mpi_reduce_scatter_f08ts_ (send, receive, counts, datatype, operation, communicator) = collective(AllToAll, None, communicator, None);
    fn MPI_Reduce_scatter_block mpi_reduce_scatter_block_ ompi_reduce_scatter_block_f mpi_reduce_scatter_block_f08ts_ (send, receive, count, datatype, operation, communicator) = collective(AllToAll, None, communicator, None);
    fn MPI_Bcast mpi_bcast_ ompi_bcast_f mpi_bcast_f08ts_ (buffer, count, datatype, root, communicator) = collective(FromRoot, root, communicator, None);
    fn MPI_Scatter mpi_scatter_ ompi_scatter_f mpi_scatter_f08ts_ (send, sends, sent, receive, receives, received, root, communicator) = collective(FromRoot, root, communicator, None);
    fn MPI_Scatterv mpi_scatterv_ ompi_scatterv_f mpi_scatterv_f08ts_ (send, sends, from, sent, receive, receives, received, root, communicator) = collective(FromRoot, root, communicator, None);
    fn MPI_Reduce mpi_reduce_ ompi_reduce_f mpi_reduce_f08ts_ (send, receive, count, datatype, operation, root, communicator) = collective(ToRoot, root, communicator, None);
    fn MPI_Gather mpi_gather_ ompi_gather_f mpi_gather_f08ts_ (send, sends, sent, receive, receives, received, root, communicator) = collective(ToRoot, root, communicator, None);
    fn MPI_Gatherv mpi_gatherv_ ompi_gatherv_f mpi_gatherv_f08ts_ (send, sends, sent, receive, receives, to, received, root, communicator) = collective(ToRoot, root, communicator, None);
    fn MPI_Scan mpi_scan_ ompi_scan_f mpi_scan_f08ts_ (send, receive, count, datatype, operation, communicator) = collective(Prefix, None, communicator, None);
    fn MPI_Exscan mpi_exscan_ ompi_exscan_f mpi_exscan_f08ts_ (send, receive, count, datatype, operation, communicator) = collective(Prefix, None, communicator, None);

    fn MPI_Ibarrier mpi_ibarrier_ ompi_ibarrier_f mpi_ibarrier_f08_ (communicator, request) = collective(BeginAllToAll, None, communicator, request);
    fn MPI_Iallreduce mpi_iallreduce_ ompi_iallreduce_f mpi_iallreduce_f08ts_ (send, receive, count, datatype, operation, communicator, request) = collective(BeginAllToAll, None, communicator, request);
    fn MPI_Ialltoall mpi_ialltoall_ ompi_ialltoall_f mpi_ialltoall_f08ts_ (send, sends, sent, receive, receives, received, communicator, request) = collective(BeginAllToAll, None, communicator, request);
    fn MPI_Ialltoallv mpi_ialltoallv_ ompi_ialltoallv_f mpi_ialltoallv_f08ts_ (send, sends, from, sent, receive, receives, to, received, communicator, request) = collective(BeginAllToAll, None, communicator, request);
    fn MPI_Ialltoallw mpi_ialltoallw_ ompi_ialltoallw_f mpi_ialltoallw_f08ts_ (send, sends, from, sent, receive, receives, to, received, communicator, request) = collective(BeginAllToAll, None, communicator, request);
    fn MPI_Iallgather mpi_iallgather_ ompi_iallgather_f mpi_iallgather_f08ts_ (send, sends, sent, receive, receives, received, communicator, request) = collective(BeginAllToAll, None, communicator, request);
    fn MPI_Iallgatherv mpi_iallgatherv_ ompi_iallgatherv_f mpi_iallgatherv_f08ts_ (send, sends, sent, receive, receives, to, received, communicator, request) = collective(BeginAllToAll, None, communicator, request);
    fn MPI_Ireduce_scatter mpi_ireduce_scatter_ ompi_ireduce_scatter_f mpi_ireduce_scatter_f08ts_ (send, receive, counts, datatype, operation, communicator, request) = collective(BeginAllToAll, None, communicator, request);
    fn MPI_Ireduce_scatter_block mpi_ireduce_scatter_block_ ompi_ireduce_scatter_block_f mpi_ireduce_scatter_block_f08ts_ (send, receive, count, datatype, operation, communicator, request) = collective(BeginAllToAll, None, communicator, request);
    fn MPI_Ibcast mpi_ibcast_ ompi_ibcast_f mpi_ibcast_f08ts_ (buffer, count, datatype, root, communicator, request) = collective(BeginFromRoot, root, communicator, request);
    fn MPI_Iscatter mpi_iscatter_ ompi_iscatter_f mpi_iscatter_f08ts_ (send, sends, sent, receive, receives, received, root, communicator, request) = collective(BeginFromRoot, root, communicator, request);
    fn MPI_Iscatterv mpi_iscatterv_ ompi_iscatterv_f mpi_iscatterv_f08ts_ (send, sends, from, sent, receive, receives, received, root, communicator, request) = collective(BeginFromRoot, root, communicator, request);
    fn MPI_Ireduce mpi_ireduce_ ompi_ireduce_f mpi_ireduce_f08ts_ (send, receive, count, datatype, operation, root, communicator, request) = collective(BeginToRoot, root, communicator, request);
    fn MPI_Igather mpi_igather_ ompi_igather_f mpi_igather_f08ts_ (send, sends, sent, receive, receives, received, root, communicator, request) = collective(BeginToRoot, root, communicator, request);
    fn MPI_Igatherv mpi_igatherv_ ompi_igatherv_f mpi_igatherv_f08ts_ (send, sends, sent, receive, receives, to, received, root, communicator, request) = collective(BeginToRoot, root, communicator, request);
    fn MPI_Iscan mpi_iscan_ ompi_iscan_f mpi_iscan_f08ts_ (send, receive, count, datatype, operation, communicator, request) = collective(BeginPrefix, None, communicator, request);
    fn MPI_Iexscan mpi_iexscan_ ompi_iexscan_f mpi_iexscan_f08ts_ (send, receive, count, datatype, operation, communicator, request) = collective(BeginPrefix, None, communicator, request);

    fn MPI_Comm_dup mpi_comm_dup_ ompi_comm_dup_f mpi_comm_dup_f08_ (communicator, made) = make_communicator(communicator, made);
    fn MPI_Comm_dup_with_info mpi_comm_dup_with_info_ ompi_comm_dup_with_info_f mpi_comm_dup_with_info_f08_ (communicator, info, made) = make_communicator(communicator, made);
    fn MPI_Comm_split mpi_comm_split_ ompi_comm_split_f mpi_comm_split_f08_ (communicator, colour, key, made) = make_communicator(communicator, made);
    fn MPI_Comm_split_type mpi_comm_split_type_ ompi_comm_split_type_f mpi_comm_split_type_f08_ (communicator, kind, key, info, made) = make_communicator(communicator, made);
    fn MPI_Comm_create mpi_comm_create_ ompi_comm_create_f mpi_comm_create_f08_ (communicator, group, made) = make_communicator(communicator, made);
    fn MPI_Cart_create mpi_cart_create_ ompi_cart_create_f mpi_cart_create_f08_ (communicator, dimensions, lengths, periods, reorders, made) = make_communicator(communicator, made);
    fn MPI_Cart_sub mpi_cart_sub_ ompi_cart_sub_f mpi_cart_sub_f08_ (communicator, remains, made) = make_communicator(communicator, made);
    fn MPI_Graph_create mpi_graph_create_ ompi_graph_create_f mpi_graph_create_f08_ (communicator, nodes, indices, edges, reorders, made) = make_communicator(communicator, made);
    fn MPI_Dist_graph_create mpi_dist_graph_create_ ompi_dist_graph_create_f mpi_dist_graph_create_f08_ (communicator, count, sources, degrees, destinations, weights, info, reorders, made) = make_communicator(communicator, made);
    fn MPI_Dist_graph_create_adjacent mpi_dist_graph_create_adjacent_ ompi_dist_graph_create_adjacent_f mpi_dist_graph_create_adjacent_f08_ (communicator, incoming, sources, from, outgoing, destinations, to, info, reorders, made) = make_communicator(communicator, made);

    fn MPI_Win_create mpi_win_create_ ompi_win_create_f mpi_win_create_f08ts_ (base, size, unit, info, communicator, made) = make_window(communicator, made);
    fn MPI_Win_create_dynamic mpi_win_create_dynamic_ ompi_win_create_dynamic_f mpi_win_create_dynamic_f08_ (info, communicator, made) = make_window(communicator, made);
    fn MPI_Win_allocate mpi_win_allocate_ ompi_win_allocate_f mpi_win_allocate_f08_ (size, unit, info, communicator, base, made) = make_window(communicator, made);
    fn MPI_Win_allocate_shared mpi_win_allocate_shared_ ompi_win_allocate_shared_f mpi_win_allocate_shared_f08_ (size, unit, info, communicator, base, made) = make_window(communicator, made);
    fn MPI_Win_free mpi_win_free_ ompi_win_free_f mpi_win_free_f08_ (window) = free_window(window);
    fn MPI_Win_fence mpi_win_fence_ ompi_win_fence_f mpi_win_fence_f08_ (assertion, window) = fence(assertion, window);
    fn MPI_Win_post mpi_win_post_ ompi_win_post_f mpi_win_post_f08_ (group, assertion, window) = address(Expose, group, window);
    fn MPI_Win_start mpi_win_start_ ompi_win_start_f mpi_win_start_f08_ (group, assertion, window) = address(Access, group, window);
    fn MPI_Win_complete mpi_win_complete_ ompi_win_complete_f mpi_win_complete_f08_ (window) = end_epoch(EndAccess, window);
    fn MPI_Win_wait mpi_win_wait_ ompi_win_wait_f mpi_win_wait_f08_ (window) = end_epoch(EndExposure, window);
    fn MPI_Win_test mpi_win_test_ ompi_win_test_f mpi_win_test_f08_ (window, flag) = test_window(window, flag);
    fn MPI_Win_lock mpi_win_lock_ ompi_win_lock_f mpi_win_lock_f08_ (kind, rank, assertion, window) = lock(kind, rank, window);
    fn MPI_Win_unlock mpi_win_unlock_ ompi_win_unlock_f mpi_win_unlock_f08_ (rank, window) = unlock(rank, window);
}
