//! Programs whose transfers of cache lines can be counted by hand, built by `longpole cc` and really run.

mod emulated;
mod fortran;
mod layouts;
mod openmp;
mod rust;
mod sampled;
mod simulated;
mod views;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::support::{Recording, Session, find, longpole, or_skip, programs, run, skipped};

/// Builds the program with this compiler as `longpole cc` does.
fn build(session: &Session, compiler: &str, source: &str) -> Result<PathBuf, String> {
    build_with(session, compiler, source, &["-pthread"])
}

fn build_with(session: &Session, compiler: &str, source: &str, options: &[&str]) -> Result<PathBuf, String> {
    find(compiler)?;
    let program = session.path().join(format!("{source}-{compiler}"));
    let (wrapper, variable, ending) = match compiler {
        "gfortran" => ("fortran", "LONGPOLE_FC", "f90"),
        _ if compiler.ends_with("++") => ("c++", "LONGPOLE_CXX", "cpp"),
        _ => ("cc", "LONGPOLE_CC", "c"),
    };
    let mut command = longpole();
    command.env("XDG_DATA_HOME", session.path().join("data")).env(variable, compiler).arg(wrapper);
    if wrapper == "c++" {
        command.arg("-std=c++17");
    }
    command.arg("-O1").args(options).arg("-o").arg(&program);
    let built = run(command.arg(programs().join(format!("{source}.{ending}"))));
    assert!(built.status.success(), "{}", built.stderr);
    Ok(program)
}

/// Numbers of threads to try: all with one compiler, and one with another, as the program and what the library counts are the same.
fn teams(compiler: &str) -> &'static [u64] {
    if compiler.starts_with('g') { &[2, 4, 8] } else { &[4] }
}

fn record(session: &Session, program: &Path, arguments: &[&str]) -> Recording {
    let folder = session.path().join("accesses.longpole");
    let mut command = longpole();
    command.args(["record", "--access", "--force", "-o"]).arg(&folder).arg("--").arg(program).args(arguments);
    let recorded = run(&mut command);
    assert!(recorded.status.success(), "{}", recorded.stderr);
    Recording::at(&folder)
}

fn number(row: &Map<String, Value>, column: &str) -> u64 {
    let value = row.get(column).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {column} in {row:?}"));
    assert_eq!(value.fract(), 0.0, "{column} in {row:?}");
    value as u64
}

/// The row of an object: requests, transfers, their range, and the share of this pattern in all requests.
fn of_object(recording: &Recording, object: &str, pattern: &str) -> ([u64; 4], f64) {
    let answer = recording.report("communication", "object");
    let row = answer.rows().find(|row| row["object"] == object).unwrap_or_else(|| panic!("no {object}"));
    let counts = ["requests", "transfers", "requests_low", "requests_high"].map(|column| number(row, column));
    (counts, row[pattern].as_f64().unwrap())
}

fn assert_share(found: f64, transfers: u64, requests: u64) {
    let expected = transfers as f64 / requests as f64 * 100.0;
    assert!((found - expected).abs() < 0.001, "{found} for {transfers} of {requests}");
}

/// The first thing of a list in a row.
fn first<'a>(row: &'a Map<String, Value>, list: &str, key: &str) -> (&'a str, f64) {
    let found = &row[list][0];
    (found[key].as_str().unwrap(), found["percent"].as_f64().unwrap())
}

#[test]
fn a_counter_under_a_lock_migrates_t_k_minus_t_times() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 100;
    for compiler in ["gcc", "clang"] {
        let program = or_skip!(build(&session, compiler, "shared_counter"));
        for &threads in teams(compiler) {
            let recording = record(&session, &program, &[&threads.to_string(), &ROUNDS.to_string()]);
            let transfers = threads * ROUNDS - threads;
            let (counts, migratory) = of_object(&recording, "counter", "migratory_percent");
            assert_eq!(counts, [threads * ROUNDS, transfers, transfers, transfers], "{compiler} {threads}");
            assert_share(migratory, transfers, threads * ROUNDS);
            // R ← I ← W: who asks, through what, and whose write is behind.
            let answer = recording.report("communication", "procedure");
            let row = answer.rows().next().unwrap();
            assert_eq!((row["procedure"].as_str(), number(row, "transfers")), (Some("count"), transfers));
            assert_eq!(first(row, "through", "object"), ("through lock", 100.0));
            assert!(first(row, "from", "procedure").0.starts_with("count shared_counter.c:"), "{row:?}");
        }
    }
}

