//! Calls of MPI that are not followed: their time is no work, and they are named.

use super::jobs::{Job, MpiImplementation};
use crate::support::{Session, or_skip};

#[test]
fn polling_in_calls_that_are_not_understood_is_no_work_and_said() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "not_understood.c", ranks: 2, ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        let profile = recording.report("profile", "procedure");
        let of = |procedure: &str, column: &str| profile.sum("procedure", procedure, column);
        let late = of("compute_late", "seconds") - of("compute_late", "spin_seconds");
        assert!((0.28..0.36).contains(&late), "{late} s instead of 0.3: {mpi:?}");
        for procedure in ["makes_group", "meets_unknown", "waits_unknown"] {
            let work = of(procedure, "seconds") - of(procedure, "spin_seconds");
            assert!(work < 0.01, "{work} s of work in {procedure} {mpi:?}: {}", profile.table("procedure"));
        }
        let evidence = recording.report("evidence", "procedure");
        // 10 calls make communicators; on these are 10 barriers, 10 that begin one, and 10 that wait for it.
        assert_eq!(evidence.sum("name", "MPI calls not understood", "count"), 40.0, "{mpi:?}");
        let said = evidence.rows().find(|row| row["name"] == "MPI calls not understood");
        let said = said.and_then(|row| row["about"].as_str()).unwrap_or_default();
        assert!(said.contains("MPI_Comm_create_group, 10 calls"), "{said}");
        assert!(said.contains("an operation on an unknown communicator, 30 calls"), "{said}");
        // Polling in calls of MPI is no advice to block.
        let summary = recording.report("summary", "procedure");
        let texts: Vec<&str> = summary.rows().filter_map(|row| row.get("text")?.as_str()).collect();
        assert!(!texts.iter().any(|text| text.contains("makes_group (")), "{texts:#?}");
    }
}
