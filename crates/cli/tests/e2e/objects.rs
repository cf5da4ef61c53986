//! What threads wait for has its kind, and a name that is the same in the next run.

use std::collections::BTreeSet;

use longpole_trace::Cause;

use crate::support::{Collector, Recording, Session, assert_laws, or_skip};

/// Kind and name of an object that a program waits for.
type Expected = (&'static str, &'static str);

/// Records the program twice and asserts that each run has waits for all these objects.
fn assert_objects(
    session: &Session,
    source: &str,
    flags: &[&str],
    expected: &[Expected],
) -> Result<(), String> {
    let program = session.build(source, flags)?;
    for run in 1..=2 {
        let recording = session.record(Collector::Bpf, &[&program])?;
        assert!(recording.run.status.success(), "{}", recording.run.stderr);
        let objects = recording.report("objects", "object");
        let text = |row: &serde_json::Map<String, serde_json::Value>, key: &str| {
            row[key].as_str().expect("a text").to_owned()
        };
        let found: BTreeSet<(String, String)> =
            objects.rows().map(|row| (text(row, "kind"), text(row, "object"))).collect();
        for &(kind, name) in expected {
            // A line number or the path of a procedure may follow.
            let is_it = |(of_kind, found): &(String, String)| {
                of_kind == kind && (found == name || found.starts_with(&format!("{name} (")))
            };
            assert!(found.iter().any(is_it), "run {run}: no {kind} {name} among {found:#?}");
        }
    }
    Ok(())
}

#[test]
fn locks_have_the_names_of_the_variables_that_hold_them() {
    let session = Session::start();
    let library = or_skip!(session.build("planted_library.c", &["-shared", "-fPIC"]));
    let expected = [
        ("mutex", "table_lock"),
        ("mutex", "pool+0x28"),
        ("condition", "filled"),
        ("rwlock", "settings"),
        ("mutex", "turn"),
        ("mutex", "library_lock"),
        ("mutex", "mutex in with_heap_lock"),
        ("thread end", "end of thread holder"),
    ];
    let library = library.to_str().unwrap();
    for flags in [&[library][..], &[library, "-no-pie"]] {
        or_skip!(assert_objects(&session, "planted_locks.c", flags, &expected));
    }
}

#[test]
fn a_static_program_has_the_same_names() {
    let session = Session::start();
    let library = session.path().join("planted_library.o");
    or_skip!(session.build("planted_library.c", &["-c", "-o", library.to_str().unwrap()]));
    let expected =
        [("mutex", "table_lock"), ("mutex", "pool+0x28"), ("condition", "filled"), ("rwlock", "settings")];
    let flags = [library.to_str().unwrap(), "-static"];
    or_skip!(assert_objects(&session, "planted_locks.c", &flags, &expected));
}

#[test]
fn rust_objects_have_kinds_and_names() {
    let session = Session::start();
    let expected = [
        ("mutex", "rust_locks::TABLE"),
        ("rwlock", "rust_locks::LINES"),
        ("mutex", "mutex in rust_locks::Cache::get"),
        ("channel", "channel in rust_locks::receive"),
        ("parker", "parker in rust_locks::rest"),
    ];
    or_skip!(assert_objects(&session, "rust_locks.rs", &[], &expected));
}

#[test]
fn cpp_objects_have_kinds_and_names() {
    let session = Session::start();
    let expected = [
        ("mutex", "store::cache"),
        ("rwlock", "store::cache+0x28"),
        ("mutex", "mutex in Table::add(bool)"),
        ("semaphore", "permits"),
        ("barrier", "started"),
        ("condition", "gate"),
        ("barrier", "barrier in meet"),
    ];
    or_skip!(assert_objects(&session, "cpp_locks.cpp", &["-std=c++20"], &expected));
}

#[test]
fn openmp_objects_have_kinds_and_names() {
    let session = Session::start();
    let expected =
        [("mutex", "critical section stats"), ("mutex", "counter_lock"), ("barrier", "barrier in main")];
    or_skip!(assert_objects(&session, "openmp_locks.c", &["-fopenmp"], &expected));
}

#[test]
fn sockets_pipes_files_and_children_are_named_by_who_uses_them() {
    let session = Session::start();
    let expected = [
        ("socket", "socket client ↔ exchange"),
        ("pipe", "pipe exchange → client"),
        ("file lock", "lock of file journal"),
        ("process end", "end of process client"),
    ];
    or_skip!(assert_objects(&session, "exchange.c", &[], &expected));
    let recording = Recording::at(&session.path().join("bpf.longpole"));
    recording.waits().assert_seconds("the client waits for answers", 0.07, 1.0, |wait| {
        wait.process == "client" && wait.cause == Cause::Socket && wait.is_ended_by("exchange")
    });
}

/// The numbers of lock_order.c, by everybody who has the agent in the program.
#[test]
fn holds_and_orders_of_free_locks_are_counted_exactly() {
    let session = Session::start();
    let program = or_skip!(session.build("lock_order.c", &[]));
    for options in [&["--collector", "agent"][..], &["--collector", "bpf", "--locks"]] {
        let recording = session.record_with(options, &program);
        let all = recording.report_with("objects", "object", &["--all"]);
        for (lock, least) in [("journal", 0.2), ("accounts", 0.25)] {
            assert_eq!(all.sum("object", lock, "acquisitions"), 150.0, "{options:?} {:#}", all.value["rows"]);
            assert_eq!(all.sum("object", lock, "contended_acquisitions"), 0.0);
            // On a busy machine a thread keeps its locks while it waits for a processor.
            let held = all.sum("object", lock, "hold_seconds");
            assert!(held >= 0.99 * least, "{options:?}: {lock} held for {held} s");
        }
        let notes = all.value["evidence"]["notes"].to_string();
        assert!(notes.contains("`accounts` was acquired while `journal` was held"), "{notes}");
        let one = recording.report_with("objects", "object", &["--of", "journal"]);
        let times = |order: &str| {
            let rows = one.rows().filter(|row| row.get("order").is_some_and(|it| it == order));
            rows.filter_map(|row| row["acquisitions"].as_f64()).sum::<f64>()
        };
        assert_eq!((times("before"), times("after")), (100.0, 50.0), "{:#}", one.value["rows"]);
    }
}