#[test]
fn threads_of_c11_have_locks_and_initialise_once() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 20;
    for compiler in ["gcc", "clang"] {
        let program = or_skip!(build(&session, compiler, "shared_once"));
        for (threads, once) in [(2, "once"), (4, "once"), (8, "posix")] {
            let recording = record(&session, &program, &[&threads.to_string(), &ROUNDS.to_string(), once]);
            let (counts, _) = of_object(&recording, "counter", "migratory_percent");
            assert_eq!(counts[1..], [threads * ROUNDS - threads; 3], "{compiler} {threads} {once}");
            let (counts, _) = of_object(&recording, "table", "migratory_percent");
            assert_eq!(counts[1..], [threads - 1; 3], "{compiler} {threads} {once}");
            let answer = recording.report("communication", "object");
            let row = answer.rows().find(|row| row["object"] == "table").unwrap();
            let through = if once == "once" { "through once" } else { "through posix_once" };
            assert_eq!(first(row, "through", "object"), (through, 100.0), "{compiler} {threads}");
        }
    }
}

#[test]
fn a_ring_of_16_lines_is_fetched_once_an_item() {
    let session = Session::beside_others();
    for compiler in ["gcc", "clang"] {
        let program = or_skip!(build(&session, compiler, "shared_ring"));
        let recording = record(&session, &program, &["1000"]);
        // 16 first references of each thread.
        let (counts, single) = of_object(&recording, "ring", "spsc_percent");
        assert_eq!(counts, [32 + 984, 984, 984, 984], "{compiler}");
        assert_share(single, 984, 32 + 984);
        let answer = recording.report("communication", "procedure");
        let row = answer.rows().find(|row| row["procedure"] == "take").unwrap();
        assert_eq!((number(row, "requests"), number(row, "transfers")), (16 + 984, 984));
        assert_eq!(first(row, "through", "object"), ("through filled_slots", 100.0));
        assert!(first(row, "from", "procedure").0.starts_with("put shared_ring.c:"), "{row:?}");
    }
}

#[test]
fn a_datum_that_an_atomic_variable_hands_on_is_allocated_data_through_that_variable() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 50;
    for compiler in ["g++", "clang++"] {
        let program = or_skip!(build(&session, compiler, "shared_turns"));
        for &threads in teams(compiler) {
            let recording = record(&session, &program, &[&threads.to_string(), &ROUNDS.to_string()]);
            let answer = recording.report("communication", "procedure");
            // Not every compiler says of which types the parameters of a local procedure are.
            let is_play = |name: &Value| name == "play" || name == "play(Datum*)";
            let row = answer.rows().find(|row| is_play(&row["procedure"])).expect("requests of play");
            let transfers = threads * ROUNDS - threads;
            assert_eq!(number(row, "requests"), threads * ROUNDS, "{compiler} {threads}");
            assert_eq!(number(row, "transfers"), transfers, "{compiler} {threads}");
            assert_share(row["migratory_percent"].as_f64().unwrap(), transfers, threads * ROUNDS);
            assert_eq!(first(row, "through", "object"), ("through turn", 100.0));
            let objects = recording.report("communication", "object");
            let is_made =
                |name: &Value| name.as_str().is_some_and(|name| name.starts_with("allocated in make"));
            let row = objects.rows().find(|row| is_made(&row["object"])).expect("what `make` allocated");
            // The first thread's end hands the datum on to the main thread, which reads it.
            assert_eq!(number(row, "transfers"), transfers + 1, "{compiler} {threads}");
        }
    }
}

