//! Other layouts of data: what a recording predicts of one is what the program, rebuilt with it, does.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{build, build_with, number, record};
use crate::support::{Answer, Recording, Session, longpole, or_skip, programs, run};

/// Builds `layouts.c` as it is, or with a macro.
fn built(session: &Session, compiler: &str, define: Option<&str>) -> Result<PathBuf, String> {
    let define: Vec<String> = define.iter().map(|name| format!("-D{name}")).collect();
    let options: Vec<&str> = ["-pthread"].into_iter().chain(define.iter().map(String::as_str)).collect();
    let program = build_with(session, compiler, "layouts", &options)?;
    let own = program.with_extension(if define.is_empty() { "plain".to_owned() } else { define.concat() });
    std::fs::rename(&program, &own).unwrap();
    Ok(own)
}

/// What becomes of the transfers with these changes.
fn remapped(recording: &Recording, changes: &[&str]) -> Answer {
    let mut command = longpole();
    command.args(["what-if", "--format", "json"]).arg(&recording.path);
    changes.iter().for_each(|change| _ = command.args(["--remap", change]));
    let answer = run(&mut command);
    assert!(answer.status.success(), "{changes:?}: {}", answer.stderr);
    Answer::new("what-if", &answer.stdout)
}

fn row<'a>(answer: &'a Answer, section: &str) -> &'a Map<String, Value> {
    answer.rows().find(|row| row["section"] == section).unwrap_or_else(|| panic!("no {section}"))
}

/// Transfers, and their range over all orders.
fn transfers(row: &Map<String, Value>) -> [u64; 3] {
    ["transfers", "requests_low", "requests_high"].map(|column| number(row, column))
}

/// The same of all data of a program, simulated as it was recorded.
fn simulated(recording: &Recording) -> [u64; 3] {
    let answer = recording.report("communication", "object");
    let found = &answer.value["simulation"];
    ["transfers", "transfers_low", "transfers_high"].map(|key| found[key].as_u64().unwrap())
}

/// A change, how the program is built with it, and what both must come to: transfers before and after of T threads and K rounds.
struct LayoutPair {
    mode: &'static str,
    define: &'static str,
    remap: &'static [&'static str],
    before: fn(u64, u64) -> Option<u64>,
    after: fn(u64, u64) -> u64,
}

/// Transfers of a line that threads take in turns.
const fn turns(threads: u64, rounds: u64) -> u64 {
    threads * rounds - threads
}

const PAIRS: [LayoutPair; 8] = [
    LayoutPair {
        mode: "pad",
        define: "PAD=64",
        remap: &["pad:counters=64"],
        before: |threads, rounds| Some(turns(threads, rounds)),
        after: |_, _| 0,
    },
    // Two counters on a line, whose threads come in turns still; of two threads each has a line half full.
    LayoutPair {
        mode: "pad",
        define: "PAD=32",
        remap: &["pad:counters=32"],
        before: |threads, rounds| Some(turns(threads, rounds)),
        after: turns,
    },
    LayoutPair {
        mode: "pad",
        define: "PAD=40",
        remap: &["pad:counters/8=40"],
        before: |threads, rounds| Some(turns(threads, rounds)),
        // At 0, 40 | 80, 120 | 160 | 200, 240 | 280: those of the lines 0, 1, 3 have company.
        after: |threads, rounds| match threads {
            2 => turns(2, rounds),
            4 => turns(4, rounds),
            _ => turns(6, rounds),
        },
    },
    LayoutPair {
        mode: "align",
        define: "ALIGN",
        remap: &["align:main=64"],
        // It depends on where the allocator put the block.
        before: |_, _| None,
        after: |_, _| 0,
    },
    LayoutPair {
        mode: "split",
        define: "SPLIT",
        remap: &["split:limits=used"],
        before: |threads, rounds| Some((threads - 1) * (rounds - 1)),
        after: |_, _| 0,
    },
    LayoutPair {
        mode: "order",
        define: "ORDER",
        remap: &["order:records=key,value"],
        before: |threads, rounds| Some(8 * turns(threads, rounds)),
        after: |threads, rounds| 4 * turns(threads, rounds),
    },
    LayoutPair {
        mode: "private",
        define: "PRIVATE",
        remap: &["privatise:sum"],
        before: |threads, rounds| Some(turns(threads, rounds)),
        after: |_, _| 0,
    },
    LayoutPair {
        mode: "group",
        define: "GROUP",
        remap: &["group:first_total,second_total"],
        before: |threads, rounds| Some(2 * turns(threads, rounds)),
        after: turns,
    },
];

