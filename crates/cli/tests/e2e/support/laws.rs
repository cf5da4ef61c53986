//! What holds of every recording, whatever ran.

use serde_json::Value;

use super::{Answer, Recording};

/// Times are written with nine digits; so many of them may be off in a sum.
const ROUNDING: f64 = 1e-6;

/// Asserts the laws, through the views.
pub fn assert_laws(recording: &Recording) {
    assert_normalised_time(recording);
    assert_gains(recording);
    assert_explanations(recording);
    assert_order(recording);
}

/// What is written down later than something that happened after it stands at that one's time, which moves states.
fn assert_order(recording: &Recording) {
    let disordered = recording.report("evidence", "procedure").sum("name", "disordered", "count");
    assert!(disordered == 0.0, "{disordered} events are out of order");
}

/// Normalised processor time of all threads is the time in which any was busy (metrics.md §3).
fn assert_normalised_time(recording: &Recording) {
    let npt = recording.report("npt", "thread");
    let elapsed = npt.number("recording", "elapsed_seconds");
    let busy = npt.sum_of("seconds");
    assert!(busy <= elapsed + ROUNDING, "threads have {busy} s of {elapsed} s");
    let levels = recording.report("parallelism", "procedure");
    let of_level = |row: &serde_json::Map<String, Value>| {
        Some((row["level"].as_u64()?, row["effective_seconds"].as_f64()?))
    };
    let mut all = (0.0, 0.0);
    for (level, seconds) in levels.rows().filter_map(of_level) {
        all.0 += seconds;
        all.1 += if level > 0 { seconds } else { 0.0 };
    }
    assert!((all.0 - elapsed).abs() < ROUNDING, "levels are {} s of {elapsed} s", all.0);
    assert!((all.1 - busy).abs() < ROUNDING, "some thread is busy for {} s, threads have {busy} s", all.1);
}

/// What is zeroed everywhere gains at least what it gains on the critical path alone; nothing gains more than its time on the
/// path, nor has more there than its work: all tables divide work alike.
fn assert_gains(recording: &Recording) {
    let zeroing = recording.report("zeroing", "procedure");
    for row in zeroing.rows() {
        let number = |name: &str| row.get(name).and_then(Value::as_f64);
        let (Some(zeroing), Some(slack)) = (number("zeroing_seconds"), number("slack_seconds")) else {
            continue;
        };
        assert!(zeroing >= slack - ROUNDING, "slack above zeroing: {row:?}");
        let work = number("running_seconds").unwrap_or(f64::INFINITY);
        let on_path = number("critical_path_seconds").unwrap_or(f64::INFINITY);
        assert!(on_path <= work + ROUNDING, "more on the path than its work: {row:?}");
        assert!(zeroing <= on_path + ROUNDING, "more than its work on the path: {row:?}");
    }
}

/// Causes of the one side less those of the other are the waiting (metrics.md §6).
fn assert_explanations(recording: &Recording) {
    let waits = recording.report("waits", "procedure");
    let shares = waits.rows().filter(|row| row["wanted"] == true);
    let percent: f64 = shares.filter_map(|row| row.get("percent")?.as_f64()).sum();
    assert!(percent == 0.0 || (percent - 100.0).abs() < 0.1, "places have {percent} % of the waiting");
    waits.rows().for_each(assert_explained);
}

fn assert_explained(row: &serde_json::Map<String, Value>) {
    for list in ["causes", "root_causes"] {
        let causes = row[list].as_array().expect("a list of causes");
        let sign = |cause: &Value| if cause["side"] == "positive" { 1.0 } else { -1.0 };
        let sum: f64 =
            causes.iter().map(|cause| sign(cause) * cause["seconds"].as_f64().expect("seconds")).sum();
        let whole = row["seconds"].as_f64().expect("seconds");
        assert!((sum - whole).abs() < ROUNDING, "{list} are {sum} of {whole} s: {row:?}");
    }
}

/// The row with the largest share, and the value of its column.
pub fn first<'a>(answer: &'a Answer, column: &str) -> &'a str {
    let first = answer.rows().find(|row| row.get("rank").and_then(Value::as_u64) == Some(1));
    first.and_then(|row| row.get(column)?.as_str()).unwrap_or_default()
}
