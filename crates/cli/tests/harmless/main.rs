//! The agent changes nothing: programs that look closely run the same with it as without.
//!
//! Each program of `programs/` prints what it sees (results, errno, masks, counts, orders) and ends with a status of its own.
//! It runs bare, with the agent alone (all hooks tell), and with the agent beside a collector of the kernel's.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod absent;
mod hostile;
mod roots;
mod run;

use std::path::{Path, PathBuf};

use run::{assert_same, build, build_library, compile, file_size};

/// Every function leaves errno and its result as it would without the agent.
#[test]
fn errno_and_results() {
    assert_same(&build("errno.c"), &[]);
}

#[test]
fn signal_handlers_masks_and_jumps_out_of_handlers() {
    assert_same(&build("signals.c"), &[]);
}

#[test]
fn cancellation_in_every_wait_and_exceptions() {
    assert_same(&build("cancel.cpp"), &[]);
}

#[test]
fn forks_of_every_kind_executions_and_bare_threads() {
    assert_same(&build("forks.c"), &[]);
}

#[test]
fn before_main_after_main_thread_ends_and_libraries_that_come_and_go() {
    let library = build_library("library.cpp");
    assert_same(&build("ends.cpp"), &[library.to_str().unwrap()]);
}

#[test]
fn small_limits_and_filters() {
    assert_same(&build("limits.c"), &[]);
}

/// Under a filter that ends the process at the first call of somebody else's.
#[test]
fn filters_that_end_the_process() {
    assert_same(&build("filters.c"), &[]);
}

#[test]
fn ten_thousand_threads() {
    assert_same(&build("many_threads.c"), &["10000"]);
}

#[test]
fn stack_overflows_signal_stacks_and_coroutines() {
    assert_same(&build("stacks.c"), &[]);
}

#[test]
fn hooks_allocate_nothing() {
    assert_same(&build("no_malloc.c"), &[]);
}

#[test]
fn programs_that_a_sanitizer_watches() {
    for sanitizer in ["address", "thread", "undefined"] {
        let flag = format!("-fsanitize={sanitizer}");
        let program = run::compile("leftovers.c", sanitizer, &[&flag]);
        assert_same(&program, &[]);
    }
}

#[test]
fn no_descriptor_process_or_file_is_left() {
    assert_same(&build("leftovers.c"), &[]);
}

#[test]
fn whatever_the_program_tells() {
    assert_same(&build("told.c"), &[]);
}

#[test]
fn openmp_by_gcc_s_runtime_and_by_llvm_s() {
    let program = compile("openmp.cpp", "", &["-fopenmp"]);
    assert_same(&program, &[]);
    let Some(library) = llvm_openmp() else { return longpole_testkit::skipped("libomp is not installed") };
    let (program, library) = (program.display(), library.display());
    let script = format!("LD_PRELOAD=\"$LD_PRELOAD:{library}\" exec {program}");
    assert_same(Path::new("/bin/sh"), &["-c", &script]);
}

#[test]
fn an_openmp_runtime_that_only_a_loaded_library_sees() {
    let library = compile("openmp_library.c", ".so", &["-shared", "-fPIC", "-fopenmp"]);
    assert_same(&build("openmp_loader.c"), &[library.to_str().unwrap()]);
}

/// LLVM's OpenMP runtime, where Debian and Ubuntu keep it.
fn llvm_openmp() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    folders.map(|folder| folder.join("lib/libomp.so.5")).find(|library| library.is_file())
}

/// A file of which the loader maps everything costs each program its size. MPI's functions have many names: a hook is to be
/// some bytes of code, a name and a row of a table.
#[test]
fn the_library_is_small() {
    let size = file_size();
    assert!(size < 500 << 10, "{size} bytes");
}