#[test]
fn the_layout_that_is_predicted_is_that_of_the_rebuilt_program() {
    assert_rebuilt("gcc", 2);
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn the_layout_that_is_predicted_is_that_of_the_rebuilt_program_with_8_threads() {
    assert_rebuilt("gcc", 8);
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn the_layout_that_is_predicted_is_that_of_the_rebuilt_program_by_clang() {
    assert_rebuilt("clang", 4);
}

/// Of all pairs and this number of threads; beside others, each compiler and number in a test of its own.
fn assert_rebuilt(compiler: &str, threads: u64) {
    let session = Session::beside_others();
    const ROUNDS: u64 = 60;
    let program = or_skip!(built(&session, compiler, None));
    for pair in PAIRS {
        let rebuilt = or_skip!(built(&session, compiler, Some(pair.define)));
        let about = format!("{compiler} {} {threads}", pair.define);
        let arguments = [pair.mode.to_owned(), threads.to_string(), ROUNDS.to_string()];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let recording = record(&session, &program, &arguments);
        let answer = remapped(&recording, pair.remap);
        let before = transfers(row(&answer, "recorded"));
        assert_eq!(before, simulated(&recording), "{about}: as recorded");
        if let Some(expected) = (pair.before)(threads, ROUNDS) {
            assert_eq!(before, [expected; 3], "{about}: as recorded");
        }
        let predicted = row(&answer, "change");
        assert_eq!(transfers(predicted), [(pair.after)(threads, ROUNDS); 3], "{about}: predicted");
        let recording = record(&session, &rebuilt, &arguments);
        assert_eq!(simulated(&recording), transfers(predicted), "{about}: rebuilt");
        // First references depend on where stacks lie, by a few lines.
        let elapsed = recording.report("communication", "object").value["simulation"]["virtual_seconds"]
            .as_f64()
            .unwrap();
        let off = (predicted["virtual_seconds"].as_f64().unwrap() - elapsed).abs();
        assert!(off < 1e-6, "{about}: {off} s off {elapsed}");
    }
}

#[test]
fn structs_that_are_allocated_are_aligned_as_the_program_does_it() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "regression"));
    let recording = record(&session, &program, &["4", "500"]);
    // The program puts the structs 16 bytes behind the begin of its block, which is aligned already.
    let answer = remapped(&recording, &["align:make_parts=64"]);
    assert_eq!(transfers(row(&answer, "recorded")), transfers(row(&answer, "change")));
    let answer = remapped(&recording, &["auto"]);
    // The first thing in a struct that its thread uses is 8 bytes behind its begin.
    let best = answer.rows().filter(|row| row["section"] == "change").min_by_key(|row| transfers(row)[0]);
    assert!(best.unwrap()["change"].as_str().unwrap().ends_with("regression.c:39+24=64"), "{best:?}");
    let answer = remapped(&recording, &["align:make_parts+16=64"]);
    let (before, after) = (transfers(row(&answer, "recorded"))[0], transfers(row(&answer, "change"))[0]);
    assert!(before > 1000, "{before}");
    let aligned = simulated(&record(&session, &program, &["4", "500", "aligned"]))[0];
    // Threads write the time of their begin and end for the main thread: one or two transfers each, by the order of their ends.
    assert!(after.abs_diff(aligned) <= 4 && after <= 8, "{before} to {after}, {aligned} aligned");
}

