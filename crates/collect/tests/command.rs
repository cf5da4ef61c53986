//! Commands of users, good and bad: what they print is kept, and nothing of them is left behind.
// A failure is a failed test.
#![allow(clippy::unwrap_used)]

mod collected;

use std::path::Path;
use std::time::{Duration, Instant};

use collected::{Collected, collect};
use longpole_collect::SeriesSourceChoice;
use longpole_event::{SeriesNode, Time};

fn run(command: &str, milliseconds: u64) -> Collected {
    collect(SeriesSourceChoice::Command(command.to_owned()), || {
        std::thread::sleep(Duration::from_millis(milliseconds));
    })
}

/// Waits until the file has come.
fn wait_for(path: &Path) {
    let begin = Instant::now();
    while !path.exists() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
    // What was printed before the file was made is read at the next look.
    std::thread::sleep(Duration::from_millis(50));
}

/// Runs a command that makes the file `$MARK` when it has said all, and looks as long.
fn run_until_mark(command: &str) -> Collected {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let command = format!("MARK={}\n{command}", mark.display());
    collect(SeriesSourceChoice::Command(command), || wait_for(&mark))
}

/// Whether a process with these words on its command line runs.
fn runs(words: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).any(|line| line.contains(words))
}

#[test]
fn what_a_command_prints_is_a_series() {
    let collected = run_until_mark(
        "echo '#! commits unit=transactions samples=counter'
         echo commits program 3; echo commits program 5; echo depth machine/queue 7
         touch $MARK; sleep 60",
    );
    let [commits, depth] = &collected.series[..] else { panic!("{collected:?}") };
    assert_eq!(
        (commits.unit.as_str(), commits.samples, commits.node),
        ("transactions", "counter", SeriesNode::Program)
    );
    assert_eq!(collected.values("commits", ""), [3.0, 5.0]);
    assert_eq!((depth.node, depth.samples), (SeriesNode::Machine, "gauge"));
    assert_eq!(collected.values("depth", "queue"), [7.0]);
    assert_eq!((collected.account.series, collected.account.values), (2, 3));
    assert_eq!(collected.account.troubles, []);
}

#[test]
fn a_time_of_python_is_the_time_of_the_value() {
    let script = "import os, time; print('a program 1', time.monotonic(), flush=True); print('b program 1', time.time(), flush=True); open(os.environ['MARK'], 'w'); time.sleep(60)";
    let collected = run_until_mark(&format!("export MARK; exec python3 -c \"{script}\""));
    let time = |index: usize| collected.series[index].values[0].0;
    let between = time(1).nanoseconds() as i64 - time(0).nanoseconds() as i64;
    // Printed one after the other on two clocks: a wrong conversion is off by decades.
    assert!((-1_000_000..1_000_000_000).contains(&between), "{between}");
    assert!(time(0) > Time::from_nanoseconds(0));
}

#[test]
fn a_command_is_told_to_end_and_its_last_words_are_read() {
    let collected =
        run_until_mark("trap 'echo last program 1; exit 0' TERM; touch $MARK; while :; do sleep 0.01; done");
    assert_eq!(collected.values("last", ""), [1.0]);
    assert_eq!(collected.account.troubles, []);
}

#[test]
fn a_command_that_does_not_end_is_killed_with_all_that_it_started() {
    let collected = run_until_mark(
        "trap '' TERM; (sleep 4711.1; :) & setsid sleep 4711.2 & (setsid sh -c 'trap \"\" TERM; sleep 4711.3; :' &) ; touch $MARK; sleep 4711.4; :",
    );
    assert_eq!(collected.troubles("was killed"), 1, "{:?}", collected.account);
    assert!(collected.stopping < Duration::from_secs(2), "{:?}", collected.stopping);
    assert!(!runs("sleep 4711."));
}

#[test]
fn what_has_left_the_group_ends_with_the_command() {
    let collected = run_until_mark("(setsid sleep 4712.1 >/dev/null 2>&1 &); touch $MARK; exit 0");
    assert_eq!(collected.troubles("before the program did: status 0"), 1, "{:?}", collected.account);
    assert!(!runs("sleep 4712."));
}

#[test]
fn a_command_that_fails_is_told_with_its_last_words() {
    let collected = run("no-such-command-anywhere --now", 300);
    assert_eq!(collected.troubles("status 127"), 1, "{:?}", collected.account);
    assert_eq!(collected.troubles("not found"), 1, "{:?}", collected.account);
    let collected = run("echo early >&2; echo a program 1; echo broken >&2; exit 3", 300);
    assert_eq!(collected.troubles("ended before the program did: status 3, and it said `broken`"), 1);
    assert_eq!(collected.values("a", ""), [1.0]);
    let collected = run("kill -SEGV $$", 300);
    assert_eq!(collected.troubles("signal 11"), 1, "{:?}", collected.account);
}

#[test]
fn a_flood_is_bounded() {
    let collected = run("exec yes 'a program 1'", 500);
    let refused = collected.troubles("10,000 a second");
    assert!(refused > 1_000, "{:?}", collected.account);
    // Half a second, and what may come at once.
    assert!((10_000..40_000).contains(&collected.account.values), "{:?}", collected.account);
    assert_eq!(collected.values("a", "").len() as u64, collected.account.values);
}

