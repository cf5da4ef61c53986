//! Calls that synchronise: which call paths end inside a lock, an unlock, a barrier or the like, of which kind, and who called.
//!
//! ```text
//!   path      main → get → pthread_mutex_lock → __lll_lock_wait → entry_SYSCALL_64 → futex_wait
//!   call             └ site   └ kind: mutex, with all that is called below it
//!   path      main → get → malloc → __lll_lock_wait_private       kind: lock; site: get
//!   path      main → get → malloc → _int_malloc                   no call that synchronises
//! ```
//! The kind is that of the outermost waiting frame that has one. An interrupt inside such a call is part of it. What the call
//! calls back (the procedure given to `pthread_once`, a parallel region) is not.
//!
//! In: the tree of paths. Out: an answer for each path, found once. Time: constant for each path.

use crate::fold::is_thread_start;
use crate::library_sources::is_standard_library;
use crate::objects::ObjectKind;
use crate::paths::{PathId, Paths, Procedure};
use crate::waiting_frames::{Hint, hint_of};

/// A call that synchronises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynchronisationCall {
    /// Kind of the object that it is about.
    pub kind: ObjectKind,
    /// The path of the procedure that called it.
    pub site: PathId,
}

/// The calls that synchronise, by path.
#[derive(Clone, Debug)]
pub struct SynchronisationCalls {
    of_path: Vec<PathPart>,
}

/// What a path ends in.
#[derive(Clone, Copy, Debug)]
enum PathPart {
    /// Code that does no such call.
    Work,
    /// A procedure of a runtime that may yet turn out to lock.
    Runtime { site: PathId },
    /// Such a call.
    Call(SynchronisationCall),
    /// A wait for something else: an end of a thread, a message.
    OtherWait,
}

impl SynchronisationCalls {
    /// Finds the calls of all paths.
    #[must_use]
    pub fn new(paths: &Paths) -> SynchronisationCalls {
        let procedures = paths.procedures();
        let told = |procedure: &Procedure| {
            let is_passed = procedure.module == "[kernel]" || is_standard_library(&procedure.file);
            (is_thread_start(procedure), hint_of(procedure), is_passed)
        };
        // Paths are many times as many.
        let told: Vec<(bool, Option<Hint>, bool)> = procedures.iter().map(told).collect();
        let mut of_path = vec![PathPart::Work];
        for path in (1..paths.len()).map(|index| PathId(index as u32)) {
            let place = paths.innermost(path).expect("only the root has no place");
            let caller = paths.caller(path).expect("only the root has no caller");
            let outer = match of_path[caller.0 as usize] {
                _ if paths.begins_thread(path) => PathPart::Work,
                outer => outer,
            };
            of_path.push(match told[place.procedure.0 as usize] {
                (true, ..) => PathPart::Work,
                (_, Some(hint), _) => outer.enter(hint, caller),
                (_, None, true) => outer,
                (_, None, false) => PathPart::Work,
            });
        }
        SynchronisationCalls { of_path }
    }

    /// The call that the path ends in, if it does.
    #[must_use]
    pub fn of(&self, path: PathId) -> Option<SynchronisationCall> {
        match self.of_path.get(path.0 as usize) {
            Some(PathPart::Call(call)) => Some(*call),
            _ => None,
        }
    }
}

impl PathPart {
    /// The part that goes on into a waiting frame, called from `caller`.
    fn enter(self, hint: Hint, caller: PathId) -> PathPart {
        let kind = match hint {
            Hint::Object(kind) | Hint::Paired(kind) | Hint::PerThreadObject(kind) => Some(kind),
            Hint::Cause(_) | Hint::PerThread | Hint::Inner => None,
        };
        match (self, kind) {
            (PathPart::Call(_) | PathPart::OtherWait, _) => self,
            (_, Some(kind)) if !synchronises(kind) => PathPart::OtherWait,
            (PathPart::Runtime { site }, Some(kind)) => PathPart::Call(SynchronisationCall { kind, site }),
            (PathPart::Work, Some(kind)) => PathPart::Call(SynchronisationCall { kind, site: caller }),
            (PathPart::Work, None) => PathPart::Runtime { site: caller },
            (runtime @ PathPart::Runtime { .. }, None) => runtime,
        }
    }
}

/// Whether calls about such an object do nothing but order threads.
fn synchronises(kind: ObjectKind) -> bool {
    use ObjectKind::{Barrier, Condition, Lock, Mutex, Once, RwLock, Semaphore, SpinLock};
    matches!(kind, Mutex | RwLock | SpinLock | Lock | Once | Condition | Barrier | Semaphore)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::{CodePlace, Procedure};

    /// The call at the end of a path: its kind, and the name of the procedure at its site.
    fn call(path: &[(&str, &str)]) -> Option<(ObjectKind, String)> {
        let mut paths = Paths::default();
        let mut end = Paths::ROOT;
        for &(name, module) in path {
            let procedure =
                Procedure { name: name.to_owned(), module: module.to_owned(), file: String::new() };
            let procedure = paths.procedure(procedure);
            let place = paths.place(CodePlace { procedure, line: 0 });
            end = paths.path(end, place);
        }
        let call = SynchronisationCalls::new(&paths).of(end)?;
        let site = paths.innermost(call.site)?;
        Some((call.kind, paths.procedure_named_by(site.procedure).name.clone()))
    }

    const LIBC: &str = "libc.so.6";

    #[test]
    fn a_lock_with_its_kernel_part_belongs_to_its_caller() {
        let mutex = Some((ObjectKind::Mutex, "get".to_owned()));
        let lock = [("main", "app"), ("get", "app"), ("___pthread_mutex_lock", LIBC)];
        assert_eq!(call(&lock), mutex);
        let in_kernel = [&lock[..], &[("__lll_lock_wait", LIBC), ("futex_wait", "[kernel]")]].concat();
        assert_eq!(call(&in_kernel), mutex);
        assert_eq!(call(&[("main", "app"), ("get", "app"), ("sync.(*Mutex).Unlock", "app")]), mutex);
    }

    #[test]
    fn a_lock_of_a_library_belongs_to_who_called_the_library() {
        let malloc = [("main", "app"), ("get", "app"), ("malloc", LIBC)];
        assert_eq!(call(&malloc), None);
        let waits = [&malloc[..], &[("__lll_lock_wait_private", LIBC)]].concat();
        assert_eq!(call(&waits), Some((ObjectKind::Lock, "get".to_owned())));
    }

    #[test]
    fn work_is_no_call_though_a_runtime_called_it() {
        let region = [("main", "app"), ("GOMP_parallel", "libgomp.so.1"), ("main._omp_fn.0", "app")];
        assert_eq!(call(&region), None);
        assert_eq!(call(&region[..2]), Some((ObjectKind::Barrier, "main".to_owned())));
        let fault = [("main", "app"), ("asm_exc_page_fault", "[kernel]")];
        assert_eq!(call(&fault), None);
    }

    #[test]
    fn waits_for_ends_of_threads_are_no_cost_of_a_lock() {
        assert_eq!(call(&[("main", "app"), ("pthread_join", LIBC), ("__lll_lock_wait", LIBC)]), None);
    }

    #[test]
    fn a_thread_of_a_pool_waits_at_the_procedure_that_started_it() {
        let idle = [
            ("start_thread", LIBC),
            ("gomp_thread_start", "libgomp.so.1"),
            ("gomp_team_barrier_wait_end", "libgomp.so.1"),
        ];
        assert_eq!(call(&idle), Some((ObjectKind::Barrier, "gomp_thread_start".to_owned())));
    }
}
