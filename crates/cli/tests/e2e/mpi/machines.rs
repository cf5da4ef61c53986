//! Parts of a run by recorders of their own, joined: clocks, machines, what is missing.
//!
//! All parts are recorded here, by one kernel, so that the truth about their clocks is known exactly: they are the same. To be taken
//! for another machine's, the manifest of a part gets another boot and a clock that is 5,000 s ahead and runs 3 ppm too fast.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{MpiImplementation, sent, unmatched, waited_in};
use crate::support::{Recording, Run, Session, find, longpole, or_skip};

impl MpiImplementation {
    /// Records each of the two ranks of `two_machines.c` as a part of a run into this folder, rank 1 behind these words.
    fn record_parts(self, session: &Session, run: &Path, before: &[&str]) -> Result<(), String> {
        let launcher = self.tool("mpirun")?;
        let program = self.build(session.path(), "two_machines.c", &[])?;
        let part = |command: &mut Command, before: &[&str]| {
            command.args(["-n", "1"]).args(before).arg(longpole().get_program());
            command.args(["record", "--part", "-o"]).arg(run).arg("--").arg(&program);
        };
        let mut command = Command::new(launcher);
        if self == MpiImplementation::OpenMpi {
            command.arg("--oversubscribe");
        }
        part(&mut command, &[]);
        command.arg(":");
        part(&mut command, before);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let run = session.run(&mut command);
        assert!(run.status.success(), "{}", run.stderr);
        Ok(())
    }
}

/// Nanoseconds by which the clock of another machine is ahead, at the begin of its part.
const AHEAD: f64 = 5e12;
/// By how much faster it is.
const FASTER: f64 = 3e-6;

fn join(parts: &[PathBuf], output: &Path) -> Run {
    let mut command = longpole();
    command.arg("join").args(parts).args(["--force", "-o"]).arg(output);
    crate::support::run(&mut command)
}

fn joined(parts: &[PathBuf], output: &Path) -> (Recording, String) {
    let run = join(parts, output);
    assert!(run.status.success(), "{}", run.stderr);
    (Recording::at(output), run.stderr)
}

fn manifest(recording: &Path) -> Value {
    serde_json::from_slice(&fs::read(recording.join("recording.json")).unwrap()).unwrap()
}

/// In four pieces of the run: by how much the clock of another machine is faster, beyond [`FASTER`].
const BENT: [f64; 4] = [0.0, 400e-6, -300e-6, 100e-6];

/// Has the clock that the part was moved to change its speed, and its oscillator not read.
fn bend(part: &Path) {
    let mut manifest = manifest(part);
    let time = |end: &str| manifest["outcome"][end].as_u64().unwrap();
    let (begin, end) = (time("begin_nanoseconds"), time("end_nanoseconds"));
    let (length, mut offset, mut pieces) = ((end - begin) / 4, AHEAD, Vec::new());
    for (index, drift) in (0_u64..).zip(BENT) {
        let drift = drift + FASTER;
        pieces.push(json!({
            "offset_nanoseconds": offset as i64, "drift": drift, "reference_nanoseconds": begin + index * length,
            "error_nanoseconds": 0
        }));
        offset += drift * length as f64;
    }
    let machine = &mut manifest["machines"][0];
    machine["clock_pieces"] = json!(pieces);
    machine.as_object_mut().unwrap().remove("clock_readings");
    fs::write(part.join("recording.json"), manifest.to_string()).unwrap();
}

/// Makes the part look as if another machine had recorded it.
fn move_elsewhere(part: &Path) {
    let mut manifest = manifest(part);
    let begin = manifest["outcome"]["begin_nanoseconds"].clone();
    let machine = &mut manifest["machines"][0];
    machine["name"] = json!("node2");
    machine["boot_id"] = json!("another");
    machine["clock"] =
        json!({"offset_nanoseconds": AHEAD as i64, "drift": FASTER, "reference_nanoseconds": begin});
    fs::write(part.join("recording.json"), manifest.to_string()).unwrap();
}

