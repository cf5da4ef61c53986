//! Threads of runtimes that look after the others: Go's `runtime.sysmon`, Java's `VMThread`.
//!
//! Go's sleeps and looks, takes processors from threads that stay in the kernel or run for long, and gives them to threads without work. Who is
//! woken by it waited for a goroutine that could run, not for the next look: in a changed run the looks come when they come, and the run
//! ends without it.
//!
//! Java's does what others ask it to, and waits for that with a limit of a second. After the limit it stops all threads for a moment, and lets
//! them go on: at which of their steps is no order of the program.

use longpole_event::ThreadId;
use longpole_trace::{PathId, Paths, Procedure, Program, TaskRuntime};

use super::plan::ExecutionPlan;

/// Which thread it is, by where threads are seen: it is nowhere else. Others are seen there where it interrupts them.
#[derive(Clone, Debug, Default)]
pub(super) struct Watcher {
    /// It does nothing but that, and ends with the run.
    is_only_watching: bool,
    /// Threads whose last wait their own time limit ended.
    after_limit: Vec<bool>,
    /// Whether a path is its, by path; empty in programs without one.
    is_its: Vec<bool>,
    /// How often each thread was seen on its paths, and on others.
    seen: Vec<(u32, u32)>,
}

impl Watcher {
    pub(super) fn of(program: &Program, paths: &Paths, runtime: TaskRuntime) -> Watcher {
        let is_only_watching = runtime == TaskRuntime::Go;
        let looks = |procedure: &Procedure| match is_only_watching {
            true => procedure.name == "runtime.sysmon",
            false => procedure.module.starts_with("libjvm.so") && procedure.name.starts_with("VMThread::run"),
        };
        let looks: Vec<bool> = paths.procedures().iter().map(looks).collect();
        if !looks.contains(&true) {
            return Watcher::default();
        }
        let is_its = paths.leads_through(|procedure| looks[procedure.0 as usize]);
        let threads = program.threads.len();
        Watcher { is_only_watching, after_limit: vec![false; threads], is_its, seen: vec![(0, 0); threads] }
    }

    /// The thread's wait was ended by its own time limit, or by another thread.
    pub(super) fn end_wait(&mut self, thread: ThreadId, by_limit: bool) {
        if let Some(after_limit) = self.after_limit.get_mut(thread.index()) {
            *after_limit = by_limit;
        }
    }

    /// The thread was at this path.
    pub(super) fn observe(&mut self, thread: ThreadId, path: PathId) {
        if let (Some(&is_its), Some((its, other))) =
            (self.is_its.get(path.0 as usize), self.seen.get_mut(thread.index()))
        {
            *(if is_its { its } else { other }) += 1;
        }
    }

    /// Whether the thread does nothing but looking after others.
    pub(super) fn is(&self, thread: ThreadId) -> bool {
        self.is_only_watching && self.looks_after_others(thread)
    }

    /// Whether what the thread does now is of its own accord: whom it lets go on it lets go on at any of its steps.
    pub(super) fn is_watching(&self, thread: ThreadId) -> bool {
        let after_limit = || self.after_limit.get(thread.index()).copied().unwrap_or(false);
        self.looks_after_others(thread) && (self.is_only_watching || after_limit())
    }

    fn looks_after_others(&self, thread: ThreadId) -> bool {
        self.seen.get(thread.index()).is_some_and(|(its, other)| its > other)
    }

    /// The run does not wait for it, whoever ends the run.
    pub(super) fn let_go(&self, plan: &mut ExecutionPlan) {
        for index in 0..self.seen.len() {
            if self.is(ThreadId::from_index(index)) {
                plan.threads[index].is_killed = true;
            }
        }
    }
}
