//! The time of the processors is divided without rest, and what threads leave idle that end early is load imbalance.

use serde_json::{Map, Value};

use crate::support::{Answer, Collector, Session, or_skip};

/// Times are written with nine digits; so many of them may be off in a sum.
const ROUNDING: f64 = 1e-6;

fn number(row: &Map<String, Value>, key: &str) -> f64 {
    row.get(key).and_then(Value::as_f64).unwrap_or_default()
}

/// Time of all processors, or of one, that went to this.
fn seconds(answer: &Answer, processor: Option<u64>, is_it: impl Fn(&str, &str) -> bool) -> f64 {
    let of_processor = |row: &&Map<String, Value>| row.get("processor").and_then(Value::as_u64) == processor;
    let text = |row: &Map<String, Value>, key: &str| {
        row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let rows = answer.rows().filter(of_processor);
    rows.filter(|row| is_it(&text(row, "activity"), &text(row, "cause")))
        .map(|row| number(row, "seconds"))
        .sum()
}

#[test]
fn processors_times_elapsed_are_divided_without_rest() {
    let session = Session::start();
    let program = or_skip!(session.build("fork_join_imbalance.c", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let answer = recording.report("processors", "procedure");
    let elapsed = answer.number("recording", "elapsed_seconds");
    let cpus: Vec<u64> = answer.rows().filter_map(|row| row.get("processor")?.as_u64()).collect();
    let count = cpus.iter().max().map_or(0, |most| most + 1);
    for processor in 0..count {
        let whole = seconds(&answer, Some(processor), |_, _| true);
        assert!((whole - elapsed).abs() < ROUNDING, "CPU {processor} has {whole} of {elapsed} s");
    }
    let whole = seconds(&answer, None, |_, _| true);
    assert!((whole - elapsed * count as f64).abs() < ROUNDING * count as f64, "{whole} s in all");
    // What the program did on them is its CPU time: 290 ms of `work`, and what the kernel did for it.
    let own = seconds(&answer, None, |activity, _| ["useful", "kernel", "spinning"].contains(&activity));
    let profile = recording.report("profile", "thread");
    let cpu = profile.sum_of("seconds");
    assert!((own - cpu).abs() < 0.001, "{own} s on processors, {cpu} s of CPU time");
    assert!((0.29..0.36).contains(&own), "{own} s of work");
}

/// With the machine's number of them, threads that take turns on one processor would wait for other programs.
/// The program recorded where this command executes the recorder.
fn recorded_by(
    session: &Session,
    mut command: std::process::Command,
    program: &std::path::Path,
) -> crate::support::Recording {
    let path = session.path().join("limited.longpole");
    command.arg(crate::support::longpole().get_program());
    command.args(["record", "-q", "-o"]).arg(&path).arg("--").arg(program).arg("123");
    let run = session.run(&mut command);
    assert!(run.status.success(), "{}", run.stderr);
    crate::support::Recording::at(&path)
}

#[test]
fn a_program_with_an_affinity_has_the_processors_that_it_may_use() {
    let session = Session::start();
    or_skip!(crate::support::find("taskset"));
    let program = or_skip!(session.build("fork_join.c", &["-pthread"]));
    let mut taskset = std::process::Command::new("taskset");
    taskset.args(["-c", "1"]);
    let recording = recorded_by(&session, taskset, &program);
    let answer = recording.report("processors", "procedure");
    assert_eq!(answer.number("recording", "cpus"), 1.0);
    let numbers: Vec<u64> = answer.rows().filter_map(|row| row.get("processor")?.as_u64()).collect();
    assert!(!numbers.is_empty() && numbers.iter().all(|&number| number == 1), "{numbers:?}");
    let notes = recording.report("evidence", "procedure").value["evidence"]["notes"].to_string();
    assert!(notes.contains("the program could use 1 of the machine's"), "{notes}");
}

/// The run gains what the program takes less that does not pin its threads: beside other programs on the machine both take longer, by
/// the same CPU time.
#[test]
fn threads_that_pin_themselves_are_to_be_unpinned() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("pinned.c", &["-pthread"]));
    let recording = session.record_with(&["--quiet", "--collector", "bpf"], &program);
    let summary = recording.report("summary", "procedure");
    if summary.number("recording", "cpus") < 2.0 {
        return;
    }
    let change = summary.changes("unpin").next().expect("the pinned threads have a row");
    assert!(change["text"].as_str().unwrap().starts_with("threads pinned to CPU "), "{change:?}");
    let text = summary.value.to_string();
    assert!(!text.contains("or it is pinned"), "{text}");
    let mut what_if = crate::support::longpole();
    what_if.arg("what-if").arg(&recording.path).args(["--set", "procedure:crunch=0.5"]);
    let said = session.run(&mut what_if).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("threads that are pinned may use all of them"), "{said}");
    let truth = session.least_seconds(&program, &[]) - session.least_seconds(&program, &["free"]);
    let most = number(change, "gain_high_seconds");
    assert!(most > 0.9 * truth, "at most {most} s; in truth {truth}");
}