/// Each process has the lock at another address; in truth the processes with a table each save the waits.
#[test]
fn a_lock_in_memory_that_processes_share_is_one() {
    /// Seconds that others may take from either run.
    const ROOM: f64 = 0.05;
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = session.build("shared_table.c", &["-pthread"]).unwrap();
    let recording = session.record_with(&["--quiet", "--collector", "bpf"], &program);
    let mutex = only(&recording, "mutex");
    let name = mutex["object"].as_str().unwrap();
    assert!(name.starts_with("mutex in main (shared_table.c:"), "{name}");

    let summary = recording.report("summary", "procedure");
    let mut changes = summary.changes("hold the lock shorter");
    // The procedure that works under the lock stands for both.
    let change = changes.find(|change| change["text"] == "update");
    let change = change.unwrap_or_else(|| panic!("{:#}", summary.value["rows"]));
    let truth = session.least_seconds(&program, &[]) - session.least_seconds(&program, &["own"]);
    let [low, high] = ["gain_low_seconds", "gain_high_seconds"].map(|key| change[key].as_f64().unwrap());
    assert!((low - ROOM..high + ROOM).contains(&truth), "{low} to {high} s; in truth {truth}");

    let told = session.record_with(&["--quiet", "--collector", "bpf", "--locks"], &program);
    assert_eq!(only(&told, "mutex")["acquisitions"], 40);
}

/// Who gives the lock back has it again before the others are awake: without the waits for it alone, one thread would do it all.
#[test]
fn a_lock_that_workers_keep_while_they_work_is_to_be_held_shorter() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("kept_lock.c", &["-pthread"]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let summary = recording.report("summary", "procedure");
    let changes: Vec<_> = summary.changes("hold the lock shorter").collect();
    // Two processors do 420 ms of work in 210; beside other programs all takes longer.
    let most =
        changes.iter().filter_map(|change| change.get("gain_high_seconds")?.as_f64()).fold(0.0, f64::max);
    assert!(most > 0.15, "{:#}", summary.value["rows"]);
    let is_said = |row: &serde_json::Map<String, serde_json::Value>| {
        row.get("text")
            .and_then(serde_json::Value::as_str)
            .is_some_and(|text| text.contains("the program had none for"))
    };
    assert!(!summary.rows().any(is_said), "the others wait: {:#}", summary.value["rows"]);
}

/// The row of the only object of this kind; rows of one name are one.
fn only(recording: &Recording, kind: &str) -> serde_json::Map<String, serde_json::Value> {
    let objects = recording.report("objects", "object");
    let of_kind: Vec<_> = objects.rows().filter(|row| row["kind"] == kind).collect();
    assert!(of_kind.len() == 1 && of_kind[0]["objects"] == 1, "{of_kind:#?}");
    of_kind[0].clone()
}

#[test]
fn semaphores_of_one_set_are_told_apart() {
    let session = Session::start();
    let program = or_skip!(session.build("system_v.c", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let objects = recording.report("objects", "object");
    let semaphores: Vec<_> = objects.rows().filter(|row| row["kind"] == "semaphore").collect();
    // Rows of one name are one.
    assert!(semaphores.iter().all(|row| row["objects"] == 2), "{semaphores:#?}");
    assert!(!semaphores.is_empty(), "{:#}", objects.value["rows"]);
    // The parser waits for the writer, and for nobody who has what it wants.
    let summary = recording.report("summary", "procedure");
    assert_eq!(summary.changes("hold shorter or let more in").count(), 0, "{:#}", summary.value["rows"]);
}

#[test]
fn waits_for_a_write_of_another_process_are_for_the_kernel_s_lock_of_the_file() {
    let session = Session::start();
    let program = or_skip!(session.build("common_journal.c", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let objects = recording.report("objects", "object");
    let is_it = |row: &serde_json::Map<String, serde_json::Value>| {
        row["kind"] == "kernel lock" && row["object"] == "kernel lock of file journal"
    };
    assert!(objects.rows().any(is_it), "{:#}", objects.value["rows"]);
}

#[test]
fn a_queue_of_messages_is_one_for_all_processes_that_open_it() {
    let session = Session::start();
    let program = or_skip!(session.build("message_queue.c", &["-lrt"]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    assert_eq!(only(&recording, "channel")["object"], "channel jobs");
}

/// The recorder looks at the lock of a long wait by itself; what it finds comes after the events before.
#[test]
fn looks_at_the_owner_of_a_lock_leave_the_order_of_events_as_it_is() {
    let session = Session::start();
    let program = session.build("long_device.c", &["-pthread"]).unwrap();
    for collector in [Collector::Bpf, Collector::Process] {
        let recording = or_skip!(session.record(collector, &[&program]));
        assert!(recording.run.status.success(), "{}", recording.run.stderr);
        assert_laws(&recording);
        recording.waits().assert_seconds("a user waits", 0.35, 2.5, |wait| wait.cause == Cause::Lock);
    }
}
