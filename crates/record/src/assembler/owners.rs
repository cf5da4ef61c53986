//! Owners of the locks that threads wait for long, as the locks' memory names them.
//!
//! ```text
//!   written down up to  |········ read, not in order yet ········|  looked at now
//!                                                                └► held back until the log has come so far
//! ```

use longpole_event::{EventKind, Time};
use longpole_recording::Result;

use super::{Assembler, TimeAndCpu};
use crate::lock_owners::{MOST_AT_A_LOOK, has_our_ids, owner};
use crate::raw::KernelTask;

/// What a look at a lock's memory told.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenOwner {
    /// When.
    pub(super) time: Time,
    /// Who waits.
    waiter: KernelTask,
    /// For the lock with this word.
    word: u64,
    /// The thread id that the lock names.
    owner: u32,
}

impl Assembler {
    /// Looks at the locks of waits that have lasted for a while; `all`: of every wait, whenever it was looked at last.
    pub(crate) fn look_at_owners(&mut self, time: Time, all: bool) {
        let mut due: Vec<(KernelTask, u64)> = Vec::new();
        for (&tid, state) in &mut self.threads {
            let Some(wait) = state.waits.as_mut().filter(|_| all || due.len() < MOST_AT_A_LOOK) else {
                continue;
            };
            if wait.is_due(time) || all {
                due.push((KernelTask { pid: state.pid, tid }, wait.word));
            }
        }
        due.sort_unstable_by_key(|(task, _)| task.tid);
        for (waiter, word) in due {
            let named = if self.has_our_ids(waiter.pid) { owner(waiter, word) } else { None };
            self.seen_owners.extend(named.map(|owner| SeenOwner { time, waiter, word, owner }));
        }
    }

    /// Writes down what looks before `time` told, if the thread still waits there.
    pub(super) fn tell_owners(&mut self, time: Time) -> Result<()> {
        while let Some(seen) = self.seen_owners.pop_front_if(|seen| seen.time <= time) {
            self.tell_owner(seen)?;
        }
        Ok(())
    }

    fn tell_owner(&mut self, SeenOwner { time, waiter, word, owner }: SeenOwner) -> Result<()> {
        // That the number is a thread of the process is no chance. One that has ended can still be the owner.
        let holder = self.threads.get(&owner).or_else(|| self.gone.get(&owner));
        let Some(holder) = holder.filter(|state| state.pid == waiter.pid).map(|state| state.id) else {
            return Ok(());
        };
        let Some(state) = self.threads.get_mut(&waiter.tid) else { return Ok(()) };
        let told = state.waits.as_mut().filter(|wait| wait.word == word).map(|wait| &mut wait.told);
        let Some(told) = told.filter(|told| **told != Some(owner)) else { return Ok(()) };
        *told = Some(owner);
        let id = state.id;
        let time = time.max(self.last);
        self.event(TimeAndCpu { time, cpu: 0 }, id, EventKind::Owner { owner: holder })
    }

    fn has_our_ids(&mut self, pid: u32) -> bool {
        let process = self.processes.get_mut(&pid);
        process.is_some_and(|process| *process.has_our_ids.get_or_insert_with(|| has_our_ids(pid)))
    }
}
