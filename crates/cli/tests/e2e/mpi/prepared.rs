//! Collective operations that are prepared once and started again and again, and those among neighbours.

use super::jobs::{Job, MpiImplementation, waited};
use super::{unmatched, waited_in};
use crate::support::{Session, or_skip};

#[test]
fn operations_that_are_prepared_are_waited_for_each_time_they_are_started() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "persistent_collectives.c", ranks: 2, ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        let waits = recording.report("waits", "procedure");
        for procedure in ["meets_by_barrier", "meets_by_allreduce", "meets_by_bcast", "overlaps"] {
            let seconds = waited_in(&waits, procedure, "MPI_COMM_WORLD");
            assert!(seconds > 0.06, "{seconds} s of 0.1: {procedure} {mpi:?}");
        }
        assert_eq!(unmatched(&recording), 0.0, "{mpi:?}");
        let late = waited_in(&waits, "late_leaf", "MPI_COMM_WORLD");
        let early = waited(&recording, 0, "MPI_COMM_WORLD");
        // But where rank 0 lacks a processor when it is the root.
        assert!(late < 0.3 * early, "{late} s instead of none: {mpi:?}");
        let path = recording.report("critical-path", "procedure");
        let on_path = path.sum("procedure", "compute_late", "seconds");
        assert!(on_path > 0.6, "{on_path} of 0.75 s: {mpi:?} {}", path.table("procedure"));
    }
}

#[test]
fn a_rank_waits_for_those_of_its_neighbours_that_send_to_it() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "neighbours.c", ranks: 4, ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        assert_eq!(unmatched(&recording), 0.0, "{mpi:?}");
        let waits = recording.report("waits", "procedure");
        for (procedure, least) in [("exchanges", 0.12), ("exchanges_later", 0.12), ("passes_on", 0.06)] {
            let late = waited_in(&waits, procedure, "rank 0");
            assert!(late > least, "{late} s: {procedure} {mpi:?}");
            // Where these lack a processor.
            let others: f64 =
                [1, 2, 3].iter().map(|rank| waited_in(&waits, procedure, &format!("rank {rank}"))).sum();
            assert!(
                others < 0.5 * late,
                "{others} s for others than rank 0, for it {late}: {procedure} {mpi:?}"
            );
        }
        // Ranks 0 and 2 are no neighbours.
        for (rank, object) in [(2, "rank 0"), (0, "rank 2")] {
            assert_eq!(waited(&recording, rank, object), 0.0, "rank {rank} for {object}: {mpi:?}");
        }
        let path = recording.report("critical-path", "procedure");
        let on_path = path.sum("procedure", "compute_late", "seconds");
        assert!(on_path > 0.24, "{on_path} of 0.3 s: {mpi:?} {}", path.table("procedure"));
    }
}
