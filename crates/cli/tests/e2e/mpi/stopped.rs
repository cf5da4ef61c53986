//! A recorder that does not come to read, as on a busy machine: `many_messages.c` stops it while ranks send to and fro.

use super::{Job, MpiImplementation, sent, unmatched};
use crate::support::{Answer, Recording, Session, longpole, or_skip, run};

/// Tells the program who records it.
const SCRIPT: &str = "LONGPOLE_RECORDER=$PPID exec \"$0\" \"$@\"";
/// Round trips after the recorder goes on.
const AFTERWARDS: f64 = 100.0;

impl MpiImplementation {
    /// Records so many round trips with a stopped recorder.
    fn record_stopped(self, session: &Session, round_trips: &str) -> Result<Recording, String> {
        let job = Job {
            file: "many_messages.c",
            ranks: 2,
            arguments: &[round_trips],
            options: &["--mpi"],
            before: &["/bin/sh", "-c", SCRIPT],
            ..Job::default()
        };
        self.record_ranks(session, &job)
    }
}

fn count(evidence: &Answer, name: &str) -> f64 {
    evidence.sum("name", name, "count")
}

#[test]
fn no_message_is_lost_while_the_recorder_does_not_come_to_read() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        // 4,000 calls of each rank.
        let recording = or_skip!(mpi.record_stopped(&session, "2000"));
        for (from, to) in [(0, 1), (1, 0)] {
            let (messages, _) = sent(&recording, from, to);
            assert_eq!(messages, 2000.0 + AFTERWARDS, "{mpi:?}");
        }
        assert_eq!(unmatched(&recording), 0.0, "{mpi:?}");
        assert_eq!(count(&recording.report("evidence", "procedure"), "lost calls of MPI"), 0.0, "{mpi:?}");
    }
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn calls_that_find_no_room_are_told_of_all_and_no_message_is_matched_with_another() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        const TRIPS: f64 = 20_000.0;
        let recording = or_skip!(mpi.record_stopped(&session, "20000"));
        let evidence = recording.report("evidence", "procedure");
        let lost = count(&evidence, "lost calls of MPI");
        // What found no room of two a trip of each rank.
        assert!(lost > 0.1 * TRIPS && lost < 3.0 * TRIPS, "{lost} {mpi:?}");
        for (from, to) in [(0, 1), (1, 0)] {
            let (messages, _) = sent(&recording, from, to);
            assert!(messages > 5000.0 && messages < TRIPS, "{messages} of {TRIPS} {mpi:?}");
        }
        let answer = run(longpole().arg("report").arg(&recording.path)).stdout;
        let all = calls_of_all(&answer);
        // Sends and receives; three barriers, and what begins and ends the job.
        let least = 4.0 * (TRIPS + AFTERWARDS) + 8.0;
        assert!((least..least + 8.0).contains(&all), "{all} calls, not {least} {mpi:?}: {answer}");
        let matrix = run(longpole().arg("report").arg(&recording.path).args(["--view", "messages"])).stdout;
        for wrong in ["with another length", "received before sent"] {
            assert!(!matrix.contains(wrong), "{mpi:?}: {matrix}");
        }
        assert!(matrix.contains("calls of MPI were lost"), "{matrix}");
        // What followed the loss is known at one end only.
        assert!(unmatched(&recording) >= 4.0 * AFTERWARDS, "{mpi:?}: {matrix}");
    }
}

/// Of how many calls the answer says that some were lost.
fn calls_of_all(answer: &str) -> f64 {
    let words: Vec<&str> = answer.split_whitespace().collect();
    let at = words.windows(3).position(|words| words == ["calls", "of", "MPI"]);
    let number = at.and_then(|at| words.get(at.checked_sub(1)?)).map(|word| word.replace(',', ""));
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no losses are told: {answer}"))
}
