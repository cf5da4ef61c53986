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
    let session = Session::start();
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
