//! Names that one can act on: leaves of libraries and of the kernel are folded into the procedures of the program, helpers are
//! divided among their callers, and names are readable.

use std::fmt::Write as _;
use std::fs;

use crate::support::{Answer, Collector, Recording, Session, find, longpole, or_skip, run};

/// Percentage points by which a share may be off, beside three standard errors.
const CLOSE: f64 = 3.0;

/// The `percent` of all rows of procedures whose name contains `part`.
fn percent_of(answer: &Answer, part: &str) -> f64 {
    let is_its = |row: &&serde_json::Map<String, serde_json::Value>| {
        row.get("procedure").and_then(|name| name.as_str()).is_some_and(|name| name.contains(part))
    };
    answer.rows().filter(is_its).filter_map(|row| row["percent"].as_f64()).sum()
}

fn assert_percent(answer: &Answer, part: &str, expected: f64) {
    let found = percent_of(answer, part);
    let error = answer.rows().filter_map(|row| row.get("error_percent")?.as_f64()).fold(0.0, f64::max);
    let margin = CLOSE + 3.0 * error;
    let table = answer.table("procedure");
    assert!((found - expected).abs() <= margin, "{table}\n{part}: {found}, expected {expected} ± {margin}");
}

fn text(recording: &Recording, options: &[&str]) -> String {
    let mut command = longpole();
    command.arg("report").arg(&recording.path).args(options);
    if !options.contains(&"--width") {
        command.args(["--width", "80"]);
    }
    let run = run(&mut command);
    assert!(run.status.success(), "{command:?}: {}", run.stderr);
    run.stdout
}

