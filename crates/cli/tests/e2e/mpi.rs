//! The programs of `programs/mpi/`, whose answers are worked out in their first comments, on Debian's Open MPI and MPICH.
//!
//! Ranks compute by their own processor time. On a busy machine ranks wait longer for one that lacks a processor, and a little
//! shorter where they lack one themselves before they wait.

mod census;
mod even_shares;
pub(crate) mod jobs;
mod machines;
mod not_understood;
mod one_sided;
mod polling;
mod prepared;
mod stopped;

use crate::support::{Answer, Recording, Session, find, or_skip, programs, skipped};
use jobs::{Job, MpiImplementation, waited, without_processor};

#[test]
fn a_receiver_waits_for_a_late_sender_though_it_polls() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let recording = or_skip!(mpi.record(&session, "late_sender", &[]));
        let seconds = waited(&recording, 0, "rank 1");
        assert!(seconds > 0.3, "{seconds} s, not at least most of 0.4");
        assert_eq!(waited(&recording, 1, "rank 0"), 0.0, "the sender waits for nobody");
        let profile = recording.report("profile", "procedure");
        let work = |procedure| profile.sum("procedure", procedure, "seconds");
        let ratio = work("compute_late") / work("compute_early");
        assert!((2.6..3.4).contains(&ratio), "{ratio} instead of 3: {}", profile.table("procedure"));
        let critical = recording.report("critical-path", "procedure");
        let on_path = critical.sum("procedure", "compute_late", "seconds");
        assert!((0.55..0.65).contains(&on_path), "{on_path} s: {}", critical.table("procedure"));
    }
}

#[test]
fn a_synchronous_send_waits_for_a_late_receiver_and_an_eager_one_does_not() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let recording = or_skip!(mpi.record(&session, "late_receiver", &[]));
        let seconds = waited(&recording, 1, "rank 0");
        assert!(seconds > 0.3, "{seconds} s, not at least most of 0.4");
        let recording = or_skip!(mpi.record(&session, "late_receiver", &["eager"]));
        let seconds = waited(&recording, 1, "rank 0");
        assert!(seconds < 0.02, "{seconds} s for sends that do not wait");
    }
}

#[test]
fn ranks_wait_at_a_barrier_for_the_one_that_comes_last() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        for arguments in [&[][..], &["allreduce"]] {
            let recording = or_skip!(mpi.record(&session, "late_to_barrier", arguments));
            let [first, second, third] = [0, 1, 2].map(|rank| waited(&recording, rank, "MPI_COMM_WORLD"));
            // On two processors three ranks compute by turns: ranks 0 and 1 wait for what rank 2 had still to do then.
            assert!(first + second > 0.5, "{first} and {second} s {arguments:?}");
            assert!(third < 0.2, "{third} s {arguments:?}");
        }
    }
}

#[test]
fn what_holds_the_last_of_a_chain_back_is_the_first() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let recording = or_skip!(mpi.record(&session, "chain_of_three", &[]));
        let waits = recording.report("waits", "procedure").value;
        let rows = waits["rows"].as_array().unwrap().iter().filter(|row| row["object"] == "rank 1");
        let longest = rows.max_by_key(|row| row["seconds"].as_f64().map(|seconds| (1e9 * seconds) as u64));
        let causes = longest.expect("rank 2 waits for rank 1")["root_causes"].as_array().unwrap().clone();
        let share = |procedure: &str| -> f64 {
            let of =
                causes.iter().filter(|cause| cause["side"] == "positive" && cause["procedure"] == procedure);
            of.filter_map(|cause| cause["percent"].as_f64()).sum()
        };
        // Where ranks lack processors a part of what held it back is that; of what ranks did it is `prepare` by far.
        assert!(share("prepare") > 4.0 * share("pass_on"), "{causes:#?}");
        assert!(share("prepare") > 10.0, "{causes:#?}");
    }
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn fortran_programs_are_followed_by_each_of_their_interfaces() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        for interface in ["-DMPIF_H", "-DUSE_MPI", "-DUSE_MPI_F08"] {
            let job = Job { file: "fortran_ring.F90", flags: &[interface], ranks: 2, ..Job::default() };
            let recording = or_skip!(mpi.record_ranks(&session, &job));
            let [early, late] = [0, 1].map(|rank| waited(&recording, rank, &format!("rank {}", 1 - rank)));
            assert!(early > 0.3, "{early} s, not at least most of 0.4: {mpi:?} {interface}");
            assert_eq!(late, 0.0, "the sender waits for nobody: {mpi:?} {interface}");
            let idle = waited(&recording, 0, "MPI_COMM_WORLD");
            assert!(idle > 0.2, "{idle} s, not at least most of 0.25: {mpi:?} {interface}");
            let waits = recording.report("waits", "procedure");
            let at_receive = waits.rows().any(|row| {
                row.get("object").is_some_and(|object| object == "rank 1")
                    && row.get("procedure").is_some_and(|procedure| procedure == "fortran_ring")
            });
            assert!(at_receive, "{}", waits.table("procedure"));
        }
    }
}

