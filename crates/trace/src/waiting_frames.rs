//! Procedures that only wait or wake: they are left out of the path that a switch or wake is charged to,
//! and they tell what kind of thing was waited for.
//!
//! ```text
//! main → worker → Cache::get → pthread_mutex_lock → __lll_lock_wait       innermost last
//!                 └ charged ┘  └ waiting frames: the outermost one names the kind: mutex
//! ```
//! A name is matched as a whole or, with a trailing `*`, by its beginning; names of C libraries are matched
//! without leading underscores. The tables are data: a runtime is added by adding its lines.

use longpole_symbols::is_openmp;

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

/// What the procedure `name` of `module` tells; `None` for a procedure of the program.
pub(crate) fn hint(name: &str, module: &str) -> Option<Hint> {
    if module == Procedure::PYTHON {
        return None;
    }
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

const INNER: Hint = Hint::Inner;
const PER_THREAD: Hint = Hint::PerThread;
const MUTEX: Hint = Hint::Object(ObjectKind::Mutex);
const RWLOCK: Hint = Hint::Object(ObjectKind::RwLock);
const RWLOCK_PAIR: Hint = Hint::Paired(ObjectKind::RwLock);
const ONCE: Hint = Hint::Object(ObjectKind::Once);
const LOCK: Hint = Hint::Object(ObjectKind::Lock);
const INTERPRETER_LOCK: Hint = Hint::Object(ObjectKind::InterpreterLock);
const CONDITION: Hint = Hint::Object(ObjectKind::Condition);
const CONDITION_PAIR: Hint = Hint::Paired(ObjectKind::Condition);
const BARRIER: Hint = Hint::Object(ObjectKind::Barrier);
const JOIN: Hint = Hint::Object(ObjectKind::ThreadEnd);
const CHILD: Hint = Hint::Object(ObjectKind::ProcessEnd);
const SEMAPHORE: Hint = Hint::Object(ObjectKind::Semaphore);
const CHANNEL: Hint = Hint::Object(ObjectKind::Channel);
const PARK: Hint = Hint::Object(ObjectKind::Parker);
const POLL: Hint = Hint::Object(ObjectKind::Poll);
const SLEEP: Hint = Hint::Cause(Cause::Sleep);

/// glibc, musl, libgomp, libomp: names without leading underscores.
const C_NAMES: WaitingFrameTable = &[
    ("pthread_mutex_cond_lock*", MUTEX),
    ("pthread_mutex_*", MUTEX),
    ("pthread_rwlock_*", RWLOCK_PAIR),
    ("pthread_spin_*", LOCK),
    ("pthread_cond_*", CONDITION_PAIR),
    ("pthread_barrier_*", BARRIER),
    ("pthread_join", JOIN),
    ("pthread_timedjoin_np", JOIN),
    ("pthread_clockjoin*", JOIN),
    ("pthread_once*", ONCE),
    ("call_once", ONCE),
    ("cxa_guard_acquire", ONCE),
    ("cxa_guard_release", ONCE),
    ("pthread_create*", INNER),
    ("lll_mutex_*", MUTEX),
    ("lll_lock_wait*", LOCK),
    ("lll_lock_wake*", LOCK),
    ("mtx_lock", MUTEX),
    ("mtx_unlock", MUTEX),
    ("cnd_wait", CONDITION_PAIR),
    ("thrd_join", JOIN),
    ("sem_wait*", SEMAPHORE),
    ("sem_timedwait*", SEMAPHORE),
    ("sem_clockwait*", SEMAPHORE),
    ("sem_post*", SEMAPHORE),
    ("new_sem_*", SEMAPHORE),
    ("mq_*", CHANNEL),
    ("futex*", INNER),
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
    ("gomp_mutex_lock*", MUTEX),
    ("gomp_ordered_*", CONDITION),
    ("GOMP_ordered_*", CONDITION),
    ("gomp_sem_*", SEMAPHORE),
    ("GOMP_taskwait*", BARRIER),
    ("GOMP_atomic_*", MUTEX),
    ("GOMP_critical_*", MUTEX),
    ("omp_set_lock", MUTEX),
    ("omp_set_nest_lock", MUTEX),
    ("omp_unset_lock", MUTEX),
    ("gomp_*", BARRIER),
    ("GOMP_barrier", BARRIER),
    ("kmpc_set_lock", MUTEX),
    ("kmpc_set_nest_lock", MUTEX),
    ("kmp_acquire_queuing_lock*", MUTEX),
    ("kmp_acquire_futex_lock*", MUTEX),
    ("kmp_acquire_ticket_lock*", MUTEX),
    ("kmp_acquire_tas_lock*", MUTEX),
    ("kmp_acquire_nested_*", MUTEX),
    ("kmp_release_queuing_lock*", MUTEX),
    ("kmp_release_futex_lock*", MUTEX),
    ("kmp_release_ticket_lock*", MUTEX),
    ("kmp_release_tas_lock*", MUTEX),
    ("kmp_release_nested_*", MUTEX),
    ("kmpc_ordered*", CONDITION),
    ("kmpc_critical*", MUTEX),
    ("kmp_*", BARRIER),
    ("kmpc_barrier", BARRIER),
    // CPython.
    ("PyCOND_*", INNER),
    ("take_gil*", INTERPRETER_LOCK),
    ("drop_gil*", INTERPRETER_LOCK),
    // By which programs tell of themselves.
    ("longpole_*", INNER),
];

/// Rust's std, parking_lot, crossbeam, rayon, tokio: paths without generic arguments.
const RUST_NAMES: WaitingFrameTable = &[
    ("std::sync::poison::mutex::*", MUTEX),
    ("std::sync::mutex::*", MUTEX),
    ("std::sync::nonpoison::mutex::*", MUTEX),
    ("std::sys::sync::mutex::*", MUTEX),
    ("std::sync::poison::rwlock::*", RWLOCK),
    ("std::sync::rwlock::*", RWLOCK),
    ("std::sys::sync::rwlock::*", RWLOCK),
    ("std::sync::reentrant_lock::*", MUTEX),
    ("std::sync::poison::condvar::*", CONDITION),
    ("std::sync::condvar::*", CONDITION),
    ("std::sys::sync::condvar::*", CONDITION),
    ("std::sync::barrier::*", BARRIER),
    ("std::sync::once*", ONCE),
    ("std::sync::lazy_lock::*", ONCE),
    ("once_cell::*", ONCE),
    ("std::sync::poison::once*", ONCE),
    ("std::sys::sync::once::*", ONCE),
    ("std::sync::mpmc::*", CHANNEL),
    ("std::sync::mpsc::*", CHANNEL),
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
    ("parking_lot::raw_mutex::*", MUTEX),
    ("parking_lot::raw_rwlock::*", RWLOCK),
    ("parking_lot::once::*", ONCE),
    ("parking_lot_core::*", PER_THREAD),
    ("lock_api::mutex::*", MUTEX),
    ("lock_api::rwlock::*", RWLOCK),
    ("crossbeam_channel::*", CHANNEL),
    ("crossbeam_utils::sync::parker::*", PARK),
    ("crossbeam_utils::sync::wait_group::*", JOIN),
    ("crossbeam_utils::thread::*", JOIN),
    ("rayon_core::latch::*", CONDITION),
    ("rayon_core::sleep::*", PARK),
    ("rayon_core::registry::WorkerThread::wait_until*", PARK),
    ("rayon_core::registry::Registry::in_worker_cold*", CONDITION),
    ("tokio::runtime::scheduler::multi_thread::park::*", PARK),
    ("tokio::runtime::park::*", PARK),
    ("longpole_runtime::*", INNER),
    ("linux_raw_sys::*", INNER),
    ("rustix::*", INNER),
];

/// libstdc++, libc++, abseil, Boost.
const CPP_NAMES: WaitingFrameTable = &[
    ("std::mutex::*", MUTEX),
    ("std::shared_mutex::*", RWLOCK),
    ("std::shared_timed_mutex::*", RWLOCK),
    ("std::__shared_mutex_pthread::*", RWLOCK),
    ("std::shared_lock", INNER),
    ("std::timed_mutex::*", MUTEX),
    ("std::recursive_mutex::*", MUTEX),
    ("std::call_once", ONCE),
    ("std::__basic_future", CONDITION),
    ("std::future", CONDITION),
    ("std::shared_future", CONDITION),
    ("std::__future_base::*", CONDITION),
    ("std::__atomic_futex_unsigned*", CONDITION),
    ("std::latch::*", BARRIER),
    ("std::atomic", CONDITION),
    ("std::__atomic_base", CONDITION),
    ("std::__atomic_impl::*", CONDITION),
    ("std::atomic_flag::*", CONDITION),
    ("std::__atomic_wait*", INNER),
    ("std::__atomic_notify*", INNER),
    ("std::unique_lock", INNER),
    ("std::lock_guard", INNER),
    ("std::scoped_lock", INNER),
    ("std::condition_variable::*", CONDITION),
    ("std::condition_variable_any::*", CONDITION),
    ("std::_V2::condition_variable_any::*", CONDITION),
    ("std::thread::join", JOIN),
    ("std::thread::_M_start_thread", INNER),
    ("std::jthread::join", JOIN),
    ("std::this_thread::sleep_for*", SLEEP),
    ("std::barrier", BARRIER),
    ("std::__tree_barrier*", BARRIER),
    ("std::counting_semaphore", SEMAPHORE),
    ("std::__atomic_semaphore*", SEMAPHORE),
    ("std::__detail::__waiter*", INNER),
    ("std::__detail::__platform_wait*", INNER),
    ("__gthread_*", INNER),
    ("absl::Mutex::Await*", CONDITION),
    ("absl::Mutex::*", MUTEX),
    ("absl::CondVar::*", CONDITION),
    ("absl::synchronization_internal::*", INNER),
    ("boost::condition_variable::*", CONDITION),
    ("boost::thread::join*", JOIN),
];

/// Go's runtime: threads (Ms) without a goroutine to run are parked.
const GO_NAMES: WaitingFrameTable = &[
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
    ("runtime.netpoll", POLL),
    ("runtime.epollwait*", POLL),
    ("runtime/internal/syscall.*", INNER),
    ("internal/runtime/syscall.*", INNER),
    ("syscall.Syscall*", INNER),
    ("syscall.RawSyscall*", INNER),
];

/// Methods of Go's library: their names have a bracket at the begin.
const GO_METHODS: WaitingFrameTable = &[
    ("sync.(*Mutex).*", MUTEX),
    ("internal/sync.(*Mutex).*", MUTEX),
    ("sync.(*RWMutex).*", RWLOCK),
    ("sync.(*Cond).*", CONDITION),
    ("sync.(*Once).doSlow", ONCE),
];

/// OpenJDK's virtual machine and class library, as its perf map names them.
const JAVA_NAMES: WaitingFrameTable = &[
    ("ObjectMonitor::wait", CONDITION),
    ("ObjectMonitor::*", MUTEX),
    ("ObjectSynchronizer::wait*", CONDITION),
    ("ObjectSynchronizer::*", MUTEX),
    ("SharedRuntime::monitor_*", MUTEX),
    ("SharedRuntime::complete_monitor_*", MUTEX),
    ("InterpreterRuntime::monitorenter*", MUTEX),
    ("Runtime1::monitorenter*", MUTEX),
    ("Runtime1::monitorexit*", MUTEX),
    // Stubs, which a perf map names.
    ("monitorenter Runtime1 stub", MUTEX),
    ("monitorexit Runtime1 stub", MUTEX),
    ("_complete_monitor_locking_Java", MUTEX),
    ("Monitor::*", CONDITION),
    ("Mutex::*", MUTEX),
    ("PlatformMonitor::*", INNER),
    ("PlatformMutex::*", INNER),
    ("PlatformParker::*", PARK),
    ("Parker::park", PARK),
    ("Parker::unpark", PARK),
    ("os::PlatformEvent::*", PER_THREAD),
    ("os::PlatformMonitor::*", INNER),
    ("ParkEvent::*", PER_THREAD),
    ("Unsafe_Park", PARK),
    ("Unsafe_Unpark", PARK),
    ("JVM_MonitorWait", CONDITION),
    ("JVM_Sleep", SLEEP),
    ("JavaThread::sleep", SLEEP),
    ("PosixSemaphore::*", SEMAPHORE),
    ("LinuxWaitBarrier::*", BARRIER),
    // Until it is told to end, with a limit.
    ("WatcherThread::sleep", CONDITION),
];

#[cfg(test)]
mod tests {
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
            ("std::__future_base::_State_baseV2::wait()", CONDITION),
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
