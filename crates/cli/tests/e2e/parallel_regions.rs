//! What parallel regions that do not pay are promised to save is what the program without them saves.
//!
//! All runs are real-time, so that other programs have only the processors that these leave idle; the two versions run in turn.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Map, Value};

use crate::support::{Recording, Session, find, is_root, longpole, or_skip};

/// Runs of each version.
const PAIRS: usize = 5;

/// A program that gives way to no other.
fn real_time(program: &Path) -> Command {
    let mut command = Command::new("chrt");
    command.args(["-r", "1"]).arg(program);
    command
}

/// Elapsed time of a run, seconds.
fn seconds(program: &Path) -> f64 {
    let begin = Instant::now();
    let output = real_time(program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    begin.elapsed().as_secs_f64()
}

fn record(session: &Session, program: &Path, options: &[&str]) -> Recording {
    let path = session.path().join("regions.longpole");
    let mut command = Command::new("chrt");
    command.args(["-r", "1"]).arg(longpole().get_program()).args(["record", "-q", "--force"]);
    let run = session.run(command.args(options).arg("-o").arg(&path).arg("--").arg(program));
    assert!(run.status.success(), "{}{}", run.stdout, run.stderr);
    Recording { path, run }
}

/// The change that is about parallel regions.
fn change(recording: &Recording) -> Option<Map<String, Value>> {
    let summary = recording.report("summary", "procedure");
    let is_it =
        |row: &&Map<String, Value>| row.get("remedy").is_some_and(|remedy| remedy == "execute on one thread");
    summary.rows().find(is_it).cloned()
}

#[test]
fn regions_that_do_not_pay_cost_what_the_program_without_them_saves() {
    let session = Session::start();
    or_skip!(find("chrt"));
    or_skip!(if is_root() { Ok(()) } else { Err("real time needs root".to_owned()) });
    let serial = session.path().join("serial");
    let flags = ["-fopenmp", "-DSERIAL", "-o", serial.to_str().unwrap()];
    or_skip!(session.build("short_regions.c", &flags));
    let program = or_skip!(session.build("short_regions.c", &["-fopenmp"]));
    let saved = |_| 100.0 * (1.0 - seconds(&serial) / seconds(&program));
    let mut truths: Vec<f64> = (0..PAIRS).map(saved).collect();
    truths.sort_by(f64::total_cmp);
    // Of the two regions one pays: it is no part of the entry.
    for options in [&["--collector", "bpf"][..], &["--collector", "bpf", "--locks"]] {
        let recording = record(&session, &program, options);
        let row = change(&recording).unwrap_or_else(|| panic!("no change: {options:?}"));
        let [low, high] =
            ["gain_low_percent", "gain_high_percent"].map(|column| row[column].as_f64().unwrap());
        let told = format!("{low}–{high} %, and runs say {truths:?}: {options:?}");
        assert!(low > 10.0, "promises little: {told}");
        assert!(low <= truths[PAIRS - 1] && high >= truths[0], "{told}");
        assert_eq!(row["procedure"], "smooth", "{row:#?}");
        assert_eq!(row["text"], "parallel region in smooth", "{row:#?}");
        assert!(row["about"].as_str().unwrap().contains("begins at `smooth short_regions.c:23`"), "{row:#?}");
    }
    // The loop on one thread is fast, and `integrate` pays.
    let recording = record(&session, &serial, &["--collector", "bpf"]);
    assert_eq!(change(&recording), None);
}