/// A control group with a quota, which is removed when the test ends.
struct LimitedGroup(std::path::PathBuf);

impl LimitedGroup {
    /// A fifth of a processor in periods of 20 ms, by version 2 or 1.
    fn new(name: &str) -> Result<LimitedGroup, String> {
        let root = std::path::Path::new("/sys/fs/cgroup");
        let failed = |error: std::io::Error| format!("control groups with quotas cannot be written: {error}");
        let is_second_version = root.join("cgroup.controllers").is_file();
        if is_second_version {
            std::fs::write(root.join("cgroup.subtree_control"), "+cpu").map_err(failed)?;
        }
        let folder = if is_second_version { root.join(name) } else { root.join("cpu").join(name) };
        std::fs::create_dir(&folder).map_err(failed)?;
        let group = LimitedGroup(folder);
        let write = |file: &str, text: &str| std::fs::write(group.0.join(file), text).map_err(failed);
        if is_second_version {
            write("cpu.max", "4000 20000")?;
        } else {
            write("cpu.cfs_period_us", "20000")?;
            write("cpu.cfs_quota_us", "4000")?;
        }
        Ok(group)
    }

    /// In how many periods it used its quota up, by the kernel's account.
    fn throttled(&self) -> u64 {
        let text = std::fs::read_to_string(self.0.join("cpu.stat")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        line.unwrap().trim().parse().unwrap()
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_program_with_a_quota_has_the_processors_that_it_may_use() {
    let session = Session::start();
    let program = or_skip!(session.build("fork_join.c", &["-pthread"]));
    let group = or_skip!(LimitedGroup::new(&format!("longpole-test-{}", std::process::id())));
    let mut shell = std::process::Command::new("sh");
    let enter = r#"echo $$ > "$0/cgroup.procs" && exec "$@""#;
    shell.args(["-c", enter]).arg(&group.0);
    let recording = recorded_by(&session, shell, &program);
    let answer = recording.report("processors", "procedure");
    assert_eq!(answer.number("recording", "cpus"), 1.0);
    let notes = recording.report("evidence", "procedure").value["evidence"]["notes"].to_string();
    assert!(notes.contains("its control group has a quota of 0.2 CPUs"), "{notes}");
    let text = session.run(crate::support::longpole().arg("report").arg(&recording.path)).stdout;
    assert!(text.contains("0.2 of ") && text.contains("(quota)"), "{text}");
    // The recorder is in the group too, and goes on after the program.
    let told = notes.split_once("the quota was used up in ").and_then(|(_, rest)| rest.split_once(' '));
    let told: u64 = told.map_or(0, |(number, _)| number.parse().unwrap());
    let all = group.throttled();
    assert!(told <= all && (told > 0 || all == 0), "{told} of {all} periods: {notes}");
}

#[test]
fn a_program_that_waits_leaves_its_processors_to_what_it_waits_for() {
    let session = Session::start();
    let program = or_skip!(session.build("sleep_and_io.c", &[]));
    // Without the kernel's accounts other programs' time is not known: what is free is divided by causes alone.
    let path = session.path().join("alone.longpole");
    let mut record = crate::support::longpole();
    record.args(["record", "--force", "--collect", "none", "-o"]).arg(&path).arg("--").arg(&program);
    let run = session.run(&mut record);
    assert!(run.status.success(), "{}", run.stderr);
    let recording = crate::support::Recording::at(&path);
    let answer = recording.report("processors", "procedure");
    let elapsed = answer.number("recording", "elapsed_seconds");
    // One thread: while it sleeps, all processors are idle for that.
    let threads = recording.report("states", "thread");
    let count =
        answer.rows().filter_map(|row| row.get("processor")?.as_u64()).max().map_or(0, |most| most + 1);
    let slept = threads.sum("cause", "sleep", "seconds");
    let idle = seconds(&answer, None, |activity, cause| activity == "idle" && cause == "sleeping");
    assert!(slept > 0.1 * elapsed, "it sleeps {slept} of {elapsed} s");
    let whole = slept * count as f64;
    assert!(
        (idle - whole).abs() < 0.02 * whole + 0.002,
        "{idle} s idle for its sleep of {slept} s on {count} CPUs"
    );
}

#[test]
fn threads_of_a_fork_that_end_early_are_to_be_balanced() {
    /// Seconds that others may take from either run.
    const ROOM: f64 = 0.02;
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("fork_join_imbalance.c", &[]));
    let change = |argument: &str| {
        let recording = session.record(Collector::Bpf, &[program.to_str().unwrap(), argument]).unwrap();
        let summary = recording.report("summary", "procedure");
        let found = summary.changes("balance the work").next();
        let range = found.map(|change| {
            assert_eq!(change["text"], "threads created in `fork_and_join`");
            ["gain_low_seconds", "gain_high_seconds"].map(|key| change[key].as_f64().unwrap())
        });
        (summary.number("recording", "elapsed_seconds"), range)
    };
    // On two processors the short ones may share one or not: the scheduler decides, in each run anew.
    let (elapsed, range) = change("");
    let [low, high] = range.expect("it is advised");
    let truth = elapsed - session.least_seconds(&program, &["even"]);
    assert!((low - ROOM..high + ROOM).contains(&truth), "{low} to {high} s; in truth {truth}");
    assert!(change("even").1.is_none_or(|[low, _]| low < truth / 2.0));
}

/// No thread has more to do than the other one, but in each round; whether the large pieces can be divided is not known.
#[test]
fn rounds_in_which_another_one_is_last_each_time_are_to_be_balanced() {
    /// Seconds that others may take from either run.
    const ROOM: f64 = 0.02;
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let even = session.least_seconds(&session.build("barrier_by_turns.c", &["-DEVEN"]).unwrap(), &[]);
    let program = session.build("barrier_by_turns.c", &[]).unwrap();
    let truth = session.least_seconds(&program, &[]) - even;
    let recording = session.record(Collector::Bpf, &[&program]).unwrap();
    let summary = recording.report("summary", "procedure");
    let change = summary.changes("balance the work").next().expect("it is advised");
    let [low, high] = ["gain_low_seconds", "gain_high_seconds"].map(|key| change[key].as_f64().unwrap());
    assert!((low - ROOM..high + ROOM).contains(&truth), "{low} to {high} s; in truth {truth}");
}

#[test]
fn threads_of_a_fork_that_end_early_are_load_imbalance() {
    let session = Session::start();
    let program = or_skip!(session.build("fork_join_imbalance.c", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    for by in ["procedure", "line", "thread"] {
        let waits = recording.report("waits", by);
        let is_early = |row: &&Map<String, Value>| {
            row.get("kind").is_some_and(|kind| kind == "ended early") || by == "thread"
        };
        let rows: Vec<_> = waits
            .rows()
            .filter(|row| row.get("wanted").is_some_and(|wanted| wanted == true))
            .filter(is_early)
            .collect();
        assert!(!rows.is_empty(), "by {by}: {}", waits.value);
        if by != "thread" {
            // Three of the first fork; three of the second, which end nearly together. Who is slow to end is in neither.
            assert!((4.0..=6.0).contains(&number(rows[0], "count")), "{:?}", rows[0]);
            assert_eq!(rows[0]["procedure"], "fork_and_join", "{:?}", rows[0]);
        }
        let causes = rows[0]["causes"].as_array().unwrap();
        let work = causes.iter().filter(|cause| cause["side"] == "positive" && cause["procedure"] == "work");
        let split = |name: &str| number(rows[0], name);
        // On a busy machine the long one mostly waits for a processor, and the rest may go unmentioned.
        let ready = causes.iter().filter(|cause| cause["what"] == "ready");
        let is_crowded = ready.filter_map(|cause| cause["percent"].as_f64()).sum::<f64>() > 80.0;
        assert!(is_crowded || work.count() > 0, "by {by}: {:?}", rows[0]);
        assert!(is_crowded || split("load_imbalance_percent") > 2.0, "by {by}: {:?}", rows[0]);
        assert!(split("insufficient_parallelism_percent") < 10.0, "by {by}: {:?}", rows[0]);
    }
}

/// The scheduler counts how long each thread ran and was ready, whatever a recorder makes of it.
#[test]
fn threads_are_ready_for_as_long_as_the_scheduler_has_counted() {
    /// What other programs may keep a thread waiting between its look at the counts and its end, seconds.
    const LAST_TURN: f64 = 0.010;
    let session = Session::start();
    let program = or_skip!(session.build("ready_times.c", &["-O2", "-pthread"]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let answer = recording.report("profile", "thread");
    for line in recording.run.stdout.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, ran, ready] = words[..] else { panic!("{line}") };
        let row = answer.rows().find(|row| row["thread"] == name).expect("each thread has a row");
        for (key, counted) in [("running_seconds", ran), ("ready_seconds", ready)] {
            let counted = counted.parse::<f64>().unwrap() / 1e9;
            let told = number(row, key);
            let differs = (told - counted).abs();
            assert!(differs < 0.02 * counted + LAST_TURN, "{name}: {key} {told}, counted {counted}");
        }
    }
}
