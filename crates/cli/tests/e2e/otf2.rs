//! OTF2 traces with known answers, written by OTF2's own library (`programs/otf2/write_trace.c`) from scripts that stand here: from
//! the trace to the answer. Times are exact, so that answers are, too.

use std::fmt::Display;
use std::path::PathBuf;
use std::process::Command;

use crate::mpi::jobs::waited;
use crate::support::{Recording, Session, find, longpole, or_skip, programs};

/// Seconds that two figures may differ by: rounding to nanoseconds.
const ROUNDING: f64 = 1e-6;

/// What is said of a trace, a line each.
#[derive(Debug, Default)]
struct TraceScript {
    lines: String,
}

impl TraceScript {
    /// So many ranks of one thread on one machine.
    fn of_ranks(ranks: u32) -> TraceScript {
        let mut script = TraceScript::default();
        script.line("node 1 node1");
        for rank in 0..ranks {
            script.line(format!("process {rank} 1 rank{rank}"));
            script.line(format!("thread {rank} {rank} Master"));
        }
        script
    }

    fn line(&mut self, line: impl Display) -> &mut TraceScript {
        self.lines += &format!("{line}\n");
        self
    }

    /// The thread is in a region from one time to another, microseconds.
    fn region(&mut self, thread: u32, name: &str, (from, to): (u64, u64)) -> &mut TraceScript {
        self.line(format!("{thread} {from} enter {name}")).line(format!("{thread} {to} leave {name}"))
    }

    /// The thread is in a call with these events, each with its time.
    fn call(
        &mut self,
        thread: u32,
        name: &str,
        (from, to): (u64, u64),
        events: &[(u64, &str)],
    ) -> &mut TraceScript {
        self.line(format!("{thread} {from} enter {name}"));
        for (time, event) in events {
            self.line(format!("{thread} {time} {event}"));
        }
        self.line(format!("{thread} {to} leave {name}"))
    }

    /// The thread takes part in a collective operation on a communicator.
    fn meet(
        &mut self,
        thread: u32,
        (name, operation, communicator, root): (&str, u8, u32, u32),
        (from, to): (u64, u64),
    ) -> &mut TraceScript {
        let end = format!("collective_end {operation} {communicator} {root}");
        self.call(thread, name, (from, to), &[(from, "collective_begin"), (to, &end)])
    }

    /// Writes the trace; its anchor file.
    fn write(&self, session: &Session) -> Result<PathBuf, String> {
        let source = programs().join("otf2/write_trace.c");
        let (program, folder) = (session.path().join("write_trace"), session.path().join("run"));
        find("otf2-config")?;
        let built = Command::new(find("gcc")?)
            .args(["-O2", "-o"])
            .arg(&program)
            .arg(source)
            .arg("-lotf2")
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let script = session.path().join("script");
        std::fs::write(&script, &self.lines).unwrap();
        let run = session.run(Command::new(program).arg(&folder).arg(script));
        assert!(run.status.success(), "{}", run.stderr);
        Ok(folder.join("traces.otf2"))
    }

    /// Writes the trace, and imports it.
    fn import(&self, session: &Session) -> Result<Recording, String> {
        let anchor = self.write(session)?;
        let path = session.path().join("run.longpole");
        let run = session.run(longpole().args(["import", "--force"]).arg(anchor).arg("-o").arg(&path));
        assert!(run.status.success(), "{}", run.stderr);
        Ok(Recording { run, ..Recording::at(&path) })
    }
}

/// Says that two figures are one.
#[track_caller]
fn assert_seconds(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < ROUNDING, "{what}: {found} s, not {expected} s");
}

/// A count of the evidence; 0 where it has none of it.
fn counted(recording: &Recording, what: &str) -> f64 {
    let evidence = recording.report("evidence", "thread");
    assert!(evidence.rows().any(|row| row.contains_key("count")), "{}", evidence.value);
    evidence.sum("name", what, "count")
}

