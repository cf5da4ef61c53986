//! The view `waits` of real programs: places, classes, causes and root causes as their first comments work them out.
//!
//! Causes that are work are times of the program's own processor time, so they hold on a busy machine too; time without a
//! processor comes on top there, and is a cause of its own.

use longpole_trace::Cause;
use serde_json::{Map, Value};

use crate::support::{Answer, Collector, Recording, Session, Wait, or_skip};

fn waits(session: &Session, source: &str) -> Result<Answer, String> {
    let program = session.build(source, &[])?;
    let recording: Recording = session.record(Collector::Bpf, &[&program])?;
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    Ok(recording.report("waits", "procedure"))
}

/// The wanted rows of a procedure.
fn places<'a>(answer: &'a Answer, procedure: &str) -> Vec<&'a Map<String, Value>> {
    answer
        .rows()
        .filter(|row| row.get("procedure").is_some_and(|it| it == procedure) && row["wanted"] == true)
        .collect()
}

/// Seconds of a procedure's work in a list of causes, by threads of this name.
fn seconds(rows: &[&Map<String, Value>], list: &str, (side, procedure, threads): (&str, &str, &str)) -> f64 {
    let causes = rows.iter().flat_map(|row| row[list].as_array().expect("a list of causes"));
    let fits = |cause: &&Value| {
        let is_work = cause["side"] == *side && cause["what"] == "running";
        is_work && cause["procedure"] == *procedure && cause["by_threads"] == *threads
    };
    causes.filter(fits).filter_map(|cause| cause["seconds"].as_f64()).sum()
}

fn assert_near(what: &str, found: f64, expected: f64, answer: &Answer) {
    assert!(
        (found - expected).abs() < 0.12 * expected,
        "{:#}\n{what}: {found} s, not {expected} s",
        answer.value["rows"]
    );
}

/// Each explanation adds up to its row.
fn assert_adds_up(answer: &Answer) {
    for row in answer.rows() {
        for list in ["causes", "root_causes"] {
            let causes = row[list].as_array().expect("a list of causes");
            let sum = |side: &str| -> f64 {
                causes
                    .iter()
                    .filter(|cause| cause["side"] == *side)
                    .filter_map(|cause| cause["seconds"].as_f64())
                    .sum()
            };
            let (sum, whole) = (sum("positive") - sum("negative"), row["seconds"].as_f64().expect("seconds"));
            assert!((sum - whole).abs() < 1e-6, "{list} are {sum} of {whole} s: {row:?}");
        }
    }
}

#[test]
fn a_barrier_wait_is_what_the_heavier_thread_did_more() {
    let session = Session::start();
    let answer = or_skip!(waits(&session, "barrier_imbalance.c"));
    assert_adds_up(&answer);
    let rows = places(&answer, "rounds_of");
    // heavy 10 × 90 less light 10 × 30.
    let more = seconds(&rows, "causes", ("positive", "compute_share", "heavy"));
    assert_near("compute_share of heavy", more, 0.6, &answer);
    assert_eq!(rows[0]["kind"], "barrier");
    let imbalance = rows[0]["load_imbalance_percent"].as_f64().expect("a share");
    let insufficient = rows[0]["insufficient_parallelism_percent"].as_f64().expect("a share");
    assert!(imbalance > 4.0 * insufficient, "{:#}", answer.value["rows"]);
}

#[test]
fn a_lock_wait_is_what_its_holder_did() {
    let session = Session::start();
    let answer = or_skip!(waits(&session, "lock_hog.c"));
    assert_adds_up(&answer);
    let rows = places(&answer, "take_and_update");
    let (held, whole) = (
        seconds(&rows, "causes", ("positive", "hog_table", "hog")),
        rows.iter().filter_map(|row| row["seconds"].as_f64()).sum::<f64>(),
    );
    let causes = rows.iter().flat_map(|row| row["causes"].as_array().expect("a list"));
    let mut by_hog = causes.filter(|cause| cause["by_threads"] == "hog");
    let of_hog: f64 = by_hog.by_ref().filter_map(|cause| cause["seconds"].as_f64()).sum();
    assert!(
        held > 0.4 && of_hog > 0.75 * whole,
        "{:#}\n{held} s held, {of_hog} of {whole} s",
        answer.value["rows"]
    );
    assert!(
        rows.iter().all(|row| row.get("class").is_some_and(|class| class == "communication and contention"))
    );
}

