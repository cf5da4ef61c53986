//! Programs that write metrics of their own, real ones of C and of Rust, and what of it is in the log.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use longpole_collect::{CollectionOptions, SeriesCollection, SeriesSourceChoice};
use longpole_event::{Decoder, EventKind, MachineId, Record, SeriesKind, SeriesNode};
use longpole_recording::{DefinitionTables, LogBuilder, LogName, Manifest, OutsideAccount, RecordingFolder};

/// A series, as the log has it.
#[derive(Clone, Debug)]
struct Read {
    metric: String,
    unit: String,
    label: String,
    samples: SeriesKind,
    node: SeriesNode,
    values: Vec<(u64, f64)>,
}

impl Read {
    fn last(&self) -> f64 {
        self.values.last().unwrap().1
    }

    fn sum(&self) -> f64 {
        self.values.iter().map(|&(_, value)| value).sum()
    }
}

/// What came of programs that ran beside a collection.
struct Collected {
    series: Vec<Read>,
    account: Option<OutsideAccount>,
}

impl Collected {
    /// The only series of this metric.
    fn one(&self, metric: &str) -> &Read {
        let found: Vec<_> = self.series.iter().filter(|series| series.metric == metric).collect();
        assert_eq!(found.len(), 1, "{metric}: {:?}", self.series);
        found[0]
    }

    fn trouble(&self, what: &str) -> u64 {
        let account = self.account.as_ref().unwrap();
        account
            .troubles
            .iter()
            .filter(|trouble| trouble.what.contains(what))
            .map(|trouble| trouble.count)
            .sum()
    }
}

/// Collects while `run` runs programs, which gets the variables for them.
fn collect(run: impl FnOnce(&SeriesCollection)) -> Collected {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("own.longpole");
    let folder = RecordingFolder::create(&path, &Manifest::default()).unwrap();
    let log = LogBuilder::new(folder.create_log(MachineId(0), LogName::Series).unwrap());
    let options =
        CollectionOptions { choices: vec![SeriesSourceChoice::Kernel], interval: Duration::from_millis(10) };
    let collection = SeriesCollection::start(&options, log);
    run(&collection);
    let accounts = collection.stop();
    let account = accounts.into_iter().find(|account| account.collector == "program");
    Collected { series: read(&folder), account }
}

fn read(folder: &RecordingFolder) -> Vec<Read> {
    let mut reader = folder.open_log(MachineId(0), LogName::Series).unwrap().unwrap();
    let (mut tables, mut events) = (DefinitionTables::default(), Vec::new());
    while let Some(chunk) = reader.next_chunk().unwrap() {
        for record in Decoder::new(chunk.bytes) {
            match record.unwrap() {
                Record::Event(event) => events.push(event),
                record => tables.define(record),
            }
        }
    }
    let text = |id: longpole_event::TextId| tables.texts[id.index()].clone();
    let of_program: Vec<_> = tables.series.iter().map(|one| text(one.collector) == "program").collect();
    let mut series: Vec<_> = tables
        .series
        .iter()
        .map(|series| Read {
            metric: text(series.name),
            unit: text(series.unit),
            label: text(series.label),
            samples: series.samples,
            node: series.node,
            values: Vec::new(),
        })
        .collect();
    for event in events {
        let EventKind::Value { series: id, value } = event.kind else { panic!("{event:?}") };
        series[id.index()].values.push((event.time.nanoseconds(), value));
    }
    let mut keep = of_program.into_iter();
    series.retain(|_| keep.next().unwrap());
    series
}

fn runtime(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime").join(path)
}

/// A program of C, built in a folder of its own.
struct Built {
    program: PathBuf,
    _folder: tempfile::TempDir,
}

fn build(source: &Path) -> Built {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let mut command = Command::new("gcc");
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(runtime("c"));
    let status = command.arg("-o").arg(&program).arg(source).status().unwrap();
    assert!(status.success(), "{command:?}");
    Built { program, _folder: folder }
}

/// Builds a `main` of these lines.
fn program(lines: &str) -> Built {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("main.c");
    let text = format!(
        "#define _GNU_SOURCE\n#include <stdio.h>\n#include <sys/wait.h>\n#include \"longpole_series.h\"\n\
         int main(void)\n{{\n{lines}\nreturn 0;\n}}\n"
    );
    std::fs::write(&source, text).unwrap();
    build(&source)
}

