//! Simulated runs as recordings: what each node waits for, and how long the run takes, by closed forms.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{build, build_with, record};
use crate::support::{Recording, Session, longpole, or_skip, run};

/// Accesses and what does not concern a form cost nothing: the run takes what its requests and messages take.
const NOTHING_ELSE: &str = "access=0,upgrade=0";

/// Simulates a recording of accesses.
fn simulate(recording: &Recording, name: &str, options: &[&str]) -> Recording {
    let output = recording.path.with_file_name(format!("{name}.longpole"));
    let mut command = longpole();
    command.arg("simulate").arg(&recording.path).args(["--force", "-o"]).arg(&output).args(options);
    let simulated = run(&mut command);
    assert!(simulated.status.success(), "{}", simulated.stderr);
    Recording::at(&output)
}

/// Virtual microseconds.
fn elapsed(recording: &Recording) -> u64 {
    microseconds(
        recording.report("threads", "thread").value["recording"]["elapsed_seconds"].as_f64().unwrap(),
    )
}

fn microseconds(seconds: f64) -> u64 {
    let microseconds = seconds * 1e6;
    assert!((microseconds - microseconds.round()).abs() < 0.01, "{seconds} s are whole microseconds");
    microseconds.round() as u64
}

/// Waits for objects of which the name contains this, and their time in microseconds.
fn waits_for(recording: &Recording, object: &str) -> (u64, u64) {
    let answer = recording.report_with("waits", "procedure", &["--all"]);
    let rows = answer
        .rows()
        .filter(|row| row.get("object").and_then(Value::as_str).is_some_and(|name| name.contains(object)));
    let (count, seconds) = rows.fold((0, 0.0), |(count, seconds), row| {
        (count + row["count"].as_u64().unwrap(), seconds + row["seconds"].as_f64().unwrap())
    });
    (count, microseconds(seconds))
}

/// Requests for main's stack by main, and by each other node. Where the arguments begin a page they are none of its stack, but unknown data.
fn stack_requests(recording: &Recording, nodes: u64) -> [u64; 2] {
    let answer = recording.report_with("waits", "procedure", &["--all"]);
    let of = |procedure: &str| -> u64 {
        let is_stack = |row: &&Map<String, Value>| {
            let object = row.get("object").and_then(Value::as_str).unwrap_or_default();
            let is_it = ["of stack of thread 0", "of unknown data"].iter().any(|name| object.contains(name));
            row["procedure"] == procedure && is_it
        };
        answer.rows().filter(is_stack).map(|row| row["count"].as_u64().unwrap()).sum()
    };
    let found = [of("main"), of("main._omp_fn.0") / (nodes - 1)];
    assert!(found.iter().all(|count| (1..=2).contains(count)), "{found:?}");
    found
}

/// The strips of the relaxation on so many nodes, with pages of 8 KiB under lazy release consistency and a request of so many
/// microseconds: requests for the grid, and how long the run takes. The grid has 16 pages. What lies on main's stack may lie in
/// one page or in two, as the kernel puts the stack: by main, and by each other node.
fn strips(nodes: u64, rounds: u64, request: u64, stack: [u64; 2]) -> ((u64, u64), u64) {
    // First references: all pages by the initialisation; then those of its own strip by each other node, and those behind its
    // borders, of which the last node has one.
    let own = 16 / nodes;
    let cold = 16 + (nodes - 1) * own + (nodes - 1) + (nodes - 2);
    let requests = cold + 2 * (nodes - 1) * (2 * rounds - 1);
    let of_a_sweep = if nodes == 2 { 1 } else { 2 };
    // The longest chain: main asks for its stack too, and each other node for main's stack, its own, and two variables of the
    // layout.
    let chain = 16 + stack[0] + (own + of_a_sweep + stack[1] + 3) + (2 * rounds - 1) * of_a_sweep;
    ((requests, requests * request), chain * request)
}