/// Seconds of waiting in this procedure for this object, of a view of waits by procedure.
fn waited_in(waits: &Answer, procedure: &str, object: &str) -> f64 {
    let is_it = |row: &&serde_json::Map<String, serde_json::Value>| {
        let has = |key: &str, value: &str| row.get(key).is_some_and(|found| found == value);
        has("procedure", procedure) && has("object", object)
    };
    waits.rows().filter(is_it).filter_map(|row| row["seconds"].as_f64()).sum()
}

/// How many messages one rank sent to another, and of how many bytes in all.
fn sent(recording: &Recording, from: u32, to: u32) -> (f64, f64) {
    let messages = recording.report("messages", "process");
    let is = |row: &serde_json::Map<String, serde_json::Value>, key: &str, rank: u32| {
        row[key].as_str().is_some_and(|label| label.ends_with(&format!(": rank {rank}")))
    };
    let of = |key: &str| {
        let rows = messages.rows().filter(|row| is(row, "from", from) && is(row, "to", to));
        rows.filter_map(|row| row[key].as_f64()).sum()
    };
    (of("messages"), of("bytes"))
}

/// Messages and collective operations that are not known at all ends.
fn unmatched(recording: &Recording) -> f64 {
    let evidence = recording.report("evidence", "procedure");
    let of = |name| evidence.sum("name", name, "count");
    of("unmatched messages") + of("incomplete collectives")
}

/// The procedures of `ways_to_wait.c`, and what each waits for.
const WAYS: [(&str, &str); 16] = [
    ("by_waitall", "rank 1"),
    ("by_waitany", "rank 1"),
    ("by_waitsome", "rank 1"),
    ("by_test", "rank 1"),
    ("by_testall", "rank 1"),
    ("by_testany", "rank 1"),
    ("by_testsome", "rank 1"),
    ("by_probe", "rank 1"),
    ("by_iprobe", "rank 1"),
    ("by_mprobe", "rank 1"),
    ("by_improbe", "rank 1"),
    ("by_persistent", "rank 1"),
    ("by_sendrecv", "rank 1"),
    ("meets_by_ibarrier", "communicator of 2 ranks"),
    ("meets_by_iallreduce", "communicator of 2 ranks"),
    ("meets_by_ibcast", "communicator of 2 ranks"),
];

