//! The table of MPI's functions: one line makes the hooks of each, under the names by which C and Fortran call it.
//!
//! ```text
//!   [names] (arguments) = shape what-it-does (those of the arguments that the shape asks for, `_` where there is none);
//! ```
#![allow(non_snake_case, non_camel_case_types, clippy::upper_case_acronyms)]

use longpole_ring::MpiCall;

use super::hook::{MpiFunction, NamedFunction, Shape, hook, is_of_c, is_wide};
use super::language::Language;

/// The number of a function's first name, which is the one in C where it has one.
const fn first_number(numbers: &[u16]) -> u16 {
    numbers[0]
}

/// Makes hooks, and what is known of their functions.
macro_rules! functions {
    ($( [$($name:ident)*] ($($argument:ident),*) = $shape:ident $call:ident ($($detail:tt),*); )*) => {
        /// Numbers of names.
        enum NameNumber { $($($name,)*)* COUNT }

        /// All names.
        pub(super) const NAMES: usize = NameNumber::COUNT as usize;

        /// The names in the order of their numbers, a zero behind each.
        pub(super) const NAMES_OF_FUNCTIONS: &[u8] = concat!($($(stringify!($name), "\0",)*)*).as_bytes();

        /// The functions.
        pub(super) static FUNCTIONS: [MpiFunction; [$(stringify!($shape)),*].len()] = [
            $(MpiFunction::new(
                first_number(&[$(NameNumber::$name as u16),*]),
                (Shape::$shape, MpiCall::$call),
                &[$(stringify!($argument)),*],
                &[$(stringify!($detail)),*],
            ),)*
        ];

        /// What each name is of.
        pub(super) static NAMED_FUNCTIONS: [NamedFunction; NAMES] = {
            let none = NamedFunction { function: 0, begin: 0, language: Language::C, is_wide: false };
            let mut named = [none; NAMES];
            let (mut function, mut begin) = (0, 0);
            $(
                $(
                    let name = stringify!($name);
                    let language = if is_of_c(name) { Language::C } else { Language::Fortran };
                    named[NameNumber::$name as usize] =
                        NamedFunction { function, begin, language, is_wide: is_wide(name) };
                    begin += name.len() as u16 + 1;
                )*
                function += 1;
            )*
            _ = (function, begin);
            named
        };

        $($(hook!($name, NameNumber::$name);)*)*
    };
}