#[test]
fn stages_wait_for_the_slow_one() {
    let session = Session::start();
    let answer = or_skip!(waits(&session, "condition_pipeline.c"));
    assert_adds_up(&answer);
    // The writer waits for 25 × (40 − 15), the reader for 24 × (40 − 10) or so: what transform_stage did meanwhile.
    for (place, own, threads) in
        [("take_item", "write_stage", "writer"), ("put_item", "read_stage", "reader")]
    {
        let rows = places(&answer, place);
        let transformed = seconds(&rows, "root_causes", ("positive", "transform_stage", "transformer"));
        let own = seconds(&rows, "root_causes", ("negative", own, threads));
        assert!((0.7..1.1).contains(&transformed), "{:#}\n{place}: {transformed} s", answer.value["rows"]);
        assert!(own > 0.15, "{:#}\n{place}: {own} s", answer.value["rows"]);
    }
}

#[test]
fn a_nested_wait_leads_to_the_root() {
    let session = Session::start();
    let answer = or_skip!(waits(&session, "nested_wait.c"));
    assert_adds_up(&answer);
    let rows = places(&answer, "wait_for");
    let last: Vec<&Map<String, Value>> = rows
        .iter()
        .copied()
        .filter(|row| row["object"].as_str().is_some_and(|name| name.contains("all_done")))
        .collect();
    let finished = seconds(&last, "root_causes", ("positive", "finish_work", "middle"));
    assert_near("finish_work", finished, 0.2, &answer);
    let root = seconds(&last, "root_causes", ("positive", "root_work", "first"));
    assert_near("root_work", root, 0.6, &answer);
    assert_eq!(
        seconds(&last, "causes", ("positive", "root_work", "first")),
        0.0,
        "{:#}",
        answer.value["rows"]
    );
}

#[test]
fn nobody_wants_a_join_explained_and_one_row_is_explained_in_full() {
    let session = Session::start();
    let program = or_skip!(session.build("serial_then_parallel.c", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let answer = recording.report("waits", "procedure");
    let joins = answer.rows().filter(|row| row.get("unwanted_because").is_some_and(|it| it == "join"));
    let joins: Vec<&Map<String, Value>> = joins.collect();
    assert!(
        !joins.is_empty()
            && joins.iter().all(|row| row["wanted"] == false && row["unwanted_because"] == "join")
    );
    let mut command = crate::support::longpole();
    command.arg("report").arg(&recording.path).args(["--explain", "1", "--width", "100"]);
    let run = crate::support::run(&mut command);
    assert!(
        run.stdout.contains("Wait 1: ") && run.stdout.contains("done by those who waited"),
        "{}",
        run.stdout
    );
    let mut command = crate::support::longpole();
    command.arg("report").arg(&recording.path).args(["--explain", "999"]);
    let run = crate::support::run(&mut command);
    assert!(!run.status.success() && run.stderr.contains("no such row"), "{}", run.stderr);
}

/// The kernel says whether the thread that waits has asked for something: it is no member of `task_struct` that begins at a byte.
#[test]
fn a_wait_at_a_ring_is_for_a_device_if_the_thread_asked_for_something() {
    let session = Session::start();
    let program = or_skip!(session.build("ring_waits.c", &["-pthread"]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    if recording.run.stdout.starts_with("none") {
        return crate::support::skipped("the kernel has no io_uring");
    }
    let waits = recording.waits();
    let in_ring = |procedure: &'static str, cause| {
        waits.seconds(|wait: &Wait| wait.is_in(procedure) && wait.cause == cause)
    };
    assert!(in_ring("ask_and_wait", Cause::Io) > 0.09, "{}", recording.run.stdout);
    assert_eq!(in_ring("ask_and_wait", Cause::Poll), 0.0);
    assert!(in_ring("collect_events", Cause::Poll) > 0.14);
    assert_eq!(in_ring("collect_events", Cause::Io), 0.0);
}
