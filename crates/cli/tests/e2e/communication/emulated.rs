//! Programs that are not instrumented, executed by QEMU: their answers are those of the same programs built by `longpole cc`.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

use super::{build_with, number, of_object, record};
use crate::support::{Recording, Run, Session, find, longpole, or_skip, run};

/// Records the program in the emulator.
fn emulate(session: &Session, program: &Path, arguments: &[&str]) -> Run {
    let mut command = longpole();
    command.env("XDG_DATA_HOME", session.path().join("data"));
    command
        .args(["record", "--access=emulate", "--force", "-o"])
        .arg(session.path().join("emulated.longpole"));
    run(command.arg("--").arg(program).args(arguments))
}

fn record_emulated(session: &Session, program: &Path, arguments: &[&str]) -> Recording {
    let recorded = emulate(session, program, arguments);
    assert!(recorded.status.success(), "{}", recorded.stderr);
    Recording::at(&session.path().join("emulated.longpole"))
}

/// Both recordings of a program: built by `longpole cc`, and as it is.
fn both_ways(
    session: &Session,
    source: &str,
    options: &[&str],
    arguments: &[&str],
) -> Result<[Recording; 2], String> {
    find("qemu-x86_64")?;
    let instrumented = build_with(session, "gcc", source, options)?;
    let plain = session.build(&format!("{source}.c"), &[&["-O1"], options].concat())?;
    Ok([record(session, &instrumented, arguments), record_emulated(session, &plain, arguments)])
}

/// Whether two counts are within 1 % of the first one.
fn is_near(one: u64, other: u64) -> bool {
    one.abs_diff(other) * 100 <= one
}

/// Requests and transfers of each object with transfers, and the share of its patterns, are the same in both.
fn assert_same_objects(recordings: &[Recording; 2], view: &str, about: &str) {
    let [instrumented, emulated] = recordings.each_ref().map(|one| one.report(view, "object"));
    let shared = instrumented.rows().filter(|row| number(row, "transfers") > 0);
    let mut compared = 0;
    for row in shared {
        let same = emulated.rows().find(|other| other["object"] == row["object"]);
        let same = same.unwrap_or_else(|| panic!("{about}: no {} in {view}", row["object"]));
        for column in ["requests", "transfers"] {
            // A row of `sharing` is a unit, and which of several is first is left to chance.
            let object = row["object"].as_str().unwrap();
            let counts = [&instrumented, &emulated].map(|answer| answer.sum("object", object, column) as u64);
            assert!(is_near(counts[0], counts[1]), "{about}: {column} of {}: {counts:?}", row["object"]);
        }
        let shares = row.iter().filter(|(column, _)| column.ends_with("_percent") && view != "sharing");
        for (column, share) in shares {
            let shares = [share, &same[column]].map(|share| share.as_f64().unwrap());
            assert!((shares[0] - shares[1]).abs() <= 1.0, "{about}: {column} of {row:?}: {shares:?}");
        }
        compared += 1;
    }
    assert!(compared > 0, "{about}: nothing is transferred");
    let transfers = |answer: &crate::support::Answer| answer.sum_of("transfers") as u64;
    assert!(is_near(transfers(&instrumented), transfers(&emulated)), "{about}: transfers in all");
}

/// The causes of requests of all graphs: from where through what to where, with the call paths, and how many requests.
fn causes(recording: &Recording) -> BTreeMap<String, u64> {
    let answer = recording.report("causality", "object");
    let text = |edge: &Value, key: &str| edge[key].as_str().unwrap_or("-").to_owned();
    let mut found = BTreeMap::new();
    for row in answer.rows().filter(|row| number(row, "transfers") > 0) {
        for edge in row["edges"].as_array().unwrap().iter().filter(|edge| edge.get("from").is_some()) {
            let parts = ["write_path", "through", "through_path", "read_path"].map(|key| text(edge, key));
            let cause = format!("{}: {}", row["object"].as_str().unwrap(), parts.join(" | "));
            *found.entry(cause).or_default() += edge["requests"].as_u64().unwrap();
        }
    }
    found
}