/// Rank 1 computes 60 ms before each of 10 messages, rank 0 computes 20 ms before each receive; a message takes 0.1 ms.
fn late_sender() -> TraceScript {
    let mut script = TraceScript::of_ranks(2);
    script.line("0 0 enter main").line("1 0 enter main");
    for round in 0..10 {
        let at = 60_100 * round;
        script.region(0, "compute_early", (at, at + 20_000));
        script.call(0, "MPI_Recv", (at + 20_000, at + 60_100), &[(at + 60_100, "recv 1 0 7 4")]);
        script.region(1, "compute_late", (at, at + 60_000));
        script.call(1, "MPI_Send", (at + 60_000, at + 60_100), &[(at + 60_050, "send 0 0 7 4")]);
    }
    script.line("0 601000 leave main").line("1 601000 leave main");
    script
}

#[test]
fn a_trace_of_a_late_sender_is_answered_with_the_late_rank_and_its_procedure() {
    let session = Session::beside_others();
    let recording = or_skip!(late_sender().import(&session));
    // 10 × (60 − 20) ms.
    assert_seconds(waited(&recording, 0, "rank 1"), 0.4, "waiting for the sender");
    assert_seconds(waited(&recording, 1, "rank 0"), 0.0, "the sender waits for nobody");
    let answer = &recording.run.stderr;
    assert!(answer.contains("The long pole: `rank 1` sends late"), "{answer}");
    assert!(answer.contains("`compute_late`"), "{answer}");
    assert!(!answer.contains("Caution"), "{answer}");
    let profile = recording.report("profile", "procedure");
    assert_seconds(profile.sum("procedure", "compute_late", "seconds"), 0.6, "compute_late");
    assert_seconds(profile.sum("procedure", "compute_early", "seconds"), 0.2, "compute_early");
    let critical = recording.report("critical-path", "procedure");
    assert_seconds(critical.sum("procedure", "compute_late", "seconds"), 0.6, "compute_late on the path");
    let messages = recording.report("messages", "process");
    assert_eq!((messages.sum_of("messages"), messages.sum_of("bytes")), (10.0, 40.0));
    let waits = recording.report("waits", "procedure");
    assert_seconds(waits.sum_of("seconds"), 0.4, "waits");
}

/// Three ranks come to operations of one kind, five times, at 10, 20 and 40 ms of each round; all leave 0.1 ms after the last.
fn uneven_ranks(name: &str, operation: u8, root: u32) -> TraceScript {
    let mut script = TraceScript::of_ranks(3);
    for rank in 0..3 {
        script.line(format!("{rank} 0 enter main"));
    }
    for round in 0..5 {
        let at = 40_100 * round;
        for (rank, comes) in [(0, 10_000), (1, 20_000), (2, 40_000)] {
            script.region(rank, "compute", (at, at + comes));
            script.meet(rank, (name, operation, 0, root), (at + comes, at + 40_100));
        }
    }
    for rank in 0..3 {
        script.line(format!("{rank} 200500 leave main"));
    }
    script
}

#[test]
fn members_of_collective_operations_wait_for_those_whom_the_operation_needs() {
    const NO_ROOT: u32 = u32::MAX;
    let session = Session::beside_others();
    // Milliseconds that ranks 0, 1 and 2 wait in a round: for all others, for the root, the root for all, for lower ranks.
    let cases = [
        ("MPI_Barrier", 0, NO_ROOT, [30.0, 20.0, 0.0]),
        ("MPI_Allreduce", 11, NO_ROOT, [30.0, 20.0, 0.0]),
        ("MPI_Bcast", 1, 2, [30.0, 20.0, 0.0]),
        ("MPI_Bcast", 1, 1, [10.0, 0.0, 0.0]),
        ("MPI_Scatter", 4, 0, [0.0, 0.0, 0.0]),
        ("MPI_Reduce", 12, 0, [30.0, 0.0, 0.0]),
        ("MPI_Gather", 2, 2, [0.0, 0.0, 0.0]),
        ("MPI_Scan", 14, NO_ROOT, [0.0, 0.0, 0.0]),
    ];
    for (name, operation, root, milliseconds) in cases {
        let recording = or_skip!(uneven_ranks(name, operation, root).import(&session));
        for (rank, expected) in (0..).zip(milliseconds) {
            let seconds = waited(&recording, rank, "MPI_COMM_WORLD");
            assert_seconds(
                seconds,
                5.0 * expected / 1000.0,
                &format!("rank {rank} in {name} with root {root}"),
            );
        }
    }
    let recording = or_skip!(uneven_ranks("MPI_Allreduce", 11, NO_ROOT).import(&session));
    let answer = &recording.run.stderr;
    assert!(answer.contains("`rank 2` comes late to `MPI_Allreduce` in `main`"), "{answer}");
}

