//! Sites are the calls, not what comes after them.

use crate::support::{Collector, Session, or_skip, programs};

const SOURCE: &str = "call_sites.c";

/// The line of the program that bears the mark, as the code that makes it.
fn line(mark: &str) -> f64 {
    let text = std::fs::read_to_string(programs().join(SOURCE)).unwrap();
    let is_it = |line: &str| line.ends_with(&format!("/* {mark} */"));
    text.lines().position(is_it).unwrap() as f64 + 1.0
}

/// `main` takes `journal` in an inlined procedure whose last instruction is the call, on the line before that of other code.
#[test]
fn a_lock_is_acquired_on_the_line_of_the_call_in_the_procedure_that_calls() {
    let session = Session::start();
    let program = or_skip!(session.build(SOURCE, &["-O2"]));
    for options in [&["--collector", "agent"][..], &["--collector", "bpf", "--locks"]] {
        let one =
            session.record_with(options, &program).report_with("objects", "object", &["--of", "journal"]);
        let sites: Vec<_> = one.rows().filter(|row| row["section"] == "acquisition").collect();
        let [site] = &sites[..] else { panic!("{options:?}: {sites:#?}") };
        assert_eq!(site["procedure"], "acquire", "{options:?}");
        assert_eq!(site["line"], line("LINE_OF_LOCK"), "{options:?}");
    }
}

/// `rest_for_ever` ends with a system call, and `stays` with the call of that: what comes after them is no code of theirs.
#[test]
fn a_wait_in_a_call_that_ends_a_function_is_in_that_function() {
    let session = Session::start();
    let program = or_skip!(session.build(SOURCE, &["-O2"]));
    for collector in [Collector::Bpf, Collector::Perf] {
        let recording = or_skip!(session.record(collector, &[&program]));
        let waits = recording.waits();
        // The other thread waits for nothing; what it takes to start and to end is below 1 ms.
        waits.assert_seconds("rests", 0.15, 1.0, |wait| wait.is_in("rest_for_ever") && wait.is_in("stays"));
        let beside = waits.seconds(|wait| wait.is_in("after_rest") || wait.is_in("after_stays"));
        assert_eq!(beside, 0.0, "{collector:?}");
    }
}
