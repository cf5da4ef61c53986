//! Perfetto traces with known answers, written by Perfetto's own schema (`programs/perfetto/write_traces.py`): from the trace to the answer.

use std::path::PathBuf;

use crate::support::{Recording, Run, Session, longpole};

fn trace(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../record/tests/fixtures/perfetto").join(name)
}

fn import(session: &Session, name: &str, options: &[&str]) -> Run {
    session.run(longpole().arg("import").arg(trace(name)).args(["-o", "run.longpole"]).args(options))
}

/// In each of ten rounds `early` computes 20 ms and then sleeps until `late` has computed 60.
#[test]
fn waits_are_explained_by_what_the_late_thread_did() {
    let session = Session::beside_others();
    let run = import(&session, "late_partner.pftrace", &[]);
    assert!(run.status.success(), "{}", run.stderr);
    let recording = Recording::at(&session.path().join("run.longpole"));
    let path = recording.report("critical-path", "procedure");
    path.assert_percent("compute_late", 99.0, 1.0);
    let waits = recording.report("waits", "procedure");
    let wait = waits.rows().next().expect("there is a wait");
    assert_eq!((wait["seconds"].as_f64(), wait["count"].as_u64()), (Some(0.4), Some(10)), "{wait:?}");
    let causes = wait["causes"].as_array().expect("it is explained");
    let cause = |name: &str| causes.iter().find(|cause| cause["procedure"] == name).expect("it is named");
    // 60 ms less 20 ms, in each round.
    let (late, early) = (cause("compute_late"), cause("compute_early"));
    assert_eq!((&late["side"], &early["side"]), (&"positive".into(), &"negative".into()));
    for (cause, seconds) in [(late, 0.6), (early, 0.2)] {
        let found = cause["seconds"].as_f64().expect("it has a length");
        // A sample stands for a millisecond.
        assert!((found - seconds).abs() < 0.011, "{cause}");
    }
}

/// 30 ms of `load` with 10 ms of `parse` in it, then 20 ms of `draw`.
#[test]
fn slices_without_scheduling_are_exact() {
    let session = Session::beside_others();
    assert!(import(&session, "slices.pftrace", &[]).status.success());
    let recording = Recording::at(&session.path().join("run.longpole"));
    let profile = recording.report("profile", "procedure");
    // With what it calls.
    for (name, percent) in [("load", 60.0), ("parse", 20.0), ("draw", 40.0)] {
        profile.assert_percent(name, percent, 0.01);
    }
    let summary = longpole().arg("report").arg(&recording.path).output().expect("it reports");
    let summary = String::from_utf8_lossy(&summary.stdout).into_owned();
    assert!(!summary.contains("too few") && !summary.contains("rest on only"), "{summary}");
}

#[test]
fn one_process_is_chosen_and_an_unknown_one_is_refused() {
    let session = Session::beside_others();
    let run = import(&session, "late_partner.pftrace", &["--process", "other"]);
    assert!(!run.status.success());
    assert!(run.stderr.contains("find the process other"), "{}", run.stderr);
    assert!(import(&session, "late_partner.pftrace", &["--process", "app"]).status.success());
}

#[test]
fn a_file_of_another_kind_is_told_what_can_be_imported() {
    let session = Session::beside_others();
    let file = session.path().join("notes.txt");
    std::fs::write(&file, "hello\n").unwrap();
    let run = session.run(longpole().arg("import").arg(&file).args(["-o", "run.longpole"]));
    assert!(!run.status.success());
    for kind in ["perf.data", "traces.otf2", ".pftrace"] {
        assert!(run.stderr.contains(kind), "{}", run.stderr);
    }
    assert!(!session.path().join("run.longpole").exists());
}
