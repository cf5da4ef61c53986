//! Who had a number at a time: tids and pids come back when their owners have ended.

use longpole_event::{ProcessId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::program::Thread;

/// The threads and processes of one machine by their numbers; ids of the recording.
#[derive(Debug, Default)]
pub(crate) struct IdOwners {
    /// By process and tid, in the order of their starts.
    threads: FxHashMap<(ProcessId, u32), Vec<(Time, ThreadId)>>,
    /// By pid, in the order of their starts.
    processes: FxHashMap<u32, Vec<(Time, ProcessId)>>,
}

impl IdOwners {
    /// Of the threads of one machine, the first of which has the id `base`; `pid` gives a process's.
    pub(crate) fn new(threads: &[Thread], base: u32, pid: impl Fn(ProcessId) -> u32) -> Self {
        let mut id_owners = IdOwners::default();
        let mut last = None;
        for (offset, thread) in threads.iter().enumerate() {
            let id = ThreadId(base + u32::try_from(offset).expect("fewer than 2^32 threads"));
            id_owners.threads.entry((thread.process, thread.tid)).or_default().push((thread.start, id));
            // Threads are in the order of their starts, and so is the first of each process.
            if last < Some(thread.process) {
                last = Some(thread.process);
                id_owners
                    .processes
                    .entry(pid(thread.process))
                    .or_default()
                    .push((thread.start, thread.process));
            }
        }
        id_owners
    }

    /// The thread of the process that had this tid last at that time.
    pub(crate) fn thread(&self, process: ProcessId, tid: u32, time: Time) -> Option<ThreadId> {
        latest(self.threads.get(&(process, tid))?, time)
    }

    /// The process that had this pid last at that time.
    pub(crate) fn process(&self, pid: u32, time: Time) -> Option<ProcessId> {
        latest(self.processes.get(&pid)?, time)
    }
}

fn latest<T: Copy>(id_owners: &[(Time, T)], time: Time) -> Option<T> {
    id_owners.iter().rev().find(|&&(start, _)| start <= time).map(|&(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Paths;

    fn thread(process: u32, tid: u32, start: u64) -> Thread {
        Thread {
            process: ProcessId(process),
            tid,
            name: String::new(),
            start: Time::from_nanoseconds(start),
            end: None,
            creator: None,
            prefix: Paths::ROOT,
        }
    }

    #[test]
    fn a_number_that_came_back_is_its_last_owner_of_the_time() {
        let threads = [thread(3, 7, 0), thread(3, 8, 10), thread(4, 9, 20), thread(3, 8, 30)];
        let id_owners = IdOwners::new(&threads, 5, |process| process.0 + 100);
        let at = Time::from_nanoseconds;
        assert_eq!(id_owners.thread(ProcessId(3), 8, at(29)), Some(ThreadId(6)));
        assert_eq!(id_owners.thread(ProcessId(3), 8, at(31)), Some(ThreadId(8)));
        assert_eq!(id_owners.thread(ProcessId(4), 8, at(31)), None);
        assert_eq!(id_owners.thread(ProcessId(3), 8, at(9)), None);
        assert_eq!(id_owners.process(104, at(40)), Some(ProcessId(4)));
        assert_eq!(id_owners.process(104, at(19)), None);
    }
}