#[test]
fn every_call_that_can_wait_waits_for_the_rank_that_comes_late() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "ways_to_wait.c", ranks: 2, ..Job::default() };
        let mut recording = or_skip!(mpi.record_ranks(&session, &job));
        // A rank that other programs keep from its processor comes late itself, and waits less.
        let mut longest = WAYS.map(|_| 0.0_f64);
        let mut waits = recording.report("waits", "procedure");
        for attempt in 1..=ATTEMPTS {
            for (longest, (procedure, object)) in longest.iter_mut().zip(WAYS) {
                *longest = longest.max(waited_in(&waits, procedure, object));
            }
            if longest.iter().all(|&seconds| seconds > 0.08) || attempt == ATTEMPTS {
                break;
            }
            recording = or_skip!(mpi.record_ranks(&session, &job));
            waits = recording.report("waits", "procedure");
        }
        for (seconds, (procedure, _)) in longest.into_iter().zip(WAYS) {
            assert!(seconds > 0.08, "{seconds} s of 0.1: {procedure} {mpi:?}");
        }
        // 11 ways of 5 rounds with 3 messages, 5 rounds with 1 message, 5 with 1 each way, and 3 messages twice at last.
        assert_eq!(sent(&recording, 1, 0), (181.0, 724.0), "{mpi:?}");
        assert_eq!(sent(&recording, 0, 1), (5.0, 20.0), "{mpi:?}");
        assert_eq!(unmatched(&recording), 0.0, "{mpi:?}");
        let seconds = waited_in(&waits, "between_looks", "rank 1");
        assert!(seconds < 0.01, "{seconds} s of waiting between which it computed: {mpi:?}");
        let seconds = waited_in(&waits, "between_bursts", "rank 1");
        // MPICH gives its processor away within a look, so there it does wait.
        let is_busy = mpi == MpiImplementation::OpenMpi;
        let most = 0.02 + without_processor(&recording, 1);
        assert!(!is_busy || seconds < most, "{seconds} s of waiting, mostly of computing: {mpi:?}");
    }
}

#[test]
fn members_of_a_collective_wait_for_those_whom_it_needs() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let recording = or_skip!(mpi.record(&session, "late_in_collectives", &[]));
        let waits = recording.report("waits", "procedure");
        let waited = |procedure| waited_in(&waits, procedure, "MPI_COMM_WORLD");
        for (procedure, most) in [("late_root", 0.4), ("early_root", 0.2), ("scan_of_first", 0.4)] {
            let seconds = waited(procedure);
            assert!(seconds > 0.5 * most, "{seconds} s, not most of {most}: {procedure} {mpi:?}");
        }
        for procedure in ["late_leaf", "late_gather", "scan_of_last"] {
            let seconds = waited(procedure);
            // Where those who are needed lack a processor.
            assert!(seconds < 0.1, "{seconds} s instead of none: {procedure} {mpi:?}");
        }
    }
}

#[test]
fn without_the_last_at_a_barrier_ranks_wait_for_the_second_to_last() {
    let session = Session::start();
    let mpi = MpiImplementation::OpenMpi;
    let recording = or_skip!(mpi.record(&session, "second_latest", &[]));
    let profile = recording.report("profile", "procedure");
    let work = |procedure| profile.sum("procedure", procedure, "seconds");
    let gains = recording.report("zeroing", "procedure");
    let gain = gains.sum("procedure", "compute_long", "zeroing_seconds");
    let expected = work("compute_long") - work("compute_middle");
    assert!((gain - expected).abs() < 0.15 * work("compute_long"), "{gain} instead of {expected} s");
    // The same program, rebuilt without that work.
    let zeroed = Job {
        file: "second_latest.c",
        flags: &["-DSCALED=\"compute_long\"", "-DFACTOR=0"],
        ..Job::default()
    };
    let rebuilt = or_skip!(mpi.record_ranks(&session, &zeroed));
    let on_path = |recording: &Recording| {
        let path = recording.report("critical-path", "procedure");
        let of = |procedure| path.sum("procedure", procedure, "seconds");
        of("compute_short") + of("compute_middle") + of("compute_long")
    };
    let truth = on_path(&rebuilt);
    let predicted = work("compute_long") - gain;
    assert!((truth - predicted).abs() < 0.1, "{predicted} s on the path, {truth} s when rebuilt");
}

#[test]
fn a_receiver_that_computes_meanwhile_waits_for_the_rest() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "overlap.c", ranks: 2, arguments: &["long"], ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        let seconds = waited(&recording, 0, "rank 1");
        // But where the sender lacks a processor for longer.
        let most = 0.06_f64.max(without_processor(&recording, 1));
        assert!(seconds < most, "{seconds} s, not below {most}: {mpi:?}");
        let recording = or_skip!(mpi.record_ranks(&session, &Job { arguments: &[], ..job }));
        let seconds = waited(&recording, 0, "rank 1");
        // A receiver that lacks a processor comes later by that.
        let least = 0.01_f64.min(0.05 - without_processor(&recording, 0));
        assert!(seconds > least, "{seconds} s instead of 0.05, not above {least}: {mpi:?}");
    }
}