functions! {
    [MPI_Init] (count, arguments) = Initialise AllToAll ();
    [mpi_init_ ompi_init_f mpi_init_f08_] () = Initialise AllToAll ();
    [MPI_Init_thread] (count, arguments, required, provided) = Initialise AllToAll ();
    [mpi_init_thread_ ompi_init_thread_f mpi_init_thread_f08_] (required, provided) = Initialise AllToAll ();
    [MPI_Finalize mpi_finalize_ ompi_finalize_f mpi_finalize_f08_] () = Finalise AllToAll ();

    [MPI_Send MPI_Send_c mpi_send_ ompi_send_f mpi_send_f08ts_ mpi_send_f08ts_large_] (buffer, count, datatype, peer, tag, communicator) = Message Send (count, datatype, peer, tag, communicator);
    [MPI_Ssend MPI_Ssend_c mpi_ssend_ ompi_ssend_f mpi_ssend_f08ts_ mpi_ssend_f08ts_large_] (buffer, count, datatype, peer, tag, communicator) = Message Send (count, datatype, peer, tag, communicator);
    [MPI_Bsend MPI_Bsend_c mpi_bsend_ ompi_bsend_f mpi_bsend_f08ts_ mpi_bsend_f08ts_large_] (buffer, count, datatype, peer, tag, communicator) = Message Send (count, datatype, peer, tag, communicator);
    [MPI_Rsend MPI_Rsend_c mpi_rsend_ ompi_rsend_f mpi_rsend_f08ts_ mpi_rsend_f08ts_large_] (buffer, count, datatype, peer, tag, communicator) = Message Send (count, datatype, peer, tag, communicator);
    [MPI_Isend MPI_Isend_c mpi_isend_ ompi_isend_f mpi_isend_f08ts_ mpi_isend_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginSend (count, datatype, peer, tag, communicator, request);
    [MPI_Issend MPI_Issend_c mpi_issend_ ompi_issend_f mpi_issend_f08ts_ mpi_issend_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginSend (count, datatype, peer, tag, communicator, request);
    [MPI_Ibsend MPI_Ibsend_c mpi_ibsend_ ompi_ibsend_f mpi_ibsend_f08ts_ mpi_ibsend_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginSend (count, datatype, peer, tag, communicator, request);
    [MPI_Irsend MPI_Irsend_c mpi_irsend_ ompi_irsend_f mpi_irsend_f08ts_ mpi_irsend_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginSend (count, datatype, peer, tag, communicator, request);
    [MPI_Send_init MPI_Send_init_c mpi_send_init_ ompi_send_init_f mpi_send_init_f08ts_ mpi_send_init_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareSend (count, datatype, peer, tag, communicator, request);
    [MPI_Ssend_init MPI_Ssend_init_c mpi_ssend_init_ ompi_ssend_init_f mpi_ssend_init_f08ts_ mpi_ssend_init_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareSend (count, datatype, peer, tag, communicator, request);
    [MPI_Bsend_init MPI_Bsend_init_c mpi_bsend_init_ ompi_bsend_init_f mpi_bsend_init_f08ts_ mpi_bsend_init_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareSend (count, datatype, peer, tag, communicator, request);
    [MPI_Rsend_init MPI_Rsend_init_c mpi_rsend_init_ ompi_rsend_init_f mpi_rsend_init_f08ts_ mpi_rsend_init_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareSend (count, datatype, peer, tag, communicator, request);
    [MPI_Recv MPI_Recv_c mpi_recv_ ompi_recv_f mpi_recv_f08ts_ mpi_recv_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, status) = Receive Receive (peer, tag, communicator, status);
    [MPI_Irecv MPI_Irecv_c mpi_irecv_ ompi_irecv_f mpi_irecv_f08ts_ mpi_irecv_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginReceive (_, _, peer, tag, communicator, request);
    [MPI_Recv_init MPI_Recv_init_c mpi_recv_init_ ompi_recv_init_f mpi_recv_init_f08ts_ mpi_recv_init_f08ts_large_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareReceive (_, _, peer, tag, communicator, request);
    [MPI_Sendrecv MPI_Sendrecv_c mpi_sendrecv_ ompi_sendrecv_f mpi_sendrecv_f08ts_ mpi_sendrecv_f08ts_large_] (buffer, count, datatype, to, sent, into, room, kind, from, received, communicator, status) = SendReceive BeginSend (count, datatype, to, sent, from, received, communicator, status);
    [MPI_Sendrecv_replace MPI_Sendrecv_replace_c mpi_sendrecv_replace_ ompi_sendrecv_replace_f mpi_sendrecv_replace_f08ts_ mpi_sendrecv_replace_f08ts_large_] (buffer, count, datatype, to, sent, from, received, communicator, status) = SendReceive BeginSend (count, datatype, to, sent, from, received, communicator, status);

    [MPI_Probe mpi_probe_ ompi_probe_f mpi_probe_f08_] (peer, tag, communicator, status) = Probe Probe (peer, tag, communicator, _, _, status);
    [MPI_Iprobe mpi_iprobe_ ompi_iprobe_f mpi_iprobe_f08_] (peer, tag, communicator, flag, status) = Probe Probe (peer, tag, communicator, flag, _, status);
    [MPI_Mprobe mpi_mprobe_ ompi_mprobe_f mpi_mprobe_f08_] (peer, tag, communicator, message, status) = Probe Probe (peer, tag, communicator, _, message, status);
    [MPI_Improbe mpi_improbe_ ompi_improbe_f mpi_improbe_f08_] (peer, tag, communicator, flag, message, status) = Probe Probe (peer, tag, communicator, flag, message, status);
    [MPI_Mrecv MPI_Mrecv_c mpi_mrecv_ ompi_mrecv_f mpi_mrecv_f08ts_ mpi_mrecv_f08ts_large_] (buffer, count, datatype, message, status) = CompleteMessage Complete (message, _, status);
    [MPI_Imrecv MPI_Imrecv_c mpi_imrecv_ ompi_imrecv_f mpi_imrecv_f08ts_ mpi_imrecv_f08ts_large_] (buffer, count, datatype, message, request) = TakeMessage TakeMessage (message, request);

    [MPI_Wait mpi_wait_ ompi_wait_f mpi_wait_f08_] (request, status) = Complete Complete (request, _, status);
    [MPI_Waitall mpi_waitall_ ompi_waitall_f mpi_waitall_f08_] (count, requests, statuses) = CompleteAll Complete (count, requests, _, statuses);
    [MPI_Waitany mpi_waitany_ ompi_waitany_f mpi_waitany_f08_] (count, requests, index, status) = CompleteOne Complete (count, requests, index, _, status);
    [MPI_Waitsome mpi_waitsome_ ompi_waitsome_f mpi_waitsome_f08_] (count, requests, many, indices, statuses) = CompleteSome Complete (count, requests, many, indices, _, statuses);
    [MPI_Test mpi_test_ ompi_test_f mpi_test_f08_] (request, flag, status) = Complete Complete (request, flag, status);
    [MPI_Testall mpi_testall_ ompi_testall_f mpi_testall_f08_] (count, requests, flag, statuses) = CompleteAll Complete (count, requests, flag, statuses);
    [MPI_Testany mpi_testany_ ompi_testany_f mpi_testany_f08_] (count, requests, index, flag, status) = CompleteOne Complete (count, requests, index, flag, status);
    [MPI_Testsome mpi_testsome_ ompi_testsome_f mpi_testsome_f08_] (count, requests, many, indices, statuses) = CompleteSome Complete (count, requests, many, indices, many, statuses);
    [MPI_Start mpi_start_ ompi_start_f mpi_start_f08_] (request) = Start Start (_, request);
    [MPI_Startall mpi_startall_ ompi_startall_f mpi_startall_f08_] (count, requests) = Start Start (count, requests);
    [MPI_Request_free mpi_request_free_ ompi_request_free_f mpi_request_free_f08_] (request) = Free Free (request);

    [MPI_Barrier mpi_barrier_ ompi_barrier_f mpi_barrier_f08_] (communicator) = Meet AllToAll (_, communicator);
    [MPI_Allreduce MPI_Allreduce_c mpi_allreduce_ ompi_allreduce_f mpi_allreduce_f08ts_ mpi_allreduce_f08ts_large_] (send, receive, count, datatype, operation, communicator) = Meet AllToAll (_, communicator);
    [MPI_Alltoall MPI_Alltoall_c mpi_alltoall_ ompi_alltoall_f mpi_alltoall_f08ts_ mpi_alltoall_f08ts_large_] (send, sends, sent, receive, receives, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Alltoallv MPI_Alltoallv_c mpi_alltoallv_ ompi_alltoallv_f mpi_alltoallv_f08ts_ mpi_alltoallv_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Alltoallw MPI_Alltoallw_c mpi_alltoallw_ ompi_alltoallw_f mpi_alltoallw_f08ts_ mpi_alltoallw_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Allgather MPI_Allgather_c mpi_allgather_ ompi_allgather_f mpi_allgather_f08ts_ mpi_allgather_f08ts_large_] (send, sends, sent, receive, receives, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Allgatherv MPI_Allgatherv_c mpi_allgatherv_ ompi_allgatherv_f mpi_allgatherv_f08ts_ mpi_allgatherv_f08ts_large_] (send, sends, sent, receive, receives, to, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Reduce_scatter MPI_Reduce_scatter_c mpi_reduce_scatter_ ompi_reduce_scatter_f mpi_reduce_scatter_f08ts_ mpi_reduce_scatter_f08ts_large_] (send, receive, counts, datatype, operation, communicator) = Meet AllToAll (_, communicator);
    [MPI_Reduce_scatter_block MPI_Reduce_scatter_block_c mpi_reduce_scatter_block_ ompi_reduce_scatter_block_f mpi_reduce_scatter_block_f08ts_ mpi_reduce_scatter_block_f08ts_large_] (send, receive, count, datatype, operation, communicator) = Meet AllToAll (_, communicator);
    [MPI_Bcast MPI_Bcast_c mpi_bcast_ ompi_bcast_f mpi_bcast_f08ts_ mpi_bcast_f08ts_large_] (buffer, count, datatype, root, communicator) = Meet FromRoot (root, communicator);
    [MPI_Scatter MPI_Scatter_c mpi_scatter_ ompi_scatter_f mpi_scatter_f08ts_ mpi_scatter_f08ts_large_] (send, sends, sent, receive, receives, received, root, communicator) = Meet FromRoot (root, communicator);
    [MPI_Scatterv MPI_Scatterv_c mpi_scatterv_ ompi_scatterv_f mpi_scatterv_f08ts_ mpi_scatterv_f08ts_large_] (send, sends, from, sent, receive, receives, received, root, communicator) = Meet FromRoot (root, communicator);
    [MPI_Reduce MPI_Reduce_c mpi_reduce_ ompi_reduce_f mpi_reduce_f08ts_ mpi_reduce_f08ts_large_] (send, receive, count, datatype, operation, root, communicator) = Meet ToRoot (root, communicator);
    [MPI_Gather MPI_Gather_c mpi_gather_ ompi_gather_f mpi_gather_f08ts_ mpi_gather_f08ts_large_] (send, sends, sent, receive, receives, received, root, communicator) = Meet ToRoot (root, communicator);
    [MPI_Gatherv MPI_Gatherv_c mpi_gatherv_ ompi_gatherv_f mpi_gatherv_f08ts_ mpi_gatherv_f08ts_large_] (send, sends, sent, receive, receives, to, received, root, communicator) = Meet ToRoot (root, communicator);
    [MPI_Scan MPI_Scan_c mpi_scan_ ompi_scan_f mpi_scan_f08ts_ mpi_scan_f08ts_large_] (send, receive, count, datatype, operation, communicator) = Meet Prefix (_, communicator);
    [MPI_Exscan MPI_Exscan_c mpi_exscan_ ompi_exscan_f mpi_exscan_f08ts_ mpi_exscan_f08ts_large_] (send, receive, count, datatype, operation, communicator) = Meet Prefix (_, communicator);

    [MPI_Ibarrier mpi_ibarrier_ ompi_ibarrier_f mpi_ibarrier_f08_] (communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Iallreduce MPI_Iallreduce_c mpi_iallreduce_ ompi_iallreduce_f mpi_iallreduce_f08ts_ mpi_iallreduce_f08ts_large_] (send, receive, count, datatype, operation, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ialltoall MPI_Ialltoall_c mpi_ialltoall_ ompi_ialltoall_f mpi_ialltoall_f08ts_ mpi_ialltoall_f08ts_large_] (send, sends, sent, receive, receives, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ialltoallv MPI_Ialltoallv_c mpi_ialltoallv_ ompi_ialltoallv_f mpi_ialltoallv_f08ts_ mpi_ialltoallv_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ialltoallw MPI_Ialltoallw_c mpi_ialltoallw_ ompi_ialltoallw_f mpi_ialltoallw_f08ts_ mpi_ialltoallw_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Iallgather MPI_Iallgather_c mpi_iallgather_ ompi_iallgather_f mpi_iallgather_f08ts_ mpi_iallgather_f08ts_large_] (send, sends, sent, receive, receives, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Iallgatherv MPI_Iallgatherv_c mpi_iallgatherv_ ompi_iallgatherv_f mpi_iallgatherv_f08ts_ mpi_iallgatherv_f08ts_large_] (send, sends, sent, receive, receives, to, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ireduce_scatter MPI_Ireduce_scatter_c mpi_ireduce_scatter_ ompi_ireduce_scatter_f mpi_ireduce_scatter_f08ts_ mpi_ireduce_scatter_f08ts_large_] (send, receive, counts, datatype, operation, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ireduce_scatter_block MPI_Ireduce_scatter_block_c mpi_ireduce_scatter_block_ ompi_ireduce_scatter_block_f mpi_ireduce_scatter_block_f08ts_ mpi_ireduce_scatter_block_f08ts_large_] (send, receive, count, datatype, operation, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ibcast MPI_Ibcast_c mpi_ibcast_ ompi_ibcast_f mpi_ibcast_f08ts_ mpi_ibcast_f08ts_large_] (buffer, count, datatype, root, communicator, request) = Meet BeginFromRoot (root, communicator, request);
    [MPI_Iscatter MPI_Iscatter_c mpi_iscatter_ ompi_iscatter_f mpi_iscatter_f08ts_ mpi_iscatter_f08ts_large_] (send, sends, sent, receive, receives, received, root, communicator, request) = Meet BeginFromRoot (root, communicator, request);
    [MPI_Iscatterv MPI_Iscatterv_c mpi_iscatterv_ ompi_iscatterv_f mpi_iscatterv_f08ts_ mpi_iscatterv_f08ts_large_] (send, sends, from, sent, receive, receives, received, root, communicator, request) = Meet BeginFromRoot (root, communicator, request);
    [MPI_Ireduce MPI_Ireduce_c mpi_ireduce_ ompi_ireduce_f mpi_ireduce_f08ts_ mpi_ireduce_f08ts_large_] (send, receive, count, datatype, operation, root, communicator, request) = Meet BeginToRoot (root, communicator, request);
    [MPI_Igather MPI_Igather_c mpi_igather_ ompi_igather_f mpi_igather_f08ts_ mpi_igather_f08ts_large_] (send, sends, sent, receive, receives, received, root, communicator, request) = Meet BeginToRoot (root, communicator, request);
    [MPI_Igatherv MPI_Igatherv_c mpi_igatherv_ ompi_igatherv_f mpi_igatherv_f08ts_ mpi_igatherv_f08ts_large_] (send, sends, sent, receive, receives, to, received, root, communicator, request) = Meet BeginToRoot (root, communicator, request);
    [MPI_Iscan MPI_Iscan_c mpi_iscan_ ompi_iscan_f mpi_iscan_f08ts_ mpi_iscan_f08ts_large_] (send, receive, count, datatype, operation, communicator, request) = Meet BeginPrefix (_, communicator, request);
    [MPI_Iexscan MPI_Iexscan_c mpi_iexscan_ ompi_iexscan_f mpi_iexscan_f08ts_ mpi_iexscan_f08ts_large_] (send, receive, count, datatype, operation, communicator, request) = Meet BeginPrefix (_, communicator, request);

    [MPI_Comm_dup mpi_comm_dup_ ompi_comm_dup_f mpi_comm_dup_f08_] (communicator, made) = MakeCommunicator AllToAll (communicator, made);
    [MPI_Comm_dup_with_info mpi_comm_dup_with_info_ ompi_comm_dup_with_info_f mpi_comm_dup_with_info_f08_] (communicator, info, made) = MakeCommunicator AllToAll (communicator, made);
    [MPI_Comm_split mpi_comm_split_ ompi_comm_split_f mpi_comm_split_f08_] (communicator, colour, key, made) = MakeCommunicator AllToAll (communicator, made);
    [MPI_Comm_split_type mpi_comm_split_type_ ompi_comm_split_type_f mpi_comm_split_type_f08_] (communicator, kind, key, info, made) = MakeCommunicator AllToAll (communicator, made);
    [MPI_Comm_create mpi_comm_create_ ompi_comm_create_f mpi_comm_create_f08_] (communicator, group, made) = MakeCommunicator AllToAll (communicator, made);
    [MPI_Cart_create mpi_cart_create_ ompi_cart_create_f mpi_cart_create_f08_] (communicator, dimensions, lengths, periods, reorders, made) = MakeCommunicator AllToAll (communicator, made);
    [MPI_Cart_sub mpi_cart_sub_ ompi_cart_sub_f mpi_cart_sub_f08_] (communicator, remains, made) = MakeCommunicator AllToAll (communicator, made);
    [MPI_Graph_create mpi_graph_create_ ompi_graph_create_f mpi_graph_create_f08_] (communicator, nodes, indices, edges, reorders, made) = MakeCommunicator AllToAll (communicator, made);
    [MPI_Dist_graph_create mpi_dist_graph_create_ ompi_dist_graph_create_f mpi_dist_graph_create_f08_] (communicator, count, sources, degrees, destinations, weights, info, reorders, made) = MakeCommunicator AllToAll (communicator, made);
    [MPI_Dist_graph_create_adjacent mpi_dist_graph_create_adjacent_ ompi_dist_graph_create_adjacent_f mpi_dist_graph_create_adjacent_f08_] (communicator, incoming, sources, from, outgoing, destinations, to, info, reorders, made) = MakeCommunicator AllToAll (communicator, made);

    [MPI_Win_create MPI_Win_create_c mpi_win_create_ ompi_win_create_f mpi_win_create_f08ts_ mpi_win_create_f08ts_large_] (base, size, unit, info, communicator, made) = MakeWindow AllToAll (communicator, made);
    [MPI_Win_create_dynamic mpi_win_create_dynamic_ ompi_win_create_dynamic_f mpi_win_create_dynamic_f08_] (info, communicator, made) = MakeWindow AllToAll (communicator, made);
    [MPI_Win_allocate MPI_Win_allocate_c mpi_win_allocate_ ompi_win_allocate_f mpi_win_allocate_f08_ mpi_win_allocate_f08_large_] (size, unit, info, communicator, base, made) = MakeWindow AllToAll (communicator, made);
    [MPI_Win_allocate_shared MPI_Win_allocate_shared_c mpi_win_allocate_shared_ ompi_win_allocate_shared_f mpi_win_allocate_shared_f08_ mpi_win_allocate_shared_f08_large_] (size, unit, info, communicator, base, made) = MakeWindow AllToAll (communicator, made);
    [MPI_Win_free mpi_win_free_ ompi_win_free_f mpi_win_free_f08_] (window) = FreeWindow AllToAll (window);
    [MPI_Win_fence mpi_win_fence_ ompi_win_fence_f mpi_win_fence_f08_] (assertion, window) = Fence AllToAll (assertion, window);
    [MPI_Win_post mpi_win_post_ ompi_win_post_f mpi_win_post_f08_] (group, assertion, window) = Address Expose (group, window);
    [MPI_Win_start mpi_win_start_ ompi_win_start_f mpi_win_start_f08_] (group, assertion, window) = Address Access (group, window);
    [MPI_Win_complete mpi_win_complete_ ompi_win_complete_f mpi_win_complete_f08_] (window) = OfWindow EndAccess (window);
    [MPI_Win_wait mpi_win_wait_ ompi_win_wait_f mpi_win_wait_f08_] (window) = OfWindow EndExposure (window);
    [MPI_Win_test mpi_win_test_ ompi_win_test_f mpi_win_test_f08_] (window, flag) = TestWindow EndExposure (window, flag);
    [MPI_Win_lock mpi_win_lock_ ompi_win_lock_f mpi_win_lock_f08_] (kind, rank, assertion, window) = Lock LockWindow (kind, rank, window);
    [MPI_Win_unlock mpi_win_unlock_ ompi_win_unlock_f mpi_win_unlock_f08_] (rank, window) = OfMember UnlockWindow (rank, window);

    [MPI_Barrier_init MPIX_Barrier_init mpi_barrier_init_ mpix_barrier_init_ ompix_barrier_init_f mpi_barrier_init_f08_] (communicator, info, request) = Meet PrepareAllToAll (_, communicator, request);
    [MPI_Allreduce_init MPI_Allreduce_init_c MPIX_Allreduce_init mpi_allreduce_init_ mpix_allreduce_init_ ompix_allreduce_init_f mpi_allreduce_init_f08ts_ mpi_allreduce_init_f08ts_large_] (send, receive, count, datatype, operation, communicator, info, request) = Meet PrepareAllToAll (_, communicator, request);
    [MPI_Alltoall_init MPI_Alltoall_init_c MPIX_Alltoall_init mpi_alltoall_init_ mpix_alltoall_init_ ompix_alltoall_init_f mpi_alltoall_init_f08ts_ mpi_alltoall_init_f08ts_large_] (send, sends, sent, receive, receives, received, communicator, info, request) = Meet PrepareAllToAll (_, communicator, request);
    [MPI_Alltoallv_init MPI_Alltoallv_init_c MPIX_Alltoallv_init mpi_alltoallv_init_ mpix_alltoallv_init_ ompix_alltoallv_init_f mpi_alltoallv_init_f08ts_ mpi_alltoallv_init_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator, info, request) = Meet PrepareAllToAll (_, communicator, request);
    [MPI_Alltoallw_init MPI_Alltoallw_init_c MPIX_Alltoallw_init mpi_alltoallw_init_ mpix_alltoallw_init_ ompix_alltoallw_init_f mpi_alltoallw_init_f08ts_ mpi_alltoallw_init_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator, info, request) = Meet PrepareAllToAll (_, communicator, request);
    [MPI_Allgather_init MPI_Allgather_init_c MPIX_Allgather_init mpi_allgather_init_ mpix_allgather_init_ ompix_allgather_init_f mpi_allgather_init_f08ts_ mpi_allgather_init_f08ts_large_] (send, sends, sent, receive, receives, received, communicator, info, request) = Meet PrepareAllToAll (_, communicator, request);
    [MPI_Allgatherv_init MPI_Allgatherv_init_c MPIX_Allgatherv_init mpi_allgatherv_init_ mpix_allgatherv_init_ ompix_allgatherv_init_f mpi_allgatherv_init_f08ts_ mpi_allgatherv_init_f08ts_large_] (send, sends, sent, receive, receives, to, received, communicator, info, request) = Meet PrepareAllToAll (_, communicator, request);
    [MPI_Reduce_scatter_init MPI_Reduce_scatter_init_c MPIX_Reduce_scatter_init mpi_reduce_scatter_init_ mpix_reduce_scatter_init_ ompix_reduce_scatter_init_f mpi_reduce_scatter_init_f08ts_ mpi_reduce_scatter_init_f08ts_large_] (send, receive, counts, datatype, operation, communicator, info, request) = Meet PrepareAllToAll (_, communicator, request);
    [MPI_Reduce_scatter_block_init MPI_Reduce_scatter_block_init_c MPIX_Reduce_scatter_block_init mpi_reduce_scatter_block_init_ mpix_reduce_scatter_block_init_ ompix_reduce_scatter_block_init_f mpi_reduce_scatter_block_init_f08ts_ mpi_reduce_scatter_block_init_f08ts_large_] (send, receive, count, datatype, operation, communicator, info, request) = Meet PrepareAllToAll (_, communicator, request);
    [MPI_Bcast_init MPI_Bcast_init_c MPIX_Bcast_init mpi_bcast_init_ mpix_bcast_init_ ompix_bcast_init_f mpi_bcast_init_f08ts_ mpi_bcast_init_f08ts_large_] (buffer, count, datatype, root, communicator, info, request) = Meet PrepareFromRoot (root, communicator, request);
    [MPI_Scatter_init MPI_Scatter_init_c MPIX_Scatter_init mpi_scatter_init_ mpix_scatter_init_ ompix_scatter_init_f mpi_scatter_init_f08ts_ mpi_scatter_init_f08ts_large_] (send, sends, sent, receive, receives, received, root, communicator, info, request) = Meet PrepareFromRoot (root, communicator, request);
    [MPI_Scatterv_init MPI_Scatterv_init_c MPIX_Scatterv_init mpi_scatterv_init_ mpix_scatterv_init_ ompix_scatterv_init_f mpi_scatterv_init_f08ts_ mpi_scatterv_init_f08ts_large_] (send, sends, from, sent, receive, receives, received, root, communicator, info, request) = Meet PrepareFromRoot (root, communicator, request);
    [MPI_Reduce_init MPI_Reduce_init_c MPIX_Reduce_init mpi_reduce_init_ mpix_reduce_init_ ompix_reduce_init_f mpi_reduce_init_f08ts_ mpi_reduce_init_f08ts_large_] (send, receive, count, datatype, operation, root, communicator, info, request) = Meet PrepareToRoot (root, communicator, request);
    [MPI_Gather_init MPI_Gather_init_c MPIX_Gather_init mpi_gather_init_ mpix_gather_init_ ompix_gather_init_f mpi_gather_init_f08ts_ mpi_gather_init_f08ts_large_] (send, sends, sent, receive, receives, received, root, communicator, info, request) = Meet PrepareToRoot (root, communicator, request);
    [MPI_Gatherv_init MPI_Gatherv_init_c MPIX_Gatherv_init mpi_gatherv_init_ mpix_gatherv_init_ ompix_gatherv_init_f mpi_gatherv_init_f08ts_ mpi_gatherv_init_f08ts_large_] (send, sends, sent, receive, receives, to, received, root, communicator, info, request) = Meet PrepareToRoot (root, communicator, request);
    [MPI_Scan_init MPI_Scan_init_c MPIX_Scan_init mpi_scan_init_ mpix_scan_init_ ompix_scan_init_f mpi_scan_init_f08ts_ mpi_scan_init_f08ts_large_] (send, receive, count, datatype, operation, communicator, info, request) = Meet PreparePrefix (_, communicator, request);
    [MPI_Exscan_init MPI_Exscan_init_c MPIX_Exscan_init mpi_exscan_init_ mpix_exscan_init_ ompix_exscan_init_f mpi_exscan_init_f08ts_ mpi_exscan_init_f08ts_large_] (send, receive, count, datatype, operation, communicator, info, request) = Meet PreparePrefix (_, communicator, request);
    [MPI_Neighbor_allgather MPI_Neighbor_allgather_c mpi_neighbor_allgather_ ompi_neighbor_allgather_f mpi_neighbor_allgather_f08ts_ mpi_neighbor_allgather_f08ts_large_] (send, sends, sent, receive, receives, received, communicator) = Meet Neighbours (_, communicator);
    [MPI_Neighbor_allgatherv MPI_Neighbor_allgatherv_c mpi_neighbor_allgatherv_ ompi_neighbor_allgatherv_f mpi_neighbor_allgatherv_f08ts_ mpi_neighbor_allgatherv_f08ts_large_] (send, sends, sent, receive, receives, to, received, communicator) = Meet Neighbours (_, communicator);
    [MPI_Neighbor_alltoall MPI_Neighbor_alltoall_c mpi_neighbor_alltoall_ ompi_neighbor_alltoall_f mpi_neighbor_alltoall_f08ts_ mpi_neighbor_alltoall_f08ts_large_] (send, sends, sent, receive, receives, received, communicator) = Meet Neighbours (_, communicator);
    [MPI_Neighbor_alltoallv MPI_Neighbor_alltoallv_c mpi_neighbor_alltoallv_ ompi_neighbor_alltoallv_f mpi_neighbor_alltoallv_f08ts_ mpi_neighbor_alltoallv_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator) = Meet Neighbours (_, communicator);
    [MPI_Neighbor_alltoallw MPI_Neighbor_alltoallw_c mpi_neighbor_alltoallw_ ompi_neighbor_alltoallw_f mpi_neighbor_alltoallw_f08ts_ mpi_neighbor_alltoallw_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator) = Meet Neighbours (_, communicator);
    [MPI_Ineighbor_allgather MPI_Ineighbor_allgather_c mpi_ineighbor_allgather_ ompi_ineighbor_allgather_f mpi_ineighbor_allgather_f08ts_ mpi_ineighbor_allgather_f08ts_large_] (send, sends, sent, receive, receives, received, communicator, request) = Meet BeginNeighbours (_, communicator, request);
    [MPI_Ineighbor_allgatherv MPI_Ineighbor_allgatherv_c mpi_ineighbor_allgatherv_ ompi_ineighbor_allgatherv_f mpi_ineighbor_allgatherv_f08ts_ mpi_ineighbor_allgatherv_f08ts_large_] (send, sends, sent, receive, receives, to, received, communicator, request) = Meet BeginNeighbours (_, communicator, request);
    [MPI_Ineighbor_alltoall MPI_Ineighbor_alltoall_c mpi_ineighbor_alltoall_ ompi_ineighbor_alltoall_f mpi_ineighbor_alltoall_f08ts_ mpi_ineighbor_alltoall_f08ts_large_] (send, sends, sent, receive, receives, received, communicator, request) = Meet BeginNeighbours (_, communicator, request);
    [MPI_Ineighbor_alltoallv MPI_Ineighbor_alltoallv_c mpi_ineighbor_alltoallv_ ompi_ineighbor_alltoallv_f mpi_ineighbor_alltoallv_f08ts_ mpi_ineighbor_alltoallv_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator, request) = Meet BeginNeighbours (_, communicator, request);
    [MPI_Ineighbor_alltoallw MPI_Ineighbor_alltoallw_c mpi_ineighbor_alltoallw_ ompi_ineighbor_alltoallw_f mpi_ineighbor_alltoallw_f08ts_ mpi_ineighbor_alltoallw_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator, request) = Meet BeginNeighbours (_, communicator, request);
    [MPI_Neighbor_allgather_init MPI_Neighbor_allgather_init_c MPIX_Neighbor_allgather_init mpi_neighbor_allgather_init_ mpix_neighbor_allgather_init_ ompix_neighbor_allgather_init_f mpi_neighbor_allgather_init_f08ts_ mpi_neighbor_allgather_init_f08ts_large_] (send, sends, sent, receive, receives, received, communicator, info, request) = Meet PrepareNeighbours (_, communicator, request);
    [MPI_Neighbor_allgatherv_init MPI_Neighbor_allgatherv_init_c MPIX_Neighbor_allgatherv_init mpi_neighbor_allgatherv_init_ mpix_neighbor_allgatherv_init_ ompix_neighbor_allgatherv_init_f mpi_neighbor_allgatherv_init_f08ts_ mpi_neighbor_allgatherv_init_f08ts_large_] (send, sends, sent, receive, receives, to, received, communicator, info, request) = Meet PrepareNeighbours (_, communicator, request);
    [MPI_Neighbor_alltoall_init MPI_Neighbor_alltoall_init_c MPIX_Neighbor_alltoall_init mpi_neighbor_alltoall_init_ mpix_neighbor_alltoall_init_ ompix_neighbor_alltoall_init_f mpi_neighbor_alltoall_init_f08ts_ mpi_neighbor_alltoall_init_f08ts_large_] (send, sends, sent, receive, receives, received, communicator, info, request) = Meet PrepareNeighbours (_, communicator, request);
    [MPI_Neighbor_alltoallv_init MPI_Neighbor_alltoallv_init_c MPIX_Neighbor_alltoallv_init mpi_neighbor_alltoallv_init_ mpix_neighbor_alltoallv_init_ ompix_neighbor_alltoallv_init_f mpi_neighbor_alltoallv_init_f08ts_ mpi_neighbor_alltoallv_init_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator, info, request) = Meet PrepareNeighbours (_, communicator, request);
    [MPI_Neighbor_alltoallw_init MPI_Neighbor_alltoallw_init_c MPIX_Neighbor_alltoallw_init mpi_neighbor_alltoallw_init_ mpix_neighbor_alltoallw_init_ ompix_neighbor_alltoallw_init_f mpi_neighbor_alltoallw_init_f08ts_ mpi_neighbor_alltoallw_init_f08ts_large_] (send, sends, from, sent, receive, receives, to, received, communicator, info, request) = Meet PrepareNeighbours (_, communicator, request);

    [MPI_Win_lock_all mpi_win_lock_all_ ompi_win_lock_all_f mpi_win_lock_all_f08_] (assertion, window) = OfWindow LockWindow (window);
    [MPI_Win_unlock_all mpi_win_unlock_all_ ompi_win_unlock_all_f mpi_win_unlock_all_f08_] (window) = OfWindow UnlockWindow (window);
    [MPI_Win_flush mpi_win_flush_ ompi_win_flush_f mpi_win_flush_f08_] (rank, window) = OfMember Flush (rank, window);
    [MPI_Win_flush_local mpi_win_flush_local_ ompi_win_flush_local_f mpi_win_flush_local_f08_] (rank, window) = OfMember Flush (rank, window);
    [MPI_Win_flush_all mpi_win_flush_all_ ompi_win_flush_all_f mpi_win_flush_all_f08_] (window) = OfWindow Flush (window);
    [MPI_Win_flush_local_all mpi_win_flush_local_all_ ompi_win_flush_local_all_f mpi_win_flush_local_all_f08_] (window) = OfWindow Flush (window);
    [MPI_Put MPI_Put_c mpi_put_ ompi_put_f mpi_put_f08ts_ mpi_put_f08ts_large_] (origin, count, datatype, rank, place, there, type, window) = Access Put (count, datatype, rank, window);
    [MPI_Get MPI_Get_c mpi_get_ ompi_get_f mpi_get_f08ts_ mpi_get_f08ts_large_] (origin, count, datatype, rank, place, there, type, window) = Access Get (count, datatype, rank, window);
    [MPI_Accumulate MPI_Accumulate_c mpi_accumulate_ ompi_accumulate_f mpi_accumulate_f08ts_ mpi_accumulate_f08ts_large_] (origin, count, datatype, rank, place, there, type, operation, window) = Access Put (count, datatype, rank, window);
    [MPI_Get_accumulate MPI_Get_accumulate_c mpi_get_accumulate_ ompi_get_accumulate_f mpi_get_accumulate_f08ts_ mpi_get_accumulate_f08ts_large_] (origin, count, datatype, result, results, kind, rank, place, there, type, operation, window) = Access Swap (results, kind, rank, window);
    [MPI_Fetch_and_op mpi_fetch_and_op_ ompi_fetch_and_op_f mpi_fetch_and_op_f08ts_] (origin, result, datatype, rank, place, operation, window) = Access Swap (_, datatype, rank, window);
    [MPI_Compare_and_swap mpi_compare_and_swap_ ompi_compare_and_swap_f mpi_compare_and_swap_f08ts_] (origin, compared, result, datatype, rank, place, window) = Access Swap (_, datatype, rank, window);
    [MPI_Rput MPI_Rput_c mpi_rput_ ompi_rput_f mpi_rput_f08ts_ mpi_rput_f08ts_large_] (origin, count, datatype, rank, place, there, type, window, request) = Access Put (count, datatype, rank, window, request);
    [MPI_Rget MPI_Rget_c mpi_rget_ ompi_rget_f mpi_rget_f08ts_ mpi_rget_f08ts_large_] (origin, count, datatype, rank, place, there, type, window, request) = Access Get (count, datatype, rank, window, request);
    [MPI_Raccumulate MPI_Raccumulate_c mpi_raccumulate_ ompi_raccumulate_f mpi_raccumulate_f08ts_ mpi_raccumulate_f08ts_large_] (origin, count, datatype, rank, place, there, type, operation, window, request) = Access Put (count, datatype, rank, window, request);
    [MPI_Rget_accumulate MPI_Rget_accumulate_c mpi_rget_accumulate_ ompi_rget_accumulate_f mpi_rget_accumulate_f08ts_ mpi_rget_accumulate_f08ts_large_] (origin, count, datatype, result, results, kind, rank, place, there, type, operation, window, request) = Access Swap (results, kind, rank, window, request);

    [MPI_Isendrecv MPI_Isendrecv_c mpi_isendrecv_ mpi_isendrecv_f08ts_ mpi_isendrecv_f08ts_large_] (buffer, count, datatype, to, sent, into, room, kind, from, received, communicator, request) = Opaque NotUnderstood (request);
    [MPI_Isendrecv_replace MPI_Isendrecv_replace_c mpi_isendrecv_replace_ mpi_isendrecv_replace_f08ts_ mpi_isendrecv_replace_f08ts_large_] (buffer, count, datatype, to, sent, from, received, communicator, request) = Opaque NotUnderstood (request);
    [MPI_Psend_init mpi_psend_init_ mpi_psend_init_f08ts_] (buffer, parts, count, datatype, peer, tag, communicator, info, request) = Opaque NotUnderstood (request);
    [MPI_Precv_init mpi_precv_init_ mpi_precv_init_f08ts_] (buffer, parts, count, datatype, peer, tag, communicator, info, request) = Opaque NotUnderstood (request);
    [MPI_Pready mpi_pready_ mpi_pready_f08_] (part, request) = Opaque NotUnderstood ();
    [MPI_Pready_range mpi_pready_range_ mpi_pready_range_f08_] (first, last, request) = Opaque NotUnderstood ();
    [MPI_Pready_list mpi_pready_list_ mpi_pready_list_f08_] (count, parts, request) = Opaque NotUnderstood ();
    [MPI_Parrived mpi_parrived_ mpi_parrived_f08_] (request, part, flag) = Opaque NotUnderstood (_, flag);
    [MPI_Request_get_status mpi_request_get_status_ ompi_request_get_status_f mpi_request_get_status_f08_] (request, flag, status) = Opaque NotUnderstood (_, flag);
    [MPI_Grequest_start mpi_grequest_start_ ompi_grequest_start_f mpi_grequest_start_f08_] (query, free, cancel, state, request) = Opaque NotUnderstood (request);
    [MPI_Buffer_detach MPI_Buffer_detach_c mpi_buffer_detach_ ompi_buffer_detach_f mpi_buffer_detach_f08_ mpi_buffer_detach_f08_large_] (buffer, size) = Opaque NotUnderstood ();
    [MPI_Comm_idup mpi_comm_idup_ ompi_comm_idup_f mpi_comm_idup_f08_] (communicator, made, request) = Opaque NotUnderstood (request);
    [MPI_Comm_idup_with_info mpi_comm_idup_with_info_ mpi_comm_idup_with_info_f08_] (communicator, info, made, request) = Opaque NotUnderstood (request);
    [MPI_Comm_create_group mpi_comm_create_group_ ompi_comm_create_group_f mpi_comm_create_group_f08_] (communicator, group, tag, made) = Opaque NotUnderstood ();
    [MPI_Comm_create_from_group mpi_comm_create_from_group_ mpi_comm_create_from_group_f08_] (group, tag, info, handler, made, hidden) = Opaque NotUnderstood ();
    [MPI_Comm_disconnect mpi_comm_disconnect_ ompi_comm_disconnect_f mpi_comm_disconnect_f08_] (communicator) = Opaque NotUnderstood ();
    [MPI_Comm_accept mpi_comm_accept_ ompi_comm_accept_f mpi_comm_accept_f08_] (port, info, root, communicator, made, hidden) = Opaque NotUnderstood ();
    [MPI_Comm_connect mpi_comm_connect_ ompi_comm_connect_f mpi_comm_connect_f08_] (port, info, root, communicator, made, hidden) = Opaque NotUnderstood ();
    [MPI_Comm_join mpi_comm_join_ ompi_comm_join_f mpi_comm_join_f08_] (descriptor, made) = Opaque NotUnderstood ();
    [MPI_Comm_spawn mpi_comm_spawn_ ompi_comm_spawn_f mpi_comm_spawn_f08_] (command, arguments, most, info, root, communicator, made, errors, hidden, hidden) = Opaque NotUnderstood ();
    [MPI_Comm_spawn_multiple mpi_comm_spawn_multiple_ ompi_comm_spawn_multiple_f mpi_comm_spawn_multiple_f08_] (count, commands, arguments, most, info, root, communicator, made, errors, hidden, hidden) = Opaque NotUnderstood ();
    [MPI_Intercomm_create mpi_intercomm_create_ ompi_intercomm_create_f mpi_intercomm_create_f08_] (communicator, leader, peers, other, tag, made) = Opaque NotUnderstood ();
    [MPI_Intercomm_create_from_groups mpi_intercomm_create_from_groups_ mpi_intercomm_create_from_groups_f08_] (group, leader, other, peer, tag, info, handler, made, hidden) = Opaque NotUnderstood ();
    [MPI_Intercomm_merge mpi_intercomm_merge_ ompi_intercomm_merge_f mpi_intercomm_merge_f08_] (communicator, high, made) = Opaque NotUnderstood ();
    [MPI_Comm_set_info mpi_comm_set_info_ ompi_comm_set_info_f mpi_comm_set_info_f08_] (communicator, info) = Opaque NotUnderstood ();
    [MPI_Win_set_info mpi_win_set_info_ ompi_win_set_info_f mpi_win_set_info_f08_] (window, info) = Opaque NotUnderstood ();
    [MPI_Open_port mpi_open_port_ ompi_open_port_f mpi_open_port_f08_] (info, port, hidden) = Opaque NotUnderstood ();
    [MPI_Publish_name mpi_publish_name_ ompi_publish_name_f mpi_publish_name_f08_] (service, info, port, hidden, hidden) = Opaque NotUnderstood ();
    [MPI_Unpublish_name mpi_unpublish_name_ ompi_unpublish_name_f mpi_unpublish_name_f08_] (service, info, port, hidden, hidden) = Opaque NotUnderstood ();
    [MPI_Lookup_name mpi_lookup_name_ ompi_lookup_name_f mpi_lookup_name_f08_] (service, info, port, hidden, hidden) = Opaque NotUnderstood ();
    [MPI_Session_init mpi_session_init_ mpi_session_init_f08_] (info, handler, session) = Opaque NotUnderstood ();
    [MPI_Session_finalize mpi_session_finalize_ mpi_session_finalize_f08_] (session) = Opaque NotUnderstood ();
    [MPI_File_open mpi_file_open_ ompi_file_open_f mpi_file_open_f08_] (communicator, file, mode, info, handle, hidden) = Opaque NotUnderstood ();
    [MPI_File_close mpi_file_close_ ompi_file_close_f mpi_file_close_f08_] (handle) = Opaque NotUnderstood ();
    [MPI_File_set_size mpi_file_set_size_ ompi_file_set_size_f mpi_file_set_size_f08_] (handle, size) = Opaque NotUnderstood ();
    [MPI_File_preallocate mpi_file_preallocate_ ompi_file_preallocate_f mpi_file_preallocate_f08_] (handle, size) = Opaque NotUnderstood ();
    [MPI_File_set_view mpi_file_set_view_ ompi_file_set_view_f mpi_file_set_view_f08_] (handle, place, kind, type, name, info, hidden) = Opaque NotUnderstood ();
    [MPI_File_set_info mpi_file_set_info_ ompi_file_set_info_f mpi_file_set_info_f08_] (handle, info) = Opaque NotUnderstood ();
    [MPI_File_set_atomicity mpi_file_set_atomicity_ ompi_file_set_atomicity_f mpi_file_set_atomicity_f08_] (handle, flag) = Opaque NotUnderstood ();
    [MPI_File_seek_shared mpi_file_seek_shared_ ompi_file_seek_shared_f mpi_file_seek_shared_f08_] (handle, place, whence) = Opaque NotUnderstood ();
    [MPI_File_sync mpi_file_sync_ ompi_file_sync_f mpi_file_sync_f08_] (handle) = Opaque NotUnderstood ();
    [MPI_File_read_all MPI_File_read_all_c mpi_file_read_all_ ompi_file_read_all_f mpi_file_read_all_f08ts_] (handle, buffer, count, datatype, status) = Opaque NotUnderstood ();
    [MPI_File_read_at_all MPI_File_read_at_all_c mpi_file_read_at_all_ ompi_file_read_at_all_f mpi_file_read_at_all_f08ts_] (handle, place, buffer, count, datatype, status) = Opaque NotUnderstood ();
    [MPI_File_read_ordered MPI_File_read_ordered_c mpi_file_read_ordered_ ompi_file_read_ordered_f mpi_file_read_ordered_f08ts_] (handle, buffer, count, datatype, status) = Opaque NotUnderstood ();
    [MPI_File_read_all_begin MPI_File_read_all_begin_c mpi_file_read_all_begin_ ompi_file_read_all_begin_f mpi_file_read_all_begin_f08ts_] (handle, buffer, count, datatype) = Opaque NotUnderstood ();
    [MPI_File_read_all_end mpi_file_read_all_end_ ompi_file_read_all_end_f mpi_file_read_all_end_f08ts_] (handle, buffer, status) = Opaque NotUnderstood ();
    [MPI_File_read_at_all_begin MPI_File_read_at_all_begin_c mpi_file_read_at_all_begin_ ompi_file_read_at_all_begin_f mpi_file_read_at_all_begin_f08ts_] (handle, place, buffer, count, datatype) = Opaque NotUnderstood ();
    [MPI_File_read_at_all_end mpi_file_read_at_all_end_ ompi_file_read_at_all_end_f mpi_file_read_at_all_end_f08ts_] (handle, buffer, status) = Opaque NotUnderstood ();
    [MPI_File_read_ordered_begin MPI_File_read_ordered_begin_c mpi_file_read_ordered_begin_ ompi_file_read_ordered_begin_f mpi_file_read_ordered_begin_f08ts_] (handle, buffer, count, datatype) = Opaque NotUnderstood ();
    [MPI_File_read_ordered_end mpi_file_read_ordered_end_ ompi_file_read_ordered_end_f mpi_file_read_ordered_end_f08ts_] (handle, buffer, status) = Opaque NotUnderstood ();
    [MPI_File_iread MPI_File_iread_c mpi_file_iread_ ompi_file_iread_f mpi_file_iread_f08ts_] (handle, buffer, count, datatype, request) = Opaque NotUnderstood (request);
    [MPI_File_iread_shared MPI_File_iread_shared_c mpi_file_iread_shared_ ompi_file_iread_shared_f mpi_file_iread_shared_f08ts_] (handle, buffer, count, datatype, request) = Opaque NotUnderstood (request);
    [MPI_File_iread_all MPI_File_iread_all_c mpi_file_iread_all_ ompi_file_iread_all_f mpi_file_iread_all_f08ts_] (handle, buffer, count, datatype, request) = Opaque NotUnderstood (request);
    [MPI_File_iread_at MPI_File_iread_at_c mpi_file_iread_at_ ompi_file_iread_at_f mpi_file_iread_at_f08ts_] (handle, place, buffer, count, datatype, request) = Opaque NotUnderstood (request);
    [MPI_File_iread_at_all MPI_File_iread_at_all_c mpi_file_iread_at_all_ ompi_file_iread_at_all_f mpi_file_iread_at_all_f08ts_] (handle, place, buffer, count, datatype, request) = Opaque NotUnderstood (request);
    [MPI_File_write_all MPI_File_write_all_c mpi_file_write_all_ ompi_file_write_all_f mpi_file_write_all_f08ts_] (handle, buffer, count, datatype, status) = Opaque NotUnderstood ();
    [MPI_File_write_at_all MPI_File_write_at_all_c mpi_file_write_at_all_ ompi_file_write_at_all_f mpi_file_write_at_all_f08ts_] (handle, place, buffer, count, datatype, status) = Opaque NotUnderstood ();
    [MPI_File_write_ordered MPI_File_write_ordered_c mpi_file_write_ordered_ ompi_file_write_ordered_f mpi_file_write_ordered_f08ts_] (handle, buffer, count, datatype, status) = Opaque NotUnderstood ();
    [MPI_File_write_all_begin MPI_File_write_all_begin_c mpi_file_write_all_begin_ ompi_file_write_all_begin_f mpi_file_write_all_begin_f08ts_] (handle, buffer, count, datatype) = Opaque NotUnderstood ();
    [MPI_File_write_all_end mpi_file_write_all_end_ ompi_file_write_all_end_f mpi_file_write_all_end_f08ts_] (handle, buffer, status) = Opaque NotUnderstood ();
    [MPI_File_write_at_all_begin MPI_File_write_at_all_begin_c mpi_file_write_at_all_begin_ ompi_file_write_at_all_begin_f mpi_file_write_at_all_begin_f08ts_] (handle, place, buffer, count, datatype) = Opaque NotUnderstood ();
    [MPI_File_write_at_all_end mpi_file_write_at_all_end_ ompi_file_write_at_all_end_f mpi_file_write_at_all_end_f08ts_] (handle, buffer, status) = Opaque NotUnderstood ();
    [MPI_File_write_ordered_begin MPI_File_write_ordered_begin_c mpi_file_write_ordered_begin_ ompi_file_write_ordered_begin_f mpi_file_write_ordered_begin_f08ts_] (handle, buffer, count, datatype) = Opaque NotUnderstood ();
    [MPI_File_write_ordered_end mpi_file_write_ordered_end_ ompi_file_write_ordered_end_f mpi_file_write_ordered_end_f08ts_] (handle, buffer, status) = Opaque NotUnderstood ();
    [MPI_File_iwrite MPI_File_iwrite_c mpi_file_iwrite_ ompi_file_iwrite_f mpi_file_iwrite_f08ts_] (handle, buffer, count, datatype, request) = Opaque NotUnderstood (request);
    [MPI_File_iwrite_shared MPI_File_iwrite_shared_c mpi_file_iwrite_shared_ ompi_file_iwrite_shared_f mpi_file_iwrite_shared_f08ts_] (handle, buffer, count, datatype, request) = Opaque NotUnderstood (request);
    [MPI_File_iwrite_all MPI_File_iwrite_all_c mpi_file_iwrite_all_ ompi_file_iwrite_all_f mpi_file_iwrite_all_f08ts_] (handle, buffer, count, datatype, request) = Opaque NotUnderstood (request);
    [MPI_File_iwrite_at MPI_File_iwrite_at_c mpi_file_iwrite_at_ ompi_file_iwrite_at_f mpi_file_iwrite_at_f08ts_] (handle, place, buffer, count, datatype, request) = Opaque NotUnderstood (request);
    [MPI_File_iwrite_at_all MPI_File_iwrite_at_all_c mpi_file_iwrite_at_all_ ompi_file_iwrite_at_all_f mpi_file_iwrite_at_all_f08ts_] (handle, place, buffer, count, datatype, request) = Opaque NotUnderstood (request);
}