#[test]
fn a_program_s_answers_are_the_same_built_both_ways() {
    let session = Session::beside_others();
    for (source, options, arguments) in [
        ("shared_counters", &["-pthread"][..], &["4", "200"][..]),
        ("shared_ring", &["-pthread"], &["1000"]),
        ("shared_rounds", &["-pthread"], &["neighbours", "4", "50"]),
        ("shared_once", &["-pthread"], &["4", "20", "once"]),
        ("layouts", &["-pthread"], &["order", "4", "100"]),
        ("red_black", &["-fopenmp"], &["strips", "4", "3"]),
        ("red_black", &["-fopenmp"], &["tiles", "2", "3"]),
    ] {
        let about = format!("{source} {arguments:?}");
        let recordings = or_skip!(both_ways(&session, source, options, arguments));
        for view in ["communication", "sharing", "patterns"] {
            assert_same_objects(&recordings, view, &format!("{about} {view}"));
        }
    }
}

#[test]
fn causes_with_their_call_paths_are_the_same_built_both_ways() {
    let session = Session::beside_others();
    for (source, arguments, least) in [("shared_sum", ["4", "30"], 2), ("called_back", ["4", "50"], 2)] {
        // Where a procedure is inlined, which line its access has is left to the compiler.
        let options = ["-pthread", "-fno-inline"];
        let recordings = or_skip!(both_ways(&session, source, &options, &arguments));
        let [instrumented, emulated] = recordings.each_ref().map(causes);
        assert!(instrumented.len() >= least, "{source}: {instrumented:?}");
        if source == "called_back" {
            // Which calls led there is seen in the emulator only, as the C library is not instrumented.
            let [transfers, of_pointer] = [4 * 50 - 4; 2];
            let of = |object: &str| {
                emulated.iter().filter(|(cause, _)| cause.starts_with(object)).collect::<Vec<_>>()
            };
            let path =
                "called_back.c:15 < sort called_back.c:20 < turn called_back.c:31 < work called_back.c:40";
            let [(cause, count)] = of("comparisons")[..] else { panic!("{emulated:?}") };
            assert!(cause.starts_with(&format!("comparisons: compare {path}")), "{cause}");
            assert!(cause.ends_with(&format!("| compare {path}")) && *count == transfers, "{cause} {count}");
            let path = "add called_back.c:24 < turn called_back.c:32 < work called_back.c:40";
            let [(cause, count)] = of("sum")[..] else { panic!("{emulated:?}") };
            assert!(cause.ends_with(&format!("| {path}")) && *count == of_pointer, "{cause} {count}");
            continue;
        }
        assert_eq!(instrumented.keys().collect::<Vec<_>>(), emulated.keys().collect::<Vec<_>>(), "{source}");
        for (cause, count) in &instrumented {
            assert!(is_near(*count, emulated[cause]), "{cause}: {count}, {}", emulated[cause]);
        }
    }
}

#[test]
fn the_bytes_that_each_thread_uses_are_the_same_built_both_ways() {
    let session = Session::beside_others();
    let recordings = or_skip!(both_ways(&session, "shared_counters", &["-pthread"], &["4", "100"]));
    let [instrumented, emulated] = recordings.map(|recording| {
        let answer = recording.report("sharing", "object");
        let row: Map<String, Value> = answer.rows().next().expect("a unit").clone();
        assert_eq!(row["object"], "counters");
        let uses = row["uses"].as_array().unwrap().clone();
        uses.iter().map(|one| format!("{} {}", one["read"], one["written"])).collect::<Vec<_>>()
    });
    assert_eq!(instrumented, emulated);
    assert_eq!(emulated.len(), 4);
}