#[test]
fn receives_get_the_messages_of_their_channels_in_the_order_in_which_they_were_posted() {
    let session = Session::beside_others();
    let mut script = TraceScript::of_ranks(3);
    // Rank 0 posts two receives for each other rank, and completes those of rank 2 first. Rank 1 sends at 10 and 30 ms, rank 2 at
    // 20 and 50 ms: it waits 50 − 1 ms for rank 2, and nothing for rank 1.
    script.line("0 0 enter main");
    let posts: Vec<String> = (1..=4).map(|request| format!("irecv_request {request}")).collect();
    for (place, post) in posts.iter().enumerate() {
        script.call(
            0,
            "MPI_Irecv",
            (100 * place as u64, 100 * place as u64 + 50),
            &[(100 * place as u64 + 20, post)],
        );
    }
    let complete = ["irecv 2 0 5 8 4", "irecv 2 0 5 4 3", "irecv 1 0 5 8 2", "irecv 1 0 5 4 1"]
        .map(|event| (50_100, event));
    script.call(0, "MPI_Waitall", (1_000, 50_100), &complete);
    script.line("0 50200 leave main");
    for (rank, times) in [(1, [10_000, 30_000]), (2, [20_000, 50_000])] {
        script.line(format!("{rank} 0 enter main"));
        for (time, bytes) in times.into_iter().zip([4, 8]) {
            let sent = format!("send 0 0 5 {bytes}");
            script.call(rank, "MPI_Send", (time, time + 100), &[(time + 50, &sent)]);
        }
        script.line(format!("{rank} 50200 leave main"));
    }
    let recording = or_skip!(script.import(&session));
    assert_seconds(waited(&recording, 0, "rank 2"), 0.049, "waiting for the last");
    let messages = recording.report("messages", "process");
    assert_eq!((messages.sum_of("messages"), messages.sum_of("bytes")), (4.0, 24.0));
    // Were a message matched to the wrong receive, lengths would differ.
    assert_eq!(counted(&recording, "unmatched messages"), 0.0);
}

#[test]
fn what_overlaps_with_work_waits_only_for_the_rest() {
    let session = Session::beside_others();
    let mut script = TraceScript::of_ranks(2);
    script.line("0 0 enter main").line("1 0 enter main");
    // Rank 0 posts, computes 30 ms and waits for a message that is sent at 50 ms: 20 ms. Then both begin a barrier, rank 0 at 60 ms and
    // rank 1 at 80 ms, and wait for it from 70 and 90 ms on: 10 ms and nothing.
    script.call(0, "MPI_Irecv", (0, 10), &[(5, "irecv_request 1")]).region(0, "compute", (10, 30_000));
    script.call(0, "MPI_Wait", (30_000, 50_100), &[(50_100, "irecv 1 0 5 4 1")]);
    script.region(1, "compute", (0, 50_000));
    script.call(1, "MPI_Isend", (50_000, 50_010), &[(50_005, "isend 0 0 5 4 9")]);
    script.call(1, "MPI_Wait", (50_050, 50_100), &[(50_100, "isend_complete 9")]);
    for (rank, begins, waits) in [(0, 60_000, 70_000), (1, 80_000, 90_000)] {
        script.call(rank, "MPI_Ibarrier", (begins, begins + 10), &[(begins + 5, "collective_request 2")]);
        script.call(rank, "MPI_Wait", (waits, 90_100), &[(90_100, "collective_complete 0 0 4294967295 2")]);
        script.line(format!("{rank} 90200 leave main"));
    }
    let recording = or_skip!(script.import(&session));
    assert_seconds(waited(&recording, 0, "rank 1"), 0.020, "the message");
    assert_seconds(
        waited(&recording, 0, "MPI_COMM_WORLD"),
        0.010,
        "the barrier, from where it is waited for",
    );
    assert_seconds(waited(&recording, 1, "MPI_COMM_WORLD"), 0.0, "the last to begin");
}

