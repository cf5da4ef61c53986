//! The machine's threads as far as perf records tell of them, and which of them are recorded.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::raw::KernelTask;

/// The thread that makes all kernel threads.
const KERNEL_THREAD_MAKER: u32 = 2;

/// Which threads are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every thread that is seen: the source holds nothing else.
    Everything,
    /// Every thread of the machine but the kernel's and those of `perf` itself.
    Machine,
    /// A process and its descendants. It is found by its name when `perf`'s child executes the program, or
    /// is [tracked](Threads::track) from the start.
    Tree {
        /// The name; `None` when it has been found.
        name: Option<String>,
    },
}

#[derive(Clone, Debug)]
struct PerfThread {
    pid: u32,
    name: String,
    cpu: u16,
    is_recorded: bool,
    is_kernel: bool,
    /// Tracked by demand; its creation may not have been told yet.
    is_root: bool,
}

/// The table of threads.
#[derive(Clone, Debug)]
pub struct Threads {
    scope: Scope,
    threads: FxHashMap<u32, PerfThread>,
    /// Whether a process is recorded, by pid; a process outlives its first thread.
    processes: FxHashMap<u32, bool>,
    /// Children of `perf` that had not executed a program when the recording began.
    waiting: FxHashSet<u32>,
}

impl Threads {
    /// An empty table.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        Threads {
            scope,
            threads: FxHashMap::default(),
            processes: FxHashMap::default(),
            waiting: FxHashSet::default(),
        }
    }

    /// Which threads are recorded.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Records a thread from now on.
    pub fn track(&mut self, task: KernelTask) {
        let thread = self.enter(task);
        (thread.is_recorded, thread.is_root) = (true, true);
        self.processes.insert(task.pid, true);
    }

    /// The thread, if it is recorded.
    #[must_use]
    pub fn recorded(&self, tid: u32) -> Option<KernelTask> {
        let thread = self.threads.get(&tid).filter(|thread| thread.is_recorded)?;
        Some(KernelTask { pid: thread.pid, tid })
    }

    /// Whether the process is recorded.
    #[must_use]
    pub fn is_recorded_process(&self, pid: u32) -> bool {
        self.processes.get(&pid).copied().unwrap_or(false)
    }

    /// The process of each recorded thread that has not ended.
    pub fn recorded_pids(&self) -> impl Iterator<Item = u32> {
        let recorded = self.threads.values().filter(|thread| thread.is_recorded && thread.pid != 0);
        recorded.map(|thread| thread.pid)
    }

    /// The thread's process, where it is known.
    #[must_use]
    pub fn task(&self, tid: u32) -> KernelTask {
        KernelTask { pid: self.threads.get(&tid).map_or(0, |thread| thread.pid), tid }
    }

    /// The thread's name; empty where it is not known.
    #[must_use]
    pub fn name(&self, tid: u32) -> &str {
        self.threads.get(&tid).map_or("", |thread| &thread.name)
    }

    /// The processor on which the thread was seen last.
    #[must_use]
    pub fn cpu(&self, tid: u32) -> u16 {
        self.threads.get(&tid).map_or(0, |thread| thread.cpu)
    }

    /// Notes that a thread did something.
    pub fn see(&mut self, task: KernelTask, cpu: Option<u16>) {
        // Idle has thread id 0, and one that has just ended has none.
        if task.tid == 0 || task.tid == u32::MAX {
            return;
        }
        let thread = self.enter(task);
        if let Some(cpu) = cpu {
            thread.cpu = cpu;
        }
    }

    /// Notes where a thread is, if it is known.
    pub fn place(&mut self, tid: u32, cpu: u16) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.cpu = cpu;
        }
    }

    /// A thread was created. Returns whether it is recorded, by its creator's being so.
    pub fn fork(&mut self, parent: KernelTask, child: KernelTask) -> bool {
        if let Some(root) = self.threads.get_mut(&child.tid).filter(|thread| thread.is_root) {
            // The record of its creation was still to be read when it was tracked.
            root.is_root = false;
            return false;
        }
        let is_kernel = child.pid == KERNEL_THREAD_MAKER || parent.pid == KERNEL_THREAD_MAKER;
        let name = self.name(parent.tid).to_owned();
        let is_recorded = match self.scope {
            Scope::Everything => true,
            Scope::Machine => !is_kernel && !is_perf(&name),
            Scope::Tree { .. } => self.recorded(parent.tid).is_some() || self.is_recorded_process(parent.pid),
        };
        let cpu = self.cpu(parent.tid);
        self.threads.insert(
            child.tid,
            PerfThread { pid: child.pid, name, cpu, is_recorded, is_kernel, is_root: false },
        );
        if child.pid == child.tid || !self.processes.contains_key(&child.pid) {
            self.processes.insert(child.pid, is_recorded);
        }
        is_recorded
    }

    /// A thread had this name when the recording began. Returns whether it is recorded.
    pub fn rename_initially(&mut self, task: KernelTask, name: &str) -> bool {
        if name == PERF_CHILD {
            self.waiting.insert(task.tid);
        }
        self.rename(task, name, false)
    }

    /// A thread got a name, maybe by executing another program. Returns whether the thread is recorded.
    pub fn rename(&mut self, task: KernelTask, name: &str, is_exec: bool) -> bool {
        // Another run of the same program may be under way: the one that was recorded is executed by perf's child.
        let before = self.name(task.tid);
        let is_child = self.waiting.is_empty() || self.waiting.contains(&task.tid);
        let is_wanted = is_exec && is_child && (before.is_empty() || is_perf(before));
        let is_root =
            is_wanted && matches!(&self.scope, Scope::Tree { name: Some(wanted) } if wanted == name);
        if is_root {
            self.scope = Scope::Tree { name: None };
        }
        let is_machine = self.scope == Scope::Machine;
        let thread = self.enter(task);
        name.clone_into(&mut thread.name);
        if is_machine {
            thread.is_recorded = !thread.is_kernel && !is_perf(name);
        }
        thread.is_recorded |= is_root;
        let is_recorded = thread.is_recorded;
        if task.pid == task.tid {
            self.processes.insert(task.pid, is_recorded);
        }
        is_recorded
    }

    /// A thread will not be seen again.
    pub fn forget(&mut self, tid: u32) {
        self.threads.remove(&tid);
    }

    /// The entry of a thread; a new one begins without a name.
    fn enter(&mut self, task: KernelTask) -> &mut PerfThread {
        let is_recorded = match self.scope {
            Scope::Everything => true,
            Scope::Machine => task.pid != 0 && self.processes.get(&task.pid).copied().unwrap_or(true),
            Scope::Tree { .. } => self.processes.get(&task.pid).copied().unwrap_or(false),
        };
        if task.pid != 0 {
            self.processes.entry(task.pid).or_insert(is_recorded);
        }
        let thread = self.threads.entry(task.tid).or_insert_with(|| PerfThread {
            pid: task.pid,
            name: String::new(),
            cpu: 0,
            is_recorded,
            is_kernel: false,
            is_root: false,
        });
        if task.pid != 0 {
            thread.pid = task.pid;
        }
        thread
    }
}

