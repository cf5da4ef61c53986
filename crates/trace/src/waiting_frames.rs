//! Procedures that only wait or wake: they are left out of the path that a switch or wake is charged to,
//! and they tell what kind of wait it was.
//!
//! ```text
//! main → worker → Cache::get → pthread_mutex_lock → __lll_lock_wait       innermost last
//!                 └ charged ┘  └ waiting frames: the outermost one names the cause: lock
//! ```
//! A name is matched as a whole or, with a trailing `*`, by its beginning; names of C libraries are matched
//! without leading underscores. The tables are data: a runtime is added by adding its lines.

use crate::state::Cause;

/// What a waiting frame tells about the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The wait has this cause.
    Cause(Cause),
    /// The frame belongs to the wait but does not tell its cause.
    Inner,
}

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
        "[vdso]",
    ];
    PREFIXES.iter().any(|prefix| module.starts_with(prefix))
}

/// What the procedure `name` of `module` tells; `None` for a procedure of the program.
pub(crate) fn hint(name: &str, module: &str) -> Option<Hint> {
    let plain = name.split(['(', '<', '@']).next().unwrap_or(name);
    let c_name = plain.trim_start_matches('_');
    let found = lookup(C_NAMES, c_name)
        .or_else(|| lookup(RUST_NAMES, rust_path(name).as_str()))
        .or_else(|| lookup(CPP_NAMES, plain))
        .or_else(|| lookup(GO_NAMES, plain))
        .or_else(|| lookup(JAVA_NAMES, plain));
    match found {
        Some(hint) => Some(hint),
        None if is_openmp(module) => Some(Hint::Cause(Cause::Barrier)),
        None if is_runtime_module(module) => Some(Hint::Inner),
        None => None,
    }
}

fn is_openmp(module: &str) -> bool {
    ["libgomp.so", "libomp.so", "libiomp5.so"].iter().any(|prefix| module.starts_with(prefix))
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

type Table = &'static [(&'static str, Hint)];

fn lookup(table: Table, name: &str) -> Option<Hint> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    };
    table.iter().find(|(pattern, _)| matches(pattern)).map(|&(_, hint)| hint)
}

const INNER: Hint = Hint::Inner;
const LOCK: Hint = Hint::Cause(Cause::Lock);
const CONDITION: Hint = Hint::Cause(Cause::Condition);
const BARRIER: Hint = Hint::Cause(Cause::Barrier);
const JOIN: Hint = Hint::Cause(Cause::Join);
const CHILD: Hint = Hint::Cause(Cause::Child);
const SEMAPHORE: Hint = Hint::Cause(Cause::Semaphore);
const MESSAGE: Hint = Hint::Cause(Cause::Message);
const SLEEP: Hint = Hint::Cause(Cause::Sleep);
const PARK: Hint = Hint::Cause(Cause::Park);

/// glibc, musl, libgomp, libomp: names without leading underscores.
const C_NAMES: Table = &[
    ("pthread_mutex_cond_lock*", LOCK),
    ("pthread_mutex_*", LOCK),
    ("pthread_rwlock_*", LOCK),
    ("pthread_spin_*", LOCK),
    ("pthread_cond_*", CONDITION),
    ("pthread_barrier_*", BARRIER),
    ("pthread_join", JOIN),
    ("pthread_timedjoin_np", JOIN),
    ("pthread_clockjoin*", JOIN),
    ("pthread_once*", LOCK),
    ("pthread_create*", INNER),
    ("lll_lock_wait*", LOCK),
    ("lll_lock_wake*", LOCK),
    ("mtx_lock", LOCK),
    ("mtx_unlock", LOCK),
    ("cnd_wait", CONDITION),
    ("thrd_join", JOIN),
    ("sem_wait*", SEMAPHORE),
    ("sem_timedwait*", SEMAPHORE),
    ("sem_clockwait*", SEMAPHORE),
    ("sem_post*", SEMAPHORE),
    ("new_sem_*", SEMAPHORE),
    ("mq_*", MESSAGE),
    ("futex*", INNER),
    ("GI___futex*", INNER),
    ("timedwait*", INNER),
    ("wait4", CHILD),
    ("waitpid", CHILD),
    ("waitid", CHILD),
    ("vfork", CHILD),
    ("posix_spawn*", CHILD),
    ("spawni*", CHILD),
    ("clone*", INNER),
    ("fork", INNER),
    ("nanosleep", SLEEP),
    ("clock_nanosleep*", SLEEP),
    ("usleep", SLEEP),
    ("sleep", SLEEP),
    ("syscall", INNER),
    ("syscall_cp*", INNER),
    ("read", INNER),
    ("write", INNER),
    ("libc_read", INNER),
    ("libc_write", INNER),
    ("poll", INNER),
    ("epoll_wait", INNER),
    ("select", INNER),
    ("gomp_mutex_lock*", LOCK),
    ("GOMP_critical_*", LOCK),
    ("omp_set_lock", LOCK),
    ("omp_unset_lock", LOCK),
    ("gomp_*barrier*", BARRIER),
    ("gomp_*", BARRIER),
    ("GOMP_barrier", BARRIER),
    ("kmp_*barrier*", BARRIER),
    ("kmpc_critical*", LOCK),
    ("kmp_*", BARRIER),
    ("kmpc_barrier", BARRIER),
];

