//! Threads that did not end by themselves: something killed them at their work.
//!
//! ```text
//!   main      work work work exit_group        ends by itself, and all threads of its process with it
//!   helper    help help help he×               did not end by itself, nor waited: nobody needed what it did
//!   pool      task . task ....×                did not end by itself, but had done what there was to do
//!   earlier   work exit                        ended by itself
//!
//!   script    kill $load; wait .               the creator of the process did something until soon before that one's end:
//!   load      work work work work×             its signal killed it, and it did not wait for more work of it
//! ```
//! The system call in which each thread ended tells which is which, where the collector sees that. Who died of its own fault, or of the
//! signal of a third one, while its creator waited for it, did what was waited for. Threads of runtimes that run tasks of their own do
//! whatever task there is, so that one that is killed by an exit may have done what the last one goes on with: of these nothing is told.

use longpole_event::{CallId, ProcessId};
use longpole_recording::DefinitionTables;
use rustc_hash::FxHashSet;

use crate::inventory::{InventoryThread, LetGo};
use crate::working_stops::ends_soon;

/// x86-64 system call numbers (arch/x86/entry/syscalls/syscall_64.tbl).
const EXIT: i32 = 60;
const EXIT_GROUP: i32 = 231;
/// In no system call: the thread's own code.
const NONE: i32 = -1;
/// Calls in which a thread works, and waits for nothing that a signal could end: `mmap`, `mprotect`, `munmap`, `brk`, `madvise`, `getpid`,
/// `gettimeofday`, `gettid`, `clock_gettime`.
const WORKING: [i32; 9] = [9, 10, 11, 12, 28, 39, 96, 186, 228];

/// What killed a thread at its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KilledBy {
    /// The exit of its process.
    Exit,
    /// A signal, for all that is known of the thread that created its process.
    Creator,
}

/// Whether a thread that is in this call is at its work.
pub(crate) fn is_at_work(call: i32) -> bool {
    call == NONE || WORKING.contains(&call)
}

/// Finds the threads of a log that were killed.
pub(crate) fn find_killed(threads: &mut [InventoryThread], tables: &DefinitionTables) {
    let number = |call: Option<CallId>| Some(tables.calls.get(call?.index())?.number);
    let call = |thread: &InventoryThread| number(thread.ended_in);
    // What a thread lets go in its own code it lets go by its end.
    let ends = |wait: &LetGo| number(wait.call).is_none_or(is_at_work);
    let process = |index: usize| tables.threads.get(index).map(|thread| thread.process);
    let of_process = |is_one: &dyn Fn(&InventoryThread) -> bool| -> FxHashSet<ProcessId> {
        let found = threads.iter().enumerate().filter(|(_, thread)| is_one(thread));
        found.filter_map(|(index, _)| process(index)).collect()
    };
    let exited = of_process(&|thread| call(thread) == Some(EXIT_GROUP));
    let stopped = of_process(&|thread| {
        let has_exited = call(thread).is_none_or(|number| number == EXIT);
        thread.known.is_new_process && !has_exited && is_stopped_by_creator(thread, ends)
    });
    for (index, thread) in threads.iter_mut().enumerate() {
        if !call(thread).is_some_and(is_at_work) {
            continue;
        }
        let Some(process) = process(index) else { continue };
        thread.known.killed = if exited.contains(&process) {
            Some(KilledBy::Exit)
        } else {
            stopped.contains(&process).then_some(KilledBy::Creator)
        };
    }
}

/// Whether the thread's end follows soon after its creator has done something, which `ends` tells from what only its end let the creator do.
fn is_stopped_by_creator(thread: &InventoryThread, ends: impl Fn(&LetGo) -> bool) -> bool {
    let (Some(start), Some(end), Some(last)) = (thread.start, thread.end, thread.creators_last) else {
        return false;
    };
    let waited = thread.let_go.filter(|wait| Some(wait.thread) == thread.creator && ends(wait));
    ends_soon((start, end), waited.map_or(last, |wait| wait.since))
}

#[cfg(test)]
mod tests {
    use longpole_event::{CallDefinition, CallId, FileKind, ThreadDefinition, ThreadId, Time};

    use super::*;

    /// What killed each of these threads: its process, the call in which it ended after 1,000 ns, and when the thread that created its
    /// process last did something before that.
    fn killed(ends: &[(u32, i32, Option<u64>)]) -> Vec<Option<KilledBy>> {
        let mut tables = DefinitionTables::default();
        let mut threads = Vec::new();
        for (index, &(process, number, creators_last)) in ends.iter().enumerate() {
            tables.calls.push(CallDefinition { number, arguments: [0; 3], file: FileKind::None });
            tables.threads.push(ThreadDefinition { tid: index as u32, process: ProcessId(process) });
            let mut thread = InventoryThread::default();
            (thread.start, thread.end) = (Some(Time::ZERO), Some(Time::from_nanoseconds(1000)));
            thread.ended_in = Some(CallId(index as u32));
            thread.creators_last = creators_last.map(Time::from_nanoseconds);
            thread.known.is_new_process = creators_last.is_some();
            threads.push(thread);
        }
        find_killed(&mut threads, &tables);
        threads.iter().map(|thread| thread.known.killed).collect()
    }

    #[test]
    fn who_works_at_the_exit_of_its_process_is_killed_by_it() {
        // In its own code, or in a call that waits for nothing; not the one that exits, one that waits, or one that exits by itself.
        let ends = [231, NONE, 12, 202, EXIT].map(|call| (0, call, None));
        assert_eq!(killed(&ends), [None, Some(KilledBy::Exit), Some(KilledBy::Exit), None, None]);
    }

    #[test]
    fn what_the_creator_does_since_the_process_ended_does_not_count() {
        let mut tables = DefinitionTables::default();
        let mut threads = vec![InventoryThread::default()];
        for number in [NONE, 1] {
            tables.calls.push(CallDefinition { number, arguments: [0; 3], file: FileKind::None });
        }
        tables.threads.push(ThreadDefinition { tid: 1, process: ProcessId(1) });
        let at = Time::from_nanoseconds;
        (threads[0].start, threads[0].end, threads[0].creators_last) =
            (Some(at(0)), Some(at(1000)), Some(at(1000)));
        (threads[0].ended_in, threads[0].creator) = (Some(CallId(0)), Some(ThreadId(7)));
        threads[0].known.is_new_process = true;
        let mut killed = |since: u64, call: u32| {
            threads[0].let_go =
                Some(LetGo { thread: ThreadId(7), since: at(since), call: Some(CallId(call)) });
            find_killed(&mut threads, &tables);
            threads[0].known.killed
        };
        // It crashed while its creator waited for it; it was killed, and its end waited for; or it had only written to its creator.
        assert_eq!(killed(300, 0), None);
        assert_eq!(killed(990, 0), Some(KilledBy::Creator));
        assert_eq!(killed(300, 1), Some(KilledBy::Creator));
    }

    #[test]
    fn a_process_whose_creator_did_something_before_it_died_at_work_is_killed_by_it() {
        assert_eq!(killed(&[(1, NONE, Some(985))]), [Some(KilledBy::Creator)]);
        // Its creator waited for it, it exited, or it was waiting itself.
        assert_eq!(
            killed(&[(1, NONE, Some(970)), (2, EXIT_GROUP, Some(985)), (3, 202, Some(985))]),
            [None; 3]
        );
        // All threads of the process that work.
        let ends = [(1, 202, Some(985)), (1, NONE, None), (2, NONE, None)];
        assert_eq!(killed(&ends), [None, Some(KilledBy::Creator), None]);
    }
}
