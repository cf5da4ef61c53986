//! Dependences for which no thread need have waited: the critical path, zeroing and what-if of programs whose answers are
//! worked out in their first comments, by the kernel alone and with the agent.

use std::path::Path;

use crate::support::{Collector, Recording, Session, longpole, or_skip};

/// Milliseconds by which a length may be off: what a program does beside its work, and how samples divide it.
const CLOSE: f64 = 25.0;
/// The answers are those of a run in which each thread has a processor when it wants one. Where others take the processors
/// from it, sections of a team go to other threads and locks to other waiters: such a run is made again, at most so often.
const ATTEMPTS: usize = 4;
/// Share of the run for which threads may lack a processor, all together.
const CROWDED: f64 = 0.1;

const KERNEL: &[&str] = &["--collector", "bpf"];
const WITH_AGENT: &[&str] = &["--collector", "bpf", "--locks"];

/// Procedures that take turns on one thread are told apart by samples alone: as many as make their error small.
const SAMPLED_OFTEN: &[&str] = &["--collector", "bpf", "--frequency", "4999"];
const SAMPLED_OFTEN_WITH_AGENT: &[&str] = &["--collector", "bpf", "--frequency", "4999", "--locks"];

/// A program whose threads spin at the end of their region.
const SPINNING: &str = "openmp_team.c";

/// What a program's comment works out; all in milliseconds.
struct Expected<'a> {
    length: f64,
    zeroing: &'a [(&'a str, f64)],
    /// A change, and the length after it.
    what_if: (&'a str, f64),
}

/// The three orders of joins, and barriers, give this answer.
const LONGEST_OF_THREE: Expected<'_> = Expected {
    length: 220.0,
    zeroing: &[("P1", 30.0), ("P2", 0.0), ("P3", 0.0)],
    what_if: ("procedure:P1=0", 190.0),
};

/// So do late joins and late items.
const LATE: Expected<'_> = Expected {
    length: 200.0,
    zeroing: &[("A", 40.0), ("B", 0.0), ("C", 0.0), ("D", 100.0)],
    what_if: ("procedure:A=0", 160.0),
};

fn assert_close(what: &str, milliseconds: f64, expected: f64) {
    let is_close = (milliseconds - expected).abs() <= CLOSE;
    assert!(is_close, "{what}: {milliseconds:.1} ms, not {expected:.1} ± {CLOSE}");
}

fn assert_answers(recording: &Recording, expected: &Expected<'_>) {
    let (change, after) = expected.what_if;
    let answer = recording.what_if(&[change]);
    let row = answer.rows().find(|row| row["section"] == "change").expect("the change has a row");
    let of = |column: &str| 1e3 * row[column].as_f64().expect("a number");
    assert_close("length", of("path_after_seconds") + of("path_gain_seconds"), expected.length);
    assert_close(change, of("path_after_seconds"), after);
    let zeroing = recording.report("zeroing", "procedure");
    for &(procedure, gain) in expected.zeroing {
        let found = 1e3 * zeroing.sum("procedure", procedure, "zeroing_seconds");
        assert_close(&format!("zeroing of {procedure}"), found, gain);
    }
}

/// Builds a program, records it and compares.
fn assert_program(source: &str, arguments: &[&str], options: &[&str], expected: &Expected<'_>) {
    or_skip!(Collector::Bpf.permitted());
    let session = Session::start();
    let program =
        or_skip!(session.build(source, if source.contains("openmp") { &["-fopenmp"] } else { &[] }));
    assert_built(&session, (source, &program), arguments, options, expected);
}

/// Records a program and compares. A kernel that does not show what the program depends on is a reason to
/// skip; `shown` names what its evidence would say is missing.
fn assert_built(
    session: &Session,
    (source, program): (&str, &Path),
    arguments: &[&str],
    options: &[&str],
    expected: &Expected<'_>,
) {
    let shown = match source {
        "late_pipe.c" => "reads of pipes",
        "late_socket.c" => "reads of local sockets",
        "late_datagram.c" => "datagrams",
        _ => "nothing",
    };
    let path = session.path().join("x.longpole");
    let record = || {
        let mut record = longpole();
        record.args(["record", "--force"]).args(options).arg("-o").arg(&path).arg("--").arg(program);
        // Who spins at a barrier instead of blocking, only the agent sees arrive.
        let policy = if source == SPINNING { "active" } else { "passive" };
        let run = session.run(record.args(arguments).env("OMP_WAIT_POLICY", policy));
        assert!(run.status.success(), "{}", run.stderr);
        Recording { path: path.clone(), run }
    };
    let mut recording = record();
    for _ in 1..ATTEMPTS {
        if recording.lacked_processors() <= CROWDED {
            break;
        }
        recording = record();
    }
    let notes = recording.report("evidence", "procedure").value["evidence"]["notes"].to_string();
    // Where the kernel does not show it, the answer has to say so, and is not held to the truth.
    if notes.contains("the kernel does not show") && notes.contains(shown) {
        return;
    }
    assert_answers(&recording, expected);
}

#[test]
fn the_order_in_which_joins_are_written_does_not_matter() {
    for order in ["123", "321", "231"] {
        assert_program("fork_join.c", &[order], KERNEL, &LONGEST_OF_THREE);
    }
    assert_program("fork_join.c", &["321"], WITH_AGENT, &LONGEST_OF_THREE);
}

#[test]
fn all_that_come_to_a_barrier_let_all_go() {
    for options in [KERNEL, WITH_AGENT] {
        assert_program("barrier_then_serial.c", &[], options, &LONGEST_OF_THREE);
    }
}

