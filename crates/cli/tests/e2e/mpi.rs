//! The programs of `programs/mpi/`, whose answers are worked out in their first comments, on Debian's Open MPI.
//!
//! Ranks compute by their own processor time. On a busy machine ranks wait longer for one that lacks a processor, and a little
//! shorter where they lack one themselves before they wait.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_trace::{ItemKind, State, Timelines, Trace};

use crate::support::{Recording, Session, find, longpole, or_skip, programs};

/// Compiles `programs/mpi/NAME.c`.
fn build(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let program = folder.join(name);
    let mut compiler = Command::new(find("mpicc")?);
    compiler
        .args(["-O2", "-g", "-o"])
        .arg(&program)
        .arg(programs().join("mpi").join(name).with_extension("c"));
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(program)
}

/// Records three ranks of a program.
fn record(session: &Session, name: &str, arguments: &[&str], options: &[&str]) -> Result<Recording, String> {
    let (launcher, program) = (find("mpirun")?, build(session.path(), name)?);
    let path = session.path().join(name).with_extension("longpole");
    let mut record = longpole();
    record.args(["record", "--force", "-o"]).arg(&path).args(options).arg("--").arg(launcher);
    record.args(["--oversubscribe", "-n", "3"]).arg(program).args(arguments.iter().map(OsString::from));
    record.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let run = session.run(&mut record);
    assert!(run.status.success(), "{}", run.stderr);
    Ok(Recording::at(&path))
}

/// Seconds for which this rank waited for this object, polling or not.
fn waited(recording: &Recording, rank: u32, object: &str) -> f64 {
    let trace = Trace::open(&recording.path).unwrap();
    let (program, objects) = (trace.program(), trace.objects());
    let (mut awaited, mut since, mut sum) = (None, None, 0);
    let is_its = |thread: longpole_event::ThreadId| {
        let process = program.process_of(thread);
        process.rank == Some(rank) && program.threads[thread.index()].tid == process.pid
    };
    trace
        .for_each(&mut |item| match item.what {
            _ if !is_its(item.thread) => {}
            ItemKind::Await(id) => awaited = Some(objects.get(id).name.clone()),
            ItemKind::State(State::Spinning | State::Blocked(_)) if awaited.is_some() => {
                since.get_or_insert(item.time);
            }
            // Ready in between it waits on.
            ItemKind::State(State::Ready) => {}
            ItemKind::State(_) => {
                let (name, begin) = (awaited.take(), since.take());
                if name.as_deref() == Some(object) {
                    sum += begin.map_or(0, |begin| item.time.since(begin));
                }
            }
            _ => {}
        })
        .unwrap();
    sum as f64 / 1e9
}

#[test]
fn a_receiver_waits_for_a_late_sender_though_it_polls() {
    let session = Session::start();
    let recording = or_skip!(record(&session, "late_sender", &[], &[]));
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

#[test]
fn a_synchronous_send_waits_for_a_late_receiver_and_an_eager_one_does_not() {
    let session = Session::start();
    let recording = or_skip!(record(&session, "late_receiver", &[], &[]));
    let seconds = waited(&recording, 1, "rank 0");
    assert!(seconds > 0.3, "{seconds} s, not at least most of 0.4");
    let recording = or_skip!(record(&session, "late_receiver", &["eager"], &[]));
    let seconds = waited(&recording, 1, "rank 0");
    assert!(seconds < 0.02, "{seconds} s for sends that do not wait");
}

#[test]
fn ranks_wait_at_a_barrier_for_the_one_that_comes_last() {
    let session = Session::start();
    for arguments in [&[][..], &["allreduce"]] {
        let recording = or_skip!(record(&session, "late_to_barrier", arguments, &[]));
        let [first, second, third] = [0, 1, 2].map(|rank| waited(&recording, rank, "MPI_COMM_WORLD"));
        // On two processors three ranks compute by turns: ranks 0 and 1 wait for what rank 2 had still to do then.
        assert!(first + second > 0.5, "{first} and {second} s {arguments:?}");
        assert!(third < 0.2, "{third} s {arguments:?}");
    }
}

#[test]
fn what_holds_the_last_of_a_chain_back_is_the_first() {
    let session = Session::start();
    let recording = or_skip!(record(&session, "chain_of_three", &[], &[]));
    let waits = recording.report("waits", "procedure").value;
    let rows = waits["rows"].as_array().unwrap().iter().filter(|row| row["object"] == "rank 1");
    let longest = rows.max_by_key(|row| row["seconds"].as_f64().map(|seconds| (1e9 * seconds) as u64));
    let causes = longest.expect("rank 2 waits for rank 1")["root_causes"].as_array().unwrap().clone();
    let share = |procedure: &str| -> f64 {
        let of = causes.iter().filter(|cause| cause["side"] == "positive" && cause["procedure"] == procedure);
        of.filter_map(|cause| cause["percent"].as_f64()).sum()
    };
    // Where ranks lack processors a part of what held it back is that; of what ranks did it is `prepare` by far.
    assert!(share("prepare") > 4.0 * share("pass_on"), "{causes:#?}");
    assert!(share("prepare") > 10.0, "{causes:#?}");
}
