//! Replay of real programs: what becomes of them when locks go to whoever comes first.

use std::path::Path;

use crate::support::{Answer, Collector, Recording, Session, longpole, or_skip};

/// How often a program is recorded until other programs leave it alone enough to be reproduced.
const ATTEMPTS: usize = 6;

/// The replay of a recording with this changed; `None` where it is refused.
fn replay(recording: &Path, change: &str) -> Option<Answer> {
    let output = longpole()
        .args(["what-if", "--replay", "--format", "json", "--set", change])
        .arg(recording)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Some(Answer::new("replay", &String::from_utf8(output.stdout).unwrap()));
    }
    // Nothing else may go wrong, and a refusal says by how much.
    assert!(told.contains("failed to replay the run: unchanged") && told.contains('%'), "{told}");
    None
}

/// Low, middle and high end of what the change gains, per cent.
fn gain(answer: &Answer) -> [f64; 3] {
    let row = answer.rows().find(|row| row["section"] == "change").unwrap();
    ["gain_low_percent", "elapsed_gain_percent", "gain_high_percent"].map(|key| row[key].as_f64().unwrap())
}

/// Whether all locks go to whoever comes first: none had to keep its recorded order.
fn is_arbitrated(answer: &Answer) -> bool {
    answer.rows().filter(|row| row["section"] == "lock").all(|row| row["replayed_order"] == "first to come")
}

/// A recording of the program that is reproduced with locks that go to whoever comes first.
fn reproduced(session: &Session, source: &str) -> Result<Option<Recording>, String> {
    Collector::Bpf.permitted()?;
    let program = session.build(source, &[])?;
    for _ in 0..ATTEMPTS {
        // Procedures that take turns on one thread are told apart by samples alone: as many as make their error small.
        let options = ["--quiet", "--collector", "bpf", "--locks", "--frequency", "4999"];
        let recording = session.record_with(&options, &program);
        if replay(&recording.path, "self:main=1").is_some_and(|answer| is_arbitrated(&answer)) {
            return Ok(Some(recording));
        }
    }
    Ok(None)
}

/// The recording that is reproduced; ends the test where other programs took too much of each run.
macro_rules! reproduced_or_skip {
    ($session:expr, $source:expr) => {
        match or_skip!(reproduced($session, $source)) {
            Some(recording) => recording,
            None => return println!("skipped: other programs took too much of each run"),
        }
    };
}

#[test]
fn a_thread_that_comes_back_at_once_keeps_the_lock() {
    let session = Session::start();
    let recording = reproduced_or_skip!(&session, "busy_lock.c");
    let of = |change: &str| gain(&replay(&recording.path, change).unwrap());
    // 240 of 380 ms without A. On a busy machine what others took is a part of the run, too: the gain is the same time, a smaller part.
    let [low, _, high] = milliseconds_without(&recording.path, "A").unwrap();
    let summary = recording.report("summary", "procedure");
    let longer = (summary.number("recording", "elapsed_seconds") / 0.38).max(1.0);
    // The high end has what disturbed the run, too, and stays below half of it.
    let is_gain =
        |low: f64, high: f64| low > 95.0 && low < 141.0 * longer && high > 139.0 && high < 190.0 * longer;
    assert!(is_gain(low, high), "A: {low} to {high} ms of a run that is {longer} times as long");
    // In the recorded order U is nearly nothing; executed anew without it, the program takes 440 ms instead of 380.
    let [_, middle, _] = of("self:U=0");
    assert!(middle < -4.0, "U: {middle} %");
    let order = replay(&recording.path, "object:lock=0").unwrap();
    let lock = order.rows().find(|row| row["section"] == "lock").unwrap();
    assert_eq!(lock["replayed_order"], "first to come");
    // The list of changes says the same: it promises nothing of U.
    let changes: Vec<_> = summary.rows().filter(|row| row["section"] == "change").collect();
    let named = |name: &str| changes.iter().find(|row| row["text"] == name);
    let is_replayed = |name: &str| named(name).is_some_and(|row| row["predicted_by"] == "replay");
    assert!(["A", "B", "mutex lock"].into_iter().all(is_replayed), "{changes:?}");
    let [low, high] = ["gain_low_seconds", "gain_high_seconds"]
        .map(|key| 1000.0 * named("A").expect("it holds the lock")[key].as_f64().unwrap());
    assert!(is_gain(low, high), "A: {low} to {high} ms of a run that is {longer} times as long");
    assert!(named("U").is_none(), "{changes:?}");
}