#[test]
fn the_root_cause_of_a_chain_is_the_first_rank() {
    let session = Session::beside_others();
    let mut script = TraceScript::of_ranks(3);
    for rank in 0..3 {
        script.line(format!("{rank} 0 enter main"));
    }
    // Rank 0 computes 40 ms and sends to rank 1, which has 10 ms of work before and sends to rank 2, which has 10 ms of work before.
    for round in 0..5 {
        let at = 41_000 * round;
        script.region(0, "compute_first", (at, at + 40_000));
        script.call(0, "MPI_Send", (at + 40_000, at + 40_100), &[(at + 40_000, "send 1 0 5 4")]);
        script.region(1, "compute_second", (at, at + 10_000));
        script.call(1, "MPI_Recv", (at + 10_000, at + 40_200), &[(at + 40_200, "recv 0 0 5 4")]);
        script.call(1, "MPI_Send", (at + 40_300, at + 40_400), &[(at + 40_300, "send 2 0 5 4")]);
        script.region(2, "compute_third", (at, at + 10_000));
        script.call(2, "MPI_Recv", (at + 10_000, at + 40_500), &[(at + 40_500, "recv 1 0 5 4")]);
    }
    for rank in 0..3 {
        script.line(format!("{rank} 205000 leave main"));
    }
    let recording = or_skip!(script.import(&session));
    assert_seconds(waited(&recording, 1, "rank 0"), 5.0 * 0.030, "the second for the first");
    assert_seconds(waited(&recording, 2, "rank 1"), 5.0 * 0.0303, "the third for the second");
    let answer = &recording.run.stderr;
    assert!(answer.contains("`compute_first`"), "{answer}");
    let critical = recording.report("critical-path", "procedure");
    assert_seconds(critical.sum("procedure", "compute_first", "seconds"), 0.2, "the first on the path");
}

#[test]
fn numbers_of_a_location_and_its_clock_become_those_of_the_trace() {
    let session = Session::beside_others();
    let mut script = TraceScript::default();
    script.line("node 1 node1").line("node 2 node2");
    for rank in 0..4 {
        script.line(format!("process {rank} {} rank{rank}", 1 + rank % 2));
        script.line(format!("thread {rank} {rank} Master"));
    }
    script.line("comm 1 odd 1,3").line("comm 2 even 0,2");
    // Ranks 1 and 3 know their communicator as 7, and their clock is 100 ms ahead and becomes 20 ms more so in 1 s.
    for rank in [1, 3] {
        script.line(format!("local {rank} comm 7 1")).line(format!("local {rank} comm 0 0"));
        script.line(format!("local {rank} region 50 MPI_Barrier"));
        script.line(format!("clock {rank} 100000 -100000")).line(format!("clock {rank} 1120000 -120000"));
    }
    script.line("0 0 enter main").line("2 0 enter main");
    // The trace's 10 ms is 110.2 ms by that clock: 10 + 100 + 0.02 × 10.
    for (rank, comes) in [(1, 10_000_u64), (3, 40_000)] {
        let own = |time: u64| time + 100_000 + time / 50;
        script.line(format!("{rank} {} enter_number 50", own(comes)));
        script.line(format!("{rank} {} collective_begin", own(comes)));
        script.line(format!("{rank} {} collective_end 0 7 4294967295", own(50_000)));
        script.line(format!("{rank} {} leave_number 50", own(50_000)));
    }
    for (rank, comes) in [(0, 20_000), (2, 25_000)] {
        script.meet(rank, ("MPI_Barrier", 0, 2, u32::MAX), (comes, 50_000));
        script.line(format!("{rank} 50100 leave main"));
    }
    let recording = or_skip!(script.import(&session));
    let waits = [(0, "even", 0.005), (2, "even", 0.0), (1, "odd", 0.030), (3, "odd", 0.0)];
    for (rank, communicator, expected) in waits {
        assert_seconds(waited(&recording, rank, communicator), expected, &format!("rank {rank}"));
    }
    let tree = recording.report("tree", "machine");
    let text = tree.value.to_string();
    assert!(text.contains("node1") && text.contains("node2"), "{text}");
}