#[test]
fn counters_on_one_line_are_falsely_shared_and_padded_ones_are_not() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 100;
    for compiler in ["gcc", "clang"] {
        let program = or_skip!(build(&session, compiler, "shared_counters"));
        for &threads in teams(compiler) {
            let (number_of, rounds) = (threads.to_string(), ROUNDS.to_string());
            let recording = record(&session, &program, &[&number_of, &rounds]);
            let transfers = threads * ROUNDS - threads;
            let (counts, falsely) = of_object(&recording, "counters", "false_sharing_percent");
            assert_eq!(counts, [threads * ROUNDS, transfers, transfers, transfers], "{compiler} {threads}");
            assert_share(falsely, transfers, threads * ROUNDS);
            let sharing = recording.report("sharing", "object");
            let row = sharing.rows().next().unwrap();
            assert_eq!((row["object"].as_str(), number(row, "transfers")), (Some("counters"), transfers));
            let uses = row["uses"].as_array().unwrap();
            let written: Vec<&str> = uses.iter().map(|one| one["written"].as_str().unwrap()).collect();
            let expected: Vec<String> =
                (0..threads).map(|thread| format!("{}..{}", 8 * thread, 8 * thread + 8)).collect();
            assert_eq!(written, expected);

            let recording = record(&session, &program, &[&number_of, &rounds, "padded"]);
            let (counts, _) = of_object(&recording, "counters", "false_sharing_percent");
            assert_eq!(counts, [threads, 0, 0, 0], "{compiler} {threads} padded");
        }
    }
}

#[test]
fn threads_that_have_memory_one_after_the_other_share_nothing() {
    let session = Session::beside_others();
    const THREADS: u64 = 20;
    for compiler in ["gcc", "clang"] {
        let program = or_skip!(build(&session, compiler, "reused_memory"));
        // 64 bytes may lie on two lines. The main thread has a copy of what it gets again.
        for (mode, wanted) in [("own", THREADS..=2 * THREADS), ("handed", THREADS + 1..=3 * THREADS)] {
            let recording = record(&session, &program, &[mode, &THREADS.to_string()]);
            let answer = recording.report("communication", "object");
            let row = answer
                .rows()
                .find(|row| row["object"].as_str().is_some_and(|name| name.starts_with("alloc")));
            let row = row.expect("what was allocated");
            assert!(wanted.contains(&number(row, "requests")), "{compiler} {mode}: {row:?}");
            // A thread's first request is none.
            assert_eq!(number(row, "transfers"), 0, "{compiler} {mode}: {row:?}");
        }
    }
}

#[test]
fn rounds_between_barriers_fetch_once_a_reader() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 50;
    for compiler in ["gcc", "clang"] {
        let program = or_skip!(build(&session, compiler, "shared_rounds"));
        for &threads in teams(compiler) {
            let arguments = [threads.to_string(), ROUNDS.to_string()];
            for (mode, transfers) in [
                ("broadcast", (threads - 1) * (ROUNDS - 1)),
                ("neighbours", 2 * (threads - 1) * (ROUNDS - 1)),
            ] {
                let recording = record(&session, &program, &[mode, &arguments[0], &arguments[1]]);
                let (counts, _) = of_object(&recording, "lines", "cold_percent");
                assert_eq!(counts[1..], [transfers; 3], "{compiler} {mode} {threads}");
                let answer = recording.report("communication", "procedure");
                let row = answer.rows().next().unwrap();
                assert_eq!((row["procedure"].as_str(), number(row, "transfers")), (Some("take"), transfers));
                assert_eq!(first(row, "through", "object"), ("through barrier barrier", 100.0));
            }
        }
    }
}

#[test]
fn a_struct_on_two_lines_is_shared_with_its_neighbours_until_it_is_aligned() {
    let session = Session::beside_others();
    let program = or_skip!(build(&session, "gcc", "regression"));
    let transfers = |arguments: &[&str]| {
        let recording = record(&session, &program, arguments);
        let answer = recording.report("communication", "procedure");
        let row = answer.rows().find(|row| row["procedure"] == "regress").expect("requests of regress");
        (number(row, "transfers"), row["false_sharing_percent"].as_f64().unwrap())
    };
    let (shared, falsely) = transfers(&["4", "500"]);
    assert!(shared > 1000 && falsely > 90.0, "{shared} transfers, {falsely} % false sharing");
    assert_eq!(transfers(&["4", "500", "aligned"]).0, 0);
}

