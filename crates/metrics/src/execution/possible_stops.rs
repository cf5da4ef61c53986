//! Threads that may have been told to end: they slept at one place once or a few times, and were joined in one more such sleep.
//!
//! ```text
//!   main        work work work work work  join ...........
//!   heartbeat   . sleep ....... sleep .............. end     told to by a flag? or had it so many sleeps to do?
//! ```
//! If it had, the run lasts as long as its sleeps, however long the others work; if it was told to, its sleeps follow from when it was told.
//! The recording does not say which. So there are two plans, and what a change gains lies between both.

use longpole_event::{ThreadId, Time};
use longpole_trace::{PossibleStop, State};

use super::compiler::Compiler;
use super::ends::ThreadEnds;
use super::plan::{ExecutionPlan, NodeId, PlanStep, ThreadPlan};

/// By how much more of the run's time its other plan may be off than the plan itself.
const MOST_OFF: f64 = 0.02;

/// One such thread.
#[derive(Clone, Copy, Debug)]
struct PlannedStop {
    stop: PossibleStop,
    /// Where it would be told.
    told: Option<NodeId>,
    /// Its first step after the sleep.
    step: Option<usize>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct PlannedStops(Vec<PlannedStop>);

impl PlannedStops {
    pub fn new(stops: &[PossibleStop]) -> PlannedStops {
        PlannedStops(stops.iter().map(|&stop| PlannedStop { stop, told: None, step: None }).collect())
    }

    /// Those of threads in the background.
    pub fn in_background(&self, ends: &ThreadEnds) -> PlannedStops {
        let stops = self.0.iter().filter(|planned| ends.is_in_background(planned.stop.thread));
        PlannedStops(stops.copied().collect())
    }

    /// The plan of the run in which all of them were told to end; `None` where there is none, or it tells less of the recorded run.
    pub fn applied(&self, plan: &ExecutionPlan) -> Option<ExecutionPlan> {
        if self.0.is_empty() {
            return None;
        }
        let mut stopped = plan.clone();
        let applied = self.0.iter().filter(|planned| planned.apply(&mut stopped)).count();
        stopped.execute_unchanged();
        (applied > 0 && stopped.error().abs() <= plan.error().abs() + MOST_OFF).then_some(stopped)
    }
}

impl PlannedStop {
    /// Lets the thread sleep on and on, and its last steps begin where it is told; whether that can be.
    fn apply(&self, plan: &mut ExecutionPlan) -> bool {
        let (Some(node), Some(step)) = (self.told, self.step) else { return false };
        let of_thread = &mut plan.threads[self.stop.thread.index()];
        // Otherwise it was cut off before.
        if step > of_thread.steps.len() {
            return false;
        }
        let last = of_thread.steps.split_off(step);
        of_thread.is_killed = true;
        let machine = of_thread.machine;
        let left = self.stop.woken.since(self.stop.told);
        let told = PlanStep::Wait { node, releases: 1, object: None, spins: false };
        let slept = PlanStep::Away { time: left, io: false, request: None };
        let steps = [told, slept].into_iter().chain(last).collect();
        plan.threads.push(ThreadPlan { steps, machine, is_killed: true });
        true
    }
}

impl Compiler<'_> {
    /// The thread changes its state.
    pub(super) fn follow_stops(&mut self, thread: ThreadId, time: Time, (before, state): (State, State)) {
        for index in 0..self.stops.0.len() {
            let PlannedStop { stop, told, .. } = self.stops.0[index];
            if stop.joiner == thread
                && told.is_none()
                && stop.told <= time
                && matches!(state, State::Blocked(_))
            {
                let node = self.node();
                self.push(thread, PlanStep::Release(node));
                self.stops.0[index].told = Some(node);
            }
            if stop.thread == thread && stop.woken == time && matches!(before, State::Blocked(_)) {
                self.stops.0[index].step = Some(self.plan.threads[thread.index()].steps.len());
            }
        }
    }
}