#[test]
fn a_relaxation_waits_for_its_requests_and_takes_what_they_take() {
    let session = Session::beside_others();
    let program = or_skip!(build_with(&session, "gcc", "red_black", &["-fopenmp"]));
    for (nodes, rounds) in [(2_u64, 3_u64), (4, 3), (4, 5), (8, 2)] {
        let arguments = ["strips", &nodes.to_string(), &rounds.to_string()];
        let recording = record(&session, &program, &arguments);
        for request in [2000, 4000] {
            let cost = format!("request={request}us,lock=0,barrier=0,{NOTHING_ELSE}");
            let options = ["--protocol", "lrc", "--unit", "8192", "--cost", &cost];
            let simulated = simulate(&recording, "strips", &options);
            let found = (waits_for(&simulated, "of grid"), elapsed(&simulated));
            let expected = strips(nodes, rounds, request, stack_requests(&simulated, nodes));
            assert_eq!(found, expected, "{nodes} nodes, {rounds} rounds, {request} µs");
        }
    }
}

#[test]
fn messages_of_barriers_add_to_the_requests_and_two_recordings_agree() {
    let session = Session::beside_others();
    let program = or_skip!(build_with(&session, "gcc", "red_black", &["-fopenmp"]));
    let (nodes, rounds) = (4, 3);
    for _ in 0..2 {
        let recording = record(&session, &program, &["strips", "4", "3"]);
        let cost = format!("request=2ms,lock=0,barrier=300us,{NOTHING_ELSE}");
        let options = ["--protocol", "lrc", "--unit", "8192", "--cost", &cost];
        let simulated = simulate(&recording, "barriers", &options);
        let stack = stack_requests(&simulated, nodes);
        let ((requests, waited), of_requests) = strips(nodes, rounds, 2000, stack);
        assert_eq!(waits_for(&simulated, "of grid"), (requests, waited));
        // Two barriers a round, and the end of the parallel region: each has as many messages as nodes.
        let barriers = 2 * rounds + 1;
        assert_eq!(waits_for(&simulated, "messages of"), (nodes * barriers, 300 * nodes * barriers));
        assert_eq!(elapsed(&simulated), of_requests + 300 * barriers);
    }
}

#[test]
fn what_is_requested_has_a_writer_and_what_if_knows_what_it_costs() {
    let session = Session::beside_others();
    let program = or_skip!(build_with(&session, "gcc", "red_black", &["-fopenmp"]));
    let recording = record(&session, &program, &["strips", "2", "3"]);
    let cost = format!("request=2ms,lock=0,barrier=0,{NOTHING_ELSE}");
    let options = ["--protocol", "lrc", "--unit", "8192", "--cost", &cost];
    let simulated = simulate(&recording, "causes", &options);
    let answer = simulated.report("waits", "procedure");
    let has = |row: &Map<String, Value>, object: &str| row.get("object").is_some_and(|name| name == object);
    let row = answer
        .rows()
        .find(|row| row["procedure"] == "relax_black" && has(row, "page 7 of grid"))
        .unwrap_or_else(|| panic!("{}", answer.table("object")));
    assert_eq!((row["count"].as_u64(), row["kind"].as_str()), (Some(3), Some("page")));
    let cause = &row["root_causes"][0];
    let told = ["what", "procedure", "by_threads"].map(|column| cause[column].as_str().unwrap());
    assert_eq!(told, ["written", "relax_red", "node 0"]);
    // Who waits at the first barrier waits for the requests of the other node.
    let barrier = answer.rows().find(|row| has(row, "barrier red_black.c:66")).unwrap();
    let cause = &barrier["root_causes"][0];
    assert_eq!((cause["what"].as_str(), cause["procedure"].as_str()), (Some("request"), Some("relax_red")));
    // Page 7 is requested twice on the longest chain; afterwards the other node's request for page 8 takes as long.
    let without = simulated.what_if(&["object:page 7 of grid=0"]);
    let gain = without.rows().next().unwrap()["elapsed_gain_seconds"].as_f64().unwrap();
    assert_eq!(microseconds(gain), 2 * 2000);
    // The chain is the critical path by elapsed time.
    let path = simulated.report_with("critical-path", "procedure", &["--weight", "elapsed"]);
    assert_eq!(microseconds(path.sum("procedure", "initialise", "seconds")), 16 * 2000);
    assert_eq!(microseconds(path.sum_of("seconds")), elapsed(&simulated));
}

