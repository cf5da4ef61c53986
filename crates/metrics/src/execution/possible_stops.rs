//! Threads that may have been told to end: they slept at one place once or a few times, and were joined in one more such sleep; or they
//! worked, at what no other thread does, and ended soon after they were joined.
//!
//! ```text
//!   main        work work work work work  join ...........
//!   heartbeat   . sleep ....... sleep .............. end     told to by a flag? or had it so many sleeps to do?
//! ```
//! If it had, the run lasts as long as its sleeps, however long the others work; if it was told to, it looks for that as often as it did.
//! The recording does not say which. So there are two plans, and what a change gains lies between both.

use std::cmp::Reverse;

use longpole_event::{ThreadId, Time};
use longpole_trace::{ObjectId, PossibleStop, ProcedureId, State, Timelines};
use rustc_hash::FxHashMap;

use super::compiler::Compiler;
use super::ends::{ThreadEnds, ToldThread};
use super::plan::{ExecutionPlan, NodeId, PlanStep, ThreadPlan};
use crate::analysis::Analysis;

/// One such thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedStop {
    stop: PossibleStop,
    /// Where it would be told.
    told: Option<NodeId>,
    /// Its first step after the sleep.
    step: Option<usize>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct PlannedStops {
    stops: Vec<PlannedStop>,
    /// Of each thread: its own.
    of_thread: FxHashMap<ThreadId, usize>,
    /// Of each thread that waits for others' ends: those that it has not come to, the last one first.
    of_joiner: FxHashMap<ThreadId, Vec<usize>>,
}

impl PlannedStops {
    pub fn new(stops: &[PossibleStop]) -> PlannedStops {
        let mut planned = PlannedStops::default();
        let mut in_order: Vec<PossibleStop> = stops.to_vec();
        in_order.sort_by_key(|stop| Reverse(stop.told));
        for (index, stop) in in_order.into_iter().enumerate() {
            planned.stops.push(PlannedStop { stop, told: None, step: None });
            planned.of_thread.insert(stop.thread, index);
            planned.of_joiner.entry(stop.joiner).or_default().push(index);
        }
        planned
    }

    /// Those of threads in the background: they work little, or are known to work at something else than the others.
    pub fn in_background(&self, ends: &ThreadEnds) -> Vec<PlannedStop> {
        let is_one = |stop: PossibleStop| stop.works || ends.is_in_background(stop.thread);
        let stops = self.stops.iter().filter(|planned| is_one(planned.stop));
        stops.copied().collect()
    }

    /// The next one of this thread, which waits from now on.
    fn told_by(&mut self, joiner: ThreadId, time: Time) -> Option<usize> {
        let left = self.of_joiner.get_mut(&joiner)?;
        left.pop_if(|&mut index| self.stops[index].stop.told <= time)
    }

    /// That of this thread, whose wait is over now.
    fn woken(&mut self, thread: ThreadId, time: Time) -> Option<&mut PlannedStop> {
        let index = *self.of_thread.get(&thread)?;
        Some(&mut self.stops[index]).filter(|planned| planned.stop.woken == time)
    }
}

/// Those of the run, but for threads that work and share that work with others: they had as much to do.
pub(super) fn of_run<T: Timelines>(timelines: &T, analysis: &Analysis) -> PlannedStops {
    let stops = &timelines.program().possible_stops;
    if stops.iter().all(|stop| !stop.works) {
        return PlannedStops::new(stops);
    }
    let mut by_thread: FxHashMap<ThreadId, FxHashMap<ProcedureId, u64>> = FxHashMap::default();
    let mut of_all: FxHashMap<ProcedureId, u64> = FxHashMap::default();
    for charge in &analysis.charges {
        if let Some(place) = timelines.paths().innermost(timelines.owner(charge.path)) {
            let own = by_thread.entry(charge.thread).or_default();
            for work in [own, &mut of_all] {
                *work.entry(place.procedure).or_default() += charge.measures.running;
            }
        }
    }
    let shares = |stop: &PossibleStop| {
        let own = || by_thread.get(&stop.thread).into_iter().flatten();
        let shared = |(procedure, time): (&ProcedureId, &u64)| (of_all[procedure] - time).min(*time);
        2 * own().map(shared).sum::<u64>() >= own().map(|(_, time)| time).sum()
    };
    let told: Vec<PossibleStop> = stops.iter().filter(|stop| !stop.works || !shares(stop)).copied().collect();
    PlannedStops::new(&told)
}

