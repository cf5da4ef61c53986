//! Functions of Python's library that wait or wake, and locks of the interpreter that stand behind them.
//!
//! ```text
//! main → fill → Queue.put → Condition.wait → lock_PyThread_acquire_lock → PyThread_acquire_lock_timed → sem_clockwait
//!        └ charged         └ channel         └ the interpreter's          └ mutex                       └ semaphore
//! ```
//! A `threading.Lock` is a semaphore of the C library, so that is what the frames below Python's functions tell of all of them. Each wait
//! for a condition, and what is built of it, makes a lock of its own.
//!
//! Since Python 3.11 functions have the names of their classes; before, `wait` is that of a condition, an event or a barrier.

use super::Hint;
use super::names::{INNER, JOIN, MUTEX};
use crate::objects::ObjectKind;
use crate::paths::Procedure;

const CONDITION: Hint = Hint::PerThreadObject(ObjectKind::Condition);
const FUTURE: Hint = Hint::PerThreadObject(ObjectKind::Future);
const BARRIER: Hint = Hint::PerThreadObject(ObjectKind::Barrier);
const SEMAPHORE: Hint = Hint::PerThreadObject(ObjectKind::Semaphore);
const CHANNEL: Hint = Hint::PerThreadObject(ObjectKind::Channel);

/// By the end of a file's path: names with their classes, or without them.
type FunctionTable = &'static [(&'static str, &'static [(&'static str, Hint)])];

const FUNCTIONS: FunctionTable = &[
    (
        "/threading.py",
        &[
            ("Barrier.wait", BARRIER),
            ("Barrier._enter", BARRIER),
            ("_wait", BARRIER),
            ("_release", INNER),
            ("wait", CONDITION),
            ("wait_for", CONDITION),
            ("_acquire_restore", INNER),
            ("Condition.__enter__", MUTEX),
            ("notify", INNER),
            ("notify_all", INNER),
            ("set", INNER),
            ("Semaphore.__exit__", INNER),
            ("release", INNER),
            ("acquire", SEMAPHORE),
            ("Thread.start", INNER),
            ("join", JOIN),
            ("_wait_for_tstate_lock", JOIN),
            ("_shutdown", JOIN),
        ],
    ),
    ("/queue.py", &[("get", CHANNEL), ("put", CHANNEL), ("join", CHANNEL), ("task_done", INNER)]),
    (
        "/concurrent/futures/_base.py",
        &[
            ("Future.exception", FUTURE),
            ("result", FUTURE),
            ("wait", FUTURE),
            ("as_completed", FUTURE),
            ("result_iterator", FUTURE),
            ("_result_or_cancel", FUTURE),
            ("__exit__", INNER),
            ("set_result", INNER),
            ("set_exception", INNER),
        ],
    ),
    ("/concurrent/futures/thread.py", &[("shutdown", JOIN), ("submit", INNER)]),
    (
        "/multiprocessing/pool.py",
        &[("wait", FUTURE), ("get", FUTURE), ("map", FUTURE), ("starmap", FUTURE), ("apply", FUTURE)],
    ),
];

/// Functions that a thread of a pool is in all its life: their own waits are for the next task.
const POOLS: FunctionTable = &[
    ("/concurrent/futures/thread.py", &[("_worker", CHANNEL)]),
    (
        "/multiprocessing/pool.py",
        &[("worker", CHANNEL), ("_handle_tasks", CHANNEL), ("_handle_workers", CHANNEL)],
    ),
];

/// What a function of Python's library tells; `None` for one of the program.
pub(super) fn hint(procedure: &Procedure) -> Option<Hint> {
    lookup(FUNCTIONS, procedure)
}

/// What a wait is for that such a function begins itself.
pub(crate) fn own_hint(procedure: &Procedure) -> Option<Hint> {
    lookup(POOLS, procedure).filter(|_| procedure.is_function_of_python())
}

fn lookup(table: FunctionTable, procedure: &Procedure) -> Option<Hint> {
    let Procedure { name, file, .. } = procedure;
    // Programs have files of these names too.
    let (_, functions) =
        table.iter().find(|(path, _)| file.ends_with(path)).filter(|_| procedure.comes_with_python())?;
    let name = name.split(' ').next().unwrap_or(name);
    let plain = name.rsplit('.').next().unwrap_or(name);
    let told =
        |wanted: &str| functions.iter().find(|(function, _)| *function == wanted).map(|(_, hint)| *hint);
    told(name).or_else(|| told(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, file: &str) -> Procedure {
        Procedure { name: name.to_owned(), module: Procedure::PYTHON.to_owned(), file: file.to_owned() }
    }

    #[test]
    fn functions_of_the_library_tell_what_is_waited_for() {
        let threading = "/usr/lib/python3.11/threading.py";
        let cases = [
            ("Condition.wait", threading, Some(CONDITION)),
            ("wait", threading, Some(CONDITION)),
            ("Event.wait", threading, Some(CONDITION)),
            ("Barrier.wait", threading, Some(BARRIER)),
            ("Thread.join", threading, Some(JOIN)),
            ("Semaphore.acquire", threading, Some(SEMAPHORE)),
            ("Thread.run", threading, None),
            ("Queue.get", "/usr/lib/python3.11/queue.py", Some(CHANNEL)),
            (
                "Executor.map.<locals>.result_iterator",
                "/usr/lib/python3.11/concurrent/futures/_base.py",
                Some(FUTURE),
            ),
            ("Queue.get", "/home/user/shop/queue.py", None),
        ];
        for (name, file, expected) in cases {
            assert_eq!(hint(&of(name, file)), expected, "{name} of {file}");
        }
        assert_eq!(
            own_hint(&of("_worker", "/usr/lib/python3.11/concurrent/futures/thread.py")),
            Some(CHANNEL)
        );
        assert_eq!(own_hint(&of("worker", "/home/user/worker.py")), None);
    }
}