#[test]
fn a_crowded_program_is_limited_by_processors_and_then_by_its_lock() {
    let session = Session::start();
    let recording = reproduced_or_skip!(&session, "crowded_lock.c");
    let of = |change: &str| gain(&replay(&recording.path, change).unwrap());
    // Of each 6 ms prepare is 2, look_up 1, digest 3; the lock costs nothing, as the processors have other work.
    let parts = [("self:prepare=0", 100.0 / 3.0), ("self:look_up=0", 100.0 / 6.0), ("self:digest=0", 50.0)];
    for (change, truth) in parts {
        let [_, middle, _] = of(change);
        assert!((middle - truth).abs() < 8.0, "{change}: {middle} %, not {truth}");
    }
    let [_, middle, _] = of("object:table_lock=0");
    assert!(middle.abs() < 6.0, "table_lock: {middle} %");
}

#[test]
fn threads_that_meet_at_barriers_are_replayed() {
    let session = Session::start();
    let recording = reproduced_or_skip!(&session, "judged_join.c");
    // Of 399 ms create_pool is 90 and alone, partition 70 on the thread that comes last; both do exchange, one after the other. Where
    // others have the processors for a time, all of it takes longer, and not each part by as much.
    let parts = [("self:create_pool=0", 22.6), ("self:partition=0", 17.5), ("self:exchange=0", 6.0)];
    for (change, truth) in parts {
        let answer = replay(&recording.path, change).unwrap();
        let longer = (answer.number("recording", "elapsed_seconds") / 0.399).max(1.0);
        let [low, _, high] = gain(&answer);
        let most = high + 1.5;
        let is_gain = low - 1.5 < truth && truth < most * longer;
        assert!(is_gain, "{change}: {low} to {high} %, not {truth}; {longer} times as long");
    }
}

/// One condition for all columns: a broadcast wakes five threads, of whom four wait again.
#[test]
fn threads_that_wait_for_different_things_behind_one_condition_are_replayed() {
    let session = Session::start();
    let recording = reproduced_or_skip!(&session, "judged_solver.c");
    // Built without them, on two processors: 30 % less without scale_column, which makes the chain, 15 to 17 without update_column.
    for (change, truth) in [("self:scale_column=0", 30.0), ("self:update_column=0", 16.0)] {
        let [low, _, high] = gain(&replay(&recording.path, change).unwrap());
        assert!(low - 3.0 < truth && truth < high + 3.0, "{change}: {low} to {high} %, not {truth}");
    }
}

#[test]
fn barriers_are_replayed_where_nothing_tells_of_arrivals() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("judged_join.c", &[]));
    for _ in 0..ATTEMPTS {
        let Recording { path, .. } = session.record_with(&["--quiet", "--collector", "bpf"], &program);
        // Another thread comes last each time; a refusal is by how far a busy machine's run is off.
        if let Some(answer) = replay(&path, "self:create_pool=0") {
            let [low, _, high] = gain(&answer);
            assert!(low < high && high < 60.0, "create_pool: {low} to {high} %");
            return;
        }
    }
}

/// What leaving out a procedure gains, replayed: low, middle and high end, milliseconds.
fn milliseconds_without(recording: &Path, procedure: &str) -> Option<[f64; 3]> {
    let answer = replay(recording, &format!("self:{procedure}=0"))?;
    let elapsed = answer.number("recording", "elapsed_seconds");
    Some(gain(&answer).map(|percent| percent / 100.0 * 1000.0 * elapsed))
}

