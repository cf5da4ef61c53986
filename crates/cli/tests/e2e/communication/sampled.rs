//! Recordings of one cache line in so many: estimates and their ranges, against closed forms and whole recordings.

use std::path::Path;

use serde_json::{Map, Value};

use super::{build, number, record};
use crate::support::{Answer, Recording, Session, longpole, or_skip, run};

fn record_sample(session: &Session, program: &Path, arguments: &[&str], options: &[&str]) -> Recording {
    let folder = session.path().join("sampled.longpole");
    let mut command = longpole();
    command.args(["record", "--access"]).args(options).args(["--force", "-o"]).arg(&folder).arg("--");
    let recorded = run(command.arg(program).args(arguments));
    assert!(recorded.status.success(), "{}", recorded.stderr);
    Recording::at(&folder)
}

/// The ends of a range in a row, or in the numbers of the simulation.
fn range(row: &Map<String, Value>, what: &str) -> (f64, f64) {
    let end =
        |end: &str| row[&format!("{what}_at_{end}")].as_f64().unwrap_or_else(|| panic!("{what} in {row:?}"));
    (end("least"), end("most"))
}

fn holds((least, most): (f64, f64), truth: u64) -> bool {
    least <= truth as f64 && truth as f64 <= most
}

fn sample_of(answer: &Answer) -> &Map<String, Value> {
    answer.value["simulation"]["sample"].as_object().expect("the numbers of a sample")
}

fn of_object<'a>(answer: &'a Answer, begin: &str) -> Option<&'a Map<String, Value>> {
    answer.rows().find(|row| row["object"].as_str().is_some_and(|name| name.starts_with(begin)))
}

#[test]
fn lines_that_are_alike_are_known_from_one_in_sixteen() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "shared_lines"));
    const LINES: u64 = 4096;
    for (threads, rounds) in [(2, 20), (4, 10)] {
        let arguments = [threads, LINES, rounds].map(|number: u64| number.to_string());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let whole = record(&session, &program, &arguments).report("communication", "object");
        let (requests, transfers) = (LINES * threads * rounds, LINES * (threads * rounds - threads));
        let lines = of_object(&whole, "allocated in main").expect("the lines");
        assert_eq!([number(lines, "requests"), number(lines, "transfers")], [requests, transfers]);

        let recording = record_sample(&session, &program, &arguments, &["--access-sample", "1/16"]);
        let answer = recording.report("communication", "object");
        let row = of_object(&answer, "allocated in main").expect("the lines");
        assert!(
            holds(range(row, "transfers"), transfers) && holds(range(row, "requests"), requests),
            "{row:?}"
        );
        let found = number(row, "transfers") as f64;
        assert!((found / transfers as f64 - 1.0).abs() < 0.03, "{found} for {transfers}");
        // Every access is counted, whether or not it is followed.
        assert_eq!(answer.value["simulation"]["accesses"], whole.value["simulation"]["accesses"]);
        let sample = sample_of(&answer);
        assert_eq!((number(sample, "one_of"), number(sample, "unit_bytes")), (16, 64));
        let total = whole.value["simulation"]["transfers"].as_u64().unwrap();
        assert!(holds(range(sample, "transfers"), total), "{sample:?}");

        let patterns = recording.report("patterns", "object");
        let row = of_object(&patterns, "allocated in main").expect("the lines");
        assert!(holds(range(row, "transfers"), transfers), "{row:?}");
        assert!((3000..5500).contains(&number(row, "units")), "{row:?}");
        let graphs = recording.report("causality", "object");
        let row = of_object(&graphs, "allocated in main").expect("the lines");
        assert!(holds(range(row, "transfers"), transfers), "{row:?}");
        // A unit's own transfers are no estimate.
        let sharing = recording.report("sharing", "object");
        let of_lines: Vec<_> = sharing.rows().filter(|row| row["kind"] == "heap").collect();
        assert!(of_lines.len() > 100);
        assert!(of_lines.iter().all(|row| number(row, "transfers") == threads * rounds - threads));
        let evidence = run(longpole().args(["report", "--view", "evidence"]).arg(&recording.path)).stdout;
        assert!(evidence.contains("1 of 16 cache lines of 64 bytes followed"), "{evidence}");
    }
}

