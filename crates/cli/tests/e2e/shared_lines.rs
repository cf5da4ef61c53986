//! Cache lines that threads share are found by samples, and promised to save no less than the program without them saves.
//!
//! All runs are real-time, so that the two threads have a processor each whatever other programs do.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Map, Value};

use crate::support::{Recording, Session, find, is_root, longpole, or_skip};

/// Runs of each version.
const PAIRS: usize = 5;

fn real_time(program: &Path, place: &str) -> Command {
    let mut command = Command::new("chrt");
    command.args(["-r", "1"]).arg(program).arg(place);
    command
}

/// Elapsed time of a run, seconds.
fn seconds(program: &Path, place: &str) -> f64 {
    let begin = Instant::now();
    let output = real_time(program, place).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    begin.elapsed().as_secs_f64()
}

/// The change that is about shared lines.
fn change(session: &Session, program: &Path, place: &str) -> Option<Map<String, Value>> {
    let path = session.path().join("lines.longpole");
    let mut command = Command::new("chrt");
    command.args(["-r", "1"]).arg(longpole().get_program()).args(["record", "-q", "--force", "-o"]);
    let run = session.run(command.arg(&path).arg("--").arg(program).arg(place));
    assert!(run.status.success(), "{}{}", run.stdout, run.stderr);
    let summary = Recording { path, run }.report("summary", "procedure");
    let remedies = ["give each thread a cache line", "give each thread its own"];
    let is_it = |row: &&Map<String, Value>| {
        remedies.iter().any(|&remedy| row.get("remedy").is_some_and(|is| is == remedy))
    };
    summary.rows().find(is_it).cloned()
}

#[test]
fn counters_in_one_line_are_to_be_spread_out_and_one_counter_to_be_divided() {
    let session = Session::start();
    or_skip!(find("chrt"));
    or_skip!(if is_root() { Ok(()) } else { Err("real time needs root".to_owned()) });
    let program = or_skip!(session.build("line_of_counters.c", &[]));
    let cases = [("beside", "give each thread a cache line"), ("same", "give each thread its own")];
    for (place, remedy) in cases {
        let saved = |_| 100.0 * (1.0 - seconds(&program, "apart") / seconds(&program, place));
        let mut truths: Vec<f64> = (0..PAIRS).map(saved).collect();
        truths.sort_by(f64::total_cmp);
        let found = change(&session, &program, place).unwrap_or_else(|| panic!("no change for `{place}`"));
        assert_eq!(found["remedy"], remedy, "{found:?}");
        assert_eq!(found["text"], "`counters`", "{found:?}");
        let high = found["gain_high_percent"].as_f64().unwrap();
        let about = found["about"].as_str().unwrap();
        assert!(high >= truths[0], "{place}: up to {high} %, not {truths:?}");
        assert!(about.contains("2 threads use") && about.contains("in `count_events`"), "{about}");
    }
}

#[test]
fn counters_in_lines_of_their_own_are_left_alone() {
    let session = Session::start();
    or_skip!(find("chrt"));
    or_skip!(if is_root() { Ok(()) } else { Err("real time needs root".to_owned()) });
    let program = or_skip!(session.build("line_of_counters.c", &[]));
    assert_eq!(change(&session, &program, "apart"), None);
}
