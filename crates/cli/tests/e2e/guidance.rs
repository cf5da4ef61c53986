//! Phases, names, the list of what to change, and which ranking to trust, of recorded programs.

use crate::support::{Answer, Collector, Recording, Run, Session, longpole, or_skip, run};

fn recorded(session: &Session, source: &str) -> Result<Recording, String> {
    let program = session.build(source, &[])?;
    session.record(Collector::Bpf, &[&program])
}

fn reported(recording: &Recording, arguments: &[&str]) -> Run {
    let mut command = longpole();
    command.arg("report").arg(&recording.path).args(arguments);
    run(&mut command)
}

fn answer(recording: &Recording, view: &str, phase: &str) -> Answer {
    let run = reported(recording, &["--view", view, "--phase", phase, "--format", "json"]);
    assert!(run.status.success(), "{phase}: {}", run.stderr);
    Answer::new(view, &run.stdout)
}

/// It reads for 0.6 s of CPU time, two threads transform for 0.4 s each, then it writes for 0.2 s.
#[test]
fn a_phase_is_answered_for_alone_and_halves_make_the_whole() {
    let session = Session::start();
    let recording = or_skip!(recorded(&session, "serial_then_parallel.c"));
    answer(&recording, "critical-path", "read_input").assert_percent("read_input", 100.0, 3.0);
    answer(&recording, "critical-path", "..10%").assert_percent("read_input", 100.0, 3.0);
    let after = answer(&recording, "critical-path", "procedure:write_output");
    assert!(after.percent("read_input") < 1.0, "{}", after.table("procedure"));
    let whole = recording.report("profile", "procedure");
    let cpu = |answer: &Answer| answer.number("recording", "cpu_seconds");
    let halves = ["..50%", "50%.."].map(|phase| answer(&recording, "profile", phase));
    let sum: f64 = halves.iter().map(cpu).sum();
    assert!((sum - cpu(&whole)).abs() < 1e-6, "{sum} is not {}", cpu(&whole));
    let phases = recording.report("phases", "procedure");
    // On an idle machine there are three phases, on a busy one there may be fewer.
    let proposed: Vec<_> = phases.rows().filter(|row| row["kind"] == "phase").collect();
    let seconds = |row: &serde_json::Map<String, serde_json::Value>| row["seconds"].as_f64().unwrap();
    let length: f64 = proposed.iter().map(|row| seconds(row)).sum();
    assert!((length - whole.number("recording", "elapsed_seconds")).abs() < 1e-6, "{length}");
    for row in proposed {
        let npt = answer(&recording, "npt", row["argument"].as_str().unwrap());
        let Some(procedure) = row.get("procedure") else {
            // Others had all processors, and nobody was busy.
            assert!(npt.sum_of("seconds") < 0.05 * seconds(row), "{row:?}: {}", npt.table("procedure"));
            continue;
        };
        let (said, found) =
            (&row["procedure_percent"], npt.sum("procedure", procedure.as_str().unwrap(), "percent"));
        // The argument is rounded, and the view divides the work at the phase's borders by samples of the phase alone.
        assert!((said.as_f64().unwrap() - found).abs() < 3.0, "{row:?}: {found}");
    }
}

#[test]
fn a_phase_or_a_name_that_is_none_is_answered_with_what_there_is() {
    let session = Session::start();
    let recording = or_skip!(recorded(&session, "serial_then_parallel.c"));
    for (phase, told) in [
        ("50s..60s", "it begins after the end of the run; the run is"),
        ("60%..20%", "it ends before it begins; the run is"),
        ("raed_input", "did you mean procedure:read_input"),
        ("_", "tell which of"),
    ] {
        let run = reported(&recording, &["--phase", phase]);
        assert_eq!(run.status.code(), Some(1), "{phase}");
        assert!(run.stderr.contains(told) && run.stdout.is_empty(), "{phase}: {}", run.stderr);
    }
}

/// Reading takes 0.6 s on one processor; spread over all of them the part of one. On a busy machine it takes longer.
#[test]
fn the_summary_predicts_what_a_procedure_is_worth() {
    let session = Session::start();
    let recording = or_skip!(recorded(&session, "serial_then_parallel.c"));
    let summary = recording.report("summary", "procedure");
    let mut changes = summary.rows().filter(|row| row["section"] == "change");
    let reading = changes.find(|row| row.get("procedure").is_some_and(|name| name == "read_input"));
    let reading = reading.expect("reading is half of the run");
    let gain = |key: &str| reading[key].as_f64().unwrap();
    let (low, high) = (gain("gain_low_seconds"), gain("gain_high_seconds"));
    let profile = recording.report("profile", "procedure");
    let ready = profile.sum("procedure", "read_input", "ready_seconds");
    let processors = summary.value["recording"]["cpus"].as_f64().unwrap();
    let truth = 0.6 * (1.0 - 1.0 / processors);
    let is_right = low <= 1.05 * truth + ready && high >= 0.95 * truth;
    assert!(is_right, "{low} to {high} s for {truth} s, {ready} s without a processor");
    assert!(summary.rows().any(|row| row["section"] == "trust"));
}

#[test]
fn a_program_that_spins_is_not_to_be_judged_by_gprof() {
    let session = Session::start();
    let recording = or_skip!(recorded(&session, "spinner.c"));
    let guidance = recording.report("guidance", "procedure");
    let verdict = |name: &str| {
        let row = guidance.rows().find(|row| row.get("name").is_some_and(|it| it == name));
        row.unwrap_or_else(|| panic!("{name}: {:#}", guidance.value))["value"].clone()
    };
    assert_eq!(verdict("profile"), "misleads");
}
