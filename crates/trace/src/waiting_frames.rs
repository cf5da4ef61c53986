//! Procedures that only wait or wake: they are left out of the path that a switch or wake is charged to,
//! and they tell what kind of thing was waited for.
//!
//! ```text
//! main → worker → Cache::get → pthread_mutex_lock → __lll_lock_wait       innermost last
//!                 └ charged ┘  └ waiting frames: the outermost one names the kind: mutex
//! ```
//! A name is matched as a whole or, with a trailing `*`, by its beginning; names of C libraries are matched
//! without leading underscores. The tables of names are data.

mod names;
mod python;

use longpole_symbols::is_openmp;

use names::{
    BARRIER, C_NAMES, CONDITION, CPP_NAMES, GO_METHODS, GO_NAMES, JAVA_NAMES, RUST_NAMES, SEMAPHORE,
};
pub(crate) use python::own_hint;

use crate::objects::ObjectKind;
use crate::paths::Procedure;
use crate::state::Cause;

/// What a waiting frame tells about the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The wait is for such an object.
    Object(ObjectKind),
    /// The same, and the object has two futexes, side by side at a multiple of eight bytes (glibc's condition
    /// variables and reader-writer locks).
    Paired(ObjectKind),
    /// The same, and the futex belongs to the thread that waits.
    PerThreadObject(ObjectKind),
    /// The wait has this cause, and is for no object that is known.
    Cause(Cause),
    /// The futex of the wait belongs to the thread that waits, and the frame does not tell for what.
    PerThread,
    /// The frame belongs to the wait but does not tell its cause.
    Inner,
}

/// What the file of the collector's code in a program is called: its name begins so.
pub(crate) const AGENT: &str = "longpole-agent";

/// Modules whose every procedure is part of the operation that the program asked for.
pub(crate) fn is_runtime_module(module: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "libc.so",
        "libc-2.",
        "libpthread",
        "ld-linux",
        "ld-musl",
        "libstdc++.so",
        "libc++.so",
        "libgomp.so",
        "libomp.so",
        "libiomp5.so",
        "librt.so",
        "librt-",
        AGENT,
        "[vdso]",
    ];
    PREFIXES.iter().any(|prefix| module.starts_with(prefix)) || is_message_library(module)
}

/// A library by which processes pass messages, or one that only such libraries use.
#[must_use]
pub fn is_message_library(module: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "libmpi",
        "libopen-rte",
        "libopen-pal",
        "libprrte",
        "libpmix",
        "libucp",
        "libuct",
        "libucs",
        "libfabric",
        "libpsm",
        "libevent_core",
        "mca_",
    ];
    PREFIXES.iter().any(|prefix| module.starts_with(prefix))
}

/// What the procedure tells; `None` for one of the program.
pub(crate) fn hint_of(procedure: &Procedure) -> Option<Hint> {
    if procedure.is_function_of_python() {
        return python::hint(procedure);
    }
    hint(&procedure.name, &procedure.module)
}

/// What the procedure `name` of `module` tells; `None` for a procedure of the program.
fn hint(name: &str, module: &str) -> Option<Hint> {
    let plain = name.split(['(', '<', '@']).next().unwrap_or(name);
    let c_name = c_name(plain);
    let found = lookup(C_NAMES, c_name)
        .or_else(|| lookup(RUST_NAMES, rust_path(name).as_str()))
        .or_else(|| waited_on_by_address(name))
        .or_else(|| lookup(CPP_NAMES, plain))
        .or_else(|| lookup(GO_NAMES, plain))
        .or_else(|| lookup(GO_METHODS, name))
        .or_else(|| lookup(JAVA_NAMES, plain));
    match found {
        Some(hint) => Some(hint),
        None if is_openmp(module) => Some(BARRIER),
        None if is_runtime_module(module) => Some(Hint::Inner),
        None => None,
    }
}

/// Whether a procedure acquires a lock of the C library for readers and writers, to write.
pub(crate) fn writes_lock(name: &str) -> bool {
    let name = c_name(name.split(['(', '<', '@']).next().unwrap_or(name));
    name.starts_with("pthread_rwlock_") && name.contains("wrlock")
}

/// A name of the C library without underscores, and without what marks its own names: `__GI___pthread_mutex_unlock`.
fn c_name(plain: &str) -> &str {
    let name = plain.trim_start_matches('_');
    name.strip_prefix("GI_").map_or(name, |name| name.trim_start_matches('_'))
}

/// libstdc++'s latches, barriers and semaphores wait in one procedure, whose arguments tell for whom.
fn waited_on_by_address(name: &str) -> Option<Hint> {
    const WAITS: &str = "std::__atomic_wait_address";
    let users =
        [("std::__tree_barrier", BARRIER), ("std::latch", BARRIER), ("std::__atomic_semaphore", SEMAPHORE)];
    let arguments = &name[name.find(WAITS)?..];
    Some(users.iter().find(|(user, _)| arguments.contains(user)).map_or(CONDITION, |&(_, hint)| hint))
}

/// What a wait in an entry of OpenMP's runtime tells.
pub(crate) fn openmp_hint(entry: &str) -> Option<Hint> {
    hint(entry, "libgomp.so")
}