/// Two threads of a team compute 10 and 30 ms before a barrier, twice, with 20 ms of the first one alone between.
fn team_script() -> TraceScript {
    let mut script = TraceScript::default();
    script.line("node 1 node1").line("process 0 1 rank0").line("thread 0 0 Master").line("thread 1 0 Worker");
    script.line("team 1 team 0,1").line("0 0 enter main");
    for at in [0, 50_000] {
        script.line(format!("0 {at} enter omp_parallel")).line(format!("0 {at} fork 2"));
        for (thread, work) in [(0, 10_000), (1, 30_000)] {
            script.line(format!("{thread} {at} team_begin 1"));
            script.region(thread, "work", (at, at + work));
            script.region(thread, "omp_barrier", (at + work, at + 30_000));
            script.line(format!("{thread} {} team_end 1", at + 30_000));
        }
        script.line(format!("0 {} join", at + 30_000)).line(format!("0 {} leave omp_parallel", at + 30_000));
        if at == 0 {
            script.region(0, "serial", (30_000, 50_000));
        }
    }
    script.line("0 80000 leave main");
    script
}

#[test]
fn threads_of_a_team_wait_at_its_barrier_and_rest_between_teams() {
    let session = Session::beside_others();
    let recording = or_skip!(team_script().import(&session));
    let waits = recording.report("objects", "object");
    assert_seconds(waits.sum("object", "omp_barrier", "seconds"), 0.040, "the first at the barrier");
    let profile = recording.report("profile", "procedure");
    assert_seconds(profile.sum("procedure", "work", "seconds"), 0.080, "work");
    assert_seconds(profile.sum("procedure", "serial", "seconds"), 0.020, "serial");
    // The worker's work is beneath the region that made the team.
    assert_seconds(
        profile.sum("procedure", "omp_parallel", "inclusive_seconds"),
        0.080,
        "beneath the parallel region",
    );
    let critical = recording.report("critical-path", "procedure");
    assert_seconds(critical.sum("procedure", "work", "seconds"), 0.060, "work on the path");
    assert_seconds(critical.sum("procedure", "serial", "seconds"), 0.020, "serial on the path");
    assert_eq!(counted(&recording, "contradictions"), 0.0);
}

#[test]
fn locks_and_ends_of_threads_are_waited_for_as_long_as_the_others_take() {
    let session = Session::beside_others();
    let mut script = TraceScript::default();
    script.line("node 1 node1").line("process 0 1 rank0").line("thread 0 0 Master").line("thread 1 0 Other");
    script.line("team 1 threads 0,1");
    // The other thread has the lock from 5 to 35 ms, the first wants it at 10 ms: 25 ms. It joins at 40 ms a thread that ends at 60 ms.
    script.line("0 0 enter main").line("0 1000 thread_create 1 1");
    script.line("1 2000 thread_begin 1 1").line("1 2000 enter run");
    script.call(1, "pthread_mutex_lock", (5_000, 5_000), &[(5_000, "acquire 3 1")]);
    script.region(1, "hog", (5_000, 35_000)).line("1 35000 release 3 1");
    script.call(0, "pthread_mutex_lock", (10_000, 35_000), &[(35_000, "acquire 3 2")]);
    script.line("0 36000 release 3 2").call(
        0,
        "pthread_join",
        (40_000, 60_000),
        &[(60_000, "thread_wait 1 1")],
    );
    script.line("1 60000 leave run").line("1 60000 thread_end 1 1").line("0 61000 leave main");
    let recording = or_skip!(script.import(&session));
    let objects = recording.report("objects", "object");
    assert_seconds(objects.sum("object", "lock 3", "seconds"), 0.025, "the lock");
    let waits = recording.report("waits", "procedure");
    assert_seconds(waits.sum_of("seconds"), 0.045, "all waits");
    assert_eq!(counted(&recording, "contradictions"), 0.0);
    let critical = recording.report("critical-path", "procedure");
    assert_seconds(critical.sum("procedure", "hog", "seconds"), 0.030, "the hog on the path");
}