const PERF_CHILD: &str = "perf-exec";

/// The names of `perf` itself and of its child before that executes the program.
pub(super) fn is_perf(name: &str) -> bool {
    name == "perf" || name == PERF_CHILD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: u32, tid: u32) -> KernelTask {
        KernelTask { pid, tid }
    }

    #[test]
    fn a_tree_begins_with_the_program_and_grows_by_its_forks() {
        let mut threads = Threads::new(Scope::Tree { name: Some("ping".into()) });
        assert!(!threads.rename(task(5, 5), "perf-exec", false));
        assert!(!threads.fork(task(5, 5), task(6, 6)));
        threads.rename(task(7, 7), "sh", false);
        assert!(!threads.rename(task(7, 7), "ping", true));
        assert!(threads.rename(task(5, 5), "ping", true));
        assert!(threads.fork(task(5, 5), task(5, 7)));
        assert!(threads.fork(task(5, 7), task(8, 8)));
        assert!(threads.recorded(8).is_some() && threads.recorded(6).is_none());
        // A later process of that name is another run.
        assert!(!threads.rename(task(6, 6), "ping", true));
    }

    #[test]
    fn the_machine_is_without_the_kernel_s_threads_and_perf() {
        let mut threads = Threads::new(Scope::Machine);
        assert!(!threads.fork(task(2, 2), task(40, 40)));
        assert!(threads.fork(task(1, 1), task(41, 41)));
        assert!(!threads.rename(task(42, 42), "perf", false));
        assert!(!threads.fork(task(42, 42), task(43, 43)));
        assert!(threads.rename(task(43, 43), "sleep", true));
        assert!(threads.recorded(41).is_some() && threads.recorded(40).is_none());
        threads.see(task(0, 0), None);
        assert!(threads.recorded(0).is_none());
    }

    #[test]
    fn a_tracked_thread_whose_creation_is_told_late_stays_recorded() {
        let mut threads = Threads::new(Scope::Tree { name: None });
        threads.track(task(5, 5));
        assert!(!threads.fork(task(1, 1), task(5, 5)));
        assert!(threads.recorded(5).is_some());
        threads.fork(task(1, 1), task(5, 5));
        assert!(threads.recorded(5).is_none());
    }

    #[test]
    fn a_reused_thread_id_is_another_thread() {
        let mut threads = Threads::new(Scope::Tree { name: None });
        threads.track(task(5, 5));
        threads.fork(task(5, 5), task(5, 6));
        threads.fork(task(9, 9), task(6, 6));
        assert!(threads.recorded(6).is_none());
    }
}
