//! Spins before waits last as long as the program itself says, though few samples find them.

use crate::support::{Collector, Session, longpole, or_skip, run};

/// Timer samples a second, as recorded by default.
const HERTZ: f64 = 499.0;

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn spins_shorter_than_the_time_between_samples_have_their_length() {
    let session = Session::start();
    for length in ["20", "100", "500", "5000"] {
        let define = format!("-DSPIN_US={length}");
        let program = or_skip!(session.build("spin_before_wait.c", &["-O2", &define]));
        let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
        let spun: f64 = recording.run.stdout.trim().parse().unwrap();
        let profile = recording.report("profile", "procedure");
        let told = profile.sum("procedure", "look_for_answer", "spin_seconds");
        // Binomial: four standard errors of the part of so many samples, and what the clock's own calls take of the spins.
        let cpu = profile.number("recording", "cpu_seconds");
        let part = spun / cpu;
        let error = cpu * (4.0 * (part * (1.0 - part) / (cpu * HERTZ)).sqrt() + 0.01) + 0.05 * spun;
        assert!((told - spun).abs() <= error, "{length} us: {told} s told, {spun} s true ± {error}");
    }
    // What the answer rests on is the same every time.
    let path = session.path().join("bpf.longpole");
    let asked = || run(longpole().arg("report").arg(&path).args(["--no-cache", "--format", "json"])).stdout;
    assert_eq!(asked(), asked());
}

/// The program says in its first lines for whom each of its busy-waits is.
#[test]
fn a_busy_wait_is_explained_by_what_the_thread_did_that_ended_it() {
    let session = Session::start();
    let program = or_skip!(session.build("judged_spins.c", &["-O2", "-g", "-pthread"]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let waits = recording.report("waits", "procedure");
    let flag = waits.rows().find(|row| row["object"] == "arrivals" && row["kind"] == "flag");
    let flag = flag.unwrap_or_else(|| panic!("{:#}", waits.value["rows"]));
    assert_eq!(flag["procedure"], "await_phase");
    let count = flag["count"].as_u64().unwrap();
    assert!((1..=31).contains(&count), "{count} waits, of 30");
    let late = |cause: &&serde_json::Value| cause["side"] == "positive" && cause["what"] == "running";
    let longest = flag["causes"].as_array().unwrap().iter().find(late);
    let longest = longest.unwrap_or_else(|| panic!("{flag:#?}"))["procedure"].as_str().unwrap().to_owned();
    assert!(["relax_inner", "choose_step", "sharpen"].contains(&longest.as_str()), "{flag:#?}");
}

/// Nobody waits for anybody; only the share of a thread that looks whether it may go on would be a spin.
#[test]
fn work_that_is_followed_by_a_yield_is_work() {
    let session = Session::start();
    let program = or_skip!(session.build("polite_workers.c", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let profile = recording.report("profile", "procedure");
    let spun = profile.sum("procedure", "hash_block", "spin_seconds");
    assert!(spun < 0.02, "{:#}", profile.value["rows"]);
    profile.assert_percent("hash_block", 100.0, 5.0);
}

/// The loop around the work calls what pauses; the loop within works.
#[test]
fn work_between_turns_that_are_polled_for_is_work() {
    let session = Session::start();
    let program = or_skip!(session.build("polled_turns.c", &["-pthread"]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let profile = recording.report("profile", "procedure");
    let of = |key: &str| profile.sum("procedure", "take_turns", key);
    let (spun, ran) = (of("spin_seconds"), of("running_seconds"));
    assert!(spun < 0.1 * ran, "{spun} s of {ran}: {:#}", profile.value["rows"]);
}
