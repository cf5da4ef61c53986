//! Owners of the locks that threads wait for long, as the locks' memory names them.

use longpole_event::{EventKind, Time};
use longpole_recording::Result;

use super::{Assembler, TimeAndCpu};
use crate::lock_owners::{MOST_AT_A_LOOK, has_our_ids, owner};
use crate::raw::KernelTask;

impl Assembler {
    /// Looks at the locks of waits that have lasted for a while; `all`: of every wait, whenever it was looked at last.
    pub(crate) fn look_at_owners(&mut self, time: Time, all: bool) -> Result<()> {
        let mut due: Vec<(KernelTask, u64, Option<u32>)> = Vec::new();
        for (&tid, state) in &mut self.threads {
            let Some(wait) = state.waits.as_mut().filter(|_| all || due.len() < MOST_AT_A_LOOK) else {
                continue;
            };
            if wait.is_due(time) || all {
                due.push((KernelTask { pid: state.pid, tid }, wait.word, wait.told));
            }
        }
        due.sort_unstable_by_key(|(task, ..)| task.tid);
        for (task, word, told) in due {
            let named = if self.has_our_ids(task.pid) { owner(task, word) } else { None };
            // That the number is a thread of the process is no chance.
            // One that has ended can still be the owner.
            let owner = named.and_then(|tid| self.threads.get(&tid).or_else(|| self.gone.get(&tid)));
            let owner = owner.filter(|state| state.pid == task.pid);
            let Some(owner) = owner.filter(|_| told != named).map(|state| state.id) else { continue };
            let Some(waiter) = self.threads.get_mut(&task.tid) else { continue };
            if let Some(wait) = &mut waiter.waits {
                wait.told = named;
            }
            let waiter = waiter.id;
            self.event(TimeAndCpu { time, cpu: 0 }, waiter, EventKind::Owner { owner })?;
        }
        Ok(())
    }

    fn has_our_ids(&mut self, pid: u32) -> bool {
        let process = self.processes.get_mut(&pid);
        process.is_some_and(|process| *process.has_our_ids.get_or_insert_with(|| has_our_ids(pid)))
    }
}
