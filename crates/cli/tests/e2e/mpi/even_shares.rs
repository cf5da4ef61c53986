//! What even shares are promised to save, and what they save: the program is rebuilt with them, and both versions run.
//!
//! Both run in real time, so that the ranks have their processors; what they save is the difference of their critical paths, of CPU
//! time alone, which is that of their elapsed times where nothing else lengthens these.

use super::jobs::{Job, MpiImplementation};
use super::late_rank;
use crate::support::{Recording, Session, find, or_skip};

/// Seconds of the program's own work on the critical path.
fn on_path(recording: &Recording) -> f64 {
    recording.report("critical-path", "procedure").sum("procedure", "compute_part", "seconds")
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn even_shares_save_what_was_promised() {
    let session = Session::start();
    or_skip!(find("chrt"));
    for mpi in MpiImplementation::ALL {
        for (arguments, says) in [
            (&[][..], "`rank 1` comes late to `MPI_Allreduce` in `meet"),
            (&["send"], "`rank 1` sends late to `MPI_Recv` in `receive_result"),
        ] {
            let uneven = Job {
                file: "uneven_shares.c",
                ranks: 2,
                arguments,
                options: &["--mpi"],
                before: &["chrt", "-r", "1"],
                ..Job::default()
            };
            let even = or_skip!(mpi.record_ranks(&session, &Job { flags: &["-DEVEN_SHARES"], ..uneven }));
            let even_path = on_path(&even);
            let recording = or_skip!(mpi.record_ranks(&session, &uneven));
            let truth = on_path(&recording) - even_path;
            // 200 ms, each of the two runs as a machine that others use lets it be.
            assert!((0.18..0.23).contains(&truth), "{truth} s: {mpi:?} {arguments:?}");
            let found = late_rank(&recording, "compute_part (uneven_shares) in rank 1");
            let (low, high, answer) = found.expect("a change is about it");
            assert!(low > 0.1, "{low}–{high} s promises little: {mpi:?} {arguments:?}");
            assert!(low <= truth && truth <= high, "{truth} s, not {low}–{high}: {mpi:?} {arguments:?}");
            assert!(answer.contains(says), "{answer}");
        }
    }
}