#[track_caller]
fn assert_answers(recording: &Recording, mpi: MpiImplementation) {
    assert_eq!(sent(recording, 0, 1), (1010.0, 4040.0), "{mpi:?}");
    assert_eq!(sent(recording, 1, 0), (1010.0, 4040.0), "{mpi:?}");
    assert_eq!(unmatched(recording), 0.0, "{mpi:?}");
    let path = recording.report("critical-path", "procedure");
    let on_path = |procedure| path.sum("procedure", procedure, "seconds");
    let (remote, local) = (on_path("compute_remote"), on_path("compute_local"));
    assert!((0.19..0.22).contains(&remote), "{remote} of 0.2 s {mpi:?}: {}", path.table("procedure"));
    assert!((0.09..0.12).contains(&local), "{local} of 0.1 s {mpi:?}: {}", path.table("procedure"));
    let waits = recording.report("waits", "procedure");
    let waited: f64 = ["await", "await_remote", "await_local", "main"]
        .into_iter()
        .flat_map(|place| ["rank 0", "rank 1"].map(|rank| waited_in(&waits, place, rank)))
        .sum();
    // Without a processor of their own ranks wait less, as they are late themselves.
    assert!(waited > 0.15, "{waited} s, not most of 0.3 {mpi:?}: {}", waits.table("procedure"));
}

#[test]
fn parts_of_one_machine_are_one_also_from_a_time_namespace() {
    let session = Session::start();
    or_skip!(find("unshare"));
    for mpi in MpiImplementation::ALL {
        let run = session.path().join(format!("run-{mpi:?}"));
        let namespace = ["unshare", "--time", "--monotonic", "5000", "--boottime", "5000", "--fork"];
        or_skip!(mpi.record_parts(&session, &run, &namespace));
        let (recording, said) = joined(std::slice::from_ref(&run), &session.path().join("joined.longpole"));
        assert!(said.contains("2 recordings on 1 machine"), "{said}");
        assert_answers(&recording, mpi);
        let summary = recording.report("summary", "procedure");
        assert_eq!(summary.number("recording", "machines"), 1.0);
        let elapsed = summary.number("recording", "elapsed_seconds");
        assert!(elapsed < 1000.0, "{elapsed} s: the namespace's clock is another one");
    }
}

#[test]
fn clocks_of_two_machines_are_compared_by_messages_within_the_error_that_is_said() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let run = session.path().join(format!("run-{mpi:?}"));
        or_skip!(mpi.record_parts(&session, &run, &[]));
        move_elsewhere(&run.join("rank-1.longpole"));
        let is_bent = mpi == MpiImplementation::Mpich;
        if is_bent {
            bend(&run.join("rank-1.longpole"));
        }
        let output = session.path().join("joined.longpole");
        let (recording, said) = joined(std::slice::from_ref(&run), &output);
        assert!(said.contains("the clock of node2 is 5000.0"), "{said}");
        let manifest = manifest(&output);
        let machine = &manifest["machines"][1];
        let error = machine["clock_error_nanoseconds"].as_f64().expect("messages went both ways");
        // Before the first message and after the last, a clock that may be slewed is less certain the longer that is.
        assert!(error < if is_bent { 1e7 } else { 1e6 }, "{error} ns after 2,000 messages");
        assert_clock_is_within_its_errors(&manifest, is_bent);
        assert_answers(&recording, mpi);
        assert_matrix_by_machine(&recording, &manifest);
        let path = recording.report("critical-path", "machine");
        let of = |machine| path.sum("machine", machine, "seconds");
        let here = manifest["machines"][0]["name"].as_str().unwrap();
        assert!(of("node2") > 0.19 && of(here) > 0.09, "{}", path.table("machine"));
        assert!(evidence_says(&recording, "the clock of node2"), "{said}");
    }
}

/// Each machine has one rank: so it sent what that one sent.
#[track_caller]
fn assert_matrix_by_machine(recording: &Recording, manifest: &Value) {
    let here = manifest["machines"][0]["name"].as_str().unwrap();
    let by_machine = recording.report("messages", "machine");
    let by_process = recording.report("messages", "process");
    for (from, to) in [(here, "node2"), ("node2", here)] {
        let of = |matrix: &crate::support::Answer, ends: [&str; 2]| -> Vec<f64> {
            let is = |row: &&serde_json::Map<String, Value>| {
                row["by"] == "MPI" && row[ends[0]] == from && row[ends[1]] == to
            };
            let number = |key: &str| matrix.rows().filter(is).filter_map(|row| row[key].as_f64()).sum();
            ["messages", "bytes", "waits", "seconds"].map(number).to_vec()
        };
        let machines = of(&by_machine, ["from", "to"]);
        assert_eq!(machines, of(&by_process, ["from_machine", "to_machine"]));
        assert_eq!(machines[..2], [1010.0, 4040.0], "from {from} to {to}");
    }
}