#[test]
fn atomic_variables_order_threads_by_exchanges_and_where_they_are_polled() {
    let session = Session::beside_others();
    or_skip!(find("qemu-x86_64"));
    let program = or_skip!(session.build("shared_turns.cpp", &["-O1", "-pthread"]));
    let recording = record_emulated(&session, &program, &["4", "50"]);
    let answer = recording.report("communication", "object");
    let is_made = |name: &Value| name.as_str().is_some_and(|name| name.starts_with("allocated in make"));
    let row = answer.rows().find(|row| is_made(&row["object"])).expect("what `make` allocated");
    // T K - T, and the main thread's; before a thread first polls, nothing says that the variable is one of these.
    let transfers = number(row, "transfers");
    assert!(transfers.abs_diff(4 * 50 - 4 + 1) <= 4, "{transfers} {row:?}");
    let (through, share) = super::first(row, "through", "object");
    assert!(through == "through turn" && share > 90.0, "{row:?}");

    let source = session.path().join("exchanged.c");
    std::fs::write(&source, EXCHANGED).unwrap();
    let program = session.path().join("exchanged");
    let mut compiler = Command::new(or_skip!(find("gcc")));
    assert!(run(compiler.args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(&source)).status.success());
    let recording = record_emulated(&session, &program, &[]);
    let (counts, _) = of_object(&recording, "counter", "migratory_percent");
    // T K - T. Two operations on the lock that collide may be seen in the other order.
    assert!(counts[1].abs_diff(2 * 300 - 2) <= 18, "{counts:?}");
    let answer = recording.report("communication", "object");
    let row = answer.rows().find(|row| row["object"] == "counter").unwrap();
    let (through, share) = super::first(row, "through", "object");
    assert!(through == "through word" && share > 95.0, "{row:?}");
}

/// Two threads take turns under a lock that is taken by an exchange and given back by a plain store, whose instruction is that
/// of any store.
const EXCHANGED: &str = "
#include <pthread.h>
#include <sched.h>
static _Alignas(64) int word;
static _Alignas(64) long counter;
static _Alignas(64) long turn;
static void *work(void *own) {
    for (int round = 0; round < 300;) {
        while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE))
            sched_yield();
        int is_own = turn == (long)own;
        if (is_own) {
            counter++;
            turn = !own;
            round++;
        }
        __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
        if (!is_own)
            sched_yield();
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return counter != 600;
}
";