#[test]
fn programs_that_tell_of_no_accesses_are_refused_with_the_way_to_build_them() {
    let session = Session::beside_others();
    let plain = or_skip!(session.build("shared_counter.c", &["-pthread"]));
    let folder = session.path().join("none.longpole");
    let refused = |program: &Path, why: &str| {
        let mut command = longpole();
        let refused = run(command.args(["record", "--access", "-o"]).arg(&folder).arg("--").arg(program));
        assert_eq!(refused.status.code(), Some(125), "{}", refused.stderr);
        assert!(refused.stderr.contains(why) && refused.stderr.contains("longpole cc"), "{}", refused.stderr);
        assert!(!folder.exists());
    };
    refused(&plain, "it was not compiled for that");
    let racing = or_skip!(session.build("shared_counter.c", &["-pthread", "-fsanitize=thread"]));
    refused(&racing, "it holds the compiler's race detector");
    // A recording without accesses says how to get them.
    let recorded = run(longpole().args(["record", "-q", "-o"]).arg(&folder).arg("--").arg(&plain));
    assert!(recorded.status.success(), "{}", recorded.stderr);
    let answer = run(longpole().arg("report").arg(&folder).args(["--view", "communication"]));
    assert!(answer.stdout.contains("`longpole record --access`"), "{}", answer.stdout);
    // Without a recorder a program that was built for one runs as always.
    let program = or_skip!(build(&session, "gcc", "shared_ring"));
    assert!(run(&mut std::process::Command::new(program)).status.success());
}

/// Names in the bytes of a file that begin as those of the interface do.
fn names(file: &Path) -> BTreeSet<String> {
    const BEGIN: &[u8] = b"__tsan_";
    let bytes = std::fs::read(file).unwrap();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    // gcc has them as the ends of names of its own (`__builtin___tsan_read1`).
    let starts = (0..bytes.len().saturating_sub(BEGIN.len())).filter(|&at| bytes[at..].starts_with(BEGIN));
    starts
        .map(|at| bytes[at..].iter().take_while(|byte| is_name(byte)).map(|&byte| char::from(byte)).collect())
        .collect()
}

/// Whether compilers call it; the others are for programs that describe locks of their own, for Java and for reports.
fn is_called_by_compilers(name: &str) -> bool {
    let rest =
        name.trim_start_matches("__tsan_").trim_start_matches("unaligned_").trim_start_matches("volatile_");
    let is_access = ["read_write", "read", "write"].iter().any(|kind| {
        let size = rest.strip_prefix(kind).map(|size| size.trim_end_matches("_pc"));
        size.is_some_and(|size| ["1", "2", "4", "8", "16", "_range"].contains(&size))
    });
    let is_whole = |name: &&str| !name.ends_with('_');
    let others = ["atomic", "func_e", "vptr_", "memcpy", "memset", "memmove", "init"];
    is_access
        || Some(rest).filter(is_whole).is_some_and(|rest| {
            others.iter().any(|begin| rest.starts_with(begin))
                && rest != "atomic"
                && !rest.ends_with("fence_")
        })
}

#[test]
fn the_library_has_every_function_that_compilers_call() {
    let session = Session::beside_others();
    or_skip!(build(&session, "gcc", "shared_ring"));
    let data = session.path().join("data/longpole");
    let folder = std::fs::read_dir(data).unwrap().next().unwrap().unwrap().path();
    let ours = names(&folder.join("liblongpole-access.so"));
    let said = |program: &str, argument: &str| {
        let said = run(std::process::Command::new(program).arg(argument));
        PathBuf::from(said.stdout.trim())
    };
    let gcc = said("gcc", "-print-prog-name=cc1");
    or_skip!(find("clang"));
    let clang = said("clang", "--print-resource-dir").join("lib/linux/libclang_rt.tsan-x86_64.a");
    for (file, least) in [(gcc, 80), (clang, 90)] {
        if !file.exists() {
            return skipped(&format!("no {}", file.display()));
        }
        let theirs: BTreeSet<String> =
            names(&file).into_iter().filter(|name| is_called_by_compilers(name)).collect();
        assert!(theirs.len() >= least, "{}: {theirs:?}", file.display());
        let missing: Vec<&String> = theirs.difference(&ours).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", file.display());
    }
}