#[test]
fn a_line_that_is_not_followed_may_have_most_transfers_and_one_that_is_has_its_own() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "shared_lines"));
    let (threads, lines, rounds) = (4_u64, 256_u64, 10_u64);
    let heavy = threads * rounds * lines - threads;
    let all = lines * (threads * rounds - threads) + heavy;
    let (mut was_followed, mut was_not) = (false, false);
    for seed in 0..20 {
        let share = format!("1/2@{seed}");
        let arguments = [threads, lines, rounds].map(|number| number.to_string());
        let arguments = [&arguments[0], &arguments[1], &arguments[2], "heavy"];
        let recording = record_sample(&session, &program, &arguments, &["--access-sample", &share]);
        let answer = recording.report("communication", "object");
        let sample = sample_of(&answer);
        let (least, most) = range(sample, "transfers");
        // Beside these there are first looks at variables.
        assert!(least <= all as f64 && most >= all as f64, "{sample:?}");
        match of_object(&answer, "heavy_sum") {
            Some(row) => {
                assert_eq!(number(row, "transfers"), heavy, "{row:?}");
                assert!(most < 1.5 * all as f64, "{sample:?}");
                was_followed = true;
            }
            None => {
                assert_eq!(sample["unfollowed"][0]["object"], "heavy_sum", "{sample:?}");
                let doubts = answer.value["simulation"]["doubts"].to_string();
                assert!(doubts.contains("heavy_sum") && doubts.contains("--access-sample 1/2"), "{doubts}");
                was_not = true;
            }
        }
        if was_followed && was_not {
            return;
        }
    }
    panic!("followed: {was_followed}, not followed: {was_not}");
}

#[test]
fn pages_are_followed_where_they_are_what_is_chosen() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "shared_lines"));
    let arguments = ["4", "16384", "4"];
    let pages = ["--unit", "4096", "--protocol", "lrc"];
    let whole = record(&session, &program, &arguments).report_with("communication", "object", &pages);
    let truth = number(of_object(&whole, "allocated in main").expect("the lines"), "transfers");
    let options = ["--access-sample", "1/4", "--access-sample-unit", "4096"];
    let recording = record_sample(&session, &program, &arguments, &options);
    let answer = recording.report_with("communication", "object", &pages);
    let row = of_object(&answer, "allocated in main").expect("the lines");
    assert!(truth > 1000 && holds(range(row, "transfers"), truth), "{truth}: {row:?}");
    // Lines are parts of pages.
    let lines = recording.report("communication", "object");
    let row = of_object(&lines, "allocated in main").expect("the lines");
    assert!(holds(range(row, "transfers"), 16_384 * (4 * 4 - 4)), "{row:?}");
}

#[test]
fn what_one_line_in_so_many_cannot_answer_is_refused_with_what_to_do() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "shared_lines"));
    let recording = record_sample(&session, &program, &["2", "256", "4"], &["--access-sample", "1/4"]);
    let refused = |arguments: &[&str], why: &str, hint: &str| {
        let refused = run(longpole().args(arguments).arg(&recording.path));
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}: {}", refused.stdout);
        assert!(
            refused.stderr.contains(why) && refused.stderr.contains(hint),
            "{arguments:?}: {}",
            refused.stderr
        );
    };
    let pages = ["report", "--view", "communication", "--unit", "4096"];
    refused(&pages, "1 of 4 units of 64 bytes", "--access-sample-unit 4096");
    refused(&["what-if", "--remap", "auto"], "1 of 4 units", "record again without");
    refused(&["simulate"], "1 of 4 units", "record again without");
    let none = record_sample(&session, &program, &["2", "2", "4"], &["--access-sample", "1/65536@1"]);
    let report = run(longpole().args(["report", "--view", "communication"]).arg(&none.path));
    assert_eq!(report.status.code(), Some(1), "{}", report.stdout);
    assert!(report.stderr.contains("none was to a followed one"), "{}", report.stderr);
    assert!(report.stderr.contains("--access-sample 1/8192"), "{}", report.stderr);
    for (arguments, why) in [
        (["--access", "--access-sample", "1/0"], "no share from 1/1"),
        (["--access", "--access-sample", "0.1"], "no share from 1/1"),
        (["-q", "--access-sample", "1/4"], "--access"),
    ] {
        let refused = run(longpole().arg("record").args(arguments).args(["--", "true"]));
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
    }
}
