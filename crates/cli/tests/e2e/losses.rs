//! Events that found no room: the recorder is stopped while a program goes on that fills any buffer.

use std::path::Path;
use std::process::Command;

use crate::support::{Collector, Nobody, Recording, Session, longpole, or_skip, run};

/// Stops the recorder for most of the time that the program runs.
const SCRIPT: &str = "kill -STOP $PPID; (sleep 0.5; kill -CONT $PPID) & exec \"$0\" 800";
/// Of the events at least so many are lost, %.
const LOST: f64 = 25.0;
const CHANGE: &str = "procedure:pass_turn=0.5";

fn record(mut longpole: Command, collector: &str, path: &Path, program: &Path) -> Recording {
    longpole.args(["record", "--collector", collector, "-o"]).arg(path);
    let run = run(longpole.args(["--", "/bin/sh", "-c", SCRIPT]).arg(program));
    assert!(run.status.success(), "{}", run.stderr);
    Recording::at(path)
}

/// The share of the events that were lost, %; the answer begins with it.
fn leading_losses(recording: &Recording) -> f64 {
    let evidence = recording.report("evidence", "procedure").value["evidence"].clone();
    let (lost, kept) = (evidence["lost_events"].as_f64().unwrap(), evidence["events"].as_f64().unwrap());
    let share = 100.0 * lost / (lost + kept);
    assert!(share > LOST, "{lost} lost of {}", lost + kept);
    let answer = run(longpole().arg("report").arg(&recording.path)).stdout;
    let caution = format!("Caution: {} % of the events were lost", share.round());
    let (_, words) = answer.split_once("\n\n").unwrap();
    assert!(words.starts_with(&caution), "{caution}\n{answer}");
    share
}

/// What is predicted allows for losses of so many percent, and for what the execution of the unchanged run misses.
fn assert_widened(recording: &Recording, share: f64) {
    /// Texts round shares.
    const ROUNDED: f64 = 0.6;
    let what_if = recording.what_if(&[CHANGE]);
    let error = what_if.value["rows"][0]["elapsed_error_percent"].as_f64().unwrap();
    let text = run(longpole().arg("what-if").arg(&recording.path).args(["--set", CHANGE])).stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("% of the events were lost)"), "{text}");
    let (_, missed) = words.split_once("unchanged, that is ").unwrap_or_else(|| panic!("{text}"));
    let (missed, _) = missed.split_once(" % off the recorded time").unwrap_or_else(|| panic!("{text}"));
    let missed: f64 = missed.trim_start_matches("below ").parse().unwrap();
    let expected = (2.0 * share).min(100.0).hypot(missed).min(100.0);
    assert!((error - expected).abs() < ROUNDED, "{error}, not {expected}, where {share} % are lost: {text}");
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn what_a_stopped_recorder_lost_leads_the_answer_and_widens_predictions() {
    let session = Session::alone();
    let program = or_skip!(session.build("rapid_pairs.c", &[]));
    or_skip!(Collector::Perf.permitted());
    let recording = record(longpole(), "perf", &session.path().join("x.longpole"), &program);
    assert_widened(&recording, leading_losses(&recording));
    // The rings were full when it went on.
    let notes = recording.report("summary", "procedure").value["evidence"]["notes"].to_string();
    assert!(notes.contains("only 512 bytes of each stack were copied"), "{notes}");
    // One after the other: the collector `perf` sees all programs, and two of these take each other's processors.
    let nobody = or_skip!(Nobody::in_session(&session));
    let agent = record(nobody.longpole(), "agent", &nobody.home().join("agent.longpole"), &program);
    leading_losses(&agent);
    or_skip!(Nobody::may_have_perf_events());
    let own = record(nobody.longpole(), "process", &nobody.home().join("own.longpole"), &program);
    assert_widened(&own, leading_losses(&own));
}