/// Rust's std, parking_lot, crossbeam, rayon, tokio: paths without generic arguments.
const RUST_NAMES: Table = &[
    ("std::sync::poison::mutex::*", LOCK),
    ("std::sync::mutex::*", LOCK),
    ("std::sync::nonpoison::mutex::*", LOCK),
    ("std::sys::sync::mutex::*", LOCK),
    ("std::sync::poison::rwlock::*", LOCK),
    ("std::sync::rwlock::*", LOCK),
    ("std::sys::sync::rwlock::*", LOCK),
    ("std::sync::reentrant_lock::*", LOCK),
    ("std::sync::poison::condvar::*", CONDITION),
    ("std::sync::condvar::*", CONDITION),
    ("std::sys::sync::condvar::*", CONDITION),
    ("std::sync::barrier::*", BARRIER),
    ("std::sync::once*", LOCK),
    ("std::sync::poison::once*", LOCK),
    ("std::sys::sync::once::*", LOCK),
    ("std::sync::mpmc::*", MESSAGE),
    ("std::sync::mpsc::*", MESSAGE),
    ("std::thread::JoinHandle::join", JOIN),
    ("std::thread::join_handle::*", JOIN),
    ("std::thread::JoinInner::join", JOIN),
    ("std::thread::scoped::*", JOIN),
    ("std::sys::thread::unix::Thread::join", JOIN),
    ("std::sys::pal::unix::thread::Thread::join", JOIN),
    ("std::thread::sleep*", SLEEP),
    ("std::thread::functions::sleep*", SLEEP),
    ("std::thread::park*", PARK),
    ("std::thread::functions::park*", PARK),
    ("std::thread::Thread::park", PARK),
    ("std::thread::Thread::unpark", PARK),
    ("std::thread::thread::Thread::park", PARK),
    ("std::thread::thread::Thread::unpark", PARK),
    ("std::sys::sync::thread_parking::*", PARK),
    ("std::sys::pal::unix::futex::*", INNER),
    ("std::sys::futex::*", INNER),
    ("std::sys::*", INNER),
    ("std::process::Child::wait*", CHILD),
    ("parking_lot::condvar::*", CONDITION),
    ("parking_lot::raw_mutex::*", LOCK),
    ("parking_lot::raw_rwlock::*", LOCK),
    ("parking_lot::once::*", LOCK),
    ("parking_lot_core::*", INNER),
    ("lock_api::mutex::*", LOCK),
    ("lock_api::rwlock::*", LOCK),
    ("crossbeam_channel::*", MESSAGE),
    ("crossbeam_utils::sync::parker::*", PARK),
    ("crossbeam_utils::sync::wait_group::*", JOIN),
    ("crossbeam_utils::thread::*", JOIN),
    ("rayon_core::latch::*", CONDITION),
    ("rayon_core::sleep::*", PARK),
    ("rayon_core::registry::WorkerThread::wait_until*", PARK),
    ("rayon_core::registry::Registry::in_worker_cold", JOIN),
    ("tokio::runtime::scheduler::multi_thread::park::*", PARK),
    ("tokio::runtime::park::*", PARK),
    ("linux_raw_sys::*", INNER),
    ("rustix::*", INNER),
];

/// libstdc++, libc++, abseil, Boost.
const CPP_NAMES: Table = &[
    ("std::mutex::*", LOCK),
    ("std::shared_mutex::*", LOCK),
    ("std::unique_lock", LOCK),
    ("std::lock_guard", LOCK),
    ("std::scoped_lock", LOCK),
    ("std::condition_variable::*", CONDITION),
    ("std::condition_variable_any::*", CONDITION),
    ("std::_V2::condition_variable_any::*", CONDITION),
    ("std::thread::join", JOIN),
    ("std::thread::_M_start_thread", INNER),
    ("std::jthread::join", JOIN),
    ("std::this_thread::sleep_for*", SLEEP),
    ("std::barrier", BARRIER),
    ("std::counting_semaphore", SEMAPHORE),
    ("std::__atomic_semaphore*", SEMAPHORE),
    ("std::__detail::__waiter*", INNER),
    ("std::__detail::__platform_wait*", INNER),
    ("__gthread_*", INNER),
    ("absl::Mutex::Await*", CONDITION),
    ("absl::Mutex::*", LOCK),
    ("absl::CondVar::*", CONDITION),
    ("absl::synchronization_internal::*", INNER),
    ("boost::condition_variable::*", CONDITION),
    ("boost::thread::join*", JOIN),
];