#[test]
fn many_pages_of_one_variable_are_one_source_of_waiting() {
    let session = Session::beside_others();
    let program = or_skip!(build_with(&session, "gcc", "red_black", &["-fopenmp"]));
    let recording = record(&session, &program, &["tiles", "4", "3"]);
    let simulated = simulate(&recording, "tiles", &["--protocol", "lrc", "--unit", "8192"]);
    let answer = simulated.report("waits", "procedure");
    let row = answer.rows().find(|row| row["procedure"] == "relax_black").unwrap();
    // All 16 pages by two threads each, and 2 across the border in each half; 3 sweeps of 2 ms each request.
    assert_eq!(row["object"].as_str(), Some("pages of grid"));
    assert_eq!(row["count"].as_u64(), Some(3 * 36));
    assert_eq!(microseconds(row["seconds"].as_f64().unwrap()), 3 * 36 * 2000);
    // Whose writes these are of is answered for the simulated machine, without its being named again.
    let communication = simulated.report("communication", "procedure");
    let causes = communication.rows().find(|row| row["procedure"] == "relax_black").unwrap();
    assert_eq!(causes["requests"].as_u64(), Some(3 * 36));
    let pages = simulated.report("objects", "procedure");
    // Stacks lie where the kernel puts them: some of them on two pages.
    let is_page = |row: &&Map<String, Value>| {
        row["kind"] == "page"
            && row["object"].as_str().is_some_and(|name| name != "pages of grid" && !name.contains("stack"))
    };
    assert_eq!(pages.rows().filter(is_page).count(), 16 + 2);
}

#[test]
fn nodes_with_several_threads_ask_only_across_their_borders() {
    let session = Session::beside_others();
    let program = or_skip!(build_with(&session, "gcc", "red_black", &["-fopenmp"]));
    let recording = record(&session, &program, &["strips", "4", "3"]);
    let cost = format!("request=1ms,lock=0,barrier=0,{NOTHING_ELSE}");
    for (nodes, transfers) in [("1", 0), ("2", 10), ("4", 30)] {
        let options = ["--nodes", nodes, "--protocol", "lrc", "--unit", "8192", "--cost", &cost];
        let simulated = simulate(&recording, "nodes", &options);
        let answer = simulated.report_with("waits", "procedure", &["--all"]);
        let of_grid = answer.rows().filter(|row| {
            row.get("object").and_then(Value::as_str).is_some_and(|name| name.contains("of grid"))
        });
        let written = of_grid.flat_map(|row| row["root_causes"].as_array().unwrap());
        let written = written.filter(|cause| cause["what"] == "written");
        let seconds: f64 = written.map(|cause| cause["seconds"].as_f64().unwrap()).sum();
        assert_eq!(microseconds(seconds), transfers * 1000, "{nodes} nodes");
    }
}

/// A counter under a lock: T threads take it K times each.
fn counter(session: &Session) -> Result<PathBuf, String> {
    build(session, "gcc", "shared_counter")
}

fn of_counter(session: &Session, program: &Path, threads: u64, rounds: u64) -> Recording {
    record(session, program, &[&threads.to_string(), &rounds.to_string()])
}

#[test]
fn a_lock_s_chain_takes_its_messages_and_its_requests() {
    let session = Session::beside_others();
    let program = or_skip!(counter(&session));
    const ROUNDS: u64 = 50;
    for threads in [2, 4, 8] {
        let recording = of_counter(&session, &program, threads, ROUNDS);
        let turns = threads * ROUNDS;
        for (request, lock) in [(2000, 1000), (4000, 1000), (2000, 3000)] {
            let cost = format!("request={request}us,lock={lock}us,barrier=0,{NOTHING_ELSE}");
            let simulated = simulate(&recording, "lock", &["--protocol", "lrc", "--cost", &cost]);
            // Each turn asks for the page that the turn before wrote. The page of `rounds` is the same one: each thread has asked
            // for it before, so that the first turn finds it.
            assert_eq!(waits_for(&simulated, "of counter"), (turns - 1, (turns - 1) * request));
            assert_eq!(waits_for(&simulated, "messages of lock"), (turns, turns * lock));
            // And before the first turn main asks for its stack and that page, and each thread for that page.
            // What main reads of its stack before that may lie in two pages; the rest is read while the threads run.
            let chain = (3 + turns - 1) * request + turns * lock;
            let (stack, _) = waits_for(&simulated, "of stack of thread 0");
            let spare = (stack - 1) * request;
            assert!((chain..=chain + spare).contains(&elapsed(&simulated)), "{threads} threads, {stack}");
            let objects = simulated.report("objects", "procedure");
            let of_lock = |column: &str| objects.sum("object", "lock", column);
            assert_eq!(of_lock("acquisitions"), turns as f64);
            // It is held from where it is handed over on.
            assert_eq!(microseconds(of_lock("hold_seconds")), turns * lock + (turns - 1) * request);
        }
    }
}