#[test]
fn counters_of_rust_are_padded_as_the_program_does_it() {
    let session = Session::beside_others();
    let program = session.path().join("counters");
    let mut command = longpole();
    command.env("XDG_DATA_HOME", session.path().join("data")).args(["rustc", "-O", "-o"]).arg(&program);
    let built = run(command.arg(programs().join("shared_counters.rs")));
    assert!(built.status.success(), "{}", built.stderr);
    let recording = record(&session, &program, &["4", "500"]);
    let of_counters = |answer: &Answer| {
        let is_make =
            |row: &&Map<String, Value>| row["object"].as_str().is_some_and(|name| name.contains("::make::<"));
        answer
            .rows()
            .filter(|row| row.contains_key("object"))
            .find(is_make)
            .map(|row| number(row, "transfers"))
    };
    let before = of_counters(&recording.report("communication", "object")).unwrap();
    assert!(before >= 1000, "{before}");
    let answer = remapped(&recording, &["pad:::make::</8=128", "align:::make::<=128"]);
    let predicted = of_counters(&answer).unwrap();
    let together = transfers(row(&answer, "together"))[0];
    let padded = record(&session, &program, &["4", "500", "padded"]);
    let rebuilt = of_counters(&padded.report("communication", "object")).unwrap();
    // The total under its mutex goes round, and each counter goes to the main thread's vector.
    assert_eq!((predicted, rebuilt), (0, 0), "of {before}");
    assert!(together.abs_diff(simulated(&padded)[0]) <= 8, "{together} {:?}", simulated(&padded));
}

#[test]
fn layouts_that_may_help_are_tried_and_the_best_removes_the_transfers() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "shared_counters"));
    let recording = record(&session, &program, &["4", "100"]);
    let answer = remapped(&recording, &["auto"]);
    let tried: Vec<(&str, u64)> = answer
        .rows()
        .filter(|row| row["section"] == "change")
        .map(|row| (row["change"].as_str().unwrap(), number(row, "transfers")))
        .collect();
    assert_eq!(tried, [("pad:counters=64", 0), ("align:counters=64", 396)]);
    let text = run(longpole().arg("what-if").arg(&recording.path).args(["--remap", "auto"])).stdout;
    assert!(text.contains("longpole what-if --remap pad:counters=64"), "{text}");
    // The view says which one to try.
    let view = run(longpole().arg("report").arg(&recording.path).args(["--view", "sharing"])).stdout;
    assert!(view.contains("longpole what-if --remap pad:counters=64"), "{view}");
}

#[test]
fn layouts_of_what_is_not_there_are_refused() {
    let session = Session::beside_others();
    let program = or_skip!(built(&session, "gcc", None));
    let recording = record(&session, &program, &["pad", "2", "10"]);
    let refused = |path: &Path, options: &[&str], why: &str| {
        let answer = run(longpole().arg("what-if").arg(path).args(options));
        assert!(!answer.status.success(), "{options:?}: {}", answer.stdout);
        assert!(answer.stderr.contains(why), "{options:?}: {}", answer.stderr);
    };
    for (change, why) in [
        ("pad:conters=64", "did you mean variable:counters?"),
        ("pda:counters=64", "did you mean pad?"),
        ("pad:main=64", "the size of its elements is not known"),
        ("split:limits=usd", "did you mean used?"),
    ] {
        refused(&recording.path, &["--remap", change], why);
    }
    let pad = ["--remap", "pad:counters=64"];
    refused(&recording.path, &["--remap", "auto", pad[0], pad[1]], "goes with no other");
    refused(&recording.path, &[pad[0], pad[1], "--set", "main=0"], "cannot be used with");
    refused(&recording.path, &["--set", "main=0", "--unit", "128"], "--remap");
    let plain = or_skip!(session.build("shared_counter.c", &["-pthread"]));
    let folder = session.path().join("none.longpole");
    let recorded = run(longpole().args(["record", "-q", "-o"]).arg(&folder).arg("--").arg(&plain));
    assert!(recorded.status.success(), "{}", recorded.stderr);
    refused(&folder, &pad, "it has no accesses to memory");
}