#[test]
fn leaves_and_inlined_helpers_are_folded_into_the_procedures_of_the_program() {
    let session = Session::start();
    let program = or_skip!(session.build("cpp_names.cpp", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    for view in ["profile", "critical-path"] {
        let folded = recording.report(view, "procedure");
        assert_percent(&folded, "::insert", 25.0);
        assert_percent(&folded, "::extra_step", 37.5);
        assert_percent(&folded, "::common_step", 12.5);
        assert_percent(&folded, "encode_frame", 25.0);
        for leaf in ["burn", "memset"] {
            assert!(percent_of(&folded, leaf) < 0.1, "{}", folded.table("procedure"));
        }
        let kernel: f64 = folded
            .rows()
            .filter(|row| row["module"] == "[kernel]")
            .filter_map(|row| row["percent"].as_f64())
            .sum();
        assert!(kernel < CLOSE, "{}", folded.table("procedure"));
        let all = recording.report_with(view, "procedure", &["--fold", "none"]);
        assert_percent(&all, "burn", 50.0);
        assert!(percent_of(&all, "extra_step") < 0.1, "{}", all.table("procedure"));
    }
    assert_folded_leaves(&recording);
    assert_changes(&recording);
    assert_readable(&recording);
}

/// The row of encode_frame says what it did in whose procedures; nearly all of it.
fn assert_folded_leaves(recording: &Recording) {
    let profile = recording.report("profile", "procedure");
    let row = profile
        .rows()
        .find(|row| row["procedure"].as_str().is_some_and(|name| name.contains("encode_frame")));
    let row = row.unwrap_or_else(|| panic!("{}", profile.table("procedure")));
    let leaves = row["folded"].as_array().expect("it has folded leaves");
    let share: f64 = leaves.iter().filter_map(|leaf| leaf["percent"].as_f64()).sum();
    assert!(share > 90.0, "{row:#?}");
    let memory =
        ["zeroing pages", "zeroing memory", "faulting in pages", "unmapping memory", "in the kernel"];
    let of_memory = leaves.iter().filter(|leaf| memory.iter().any(|action| leaf["action"] == *action));
    let of_memory: f64 = of_memory.filter_map(|leaf| leaf["percent"].as_f64()).sum();
    assert!(of_memory > 80.0, "{row:#?}");
}

/// A procedure is meant with all that it calls; `self:` is its own work, what is folded into it included.
fn assert_changes(recording: &Recording) {
    let changes = [
        "procedure:burn=0",
        "procedure:main=0",
        "self:main=0",
        "self:extra_step=0",
        "procedure:extra_step=0.5",
    ];
    let answer = recording.what_if(&changes);
    let gains: Vec<f64> = answer
        .rows()
        .filter(|row| row["section"] == "change")
        .map(|row| row["path_gain_percent"].as_f64().expect("a share of the path"))
        .collect();
    let margin = CLOSE + 6.0;
    for (gain, expected) in gains.iter().zip([50.0, 100.0, 0.0, 37.5, 18.75]) {
        assert!((gain - expected).abs() < margin, "{gains:?}\n{:#}", answer.value["rows"]);
    }
}

/// Methods are named in 80 columns whatever their templates are of.
fn assert_readable(recording: &Recording) {
    let profile = text(recording, &["--view", "profile"]);
    for method in ["::insert", "::extra_step", "::common_step"] {
        assert!(profile.contains(method), "{profile}");
    }
    assert!(!profile.contains("allocator"), "{profile}");
    let inclusive = text(recording, &["--view", "npt", "--sort", "inclusive"]);
    let first = inclusive.lines().find(|line| line.trim_start().starts_with('1')).unwrap_or_default();
    assert!(first.ends_with("main"), "{inclusive}");
}

/// Rows of two instances of a template say which is which, in tables and in sentences; JSON has their whole names.
#[test]
fn instances_of_a_template_are_told_apart() {
    let session = Session::start();
    let program = or_skip!(session.build("cpp_instances.cpp", &["-O2"]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let summary = text(&recording, &[]);
    let profile = text(&recording, &["--view", "profile"]);
    let instances = ["::run(…) [with 4]", "::run(…) [with 8]"];
    assert!(instances.iter().all(|instance| profile.contains(instance)), "{profile}");
    // The summary names the one that leads; which one that is, other programs decide.
    assert!(instances.iter().any(|instance| summary.contains(instance)), "{summary}");
    let whole = recording.report("profile", "procedure");
    for instance in ["Matrix<double, 4, 4>", "Matrix<double, 8, 8>"] {
        assert!(percent_of(&whole, instance) > 30.0, "{}", whole.table("procedure"));
    }
}

/// A file of C with so many small functions.
fn source(functions: usize) -> String {
    let mut text = String::new();
    for number in 0..functions {
        let _ = writeln!(
            text,
            "int f{number}(int a, int b) {{ int s = 0; for (int j = 0; j < a; j++) {{ s += j * b ^ {number}; if (s & {}) s -= b; }} return s; }}",
            number % 7 + 1
        );
    }
    text
}

/// Each compiler is called by the file that it compiles, and the one that the build waits for is named.
#[test]
fn compilers_of_a_build_are_called_by_what_they_compile() {
    let session = Session::start();
    let (make, _) = (or_skip!(find("make")), or_skip!(find("gcc")));
    for (name, functions) in [("f1", 60), ("f2", 60), ("f3", 900), ("f4", 60)] {
        fs::write(session.path().join(format!("{name}.c")), source(functions)).unwrap();
    }
    let rules = "all: f1.o f2.o f3.o f4.o\n%.o: %.c\n\tgcc -O2 -c $< -o $@\n";
    fs::write(session.path().join("Makefile"), rules).unwrap();
    let recording = or_skip!(session.record(Collector::Bpf, &[make.as_os_str(), "-j2".as_ref()]));
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    let profile = recording.report("profile", "process");
    for file in ["f1.c", "f2.c", "f3.c", "f4.c"] {
        for program in ["cc1", "gcc"] {
            let title = format!("{program} {file}");
            let count =
                profile.rows().filter(|row| row.get("process_title").is_some_and(|it| *it == title)).count();
            assert!(count >= 1, "{title}: {}", profile.table("process_title"));
        }
    }
    let share = profile.sum("process_title", "cc1 f3.c", "percent");
    assert!(share > 50.0, "{share} %: {}", profile.table("process_title"));
    let answer = text(&recording, &[]);
    assert!(answer.contains("`cc1 f3.c`"), "{answer}");
    // What has no call path at all is next to nothing; static functions of the compiler have no names in its file, and
    // belong to those that called them.
    let procedures = recording.report("profile", "procedure");
    let charged: f64 = procedures.rows().filter_map(|row| row["percent"].as_f64()).sum();
    assert!(charged > 97.0, "{charged} % have a call path");
    let without_name = percent_of(&procedures, "cc1+0x") + percent_of(&procedures, "[no stack]");
    assert!(without_name < 15.0, "{without_name} %: {}", procedures.table("procedure"));
}

const GO: &str = r#"package main

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

//go:noinline
func hashBlock(data []byte, n int) byte {
	for i := 0; i < n; i++ {
		sum := sha256.Sum256(data)
		data[0] = sum[0]
	}
	return data[0]
}

func worker(jobs <-chan int, results chan<- int, group *sync.WaitGroup) {
	defer group.Done()
	data := make([]byte, 1<<12)
	for job := range jobs {
		results <- int(hashBlock(data, 60)) + job
	}
}

func main() {
	jobs, results := make(chan int), make(chan int, 8)
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go worker(jobs, results, &group)
	}
	go func() {
		for i := 0; i < 1500; i++ {
			jobs <- i
			if i%10 == 0 {
				time.Sleep(100 * time.Microsecond)
			}
		}
		close(jobs)
		group.Wait()
		close(results)
	}()
	total := 0
	for r := range results {
		total += r
	}
	fmt.Println(total)
}
"#;

/// Plain `go build`: every frame is found, goroutines stand below what they run, and not below the thread that happened to make
/// theirs.
#[test]
fn goroutines_are_found_whatever_thread_runs_them() {
    let session = Session::start();
    let program = or_skip!(session.build_go(GO, "hashes"));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    // Go's library is folded into the program's procedures.
    for (fold, name) in [("libraries", "main.hashBlock"), ("none", "sha256")] {
        let profile = recording.report_with("profile", "procedure", &["--fold", fold]);
        assert!(percent_of(&profile, "[missing frames]") < 0.5, "{}", profile.table("procedure"));
        assert!(percent_of(&profile, name) > 60.0, "{}", profile.table("procedure"));
    }
    let tree = text(&recording, &["--view", "call-tree", "--width", "400"]);
    let maker = tree.lines().find(|line| line.contains("newosproc") && line.contains("main.worker"));
    assert_eq!(maker, None, "{tree}");
    let worker = recording.report_with("profile", "procedure", &["--fold", "none"]);
    assert!(
        worker.sum("procedure", "main.worker", "inclusive_percent") > 60.0,
        "{}",
        worker.table("procedure")
    );
}

#[test]
fn code_of_node_gets_its_names_by_the_command_that_the_answer_offers() {
    let session = Session::start();
    let node = or_skip!(find("node"));
    let work = "function addUp(seconds) {\n  const end = process.cpuUsage().user + seconds * 1e6;\n  let sum = 0;\n  \
                while (process.cpuUsage().user < end) for (let i = 0; i < 1e6; i++) sum += i % 7;\n  return sum;\n}\n\
                addUp(0.6);\n";
    fs::write(session.path().join("sums.mjs"), work).unwrap();
    let node = node.to_str().unwrap();
    let recording = or_skip!(session.record(Collector::Bpf, &[node, "sums.mjs"]));
    let summary = recording.report("summary", "procedure");
    let offered = summary.rows().filter(|row| row.get("section").is_some_and(|section| section == "next"));
    let offered: Vec<&str> = offered.filter_map(|row| row.get("text")?.as_str()).collect();
    let command = offered.iter().find(|command| command.contains("--perf-basic-prof"));
    let command = command.unwrap_or_else(|| panic!("{offered:?}"));
    let words: Vec<&str> = command.split(' ').skip(3).collect();
    assert_eq!(words, [node, "--perf-basic-prof", "sums.mjs"], "{command}");
    let named = or_skip!(session.record(Collector::Bpf, &words));
    let profile = named.report("profile", "procedure");
    let found = percent_of(&profile, "addUp");
    assert!(found > 50.0, "{found}: {}", profile.table("procedure"));
    let summary = named.report("summary", "procedure");
    let mut texts = summary.rows().filter_map(|row| row.get("text")?.as_str());
    assert!(texts.all(|text| !text.contains("--perf-basic-prof")));
}