/// Go's runtime: threads (Ms) without a goroutine to run are parked.
const GO_NAMES: Table = &[
    ("runtime.usleep*", SLEEP),
    ("runtime.futex*", INNER),
    ("runtime.lock*", LOCK),
    ("runtime.unlock*", LOCK),
    ("runtime.notetsleep*", PARK),
    ("runtime.notesleep", PARK),
    ("runtime.notewakeup", PARK),
    ("runtime.semasleep", PARK),
    ("runtime.mPark", PARK),
    ("runtime.stopm", PARK),
    ("runtime.stoplockedm", PARK),
    ("runtime.startm", PARK),
    ("runtime.wakep", PARK),
    ("runtime.ready*", PARK),
    ("runtime.goready*", PARK),
    ("runtime.findRunnable", PARK),
    ("runtime.findrunnable", PARK),
    ("runtime.schedule", PARK),
    ("runtime.park_m", PARK),
    ("runtime.goexit0", PARK),
    ("runtime.gosched_m", PARK),
    ("runtime.mcall", PARK),
    ("runtime.mstart*", PARK),
    ("runtime.systemstack*", INNER),
    ("runtime.netpoll", Hint::Cause(Cause::Poll)),
    ("runtime.epollwait*", Hint::Cause(Cause::Poll)),
    ("runtime/internal/syscall.*", INNER),
    ("internal/runtime/syscall.*", INNER),
    ("syscall.Syscall*", INNER),
    ("syscall.RawSyscall*", INNER),
];

/// OpenJDK's virtual machine and class library, as its perf map names them.
const JAVA_NAMES: Table = &[
    ("ObjectMonitor::wait", CONDITION),
    ("ObjectMonitor::*", LOCK),
    ("ObjectSynchronizer::wait*", CONDITION),
    ("ObjectSynchronizer::*", LOCK),
    ("SharedRuntime::monitor_*", LOCK),
    ("SharedRuntime::complete_monitor_*", LOCK),
    ("InterpreterRuntime::monitorenter*", LOCK),
    ("Monitor::*", CONDITION),
    ("Mutex::*", LOCK),
    ("PlatformMonitor::*", INNER),
    ("PlatformMutex::*", INNER),
    ("PlatformParker::*", PARK),
    ("Parker::park", PARK),
    ("Parker::unpark", PARK),
    ("os::PlatformEvent::*", INNER),
    ("os::PlatformMonitor::*", INNER),
    ("ParkEvent::*", INNER),
    ("Unsafe_Park", PARK),
    ("Unsafe_Unpark", PARK),
    ("JVM_MonitorWait", CONDITION),
    ("JVM_Sleep", SLEEP),
    ("WatcherThread::sleep", SLEEP),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_names_are_matched_without_their_underscores() {
        assert_eq!(hint("___pthread_mutex_lock", "libc.so.6"), Some(LOCK));
        assert_eq!(hint("__pthread_cond_wait_common", "a.out"), Some(CONDITION));
        assert_eq!(hint("pthread_join", "a.out"), Some(JOIN));
    }

    #[test]
    fn every_procedure_of_a_c_library_belongs_to_the_operation() {
        assert_eq!(hint("_IO_file_underflow", "libc.so.6"), Some(INNER));
        assert_eq!(hint("[libc.so.6]", "libc.so.6"), Some(INNER));
        assert_eq!(hint("_IO_file_underflow", "a.out"), None);
    }

    #[test]
    fn rust_paths_are_matched_without_generic_arguments() {
        assert_eq!(hint("std::sync::poison::mutex::Mutex<T>::lock", "a"), Some(LOCK));
        assert_eq!(hint("<std::sync::mpmc::Receiver<T> as core::ops::Drop>::drop", "a"), Some(MESSAGE));
        assert_eq!(hint("std::thread::JoinHandle<T>::join", "a"), Some(JOIN));
        assert_eq!(hint("<std::thread::thread::Thread>::park", "a"), Some(PARK));
        assert_eq!(hint("<std::sync::poison::mutex::Mutex<u64>>::lock", "a"), Some(LOCK));
        assert_eq!(hint("my_program::sync::mutex::Mutex<T>::lock", "a"), None);
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
