//! Threads that the exit of their process killed.
//!
//! ```text
//!   main      work work work exit_group        ends by itself, and all threads of its process with it
//!   helper    help help help he×               did not end by itself, nor waited: nobody needed what it did
//!   pool      task . task ....×                did not end by itself, but had done what there was to do
//!   earlier   work exit                        ended by itself
//! ```
//! The system call in which each thread ended tells which is which, where the collector sees that. Threads of runtimes that run tasks of
//! their own do whatever task there is, so that one that is killed may have done what the last one goes on with: of these nothing is told.

use longpole_event::{ProcessId, ThreadId};
use rustc_hash::FxHashSet;

use crate::inventory::Inventory;

/// x86-64 system call numbers (arch/x86/entry/syscalls/syscall_64.tbl).
const EXIT_GROUP: i32 = 231;
/// In no system call: the thread's own code.
const NONE: i32 = -1;

/// The threads of a log that another thread's exit killed at their work, in the order of their ids.
pub(crate) fn killed_by_exit(inventory: &Inventory) -> Vec<ThreadId> {
    let ended = || {
        let threads = inventory.threads.iter().zip(&inventory.tables.threads).enumerate();
        threads.filter_map(|(index, (found, defined))| {
            let call = inventory.tables.calls.get(found.ended_in?.index())?;
            Some((ThreadId::from_index(index), defined.process, call.number))
        })
    };
    let exited: FxHashSet<ProcessId> =
        ended().filter(|&(.., call)| call == EXIT_GROUP).map(|(_, process, _)| process).collect();
    let killed = ended().filter(|(_, process, call)| exited.contains(process) && *call == NONE);
    killed.map(|(thread, ..)| thread).collect()
}