/// `<std::sync::Mutex<T> as X>::lock` and `std::sync::Mutex<T>::lock` as `std::sync::Mutex::lock`.
fn rust_path(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    let mut depth = 0_usize;
    // A leading `<T as Trait>` or `<T>` stands for T.
    let name = match name.strip_prefix('<') {
        Some(rest) => {
            let end = rest.find(" as ").or_else(|| rest.rfind(">::")).unwrap_or(rest.len());
            let method = name.rfind(">::").map_or("", |at| &name[at + 1..]);
            path.push_str(rest[..end].split('<').next().unwrap_or(""));
            method
        }
        None => name,
    };
    for character in name.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => path.push(character),
            _ => {}
        }
    }
    // `Mutex::<T>::lock` has left an empty segment.
    path.replace("::::", "::")
}

type WaitingFrameTable = &'static [(&'static str, Hint)];

fn lookup(table: WaitingFrameTable, name: &str) -> Option<Hint> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    };
    table.iter().find(|(pattern, _)| matches(pattern)).map(|&(_, hint)| hint)
}

#[cfg(test)]
mod tests {
    use super::names::*;
    use super::*;

    #[test]
    fn c_names_are_matched_without_their_underscores() {
        assert_eq!(hint("___pthread_mutex_lock", "libc.so.6"), Some(MUTEX));
        assert_eq!(hint("__pthread_cond_wait_common", "a.out"), Some(CONDITION_PAIR));
        assert_eq!(hint("pthread_join", "a.out"), Some(JOIN));
        assert_eq!(hint("__GI___pthread_mutex_unlock_usercnt", "libc.so.6"), Some(MUTEX));
    }

    #[test]
    fn every_procedure_of_a_c_library_belongs_to_the_operation() {
        assert_eq!(hint("_IO_file_underflow", "libc.so.6"), Some(INNER));
        assert_eq!(hint("[libc.so.6]", "libc.so.6"), Some(INNER));
        assert_eq!(hint("_IO_file_underflow", "a.out"), None);
    }

    #[test]
    fn rust_paths_are_matched_without_generic_arguments() {
        assert_eq!(hint("std::sync::poison::mutex::Mutex<T>::lock", "a"), Some(MUTEX));
        assert_eq!(hint("<std::sync::mpmc::Receiver<T> as core::ops::Drop>::drop", "a"), Some(CHANNEL));
        assert_eq!(hint("std::thread::JoinHandle<T>::join", "a"), Some(JOIN));
        assert_eq!(hint("<std::thread::thread::Thread>::park", "a"), Some(PARK));
        assert_eq!(hint("<std::sync::poison::mutex::Mutex<u64>>::lock", "a"), Some(MUTEX));
        assert_eq!(hint("my_program::sync::mutex::Mutex<T>::lock", "a"), None);
    }

    #[test]
    fn the_hints_of_each_library_name_the_kind_of_object() {
        let cases = [
            ("pthread_rwlock_wrlock", RWLOCK_PAIR),
            ("pthread_once", ONCE),
            ("pthread_barrier_wait", BARRIER),
            ("sem_wait@GLIBC_2.2.5", SEMAPHORE),
            ("__cxa_guard_acquire", ONCE),
            ("std::sys::sync::rwlock::futex::RwLock::write_contended", RWLOCK),
            ("std::sync::once_lock::OnceLock<T>::initialize", ONCE),
            ("std::sync::lazy_lock::LazyLock<T,F>::force", ONCE),
            ("std::sync::barrier::Barrier::wait", BARRIER),
            ("<std::sync::mpmc::list::Channel<u64>>::recv", CHANNEL),
            ("crossbeam_channel::channel::Receiver<T>::recv", CHANNEL),
            ("std::thread::scoped::scope", JOIN),
            ("parking_lot::raw_mutex::RawMutex::lock_slow", MUTEX),
            ("parking_lot::raw_rwlock::RawRwLock::lock_shared_slow", RWLOCK),
            ("parking_lot::once::Once::call_once_slow", ONCE),
            ("parking_lot_core::parking_lot::park", PER_THREAD),
            ("std::shared_mutex::lock()", RWLOCK),
            ("std::call_once<work(int)::{lambda()#1}>", ONCE),
            ("std::unique_lock<std::shared_mutex>::lock()", INNER),
            ("std::__future_base::_State_baseV2::wait()", FUTURE),
            (
                "void std::__atomic_wait_address<std::__barrier_phase_t, std::__tree_barrier<C>::wait(P&&) const::{lambda()#1}>(P)",
                BARRIER,
            ),
            (
                "std::__atomic_wait_address_bare<std::__atomic_semaphore::_M_acquire()::{lambda()#1}>(int)",
                SEMAPHORE,
            ),
            (
                "std::__atomic_wait_address_v<int, std::__atomic_base<int>::wait(int) const::{lambda()#1}>(int)",
                CONDITION,
            ),
            ("GOMP_critical_name_start", MUTEX),
            ("gomp_team_barrier_wait_end", BARRIER),
            ("GOMP_taskwait", BARRIER),
            ("__kmpc_critical_with_hint", MUTEX),
            ("__kmp_acquire_queuing_lock", MUTEX),
            ("__kmp_release_64", BARRIER),
            ("runtime.lock2", LOCK),
            ("runtime.notesleep", PARK),
            ("ObjectMonitor::enter(JavaThread*)", MUTEX),
            ("ObjectMonitor::wait(long, bool, JavaThread*)", CONDITION),
            ("Parker::park(bool, long)", PARK),
            ("ParkEvent::Allocate", PER_THREAD),
        ];
        for (name, expected) in cases {
            assert_eq!(hint(name, "a.out"), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_procedure_of_the_program_is_no_waiting_frame() {
        for name in
            ["main", "worker(int)", "read_all_lines", "lock_hog", "sleepy", "std_dev", "runtime_total"]
        {
            assert_eq!(hint(name, "a.out"), None, "{name}");
        }
    }
}