#[test]
fn who_comes_last_to_a_barrier_may_have_worked_least() {
    let expected = Expected {
        length: 200.0,
        zeroing: &[("A", 50.0), ("B", 0.0), ("C", 0.0), ("D", 90.0)],
        what_if: ("procedure:A=0", 150.0),
    };
    for options in [KERNEL, WITH_AGENT] {
        assert_program("barrier_sleeping_late.c", &[], options, &expected);
    }
}

#[test]
fn ends_of_threads_and_children_are_joined_late() {
    for options in [KERNEL, WITH_AGENT] {
        assert_program("late_join.c", &[], options, &LATE);
    }
}

#[test]
fn joins_by_rare_functions_of_the_program_or_of_a_library_are_seen() {
    or_skip!(Collector::Bpf.permitted());
    let session = Session::start();
    let source = "late_join.c";
    let tries = or_skip!(session.build(source, &["-DTRY"]));
    assert_built(&session, (source, &tries), &[], KERNEL, &LATE);
    let usual = or_skip!(session.build(source, &[]));
    let library = or_skip!(session.build("join_library.c", &["-shared", "-fPIC"]));
    assert_built(&session, (source, &usual), &[library.to_str().unwrap()], KERNEL, &LATE);
}

#[test]
fn data_of_a_pipe_is_read_late() {
    assert_program("late_pipe.c", &[], KERNEL, &LATE);
}

#[test]
fn data_of_a_socket_is_read_late() {
    assert_program("late_socket.c", &[], KERNEL, &LATE);
}

#[test]
fn datagrams_are_received_late() {
    assert_program("late_datagram.c", &[], KERNEL, &LATE);
}

#[test]
fn a_client_depends_on_what_its_server_does() {
    let expected = Expected {
        length: 250.0,
        zeroing: &[("look_up", 200.0), ("make_request", 50.0)],
        what_if: ("procedure:look_up=0.5", 150.0),
    };
    for arguments in [&[][..], &["local"]] {
        assert_program("client_and_server.c", arguments, KERNEL, &expected);
    }
}

#[test]
fn a_semaphore_is_taken_long_after_its_post() {
    assert_program("late_semaphore.c", &[], WITH_AGENT, &LATE);
}

#[test]
fn a_lock_that_was_free_makes_no_order() {
    let expected =
        Expected { length: 100.0, zeroing: &[("A", 10.0), ("D", 0.0)], what_if: ("procedure:A=0", 90.0) };
    assert_program("late_lock.c", &[], WITH_AGENT, &expected);
}

#[test]
fn exclusion_is_not_order() {
    let expected = Expected {
        length: 462.0,
        zeroing: &[("A", 202.0), ("B", 0.0), ("X", 150.0)],
        what_if: ("procedure:A=0", 260.0),
    };
    for options in [SAMPLED_OFTEN, SAMPLED_OFTEN_WITH_AGENT] {
        assert_program("exclusion.c", &[], options, &expected);
    }
}

#[test]
fn page_faults_that_wait_for_the_memory_map_make_no_order() {
    or_skip!(Collector::Bpf.permitted());
    let session = Session::start();
    let program = or_skip!(session.build("fresh_memory.c", &[]));
    let recording = session.record_with(KERNEL, &program);
    let answer = recording.what_if(&["procedure:touch=0"]);
    let row = answer.rows().find(|row| row["section"] == "change").expect("the change has a row");
    let after = 1e3 * row["path_after_seconds"].as_f64().expect("a number");
    let path = recording.report("critical-path", "procedure");
    let rest = 1e3 * (path.sum_of("seconds") - path.sum("procedure", "touch", "seconds"));
    // One thread's compute, and what the rest of the longest thread takes: the other one's is no part of it.
    assert!(after > 150.0 && after < 1.2 * rest, "{after:.1} ms, {rest:.1} without touch");
    let waits = recording.report("waits", "procedure");
    let faults = waits.rows().filter(|row| row.get("procedure").is_some_and(|name| name == "touch"));
    let kinds: Vec<&str> = faults.filter_map(|row| row.get("kind")?.as_str()).collect();
    assert!(kinds.iter().all(|&kind| kind == "kernel lock"), "{kinds:?}");
}

#[test]
fn items_of_a_queue_are_taken_long_after_they_were_put() {
    let expected = Expected {
        length: 420.0,
        zeroing: &[("P", 20.0), ("Q", 70.0), ("D", 150.0)],
        what_if: ("procedure:Q=0.2", 355.0),
    };
    assert_program("queue_behind_mutex.c", &[], SAMPLED_OFTEN_WITH_AGENT, &expected);
}

#[test]
fn holds_of_a_busy_lock_follow_each_other() {
    // The U or V of one thread may come beside the holds of the other, and need not: 380 to 440 ms.
    let expected = Expected {
        length: 390.0,
        zeroing: &[("A", 150.0), ("B", 150.0), ("U", 5.0), ("V", 5.0)],
        what_if: ("procedure:A=0", 240.0),
    };
    assert_program("busy_lock.c", &[], SAMPLED_OFTEN_WITH_AGENT, &expected);
}

#[test]
fn all_sections_of_a_team_lead_to_its_end() {
    for options in [KERNEL, WITH_AGENT] {
        assert_program("openmp_sections.c", &[], options, &LONGEST_OF_THREE);
    }
}

#[test]
fn who_is_early_at_the_end_of_a_region_arrives_though_nobody_waits_yet() {
    assert_program(SPINNING, &[], WITH_AGENT, &LONGEST_OF_THREE);
}