#[test]
fn what_cannot_be_emulated_is_refused_with_what_to_do() {
    let session = Session::beside_others();
    or_skip!(find("qemu-x86_64"));
    let refused = |program: &Path, words: [&str; 2]| {
        let refused = emulate(&session, program, &[]);
        assert_eq!(refused.status.code(), Some(125), "{}", refused.stderr);
        for said in words {
            assert!(refused.stderr.contains(said), "{}", refused.stderr);
        }
        assert!(!session.path().join("emulated.longpole").exists());
    };
    let fixed = or_skip!(session.build("shared_counter.c", &["-static"]));
    refused(&fixed, ["it is statically linked", "link it dynamically"]);
    let mut bytes = std::fs::read(&fixed).unwrap();
    bytes[18..20].copy_from_slice(&183_u16.to_le_bytes());
    std::fs::write(&fixed, &bytes).unwrap();
    refused(&fixed, ["it is not for x86-64", "built by `longpole cc`"]);
    let racing = or_skip!(session.build("shared_counter.c", &["-fsanitize=thread"]));
    refused(&racing, ["race detector", "without -fsanitize=thread"]);
    let own = or_skip!(build_with(&session, "gcc", "shared_counter", &["-pthread"]));
    refused(&own, ["it was built by `longpole cc`", "--access alone"]);
    let script = session.path().join("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    refused(&script, ["it is no ELF program", "name the program that executes it"]);
}

#[test]
fn without_an_emulator_that_loads_the_plugin_the_package_and_versions_are_named() {
    let session = Session::beside_others();
    let program = or_skip!(session.build("shared_counter.c", &[]));
    let folder = session.path().join("emulators");
    std::fs::create_dir(&folder).unwrap();
    let refused = |options: &[&str]| {
        let mut command = longpole();
        command.env("XDG_DATA_HOME", session.path().join("data")).env("PATH", &folder);
        command.args(["record", "--access=emulate", "-o"]).arg(session.path().join("none.longpole"));
        let refused = run(command.args(options).arg("--").arg(&program));
        assert_eq!(refused.status.code(), Some(125), "{}", refused.stderr);
        refused.stderr
    };
    let said = refused(&[]);
    assert!(said.contains("there is no qemu-x86_64") && said.contains("qemu-user"), "{said}");
    let emulator = folder.join("qemu-x86_64");
    let text = "#!/bin/sh\n[ $1 = -version ] && echo qemu-x86_64 version 99.1 && exit\n\
                echo 'plugin requires API version 1' >&2\nexit 1\n";
    std::fs::write(&emulator, text).unwrap();
    std::fs::set_permissions(&emulator, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = refused(&[]);
    assert!(said.contains("qemu-x86_64 99.1 does not load longpole's plugin: plugin requires API"), "{said}");
    assert!(said.contains("QEMU 7.0 to 8.2"), "{said}");
    let said = refused(&["--locks"]);
    assert!(said.contains("--locks") && said.contains("--access=emulate"), "{said}");
    let said = refused(&["--access-sample", "1/16"]);
    assert!(said.contains("--access-sample does not go with --access=emulate"), "{said}");
}

#[test]
fn a_program_s_end_is_its_own_in_the_emulator_and_children_are_not_recorded() {
    let session = Session::beside_others();
    or_skip!(find("qemu-x86_64"));
    let source = session.path().join("ends.c");
    std::fs::write(&source, ENDS).unwrap();
    let program = session.path().join("ends");
    let mut compiler = Command::new(or_skip!(find("gcc")));
    assert!(run(compiler.args(["-O1", "-g", "-o"]).arg(&program).arg(&source)).status.success());
    for (how, status) in [("returns", 7), ("aborts", 128 + 6), ("crashes", 128 + 11)] {
        let ended = emulate(&session, &program, &[how]);
        assert_eq!(ended.status.code(), Some(status), "{how}: {}", ended.stderr);
        assert!(ended.stdout.contains(&format!("child says {how}")), "{how}: {}", ended.stdout);
    }
    // The last one crashed: the blocks that were full by then are there, nothing of its children is.
    let recording = Recording::at(&session.path().join("emulated.longpole"));
    let answer = recording.report("communication", "object");
    let row = answer.rows().find(|row| row["object"] == "numbers").expect("what the program counted in");
    assert_eq!([number(row, "requests"), number(row, "transfers")], [1, 0], "{row:?}");
    let accesses = answer.number("simulation", "accesses");
    assert!((300_000.0..=400_010.0).contains(&accesses), "{accesses}");
}

/// Counts 200,000 times, has a child count too, and another one say something after an execution.
const ENDS: &str = "
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static _Alignas(64) volatile long numbers[8];
static void count(void) {
    for (int i = 0; i < 200000; i++)
        numbers[0]++;
}
int main(int argc, char **argv) {
    count();
    int status;
    pid_t child = fork();
    if (child == 0) {
        count();
        exit(3);
    }
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != 3)
        return 1;
    child = fork();
    if (child == 0) {
        execl(\"/bin/echo\", \"echo\", \"child says\", argv[1], NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    if (argv[1][0] == 'a')
        abort();
    if (argv[1][0] == 'c')
        *(volatile int *)0 = 1;
    return 7;
}
";

#[test]
fn a_program_s_own_library_is_recorded_and_the_system_s_are_not() {
    let session = Session::beside_others();
    or_skip!(find("qemu-x86_64"));
    let compiler = or_skip!(find("gcc"));
    let path = |name: &str| session.path().join(name);
    let text = "long inside[8] __attribute__((aligned(64)));\n\
                void step(void) { for (int i = 0; i < 8; i++) inside[i]++; }\n";
    std::fs::write(path("own.c"), text).unwrap();
    let text = "#include <string.h>\n#include <stdlib.h>\nvoid step(void);\nchar text[256] __attribute__((aligned(64)));\n\
                int main(int argc, char **argv) { step(); memset(text, argc, atoi(argv[1])); return text[0] != 2; }\n";
    std::fs::write(path("main.c"), text).unwrap();
    let mut library = Command::new(&compiler);
    library.args(["-O1", "-g", "-shared", "-fPIC", "-o"]).arg(path("libown.so")).arg(path("own.c"));
    assert!(run(&mut library).status.success());
    let mut program = Command::new(&compiler);
    program.args(["-O1", "-g", "-fno-builtin", "-o"]).arg(path("user")).arg(path("main.c"));
    program.arg(path("libown.so")).arg(format!("-Wl,-rpath,{}", session.path().display()));
    assert!(run(&mut program).status.success());
    let recording = record_emulated(&session, &path("user"), &["256"]);
    let answer = recording.report("communication", "object");
    let requests = |object: &str| answer.sum("object", object, "requests");
    assert_eq!([requests("inside"), requests("text")], [1.0, 4.0]);
    let notes = run(longpole().args(["report", "--view", "evidence"]).arg(path("emulated.longpole")));
    assert!(notes.stdout.contains("accesses: seen by qemu-x86_64"), "{}", notes.stdout);
}