/// What others take of the run stays in proportion to the work, so gains are no less on a busy machine.
#[test]
fn items_of_a_queue_go_to_whoever_is_free_in_the_changed_run() {
    let Ok(()) = Collector::Bpf.permitted() else { return println!("skipped: no bpf") };
    let session = Session::start();
    for flags in [&[][..], &["-DSEMAPHORE"]] {
        let program = session.build("uneven_tasks.c", flags).unwrap();
        let record = |options: &[&str]| {
            let options = [&["--quiet", "--collector", "bpf"], options].concat();
            session.record_with(&options, &program).path
        };
        // 200 of 420 ms: the worker that had the large task takes half of the small ones.
        let follows_items = (0..ATTEMPTS).any(|_| {
            let path = record(&["--locks"]);
            let Some(large) = milliseconds_without(&path, "solve_large") else { return false };
            let small = milliseconds_without(&path, "solve_small").unwrap();
            large[0] > 100.0 && large[1] > 150.0 && small[1] < 60.0
        });
        assert!(follows_items, "{flags:?}");
        // Without the agent nothing tells of the queue: the range holds both.
        let path = record(&[]);
        if let Some([low, _, high]) = milliseconds_without(&path, "solve_large") {
            assert!(low < 200.0 && high > 180.0, "{flags:?}: {low} to {high}");
        }
        let summary = Recording::at(&path).report("summary", "procedure");
        let is_large = |row: &&serde_json::Map<String, serde_json::Value>| {
            row["section"] == "change" && row["text"] == "solve_large"
        };
        let high = summary.rows().find(is_large).map(|row| row["gain_high_seconds"].as_f64().unwrap());
        assert!(high.is_some_and(|high| high > 0.15), "{flags:?}: {high:?}");
    }
}

/// What is done in holds is done between them too: only a replay tells one from the other, and only `zero` measures it without a rebuilt program.
#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn holds_become_shorter_without_the_same_work_beside_them() {
    let session = Session::start();
    let recording = reproduced_or_skip!(&session, "hold_times.c");
    let milliseconds = |change: &str| {
        let answer = replay(&recording.path, change).unwrap();
        let row = answer.rows().find(|row| row["section"] == "change").unwrap().clone();
        1e3 * row["elapsed_gain_seconds"].as_f64().unwrap()
    };
    // 121 ms and 203 ms of 323 on two free processors; 160 ms and 320 ms where other programs leave one. Where they leave less, the holds
    // are what the run takes: without them 3 of 7 ms of its work are left, on two processors, with half of them 5.
    let (half, all) = (milliseconds("hold:table_lock=0.5"), milliseconds("hold:table_lock=0"));
    let elapsed = recording.report("summary", "procedure").number("recording", "elapsed_seconds");
    let longer = (elapsed / 0.56).max(1.0);
    let [most_of_half, most_of_all] = match longer > 1.0 {
        true => [1e3 * elapsed * (1.0 - 2.5 / 4.0 + 0.08), 1e3 * elapsed * (1.0 - 1.5 / 4.0 + 0.08)],
        false => [180.0, 340.0],
    };
    let is_gain = (105.0..most_of_half).contains(&half) && (180.0..most_of_all).contains(&all);
    assert!(is_gain, "{half} ms, {all} ms of {elapsed} s");
    let step = milliseconds("procedure:step=0.5");
    assert!(step > half + 20.0, "half of step is more than half of the holds: {step} ms, {half} ms");

    let program = session.build("hold_times.c", &[]).unwrap();
    let mut zero = longpole();
    zero.arg("zero").arg(&recording.path).args(["--budget", "10s", "--format", "json"]);
    // Not slowed down: its work ends by its CPU time, to which a delay adds.
    zero.args(["--virtual", "hold:table_lock@0.5", "--"]);
    let run = session.run(zero.arg(&program));
    if run.stderr.contains("does not let the program be sampled") {
        return println!("skipped: the program cannot be sampled");
    }
    assert!(run.status.success(), "{}", run.stderr);
    let answer = Answer::new("zero", &run.stdout);
    let row = answer.rows().next().unwrap();
    assert_eq!(row["change"], "holds of table_lock");
    // 4 of 7 ms of CPU time, of which a half is inserted, as one thread at a time has the lock.
    let number = |key: &str| row[key].as_f64().unwrap();
    assert!((number("sampled_percent") - 57.1).abs() < 8.0, "{row:?}");
    assert!((number("inserted_seconds") / -number("added_seconds") - 1.0).abs() < 0.05, "{row:?}");
    let wrong = session.run(longpole().arg("zero").arg(&recording.path).args([
        "--slow",
        "hold:step",
        "--",
        program.to_str().unwrap(),
    ]));
    assert!(!wrong.status.success() && wrong.stderr.contains("step"), "{}", wrong.stderr);
}
