//! The thread of Go's runtime that looks after the others (`runtime.sysmon`).
//!
//! It sleeps and looks, takes processors from threads that stay in the kernel or run for long, and gives them to threads without work. Who is
//! woken by it waited for a goroutine that could run, not for the next look: in a changed run the looks come when they come, and the run
//! ends without it.

use longpole_event::ThreadId;
use longpole_trace::{PathId, Paths, Program};

use super::plan::ExecutionPlan;
use super::pools::TaskRuntime;

/// Which thread it is, by where threads are seen: it is nowhere else. Others are seen there where it interrupts them.
#[derive(Clone, Debug, Default)]
pub(super) struct Watcher {
    /// Whether a path is its, by path; empty in programs without one.
    is_its: Vec<bool>,
    /// How often each thread was seen on its paths, and on others.
    seen: Vec<(u32, u32)>,
}

impl Watcher {
    pub(super) fn of(program: &Program, paths: &Paths, runtime: TaskRuntime) -> Watcher {
        if runtime != TaskRuntime::Go {
            return Watcher::default();
        }
        let is_look = |path: PathId| {
            let mut procedures = paths.places_of(path).map(|place| paths.procedure_named_by(place.procedure));
            procedures.any(|procedure| procedure.name == "runtime.sysmon")
        };
        let is_its = (0..paths.len()).map(|index| is_look(PathId(index as u32))).collect();
        Watcher { is_its, seen: vec![(0, 0); program.threads.len()] }
    }

    /// The thread was at this path.
    pub(super) fn observe(&mut self, thread: ThreadId, path: PathId) {
        if let (Some(&is_its), Some((its, other))) =
            (self.is_its.get(path.0 as usize), self.seen.get_mut(thread.index()))
        {
            *(if is_its { its } else { other }) += 1;
        }
    }

    pub(super) fn is(&self, thread: ThreadId) -> bool {
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