#[test]
fn rubbish_is_counted_and_the_values_between_it_are_kept() {
    let collected = run_until_mark(
        "head -c 200000 /dev/urandom; echo; echo a program 1; echo a nowhere 1; echo a program x; echo a program 2
         echo hello; touch $MARK; sleep 60",
    );
    assert_eq!(collected.values("a", ""), [1.0, 2.0]);
    assert_eq!(collected.troubles("unknown node"), 1, "{:?}", collected.account);
    assert_eq!(collected.troubles("`a program x`"), 1, "{:?}", collected.account);
    assert!(collected.troubles("no text") > 100, "{:?}", collected.account);
    assert!(collected.account.troubles.len() < 10, "{:?}", collected.account);
}

#[test]
fn a_value_that_goes_back_in_time_is_refused() {
    let script = "import os, time; t = time.monotonic(); print('a program 1', t); print('a program 2', t - 1); print('a program 3', t, flush=True); open(os.environ['MARK'], 'w'); time.sleep(60)";
    let collected = run_until_mark(&format!("export MARK; exec python3 -c \"{script}\""));
    assert_eq!(collected.values("a", ""), [1.0, 3.0]);
    assert_eq!(collected.troubles("went back in time"), 1, "{:?}", collected.account);
}

#[test]
fn the_time_of_a_command_is_a_cost() {
    let collected = run("exec sh -c 'while :; do :; done'", 700);
    assert!((0.1..1.5).contains(&collected.account.cpu_seconds), "{:?}", collected.account);
    let collected = run("sh -c 'while :; do :; done' & wait", 700);
    assert!((0.1..1.5).contains(&collected.account.cpu_seconds), "{:?}", collected.account);
    let collected = run("exec sleep 60", 100);
    assert!(collected.account.cpu_seconds < 0.1, "{:?}", collected.account);
}

#[test]
fn the_end_of_a_command_is_nobody_elses() {
    let mut children: Vec<_> = (0..4)
        .map(|code| {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &format!("sleep 0.05; exit {code}")]).spawn().unwrap()
        })
        .collect();
    let collected = run("exit 9", 300);
    assert_eq!(collected.troubles("status 9"), 1, "{:?}", collected.account);
    for (code, child) in children.iter_mut().enumerate() {
        assert_eq!(child.wait().unwrap().code(), i32::try_from(code).ok());
    }
}

#[test]
fn a_collection_that_is_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let choice = SeriesSourceChoice::Command(format!("touch {}; sleep 4713.1; :", mark.display()));
    let log = longpole_recording::LogWriter::create(&folder.path().join("series.log")).unwrap();
    let options =
        longpole_collect::CollectionOptions { choices: vec![choice], interval: Duration::from_millis(10) };
    let collection =
        longpole_collect::SeriesCollection::start(&options, longpole_recording::LogBuilder::new(log));
    wait_for(&mark);
    assert!(runs("sleep 4713."));
    drop(collection);
    assert!(!runs("sleep 4713."));
}

/// The first block of this language in the document for users.
fn documented(language: &str) -> String {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/outside.md")).unwrap();
    let (_, after) = text.split_once(&format!("```{language}\n")).unwrap();
    after.split_once("```").unwrap().0.to_owned()
}

/// Runs a command until it has printed so many lines.
fn run_until_printed(command: &str, lines: usize) -> Collected {
    let folder = tempfile::tempdir().unwrap();
    let printed = folder.path().join("printed");
    collect(SeriesSourceChoice::Command(format!("({command}) | tee {}", printed.display())), || {
        let begin = Instant::now();
        while std::fs::read_to_string(&printed).map_or(0, |text| text.lines().count()) < lines {
            assert!(begin.elapsed() < Duration::from_secs(60), "{command} prints nothing");
            std::thread::sleep(Duration::from_millis(10));
        }
    })
}

#[test]
fn the_documented_example_in_python_collects() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("files.py");
    std::fs::write(&script, documented("python")).unwrap();
    let collected = run_until_printed(&format!("python3 {}", script.display()), 10);
    assert_eq!(collected.account.troubles, []);
    let [opened, limit] = &collected.series[..] else { panic!("{collected:?}") };
    assert_eq!(
        (opened.metric.as_str(), opened.unit.as_str(), opened.samples),
        ("open_files", "files", "gauge")
    );
    assert!(opened.values.len() > 3 && opened.values.len() == limit.values.len(), "{collected:?}");
    assert!(opened.values[0].1 > 0.0 && opened.values[0].1 <= limit.values[0].1);
}

#[test]
fn the_documented_example_in_shell_collects() {
    let collected = run_until_printed(&documented("sh"), 5);
    assert_eq!(collected.account.troubles, []);
    let forks = collected.values("forks", "");
    assert!(forks.len() > 2 && forks.is_sorted() && forks[0] > 0.0, "{forks:?}");
    assert_eq!(collected.series[0].samples, "counter");
}
