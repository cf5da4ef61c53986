//! Waits with a time limit that ran out, and were begun again (metrics.md §5).
//!
//! ```text
//!   recorded   main   wait ──── ▏ wait ──── ▏ wait ──── ▏ wait ─┐ work ▉▉▉▉
//!              T1     work ▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉▉ signal!┘
//!   planned    main   ▏▏▏ wait ─────────────────────────────────┐ work ▉▉▉▉
//! ```
//! A thread waits for a signal with a time limit, looks around when that has passed (to show progress, or in order not to hang if a signal
//! gets lost), and waits on. What it waits for is the signal that ends the last of these waits: the limits before it are no times of the program, and
//! there are fewer of them if the signal comes earlier. So they take no time in the plan.
//!
//! That is so where the thread works between two waits for less than a tenth of the shorter one, as between polls by sleeping
//! ([`super::polls`]), and lets no thread go on but by unlocking. A limit after which something else happens, or which no signal follows,
//! keeps its time as a sleep does. Where the run depended on such a limit (it is on the critical path by elapsed time), what the thread waited for may
//! have come without a signal, and the wait would be shorter or longer in a changed run: that is not known.

use longpole_event::{ThreadId, Time};
use longpole_trace::{Cause, DependenceKind, LOOK, Program, TaskRuntime};
use rustc_hash::FxHashSet;

use crate::analysis::PathSegment;

use super::plan::{ExecutionPlan, NodeId, PlanStep};

/// Time limits that ran out, and what ended the waits that followed.
#[derive(Debug, Default)]
pub(super) struct TimeLimits {
    /// By thread: moments of the run at which a time limit ended its wait, nanoseconds.
    ended: Vec<FxHashSet<u64>>,
    /// Nodes that threads with such limits waited for: signals.
    signals: FxHashSet<NodeId>,
    /// Nodes by which such threads let others go on, unlocking left out.
    let_go: FxHashSet<NodeId>,
    /// Go's scheduler waits so for whatever comes first.
    is_go: bool,
}

impl TimeLimits {
    pub fn new(program: &Program, runtime: TaskRuntime) -> TimeLimits {
        let ended = vec![FxHashSet::default(); program.threads.len()];
        TimeLimits { ended, is_go: runtime == TaskRuntime::Go, ..TimeLimits::default() }
    }

    /// Whether a wait of this cause that no thread ended ended by its time limit.
    pub fn can_end(&self, cause: Cause) -> bool {
        !self.is_go && matches!(cause, Cause::Condition | Cause::Semaphore | Cause::Park | Cause::Futex)
    }

    /// The thread's time limit ended its wait at this moment of the run.
    pub fn end(&mut self, thread: ThreadId, time: Time) {
        self.ended[thread.index()].insert(time.nanoseconds());
    }

    /// The node ends a wait of the thread of this cause.
    pub fn wait(&mut self, thread: ThreadId, cause: Cause, node: NodeId) {
        if self.can_end(cause) && self.has(thread) {
            self.signals.insert(node);
        }
    }

    /// The thread acquires a token of this kind at the node, whether or not it waited for it.
    pub fn acquire(&mut self, thread: ThreadId, kind: DependenceKind, node: NodeId) {
        if matches!(kind, DependenceKind::Signal | DependenceKind::Post) && self.has(thread) {
            self.signals.insert(node);
        }
    }

    /// The thread lets another one go on by a dependence of this kind.
    pub fn enable(&mut self, thread: ThreadId, kind: DependenceKind, node: NodeId) {
        if kind != DependenceKind::Unlock && self.has(thread) {
            self.let_go.insert(node);
        }
    }

    fn has(&self, thread: ThreadId) -> bool {
        !self.ended[thread.index()].is_empty()
    }

    /// Takes the time limits out of the plan behind which threads waited on for what came.
    pub fn join_waits(&self, plan: &mut ExecutionPlan) {
        for (thread, ended) in plan.threads.iter_mut().zip(&self.ended).filter(|own| !own.1.is_empty()) {
            let mut passed = self.passed(&thread.steps, ended).into_iter().peekable();
            let mut position = 0;
            thread.steps.retain(|_| {
                let is_passed = passed.next_if_eq(&position).is_some();
                position += 1;
                !is_passed
            });
        }
    }

    /// For how long threads waited up to limits in the plan on which the run depended, whose `path` by elapsed time this is; nanoseconds.
    pub fn depended_on(&self, plan: &ExecutionPlan, path: &[PathSegment]) -> u64 {
        let is_on_path = |thread: usize, moment: u64| {
            let before = path.partition_point(|segment| segment.to.nanoseconds() < moment);
            let segment = path.get(before).filter(|segment| segment.from.nanoseconds() < moment);
            segment.is_some_and(|segment| segment.thread.index() == thread)
        };
        let threads = plan.threads.iter().zip(&self.ended).enumerate();
        let limits = threads.flat_map(|(index, (thread, ended))| {
            thread.steps.iter().filter_map(move |step| match *step {
                PlanStep::Sleep { time, moment } if ended.contains(&moment) && is_on_path(index, moment) => {
                    Some(time.nanoseconds())
                }
                _ => None,
            })
        });
        limits.sum()
    }

    /// Positions of limits in a row that a signal ends.
    fn passed(&self, steps: &[PlanStep], ended: &FxHashSet<u64>) -> Vec<usize> {
        let mut passed = Vec::new();
        // The limits of a row, the time of the last one, and the work since then.
        let (mut row, mut last, mut work) = (Vec::new(), 0, 0);
        let is_look = |work: u64, wait: u64| (work as f64) < LOOK * wait as f64;
        for (position, step) in steps.iter().enumerate() {
            match *step {
                PlanStep::Work { time, .. } | PlanStep::Spin { time, .. } | PlanStep::Busy(time) => {
                    work += time
                }
                PlanStep::Sleep { time, moment } if ended.contains(&moment) => {
                    let time = time.nanoseconds();
                    if !is_look(work, last.min(time)) {
                        row.clear();
                    }
                    row.push(position);
                    (last, work) = (time, 0);
                }
                PlanStep::Wait { node, .. } if self.signals.contains(&node) => {
                    if is_look(work, last) {
                        passed.append(&mut row);
                    }
                    row.clear();
                }
                // Less than a look takes.
                PlanStep::Sleep { time, .. } if is_look(work + time.nanoseconds(), last) => {
                    work += time.nanoseconds();
                }
                PlanStep::Sleep { .. }
                | PlanStep::Away { .. }
                | PlanStep::Until { .. }
                | PlanStep::Look { .. } => {
                    row.clear();
                }
                PlanStep::Release(node) if self.let_go.contains(&node) => row.clear(),
                _ => {}
            }
        }
        passed
    }
}
