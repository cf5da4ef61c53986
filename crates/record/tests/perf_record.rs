//! What the installed `perf` records, imported and asked for what the program is known to do.

#![allow(clippy::print_stderr, reason = "a skipped test says why")]

mod lockers;
mod perf_tool;
mod recorded;

use lockers::{assert_known_answer, is_wait};
use perf_tool::recorded;

#[test]
fn a_recording_of_the_program_alone_tells_what_it_did() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(recorded) = recorded(folder.path(), "lockers", &["-g"]) {
        assert_known_answer(&recorded);
    }
}

#[test]
fn a_compressed_recording_of_the_machine_tells_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(recorded) = recorded(folder.path(), "lockers", &["-a", "-z", "-g"]) {
        assert_known_answer(&recorded);
    }
}

#[test]
fn dumped_stacks_name_the_caller_of_the_lock_where_frame_pointers_lose_it() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(recorded) = recorded(folder.path(), "lockers", &["-a", "--call-graph", "dwarf,4096"]) {
        assert_known_answer(&recorded);
        let waits = recorded.stacks_at_outs("first", is_wait);
        let placed =
            waits.iter().filter(|stack| recorded.procedures(**stack).contains(&"locked_work")).count();
        assert!(placed * 10 >= waits.len() * 9, "{placed} of {} in locked_work", waits.len());
    }
}
