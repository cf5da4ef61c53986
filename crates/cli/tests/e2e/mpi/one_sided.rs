//! One-sided communication: who waits at fences, for windows to be opened, for accesses to end, and for locks of windows.

use super::jobs::{Job, MpiImplementation};
use super::{sent, unmatched, waited_in};
use crate::support::{Session, or_skip};

/// How often a job is recorded until other programs leave it alone enough.
const ATTEMPTS: usize = 5;

#[test]
fn who_orders_accesses_to_windows_waits_for_the_rank_that_comes_late() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "one_sided.c", ranks: 2, ..Job::default() };
        let places = [
            ("meet_at_fence", "window of 2 ranks"),
            ("access_window", "rank 1"),
            ("close_window", "rank 0"),
            ("test_window", "rank 0"),
        ];
        let mut recording = or_skip!(mpi.record_ranks(&session, &job));
        for attempt in 1..=ATTEMPTS {
            let waits = recording.report("waits", "procedure");
            let waited = places.map(|(procedure, object)| waited_in(&waits, procedure, object));
            // A rank that others keep from its processor comes late itself, and waits less.
            if waited.iter().all(|&seconds| seconds > 0.06) {
                break;
            }
            assert!(attempt < ATTEMPTS, "{waited:?} s of 0.1 each: {places:?} {mpi:?}");
            recording = or_skip!(mpi.record_ranks(&session, &job));
        }
        let late = |rank: u32, procedure: &str| {
            let path = recording.report("critical-path", "procedure");
            let seconds = path.sum("procedure", procedure, "seconds");
            assert!(seconds > 0.07, "{seconds} of 0.1 s on the path: {procedure} in rank {rank} {mpi:?}");
        };
        late(1, "compute_late");
        late(1, "compute_before_post");
        late(0, "compute_before_complete");
        // What orders accesses is no message of the program; 20 times a number is put.
        assert_eq!(sent(&recording, 0, 1), (20.0, 80.0), "{mpi:?}");
        assert_eq!(sent(&recording, 1, 0), (0.0, 0.0), "{mpi:?}");
        assert_eq!(unmatched(&recording), 0.0, "{mpi:?}");
    }
}

#[test]
fn who_wants_the_lock_of_a_window_waits_for_the_one_that_has_it() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "window_lock.c", ranks: 2, ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        let seconds = waited_in(&recording.report("waits", "procedure"), "take_lock", "window of rank 0");
        assert!(seconds > 0.06, "{seconds} s of 0.1: {mpi:?}");
        let path = recording.report("critical-path", "procedure");
        let on_path = path.sum("procedure", "compute_locked", "seconds");
        assert!(on_path > 0.09, "{on_path} of 0.1 s: {mpi:?} {}", path.table("procedure"));
        let shared = Job { arguments: &["shared"], ..job };
        let recording = or_skip!(mpi.record_ranks(&session, &shared));
        let seconds = waited_in(&recording.report("waits", "procedure"), "take_lock", "window of rank 0");
        assert_eq!(seconds, 0.0, "who shares a lock does not wait: {mpi:?}");
    }
}

#[test]
fn who_wants_a_window_that_is_locked_with_all_others_waits_and_accesses_have_bytes() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "passive_target.c", ranks: 2, ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        let waits = recording.report("waits", "procedure");
        let seconds = waited_in(&waits, "add_alone", "window of rank 1");
        assert!(seconds > 0.06, "{seconds} s of 0.1: {mpi:?}");
        let holder = waited_in(&waits, "main", "window of rank 1");
        assert!(holder < 0.01, "{holder} s of waiting for a lock that nobody else has: {mpi:?}");
        let path = recording.report("critical-path", "procedure");
        let on_path = path.sum("procedure", "compute_in_epoch", "seconds");
        assert!(on_path > 0.09, "{on_path} of 0.1 s: {mpi:?} {}", path.table("procedure"));
        // 5 messages of 4 bytes, and 10 times 200 bytes written; 5 times 40 read; 5 numbers written and read in its own window.
        assert_eq!(sent(&recording, 0, 1), (15.0, 2020.0), "{mpi:?}");
        assert_eq!(sent(&recording, 1, 0), (5.0, 200.0), "{mpi:?}");
        assert_eq!(sent(&recording, 1, 1), (10.0, 40.0), "{mpi:?}");
        assert_eq!(unmatched(&recording), 0.0, "{mpi:?}");
    }
}