/// The plan of the run in which all of these were told to end; `None` where there is none. It is off by what other programs took from who
/// tells, which does not move a sleep that ends at its moment. Nobody waits for locks that they take until then.
pub(super) fn stopped(
    stops: &[PlannedStop],
    told: &[ToldThread],
    plan: &ExecutionPlan,
    excludes: impl Fn(ObjectId) -> bool,
) -> Option<ExecutionPlan> {
    if stops.is_empty() && told.is_empty() {
        return None;
    }
    let mut stopped = plan.clone();
    told.iter().for_each(|told| told.let_go(&mut stopped));
    let applied = stops.iter().filter(|planned| planned.apply(&mut stopped));
    let applied: Vec<usize> = applied.map(|planned| planned.stop.thread.index()).collect();
    let threads: Vec<usize> = told.iter().map(ToldThread::index).chain(applied).collect();
    if threads.is_empty() {
        return None;
    }
    let turns = plan.released_by(threads);
    if let Some(without) = stopped.without_turns(&turns, excludes) {
        return Some(without);
    }
    stopped.execute_unchanged();
    Some(stopped)
}

impl PlannedStop {
    /// The first step by which the thread lets go on who joins it, behind the node where that one told it to end.
    fn end(&self, plan: &ExecutionPlan, told: NodeId) -> Option<usize> {
        let joiner = plan.threads[self.stop.joiner.index()].steps.iter();
        let joins = joiner.skip_while(|step| **step != PlanStep::Release(told));
        let is_awaited = |end: NodeId| {
            joins.clone().any(|step| matches!(step, PlanStep::Wait { node, .. } if *node == end))
        };
        let steps = &plan.threads[self.stop.thread.index()].steps;
        steps.iter().position(|step| matches!(step, PlanStep::Release(node) if is_awaited(*node)))
    }

    /// Lets the thread sleep on and on, and its last steps begin where it is told; whether that can be.
    fn apply(&self, plan: &mut ExecutionPlan) -> bool {
        let Some(node) = self.told else { return false };
        let Some(step) = (if self.stop.works { self.end(plan, node) } else { self.step }) else {
            return false;
        };
        let of_thread = &mut plan.threads[self.stop.thread.index()];
        // Otherwise it was cut off before.
        if step > of_thread.steps.len() {
            return false;
        }
        let last = of_thread.steps.split_off(step);
        of_thread.is_killed = true;
        let machine = of_thread.machine;
        let slept = match of_thread.steps.last() {
            // As often as it sleeps, so often it looks.
            Some(&PlanStep::Sleep { time, moment }) => PlanStep::Look { period: time, moment },
            _ => {
                let time = self.stop.woken.since(self.stop.told);
                PlanStep::Away { time, io: false, request: None }
            }
        };
        let told = PlanStep::Wait { node, releases: 1, object: None, spins: false };
        let steps = [told, slept].into_iter().chain(last).collect();
        plan.threads.push(ThreadPlan { steps, machine, is_killed: true });
        true
    }
}

impl Compiler<'_> {
    /// The thread changes its state.
    pub(super) fn follow_stops(&mut self, thread: ThreadId, time: Time, (before, state): (State, State)) {
        if matches!(state, State::Blocked(_)) {
            while let Some(index) = self.stops.told_by(thread, time) {
                let node = self.node();
                self.push(thread, PlanStep::Release(node));
                self.stops.stops[index].told = Some(node);
            }
        }
        if matches!(before, State::Blocked(_)) {
            let step = self.plan.threads[thread.index()].steps.len();
            if let Some(planned) = self.stops.woken(thread, time) {
                planned.step = Some(step);
            }
        }
    }
}
