//! Two recordings compared: programs executed anew with a known difference.

use std::path::{Path, PathBuf};

use crate::support::{Answer, Session, longpole, or_skip, run};

/// Records one of `programs/`, built with these flags, into a folder of this name.
fn recorded(session: &Session, source: &str, flags: &[&str], name: &str) -> Result<PathBuf, String> {
    session.record_as(name, &session.build(source, flags)?)
}

fn diff(before: &Path, after: &Path) -> Answer {
    let run = run(longpole().args(["diff", "--format", "json"]).arg(before).arg(after));
    assert!(run.status.success(), "{}", run.stderr);
    Answer::new("diff", &run.stdout)
}

/// The number of the rows of a section whose procedure and kind are these.
fn of(answer: &Answer, section: &str, procedure: &str, kind: &str, column: &str) -> f64 {
    let is = |row: &&serde_json::Map<String, serde_json::Value>| {
        row["section"] == section
            && row.get("procedure").is_some_and(|name| name == procedure)
            && (kind.is_empty() || row["kind"] == kind)
    };
    answer.rows().filter(is).filter_map(|row| row.get(column)?.as_f64()).sum()
}

#[test]
fn the_procedure_whose_work_doubled_is_named_with_the_right_time() {
    let session = Session::start();
    let before = or_skip!(recorded(&session, "serial_then_parallel.c", &[], "before"));
    let after = or_skip!(recorded(&session, "serial_then_parallel.c", &["-DTRANSFORM=800"], "after"));
    let answer = diff(&before, &after);
    // Work is counted in CPU time, so a busy machine changes only the time without a CPU.
    let near = |section: &str, kind: &str, truth: f64| {
        let change = of(&answer, section, "transform", kind, "change_seconds");
        let error = of(&answer, section, "transform", kind, "change_error_seconds");
        assert!(
            (change - truth).abs() < 0.05 * truth + 4.0 * error,
            "{section}: {change} ± {error}, not {truth}"
        );
    };
    near("because", "work", 0.4);
    near("procedure", "", 0.8);
    for same in ["read_input", "write_output"] {
        let row = answer.rows().find(|row| {
            row["section"] == "procedure" && row.get("procedure").is_some_and(|name| name == same)
        });
        assert_eq!(row.unwrap()["verdict"], "none", "{same}");
    }
    // The parts add up to the difference of the elapsed times.
    let elapsed = answer.rows().find(|row| row.get("name").is_some_and(|name| name == "elapsed")).unwrap();
    let parts: f64 = answer
        .rows()
        .filter(|row| row["section"] == "because")
        .filter_map(|row| row["change_seconds"].as_f64())
        .sum();
    assert!((parts - elapsed["change_seconds"].as_f64().unwrap()).abs() < 1e-7, "{parts}");
    let told = answer.number("recording", "elapsed_seconds") - answer.number("before", "elapsed_seconds");
    assert!((parts - told).abs() < 1e-7, "{parts} {told}");
}

#[test]
fn a_recording_differs_in_nothing_from_itself() {
    let session = Session::start();
    let path = or_skip!(recorded(&session, "lock_hog.c", &[], "same"));
    let answer = diff(&path, &path);
    assert!(answer.rows().all(|row| row["verdict"] == "none"), "{answer:?}");
    let text = run(longpole().args(["diff", "--width", "80"]).args([&path, &path]));
    assert!(text.stdout.contains("No difference in the elapsed time"), "{}", text.stdout);
}

#[test]
fn different_programs_are_said_to_be_different() {
    let session = Session::start();
    let before = or_skip!(recorded(&session, "lock_hog.c", &[], "hog"));
    let after = or_skip!(recorded(&session, "spinner.c", &[], "other.longpole"));
    let text = run(longpole().args(["diff", "--width", "80"]).args([&before, &after])).stdout;
    assert!(text.contains("these are different programs, `lock_hog` and `spinner`"), "{text}");
    assert!(text.contains("hog_table (only before)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Without its reading the program takes 600 ms of 1,200 less. The recorded runs may have waited for processors.
#[test]
fn what_was_predicted_before_a_change_stands_beside_what_it_achieved() {
    let session = Session::start();
    let before = or_skip!(recorded(&session, "serial_then_parallel.c", &[], "before"));
    let predicted = |answer: &Answer| -> Vec<serde_json::Map<String, serde_json::Value>> {
        answer.rows().filter(|row| row["section"] == "prediction").cloned().collect()
    };
    assert!(predicted(&diff(&before, &before)).is_empty());
    for change in ["procedure:write_output=0", "procedure:read_input=0"] {
        let asked = run(longpole().arg("what-if").arg(&before).args(["--set", change]));
        assert!(asked.status.success(), "{}", asked.stderr);
    }
    let flags = ["-DSCALED=\"read_input\"", "-DFACTOR=0"];
    let after = or_skip!(recorded(&session, "serial_then_parallel.c", &flags, "after"));
    let answer = diff(&before, &after);
    let rows = predicted(&answer);
    let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    // The latest first.
    assert_eq!(names, ["procedure:read_input=0", "procedure:write_output=0"]);
    let [of_before, of_after] =
        [answer.number("before", "elapsed_seconds"), answer.number("recording", "elapsed_seconds")];
    let of =
        |row: &serde_json::Map<String, serde_json::Value>, key: &str| row[key].as_f64().expect("a number");
    for row in &rows {
        let achieved = 100.0 * (1.0 - of_after / of_before);
        assert!((of(row, "achieved_gain_percent") - achieved).abs() < 1e-3, "{row:?}");
        assert!(of(row, "gain_low_percent") <= of(row, "elapsed_gain_percent"), "{row:?}");
        let is_inside = (of(row, "gain_low_percent")..=of(row, "gain_high_percent")).contains(&achieved);
        assert_eq!(row["inside"] == "yes", is_inside, "{row:?}");
    }
    assert!(of(&rows[0], "elapsed_gain_percent") > 2.0 * of(&rows[1], "elapsed_gain_percent"), "{rows:?}");
}