#[test]
fn lines_and_sequential_pages_migrate_with_the_lock() {
    let session = Session::beside_others();
    let program = or_skip!(counter(&session));
    const ROUNDS: u64 = 50;
    let (threads, turns) = (4, 4 * ROUNDS);
    let recording = of_counter(&session, &program, threads, ROUNDS);
    let cost = format!("request=1ms,lock=0,{NOTHING_ELSE}");
    let lines = simulate(&recording, "lines", &["--cost", &cost]);
    // A line of its own: the first turn of each thread is its first reference.
    assert_eq!(waits_for(&lines, "of counter"), (turns, turns * 1000));
    // Under sequential consistency the page has been read by all, and the first turn only takes it.
    let options = ["--protocol", "sc", "--cost", "request=1ms,lock=0,access=0,upgrade=300us"];
    let pages = simulate(&recording, "sc", &options);
    assert_eq!(waits_for(&pages, "page 0 of counter").0 + waits_for(&pages, "upgrade").0, turns * 2 - 1);
}

#[test]
fn a_byte_s_cost_is_that_of_the_unit_or_of_the_diff() {
    let session = Session::beside_others();
    let program = or_skip!(counter(&session));
    let recording = of_counter(&session, &program, 2, 20);
    let simulated = |protocol: &str| {
        // Without any time in the lock one thread would take all of its turns at once.
        let cost = format!("request=0,byte=1us,lock=1us,barrier=0,{NOTHING_ELSE}");
        simulate(&recording, "bytes", &["--protocol", protocol, "--cost", &cost])
    };
    // A line of 64 bytes in each of 40 turns.
    assert_eq!(waits_for(&simulated("lines"), "of counter"), (40, 40 * 64));
    // The diff of a turn is the counter: 8 bytes.
    assert_eq!(waits_for(&simulated("lrc"), "of counter"), (39, 39 * 8));
}

#[test]
fn what_cannot_be_simulated_is_refused_with_a_reason() {
    let session = Session::beside_others();
    let program = or_skip!(counter(&session));
    let recording = of_counter(&session, &program, 2, 5);
    let refused = |path: &Path, options: &[&str]| {
        let output = session.path().join("refused.longpole");
        let mut command = longpole();
        command.arg("simulate").arg(path).arg("-o").arg(&output).args(options);
        let refused = run(&mut command);
        assert!(!refused.status.success() && !output.exists());
        (refused.status.code(), refused.stderr)
    };
    let (status, said) = refused(&recording.path, &["--nodes", "4"]);
    assert!(status == Some(1) && said.contains("the program has 3 threads"), "{said}");
    let (status, said) = refused(&recording.path, &["--cost", "request=2"]);
    assert!(status == Some(2) && said.contains("`2` is no time"), "{said}");
    // Threads that share nodes have no accesses of their own in the simulated recording.
    let simulated = simulate(&recording, "simulated", &["--nodes", "2"]);
    let (status, said) = refused(&simulated.path, &[]);
    assert!(status == Some(1) && said.contains("record --access"), "{said}");
}

#[test]
fn every_view_answers_and_says_that_nothing_is_estimated() {
    let session = Session::beside_others();
    let program = or_skip!(counter(&session));
    let recording = of_counter(&session, &program, 2, 20);
    let simulated = simulate(&recording, "views", &["--protocol", "lrc"]);
    let evidence = simulated.report("evidence", "procedure");
    let of = |name: &str| evidence.rows().find(|row| row["name"] == name).map(|row| row["value"].clone());
    assert_eq!(evidence.value["evidence"]["collector"].as_str(), Some("simulation"));
    assert_eq!(of("effective, CPU"), Some(Value::from("exact")));
    for view in ["summary", "critical-path", "npt", "states", "threads", "guidance", "phases"] {
        let mut command = longpole();
        command.arg("report").arg(&simulated.path).args(["--view", view]);
        let said = run(&mut command);
        assert!(said.status.success(), "{view}: {}", said.stderr);
        assert!(!said.stdout.contains('±') && !said.stdout.contains("Caution"), "{view}: {}", said.stdout);
    }
}
