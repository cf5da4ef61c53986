//! What the installed `perf` records, imported and asked for what the program is known to do.

mod lockers;
mod perf_tool;
mod recorded;

use lockers::assert_known_answer;
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
fn dumped_stacks_tell_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(recorded) = recorded(folder.path(), "lockers", &["-a", "--call-graph", "dwarf,4096"]) {
        assert_known_answer(&recorded);
    }
}
