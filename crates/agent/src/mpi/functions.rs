//! The table of MPI's functions: one line makes the hooks of each, under the names by which C and Fortran call it.
//!
//! ```text
//!   [names] (arguments) = shape what-it-does (those of the arguments that the shape asks for, `_` where there is none);
//! ```
#![allow(non_snake_case, non_camel_case_types, clippy::upper_case_acronyms)]

use longpole_ring::MpiCall;

use super::hook::{MpiFunction, Shape, hook, is_of_c};
use super::language::Language;

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
            $(MpiFunction::new(Shape::$shape, MpiCall::$call, &[$(stringify!($argument)),*], &[$(stringify!($detail)),*]),)*
        ];

        /// Which function a name is of, and which language calls it so.
        pub(super) static PLACES_OF_NAMES: [(u16, Language); NAMES] = {
            let mut places = [(0, Language::C); NAMES];
            let mut function = 0;
            $(
                $(
                    let language = if is_of_c(stringify!($name)) { Language::C } else { Language::Fortran };
                    places[NameNumber::$name as usize] = (function, language);
                )*
                function += 1;
            )*
            _ = function;
            places
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

    [MPI_Send mpi_send_ ompi_send_f mpi_send_f08ts_] (buffer, count, datatype, peer, tag, communicator) = Message Send (count, datatype, peer, tag, communicator);
    [MPI_Ssend mpi_ssend_ ompi_ssend_f mpi_ssend_f08ts_] (buffer, count, datatype, peer, tag, communicator) = Message Send (count, datatype, peer, tag, communicator);
    [MPI_Bsend mpi_bsend_ ompi_bsend_f mpi_bsend_f08ts_] (buffer, count, datatype, peer, tag, communicator) = Message Send (count, datatype, peer, tag, communicator);
    [MPI_Rsend mpi_rsend_ ompi_rsend_f mpi_rsend_f08ts_] (buffer, count, datatype, peer, tag, communicator) = Message Send (count, datatype, peer, tag, communicator);
    [MPI_Isend mpi_isend_ ompi_isend_f mpi_isend_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginSend (count, datatype, peer, tag, communicator, request);
    [MPI_Issend mpi_issend_ ompi_issend_f mpi_issend_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginSend (count, datatype, peer, tag, communicator, request);
    [MPI_Ibsend mpi_ibsend_ ompi_ibsend_f mpi_ibsend_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginSend (count, datatype, peer, tag, communicator, request);
    [MPI_Irsend mpi_irsend_ ompi_irsend_f mpi_irsend_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginSend (count, datatype, peer, tag, communicator, request);
    [MPI_Send_init mpi_send_init_ ompi_send_init_f mpi_send_init_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareSend (count, datatype, peer, tag, communicator, request);
    [MPI_Ssend_init mpi_ssend_init_ ompi_ssend_init_f mpi_ssend_init_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareSend (count, datatype, peer, tag, communicator, request);
    [MPI_Bsend_init mpi_bsend_init_ ompi_bsend_init_f mpi_bsend_init_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareSend (count, datatype, peer, tag, communicator, request);
    [MPI_Rsend_init mpi_rsend_init_ ompi_rsend_init_f mpi_rsend_init_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareSend (count, datatype, peer, tag, communicator, request);
    [MPI_Recv mpi_recv_ ompi_recv_f mpi_recv_f08ts_] (buffer, count, datatype, peer, tag, communicator, status) = Receive Receive (peer, tag, communicator, status);
    [MPI_Irecv mpi_irecv_ ompi_irecv_f mpi_irecv_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message BeginReceive (_, _, peer, tag, communicator, request);
    [MPI_Recv_init mpi_recv_init_ ompi_recv_init_f mpi_recv_init_f08ts_] (buffer, count, datatype, peer, tag, communicator, request) = Message PrepareReceive (_, _, peer, tag, communicator, request);
    [MPI_Sendrecv mpi_sendrecv_ ompi_sendrecv_f mpi_sendrecv_f08ts_] (buffer, count, datatype, to, sent, into, room, kind, from, received, communicator, status) = SendReceive BeginSend (count, datatype, to, sent, from, received, communicator, status);
    [MPI_Sendrecv_replace mpi_sendrecv_replace_ ompi_sendrecv_replace_f mpi_sendrecv_replace_f08ts_] (buffer, count, datatype, to, sent, from, received, communicator, status) = SendReceive BeginSend (count, datatype, to, sent, from, received, communicator, status);

    [MPI_Probe mpi_probe_ ompi_probe_f mpi_probe_f08_] (peer, tag, communicator, status) = Probe Probe (peer, tag, communicator, _, _, status);
    [MPI_Iprobe mpi_iprobe_ ompi_iprobe_f mpi_iprobe_f08_] (peer, tag, communicator, flag, status) = Probe Probe (peer, tag, communicator, flag, _, status);
    [MPI_Mprobe mpi_mprobe_ ompi_mprobe_f mpi_mprobe_f08_] (peer, tag, communicator, message, status) = Probe Probe (peer, tag, communicator, _, message, status);
    [MPI_Improbe mpi_improbe_ ompi_improbe_f mpi_improbe_f08_] (peer, tag, communicator, flag, message, status) = Probe Probe (peer, tag, communicator, flag, message, status);
    [MPI_Mrecv mpi_mrecv_ ompi_mrecv_f mpi_mrecv_f08ts_] (buffer, count, datatype, message, status) = CompleteMessage Complete (message, _, status);
    [MPI_Imrecv mpi_imrecv_ ompi_imrecv_f mpi_imrecv_f08ts_] (buffer, count, datatype, message, request) = TakeMessage TakeMessage (message, request);

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
    [MPI_Allreduce mpi_allreduce_ ompi_allreduce_f mpi_allreduce_f08ts_] (send, receive, count, datatype, operation, communicator) = Meet AllToAll (_, communicator);
    [MPI_Alltoall mpi_alltoall_ ompi_alltoall_f mpi_alltoall_f08ts_] (send, sends, sent, receive, receives, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Alltoallv mpi_alltoallv_ ompi_alltoallv_f mpi_alltoallv_f08ts_] (send, sends, from, sent, receive, receives, to, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Alltoallw mpi_alltoallw_ ompi_alltoallw_f mpi_alltoallw_f08ts_] (send, sends, from, sent, receive, receives, to, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Allgather mpi_allgather_ ompi_allgather_f mpi_allgather_f08ts_] (send, sends, sent, receive, receives, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Allgatherv mpi_allgatherv_ ompi_allgatherv_f mpi_allgatherv_f08ts_] (send, sends, sent, receive, receives, to, received, communicator) = Meet AllToAll (_, communicator);
    [MPI_Reduce_scatter mpi_reduce_scatter_ ompi_reduce_scatter_f mpi_reduce_scatter_f08ts_] (send, receive, counts, datatype, operation, communicator) = Meet AllToAll (_, communicator);
    [MPI_Reduce_scatter_block mpi_reduce_scatter_block_ ompi_reduce_scatter_block_f mpi_reduce_scatter_block_f08ts_] (send, receive, count, datatype, operation, communicator) = Meet AllToAll (_, communicator);
    [MPI_Bcast mpi_bcast_ ompi_bcast_f mpi_bcast_f08ts_] (buffer, count, datatype, root, communicator) = Meet FromRoot (root, communicator);
    [MPI_Scatter mpi_scatter_ ompi_scatter_f mpi_scatter_f08ts_] (send, sends, sent, receive, receives, received, root, communicator) = Meet FromRoot (root, communicator);
    [MPI_Scatterv mpi_scatterv_ ompi_scatterv_f mpi_scatterv_f08ts_] (send, sends, from, sent, receive, receives, received, root, communicator) = Meet FromRoot (root, communicator);
    [MPI_Reduce mpi_reduce_ ompi_reduce_f mpi_reduce_f08ts_] (send, receive, count, datatype, operation, root, communicator) = Meet ToRoot (root, communicator);
    [MPI_Gather mpi_gather_ ompi_gather_f mpi_gather_f08ts_] (send, sends, sent, receive, receives, received, root, communicator) = Meet ToRoot (root, communicator);
    [MPI_Gatherv mpi_gatherv_ ompi_gatherv_f mpi_gatherv_f08ts_] (send, sends, sent, receive, receives, to, received, root, communicator) = Meet ToRoot (root, communicator);
    [MPI_Scan mpi_scan_ ompi_scan_f mpi_scan_f08ts_] (send, receive, count, datatype, operation, communicator) = Meet Prefix (_, communicator);
    [MPI_Exscan mpi_exscan_ ompi_exscan_f mpi_exscan_f08ts_] (send, receive, count, datatype, operation, communicator) = Meet Prefix (_, communicator);

    [MPI_Ibarrier mpi_ibarrier_ ompi_ibarrier_f mpi_ibarrier_f08_] (communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Iallreduce mpi_iallreduce_ ompi_iallreduce_f mpi_iallreduce_f08ts_] (send, receive, count, datatype, operation, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ialltoall mpi_ialltoall_ ompi_ialltoall_f mpi_ialltoall_f08ts_] (send, sends, sent, receive, receives, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ialltoallv mpi_ialltoallv_ ompi_ialltoallv_f mpi_ialltoallv_f08ts_] (send, sends, from, sent, receive, receives, to, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ialltoallw mpi_ialltoallw_ ompi_ialltoallw_f mpi_ialltoallw_f08ts_] (send, sends, from, sent, receive, receives, to, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Iallgather mpi_iallgather_ ompi_iallgather_f mpi_iallgather_f08ts_] (send, sends, sent, receive, receives, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Iallgatherv mpi_iallgatherv_ ompi_iallgatherv_f mpi_iallgatherv_f08ts_] (send, sends, sent, receive, receives, to, received, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ireduce_scatter mpi_ireduce_scatter_ ompi_ireduce_scatter_f mpi_ireduce_scatter_f08ts_] (send, receive, counts, datatype, operation, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ireduce_scatter_block mpi_ireduce_scatter_block_ ompi_ireduce_scatter_block_f mpi_ireduce_scatter_block_f08ts_] (send, receive, count, datatype, operation, communicator, request) = Meet BeginAllToAll (_, communicator, request);
    [MPI_Ibcast mpi_ibcast_ ompi_ibcast_f mpi_ibcast_f08ts_] (buffer, count, datatype, root, communicator, request) = Meet BeginFromRoot (root, communicator, request);
    [MPI_Iscatter mpi_iscatter_ ompi_iscatter_f mpi_iscatter_f08ts_] (send, sends, sent, receive, receives, received, root, communicator, request) = Meet BeginFromRoot (root, communicator, request);
    [MPI_Iscatterv mpi_iscatterv_ ompi_iscatterv_f mpi_iscatterv_f08ts_] (send, sends, from, sent, receive, receives, received, root, communicator, request) = Meet BeginFromRoot (root, communicator, request);
    [MPI_Ireduce mpi_ireduce_ ompi_ireduce_f mpi_ireduce_f08ts_] (send, receive, count, datatype, operation, root, communicator, request) = Meet BeginToRoot (root, communicator, request);
    [MPI_Igather mpi_igather_ ompi_igather_f mpi_igather_f08ts_] (send, sends, sent, receive, receives, received, root, communicator, request) = Meet BeginToRoot (root, communicator, request);
    [MPI_Igatherv mpi_igatherv_ ompi_igatherv_f mpi_igatherv_f08ts_] (send, sends, sent, receive, receives, to, received, root, communicator, request) = Meet BeginToRoot (root, communicator, request);
    [MPI_Iscan mpi_iscan_ ompi_iscan_f mpi_iscan_f08ts_] (send, receive, count, datatype, operation, communicator, request) = Meet BeginPrefix (_, communicator, request);
    [MPI_Iexscan mpi_iexscan_ ompi_iexscan_f mpi_iexscan_f08ts_] (send, receive, count, datatype, operation, communicator, request) = Meet BeginPrefix (_, communicator, request);

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

    [MPI_Win_create mpi_win_create_ ompi_win_create_f mpi_win_create_f08ts_] (base, size, unit, info, communicator, made) = MakeWindow AllToAll (communicator, made);
    [MPI_Win_create_dynamic mpi_win_create_dynamic_ ompi_win_create_dynamic_f mpi_win_create_dynamic_f08_] (info, communicator, made) = MakeWindow AllToAll (communicator, made);
    [MPI_Win_allocate mpi_win_allocate_ ompi_win_allocate_f mpi_win_allocate_f08_] (size, unit, info, communicator, base, made) = MakeWindow AllToAll (communicator, made);
    [MPI_Win_allocate_shared mpi_win_allocate_shared_ ompi_win_allocate_shared_f mpi_win_allocate_shared_f08_] (size, unit, info, communicator, base, made) = MakeWindow AllToAll (communicator, made);
    [MPI_Win_free mpi_win_free_ ompi_win_free_f mpi_win_free_f08_] (window) = FreeWindow AllToAll (window);
    [MPI_Win_fence mpi_win_fence_ ompi_win_fence_f mpi_win_fence_f08_] (assertion, window) = Fence AllToAll (assertion, window);
    [MPI_Win_post mpi_win_post_ ompi_win_post_f mpi_win_post_f08_] (group, assertion, window) = Address Expose (group, window);
    [MPI_Win_start mpi_win_start_ ompi_win_start_f mpi_win_start_f08_] (group, assertion, window) = Address Access (group, window);
    [MPI_Win_complete mpi_win_complete_ ompi_win_complete_f mpi_win_complete_f08_] (window) = EndEpoch EndAccess (window);
    [MPI_Win_wait mpi_win_wait_ ompi_win_wait_f mpi_win_wait_f08_] (window) = EndEpoch EndExposure (window);
    [MPI_Win_test mpi_win_test_ ompi_win_test_f mpi_win_test_f08_] (window, flag) = TestWindow EndExposure (window, flag);
    [MPI_Win_lock mpi_win_lock_ ompi_win_lock_f mpi_win_lock_f08_] (kind, rank, assertion, window) = Lock LockWindow (kind, rank, window);
    [MPI_Win_unlock mpi_win_unlock_ ompi_win_unlock_f mpi_win_unlock_f08_] (rank, window) = Unlock UnlockWindow (rank, window);
}