/// Both parts have one clock in truth, so nothing is to be added to it, in each piece but for its error.
#[track_caller]
fn assert_clock_is_within_its_errors(manifest: &Value, is_bent: bool) {
    let machine = &manifest["machines"][1];
    let line = [json!({
        "offset_nanoseconds": machine["clock"]["offset_nanoseconds"], "drift": machine["clock"]["drift"],
        "reference_nanoseconds": machine["clock"]["reference_nanoseconds"],
        "error_nanoseconds": machine["clock_error_nanoseconds"],
    })];
    let pieces = machine["clock_pieces"].as_array().map_or(&line[..], Vec::as_slice);
    assert!(if is_bent { pieces.len() >= BENT.len() } else { pieces.len() == 1 }, "{pieces:?}");
    let end = manifest["outcome"]["end_nanoseconds"].as_f64().unwrap();
    for (index, piece) in pieces.iter().enumerate() {
        let number = |key: &str| piece[key].as_f64().unwrap();
        let begin = number("reference_nanoseconds");
        let next = pieces.get(index + 1).map_or(end, |next| next["reference_nanoseconds"].as_f64().unwrap());
        for time in [begin, f64::midpoint(begin, next), next] {
            let off = number("offset_nanoseconds") + number("drift") * (time - begin);
            let error = number("error_nanoseconds");
            assert!(off.abs() <= error, "off by {off} ns, not by {error} at most: {piece}");
        }
    }
}

fn evidence_says(recording: &Recording, text: &str) -> bool {
    let evidence = recording.report("evidence", "procedure").value;
    let notes = evidence["evidence"]["notes"].as_array().unwrap();
    notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains(text)))
}

#[test]
fn what_is_missing_of_a_run_is_named_and_two_runs_are_not_joined() {
    let session = Session::start();
    for mpi in MpiImplementation::ALL {
        let [one, other] = ["one", "other"].map(|name| session.path().join(format!("{name}-{mpi:?}")));
        or_skip!(mpi.record_parts(&session, &one, &[]));
        or_skip!(mpi.record_parts(&session, &other, &[]));
        let output = session.path().join("joined.longpole");
        let (recording, said) = joined(&[one.join("rank-0.longpole")], &output);
        assert!(said.contains("rank 1 of 2 was not recorded"), "{said}");
        // What rank 0 received has no sender, what it sent no receiver, and in MPI_Finalize it is alone.
        assert_eq!(unmatched(&recording), 2021.0, "{mpi:?}");
        let refused = join(&[one.join("rank-0.longpole"), other.join("rank-1.longpole")], &output);
        assert_eq!(refused.status.code(), Some(1));
        assert!(refused.stderr.contains("different runs"), "{}", refused.stderr);
        let twice = join(&[one.join("rank-0.longpole"), one.join("rank-0.longpole")], &output);
        assert!(twice.stderr.contains("rank 0 is in"), "{}", twice.stderr);
    }
}

#[test]
fn clocks_that_no_messages_tie_together_are_placed_by_the_time_of_day_and_that_is_said() {
    let session = Session::start();
    let parts = ["here", "there"].map(|name| session.path().join(format!("{name}.longpole")));
    for part in &parts {
        let mut record = longpole();
        record.args(["record", "-q", "-o"]).arg(part).args(["sleep", "0.1"]);
        let run = session.run(&mut record);
        assert!(run.status.success(), "{}", run.stderr);
    }
    move_elsewhere(&parts[1]);
    let (recording, said) = joined(&parts, &session.path().join("joined.longpole"));
    assert!(said.contains("the clock of node2 is placed by the time of day"), "{said}");
    assert!(evidence_says(&recording, "the clock of node2 is placed by the time of day"), "{said}");
    let manifest = manifest(&recording.path);
    assert_eq!(manifest["machines"][1]["clock_error_nanoseconds"], Value::Null);
    // One recorder ran after the other, for a second or two.
    let elapsed = recording.report("summary", "procedure").number("recording", "elapsed_seconds");
    assert!((0.2..60.0).contains(&elapsed), "{elapsed} s");
}