/// The barrier of the short messages has all of the waiting, and their exchange next to none.
#[test]
fn a_long_message_waits_for_the_rank_that_computes_while_it_is_under_way() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "halo.c", ranks: 2, ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        // A receiver that lacks a processor comes later by that.
        let least = 0.1_f64.min(0.2 - without_processor(&recording, 0));
        let seconds = waited(&recording, 0, "rank 1");
        assert!(seconds > least, "{seconds} s instead of 0.2, not above {least}: {mpi:?}");
        let recording = or_skip!(mpi.record_ranks(&session, &Job { arguments: &["short"], ..job }));
        let seconds = waited(&recording, 0, "rank 1");
        let most = 0.05_f64.max(without_processor(&recording, 1));
        assert!(seconds < most, "{seconds} s, not below {most}: {mpi:?}");
    }
}

#[test]
fn wildcards_are_matched_within_their_communicator_in_the_order_of_receives() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "wildcards.c", ranks: 4, ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        assert_eq!(unmatched(&recording), 0.0, "{mpi:?}");
        for (from, to) in [(1, 0), (3, 2)] {
            assert_eq!(sent(&recording, from, to), (15.0, 120.0), "{mpi:?}");
            let seconds = waited(&recording, to, &format!("rank {from}"));
            assert!(seconds > 0.08, "{seconds} s, not most of 0.15: {mpi:?}");
        }
        assert_eq!(sent(&recording, 1, 2), (0.0, 0.0), "{mpi:?}");
    }
}

#[test]
fn what_holds_back_a_rank_is_found_in_the_threads_of_another() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "with_threads.c", ranks: 2, ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        let seconds = waited(&recording, 0, "rank 1");
        assert!(seconds > 0.12, "{seconds} s, not most of 0.2: {mpi:?}");
        let path = recording.report("critical-path", "procedure");
        let on_path = path.sum("procedure", "compute_part", "seconds");
        assert!(on_path > 0.18, "{on_path} of 0.2 s: {}", path.table("procedure"));
    }
}

#[test]
fn a_rank_that_is_killed_leaves_the_other_waiting_for_it() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "killed_rank.c", ranks: 2, may_fail: true, ..Job::default() };
        let recording = or_skip!(mpi.record_ranks(&session, &job));
        assert_eq!(sent(&recording, 1, 0), (3.0, 12.0), "{mpi:?}");
        assert_eq!(unmatched(&recording), 0.0, "{mpi:?}");
        let seconds = waited(&recording, 0, "rank 1");
        assert!(seconds > 0.05, "{seconds} s, not most of 0.1: {mpi:?}");
    }
}

#[test]
fn calls_are_followed_beside_collectors_without_privilege_too() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        for collector in ["process", "agent"] {
            let options = ["--collector", collector];
            let job = Job { file: "with_threads.c", ranks: 2, options: &options, ..Job::default() };
            let recording = or_skip!(mpi.record_ranks(&session, &job));
            assert_eq!(sent(&recording, 1, 0), (5.0, 20.0), "{mpi:?} {collector}");
            assert_eq!(unmatched(&recording), 0.0, "{mpi:?} {collector}");
            let waits = recording.report("waits", "procedure");
            let seconds = waited_in(&waits, "receive_sum", "rank 1");
            assert!(seconds > 0.12, "{seconds} s, not most of 0.2: {mpi:?} {collector}");
        }
    }
}

/// Recordings of which one is to be right.
const ATTEMPTS: usize = 5;