/// Runs a program in the collection; gives its pid and its output.
fn run(collection: &SeriesCollection, program: &Path) -> (u32, String) {
    let variables = collection.variables().iter().cloned();
    let child = Command::new(program).envs(variables).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    (pid, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn what_a_program_counts_is_what_the_log_says() {
    let built = build(&runtime("c/examples/transactions.c"));
    let mut told = (0, String::new());
    let collected = collect(|collection| told = run(collection, &built.program));
    let (pid, output) = told;
    assert_eq!(output, "commits 400\naborts 200\nqueued 0\n");
    let commits = collected.one("commits");
    assert_eq!((commits.samples, commits.node), (SeriesKind::Counter, SeriesNode::Process { pid }));
    assert_eq!((commits.unit.as_str(), commits.label.as_str()), ("transactions", ""));
    assert_eq!((commits.values[0].1, commits.last()), (0.0, 400.0));
    assert!(commits.values.len() > 5, "it grew while it ran: {commits:?}");
    assert!(commits.values.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{commits:?}");
    assert_eq!(collected.one("aborts").last(), 200.0);
    let queued = collected.one("queued");
    assert_eq!((queued.samples, queued.last()), (SeriesKind::Gauge, 0.0));
    assert!(queued.values[0].1 > 500.0, "{queued:?}");
    let latency = collected.one("latency");
    assert_eq!((latency.node, latency.values.len()), (SeriesNode::Program, 600));
    assert!(latency.values.iter().all(|&(_, value)| value > 0.0005), "{latency:?}");
    assert!(latency.values.is_sorted_by_key(|&(time, _)| time));
    let account = collected.account.unwrap();
    assert_eq!((account.series, account.troubles), (4, Vec::new()));
}

#[test]
fn nothing_is_lost_of_a_program_that_is_killed() {
    let built = program(
        "struct longpole_metric *m = longpole_metric(\"done\", \"\", LONGPOLE_COUNTER);\n\
         for (int i = 0; i < 12345; i++) longpole_add(m, 1);\n\
         longpole_sample_at(longpole_metric(\"last\", \"\", LONGPOLE_AMOUNT), 7, longpole_now());\n\
         kill(getpid(), SIGKILL);",
    );
    let collected = collect(|collection| drop(run(collection, &built.program)));
    assert_eq!(collected.one("done").last(), 12345.0);
    assert_eq!(collected.one("last").values.len(), 1);
    assert_eq!(collected.one("last").last(), 7.0);
}

#[test]
fn children_count_for_whoever_made_the_series_and_executed_programs_for_themselves() {
    let built = program(
        "if (getenv(\"AGAIN\")) { longpole_add(longpole_metric(\"m\", \"\", LONGPOLE_COUNTER), 100); return 0; }\n\
         struct longpole_metric *m = longpole_metric(\"m\", \"\", LONGPOLE_COUNTER);\n\
         for (int i = 0; i < 4; i++) if (!fork()) { for (int n = 0; n < 1000; n++) longpole_add(m, 1); return 0; }\n\
         setenv(\"AGAIN\", \"1\", 1);\n\
         pid_t other = fork();\n\
         if (!other) execl(\"/proc/self/exe\", \"again\", NULL);\n\
         while (wait(NULL) > 0) ;\n\
         printf(\"%d\", other);",
    );
    let mut told = (0, String::new());
    let collected = collect(|collection| told = run(collection, &built.program));
    let total = |pid| {
        let node = SeriesNode::Process { pid };
        collected.series.iter().find(|series| series.node == node).unwrap().last()
    };
    assert_eq!((total(told.0), total(told.1.parse().unwrap())), (4000.0, 100.0));
    assert_eq!(collected.series.len(), 2);
}

#[test]
fn one_series_is_made_however_many_threads_make_it_at_once() {
    let built = program(
        "for (int process = 0; process < 8; process++) if (!fork()) {\n\
           for (int i = 0; i < 50; i++) {\n\
             char name[20]; snprintf(name, sizeof name, \"m%d\", i);\n\
             longpole_add(longpole_metric_at(longpole_program(), name, \"\", LONGPOLE_COUNTER), 1);\n\
           }\n\
           return 0;\n\
         }\n\
         while (wait(NULL) > 0) ;",
    );
    let collected = collect(|collection| drop(run(collection, &built.program)));
    assert_eq!(collected.series.len(), 50);
    assert!(collected.series.iter().all(|series| series.last() == 8.0), "{:?}", collected.series);
}

#[test]
fn a_thread_a_label_and_an_amount_are_told() {
    let built = program(
        "struct longpole_metric *m = longpole_metric_at(longpole_thread(0), \"steps\", \"steps\", LONGPOLE_AMOUNT);\n\
         longpole_add(m, 3); usleep(30000); longpole_add(m, 4);\n\
         longpole_set(longpole_metric_at(longpole_machine(\"vda\"), \"sectors\", \"\", LONGPOLE_COUNTER), 1e6);",
    );
    let mut pid = 0;
    let collected = collect(|collection| pid = run(collection, &built.program).0);
    let steps = collected.one("steps");
    assert_eq!((steps.node, steps.sum()), (SeriesNode::Thread { tid: pid }, 7.0));
    let sectors = collected.one("sectors");
    assert_eq!((sectors.label.as_str(), sectors.values[0].1, sectors.last()), ("vda", 1e6, 1e6));
}

#[test]
fn what_finds_no_room_is_counted() {
    let built = program(
        "for (int i = 0; i < LONGPOLE_SLOTS + 5; i++) {\n\
           char name[20]; snprintf(name, sizeof name, \"m%d\", i);\n\
           longpole_add(longpole_metric(name, \"\", LONGPOLE_COUNTER), 1);\n\
         }\n\
         longpole_metric(\"m1\", \"\", LONGPOLE_COUNTER);\n\
         struct longpole_metric *m = longpole_metric(\"m0\", \"\", LONGPOLE_COUNTER);\n\
         for (int i = 0; i < 1000000; i++) longpole_sample_at(m, i, longpole_now());",
    );
    let collected = collect(|collection| drop(run(collection, &built.program)));
    assert_eq!(collected.trouble("no room for a series"), 5);
    let flood = &collected.series[0];
    let refused = collected.trouble("faster than they were taken");
    assert!(refused > 0, "a million values in a few looks");
    // Its own values, and what the slot held: 0, 1, and 1 in the end at most.
    let kept = flood.values.len() as u64;
    assert!((1_000_000 - refused..=1_000_003 - refused).contains(&kept), "{kept} and {refused}");
}

#[test]
fn a_counter_of_a_process_that_has_ended_ends_with_it() {
    let built = program(
        "longpole_add(longpole_metric(\"m\", \"\", LONGPOLE_COUNTER), 3);\n\
         longpole_metric(\"none\", \"\", LONGPOLE_COUNTER);\n\
         longpole_metric(\"unset\", \"\", LONGPOLE_GAUGE);",
    );
    let mut ended = 0;
    let collected = collect(|collection| {
        run(collection, &built.program);
        ended = longpole_runtime::now();
        std::thread::sleep(Duration::from_millis(1500));
    });
    for (metric, total) in [("m", 3.0), ("none", 0.0)] {
        let series = collected.one(metric);
        assert_eq!(series.last(), total);
        let after = series.values.last().unwrap().0.saturating_sub(ended);
        assert!(after < 1_000_000_000, "{after} ns after the end");
    }
    assert_eq!(collected.series.len(), 2, "a gauge that was never set has no value");
}

#[test]
fn programs_that_may_not_open_the_memory_ask_for_it_at_the_door() {
    let built = program(
        "longpole_add(longpole_metric(\"m\", \"\", LONGPOLE_COUNTER), 3);\n\
         printf(\"%d\", longpole_memory() != NULL);",
    );
    let mut outputs = Vec::new();
    let collected = collect(|collection| {
        let value = collection.variables()[0].1.to_str().unwrap();
        let (path, rest) = value.split_once(':').unwrap();
        let (door, secret) = rest.split_once(':').unwrap();
        assert!(path.starts_with("/proc/"), "{value}");
        // Whoever does not know all of the words is not let in: neither too few, nor as many.
        let wrong = [format!(":{door}:{secret}"), format!("{}:{door}:{secret}", "x".repeat(path.len()))];
        for place in wrong {
            let output = Command::new(&built.program).env("LONGPOLE_SERIES", place).output().unwrap();
            outputs.push(output.stdout);
        }
        if let Some(output) = as_nobody(&built.program, value) {
            assert_eq!(output, b"1");
            outputs.push(output);
        }
    });
    assert_eq!(outputs[..2], [b"0", b"0"]);
    if outputs.len() == 3 {
        assert_eq!(collected.one("m").last(), 3.0);
    }
}

/// The output of the program run as another user; `None` where that cannot be done.
fn as_nobody(program: &Path, value: &str) -> Option<Vec<u8>> {
    use std::os::unix::fs::PermissionsExt;
    let folder = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(program.parent().unwrap(), folder).unwrap();
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return None;
    }
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "-all"];
    let mut command = Command::new("setpriv");
    let output = command.args(user).arg(program).env("LONGPOLE_SERIES", value).output().ok()?;
    output.status.success().then_some(output.stdout)
}

#[test]
fn nonsense_in_the_memory_is_counted_and_costs_nothing_else() {
    let built = program(
        "struct longpole_metric *m = longpole_metric(\"m\", \"\", LONGPOLE_COUNTER);\n\
         longpole_metric(\"two words\", \"\", LONGPOLE_COUNTER);\n\
         longpole_metric(\"\", \"\", LONGPOLE_COUNTER);\n\
         longpole_metric(\"kind\", \"\", (enum longpole_samples)9);\n\
         struct longpole_node node = {77, 1, NULL};\n\
         longpole_metric_at(node, \"place\", \"\", LONGPOLE_COUNTER);\n\
         struct longpole_metric *nan = longpole_metric(\"nan\", \"\", LONGPOLE_GAUGE);\n\
         longpole_set(nan, 0.0 / 0.0);\n\
         longpole_sample_at(m, 1, longpole_now() + 3600000000000);\n\
         longpole_sample_at(m, 1, 1);\n\
         longpole_sample_at(longpole_memory()->slots + 4000, 1, longpole_now());\n\
         longpole_add(m, 5);\n\
         usleep(50000);\n\
         longpole_memory()->tickets = ~0ull; longpole_memory()->taken = 77;\n\
         longpole_memory()->refused_series = ~0ull;\n\
         memset(m->name, 255, 64); m->samples = 9; m->state = 7;\n\
         usleep(50000);\n\
         longpole_add(m, 5);\n\
         printf(\"%d\", ftruncate(open(strtok(getenv(\"LONGPOLE_SERIES\"), \":\"), O_RDWR), 0));",
    );
    let mut output = String::new();
    let collected = collect(|collection| output = run(collection, &built.program).1);
    assert_eq!(output, "-1", "the memory can be made no smaller");
    assert_eq!(collected.one("m").last(), 10.0);
    let with_values: Vec<_> = collected.series.iter().filter(|series| !series.values.is_empty()).collect();
    assert_eq!(with_values.len(), 1, "{with_values:?}");
    for what in [
        "`two words` is no name",
        "`` is no name",
        "`kind` has no known way",
        "`place` has no known node",
        "`nan` was not a number",
        "`m` had a value in the future",
        "`m` had a value from before",
        "a value was of no series",
        "was overwritten",
    ] {
        assert!(collected.trouble(what) > 0, "{what}: {:?}", collected.account);
    }
    assert_eq!(collected.trouble("no room for a series"), u64::MAX);
}

#[test]
fn memory_full_of_anything_harms_nobody() {
    let built = program(
        "char *at = (char *)longpole_memory(); unsigned random = 12345;\n\
         for (int round = 0; round < 5; round++) {\n\
           for (size_t i = 64; i < sizeof(struct longpole_memory); i++)\n\
             at[i] = (random = random * 1103515245 + 12345) >> 16;\n\
           for (int i = 0; i < LONGPOLE_SLOTS; i++) longpole_memory()->slots[i].state = 2;\n\
           usleep(20000);\n\
         }",
    );
    let collected = collect(|collection| drop(run(collection, &built.program)));
    assert!(collected.trouble("no name of a metric") + collected.trouble("other troubles") > 4000);
}

#[test]
fn an_old_or_wrong_variable_is_no_recorder() {
    let built = program(
        "struct longpole_metric *m = longpole_metric(\"m\", \"\", LONGPOLE_COUNTER);\n\
         longpole_add(m, 1); longpole_set(m, 1); longpole_sample_at(m, 1, longpole_now());\n\
         printf(\"%d\", m == NULL);",
    );
    let own = tempfile::tempfile().unwrap();
    own.set_len(2 << 20).unwrap();
    let open = format!("/proc/{}/fd/{}", std::process::id(), std::os::fd::AsRawFd::as_raw_fd(&own));
    for value in ["", "/proc/999999999/fd/3", "/dev/zero", open.as_str(), "/proc/self/fd/0"] {
        let output = Command::new(&built.program).env("LONGPOLE_SERIES", value).output().unwrap();
        assert_eq!((output.status.success(), output.stdout.as_slice()), (true, &b"1"[..]), "{value:?}");
    }
}

#[test]
fn nothing_is_offered_where_nothing_is_collected() {
    let place = tempfile::tempdir().unwrap();
    let folder = RecordingFolder::create(&place.path().join("own.longpole"), &Manifest::default()).unwrap();
    let log = LogBuilder::new(folder.create_log(MachineId(0), LogName::Series).unwrap());
    let collection = SeriesCollection::start(&CollectionOptions::none(), log);
    assert_eq!(collection.variables(), []);
    assert!(collection.stop().is_empty());
}