#[test]
fn threads_of_a_rank_take_turns_at_a_lock_however_long_mpi_takes_to_begin() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let job = Job { file: "threads_share_a_lock.c", ranks: 1, ..Job::default() };
        // Threads that other programs keep from their processors share the lock less closely: one recording of several is
        // without that.
        let mut found = String::new();
        for _ in 0..ATTEMPTS {
            let recording = or_skip!(mpi.record_ranks(&session, &job));
            let path = recording.report("critical-path", "procedure");
            let on_path = path.sum("procedure", "compute_part", "seconds");
            if (0.19..0.22).contains(&on_path) {
                found.clear();
                break;
            }
            found = format!("{on_path} of 0.2 s, {mpi:?}: {}", path.table("procedure"));
        }
        assert!(found.is_empty(), "{found}");
    }
}

/// The change of a summary about this procedure in this rank, with the text of the answer.
fn late_rank(recording: &Recording, subject: &str) -> Option<(f64, f64, String)> {
    let summary = recording.report("summary", "procedure");
    let answer: Vec<&str> = summary
        .rows()
        .filter(|row| row["section"] == "answer")
        .filter_map(|row| row.get("text")?.as_str())
        .collect();
    let change = summary.rows().find(|row| {
        row["section"] == "change" && row.get("text").and_then(|text| text.as_str()) == Some(subject)
    })?;
    let gain = |key: &str| change.get(key).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    Some((gain("gain_low_seconds"), gain("gain_high_seconds"), answer.join(" ")))
}

#[test]
fn the_rank_that_others_wait_for_is_named_with_what_it_does_and_what_balance_gains() {
    let session = Session::start();
    // By the programs' first comments: what is waited for the late rank while it runs, by all, divided by them and itself. In
    // `late_sender` rank 2, which does nothing, waits 600 ms in MPI_Finalize; Open MPI sleeps there, and that is not seen.
    let cases = [
        ("late_sender", "compute_late (late_sender) in rank 1", "`rank 1`", 0.4 / 2.0, (0.4 + 0.6) / 3.0),
        ("late_to_barrier", "compute_part (late_to_barrier) in rank 2", "`rank 2`", 0.3, 0.3),
    ];
    for mpi in MpiImplementation::ALL {
        for (program, subject, says, least, most) in cases {
            let recording = or_skip!(mpi.record(&session, program, &[]));
            let Some((low, high, answer)) = late_rank(&recording, subject) else {
                panic!("no change is about {subject}: {mpi:?}")
            };
            // Where three ranks share two processors, the early ones compute beside the late one.
            let is_near = low < 1.05 * most && high > 0.4 * least;
            assert!(is_near, "{low}–{high} s, not {least} to {most}: {subject} {mpi:?}");
            assert!(!answer.contains("block instead of spinning"), "{answer}");
            assert!(!answer.contains("Threads spin"), "{answer}");
            // Where other programs take the processors, that may lead; and that three ranks poll on two of them.
            let elapsed = recording.report("summary", "procedure").number("recording", "elapsed_seconds");
            let other_leads = least / elapsed < 0.1 || answer.contains("3 ranks that poll");
            assert!(other_leads || answer.contains(says), "{answer}");
        }
    }
}

#[test]
fn scripts_of_python_are_followed_by_mpi4py() {
    let session = Session::start();
    // Debian's, which is linked with its Open MPI.
    let python = or_skip!(find("/usr/bin/python3"));
    let has_module = std::process::Command::new(&python).args(["-c", "import mpi4py"]).output().unwrap();
    if !has_module.status.success() {
        return skipped("mpi4py is not installed for /usr/bin/python3");
    }
    let recording = or_skip!(MpiImplementation::OpenMpi.record_command(
        &session,
        2,
        &[python.as_os_str(), programs().join("mpi/ring.py").as_os_str()]
    ));
    assert_eq!(sent(&recording, 1, 0).0, 20.0, "10 objects and 10 arrays");
    assert_eq!(sent(&recording, 0, 1), (0.0, 0.0));
    assert_eq!(unmatched(&recording), 0.0);
    let seconds = waited(&recording, 0, "rank 1");
    assert!(seconds > 0.2, "{seconds} s, not at least most of 0.3");
    let messages = recording.report("messages", "process");
    let from: Vec<&str> = messages.rows().filter_map(|row| row["from"].as_str()).collect();
    assert!(from.contains(&"python3 ring.py: rank 1"), "{from:?}");
}
