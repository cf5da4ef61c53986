//! What each of a few things gains on the processors that there are.

use std::collections::BTreeMap;

use longpole_event::{ProcessId, ThreadId};
use longpole_trace::{ObjectId, PathId, ProcedureId, Timelines};

use super::presence::PresenceSweep;
use super::{ExecutedSpinEnds, ExecutionPlan, PlaceFactors};
use crate::analysis::{Analysis, Node};
use crate::lookahead::LaneLookahead;
use crate::replay::{ReplayRefusal, ReplayedGain};
use crate::synchronisation::SynchronisationCost;

/// Steps that all executions together may have: about two seconds of one processor.
const MOST_EXECUTED: usize = 32 << 20;

/// By what part of its time the execution of the unchanged run is off at least where gains need a bound that does not rest on it.
const MISSES: f64 = 0.05;

/// Gains of the run executed anew, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Executions {
    /// By what part of its time the run executed anew without a change is off.
    pub error: f64,
    /// Busy-waits that nothing is known to have ended, of all threads, as a part of the run.
    pub unexplained: f64,
    /// Whether threads may have been told to end, or had to sleep so often: gains lie between what both give.
    pub may_be_stopped: bool,
    /// Whether locks that are seldom held keep the recorded order, since the unchanged run is too short without: gains lie between what this
    /// gives, and what they gain if these locks exclude nobody.
    pub keeps_order: bool,
    /// Whether threads pass data on through streams that are not seen: the least is gained if they keep in step.
    pub keeps_step: bool,
    /// By procedure, by process, or by the first object of an object's name.
    pub gains: BTreeMap<Node, ExecutedGain>,
    /// Those that gain most, replayed; `None` where the recording does not tell how locks were held, or is too large.
    pub replayed: Option<ReplayedChanges>,
}

/// Gains of the run replayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayedChanges {
    /// Why there are none.
    pub refusal: Option<ReplayRefusal>,
    /// As in [`Executions::gains`].
    pub gains: BTreeMap<Node, ReplayedChange>,
}

/// What a thing gains in the run replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplayedChange {
    /// With its own work, or the waits for it, made free.
    pub free: ReplayedGain,
    /// With its own work spread over all processors of the machine; none for objects.
    pub spread: Option<ReplayedGain>,
}

/// What a thing gains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExecutedGain {
    /// With its own work, or the waits for it, made free.
    pub free: f64,
    /// With its own work spread over all processors of the machine; the work stays.
    pub spread: f64,
    /// With its own work made free, where threads that share work by a queue which the recording does not show share what is left of it; 0
    /// without such threads.
    pub evened: f64,
    /// How long any thread that does its work could run: no more is gained without it. `None` for objects, and where the unchanged run
    /// executed anew takes about as long as it took.
    pub present: Option<u64>,
    /// The least of both where busy-waits of unknown end become longer: what they wait for comes no earlier; and where threads that may have
    /// been told to end were not.
    pub least: LeastGain,
}

/// What a thing gains at least.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeastGain {
    /// Of its own work, or the waits for it, made free.
    pub free: f64,
    /// Of its own work spread over all processors.
    pub spread: f64,
}

/// Gains of these nodes with their objects, as many of the first as can be executed in a few seconds.
pub(crate) fn executions<T: Timelines>(
    timelines: &T,
    (analysis, foresight): (&Analysis, &LaneLookahead),
    nodes: &[(Node, Vec<ObjectId>)],
    costs: Vec<&mut SynchronisationCost>,
) -> Result<Option<Executions>, T::Error> {
    let Some(plan) = ExecutionPlan::of(timelines, analysis, foresight)? else { return Ok(None) };
    let most = MOST_EXECUTED / plan.steps().max(1);
    let of_node = 2 * (1 + usize::from(plan.has_unknown_spins()) + usize::from(plan.in_step.is_some()));
    let nodes = &nodes[..(most / of_node).min(nodes.len())];
    let costs = costs.into_iter().take((most - of_node * nodes.len()) / 4);
    costs.for_each(|cost| {
        cost.gain = Some(gain_without(timelines, &plan, cost, false));
        cost.gain_with_sections = Some(gain_without(timelines, &plan, cost, true));
    });
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(nodes.len().max(1));
    let own = OwnWork::of(timelines);
    let gains = std::thread::scope(|scope| {
        let (plan, own) = (&plan, &own);
        let worker = |first: usize| {
            let nodes = nodes.iter().skip(first).step_by(workers);
            scope.spawn(move || {
                nodes.map(|(node, objects)| (*node, gain(plan, own, *node, objects))).collect::<Vec<_>>()
            })
        };
        let running: Vec<_> = (0..workers).map(worker).collect();
        let done = running.into_iter().map(|worker| worker.join());
        done.flat_map(|gains| gains.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let mut gains: BTreeMap<Node, ExecutedGain> = gains;
    if plan.error().abs() >= MISSES {
        for (node, time) in presences(timelines, analysis, &own, nodes)? {
            gains.entry(node).and_modify(|gain| gain.present = Some(time));
        }
    }
    let unexplained = plan.unexplained as f64 / (plan.elapsed as f64).max(1.0);
    Ok(Some(Executions {
        error: plan.error(),
        unexplained,
        may_be_stopped: plan.stopped.is_some(),
        keeps_order: plan.unordered.is_some(),
        keeps_step: plan.in_step.is_some(),
        gains,
        replayed: None,
    }))
}

/// What the run gains without the calls and the waits of this cost; with `sections` also without what is done with the lock.
fn gain_without<T: Timelines>(
    timelines: &T,
    plan: &ExecutionPlan,
    cost: &SynchronisationCost,
    sections: bool,
) -> f64 {
    let part = |path: PathId| cost.parts.get(&timelines.owner(path)).copied().unwrap_or_default();
    let factors = PlaceFactors {
        work: |_: ThreadId, path: PathId| match part(path) {
            part if sections && part.is_section() => 0.0,
            part => 1.0 - part.running,
        },
        spinning: |_: ThreadId, path: PathId| 1.0 - part(path).spinning,
        holding: Vec::new(),
        tells_threads_apart: false,
    };
    plan.gain(&factors, |object| cost.objects.contains(&object))
}

/// Whose work is whose.
struct OwnWork {
    /// The procedure to which work at each path belongs.
    procedures: Vec<Option<ProcedureId>>,
    /// The process of each thread.
    processes: Vec<ProcessId>,
}

impl OwnWork {
    fn of<T: Timelines>(timelines: &T) -> OwnWork {
        let paths = timelines.paths();
        let owner = |index: usize| paths.innermost(timelines.owner(PathId(index as u32)));
        let procedures = (0..paths.len()).map(|index| owner(index).map(|place| place.procedure)).collect();
        let processes = timelines.program().threads.iter().map(|thread| thread.process).collect();
        OwnWork { procedures, processes }
    }

    /// Whether the thread's work at this path is the node's.
    fn is_of(&self, node: Node, thread: ThreadId, path: PathId) -> bool {
        match node {
            Node::Process(process) => self.processes.get(thread.index()) == Some(&process),
            Node::Procedure(procedure) => {
                self.procedures.get(path.0 as usize).copied().flatten() == Some(procedure)
            }
            _ => false,
        }
    }
}

/// How long any thread that does a node's work could run.
fn presences<T: Timelines>(
    timelines: &T,
    analysis: &Analysis,
    own: &OwnWork,
    nodes: &[(Node, Vec<ObjectId>)],
) -> Result<Vec<(Node, u64)>, T::Error> {
    let workers: Vec<Node> =
        nodes.iter().filter(|(_, objects)| objects.is_empty()).map(|&(node, _)| node).collect();
    let mut things = vec![Vec::new(); own.processes.len()];
    for charge in analysis.charges.iter().filter(|charge| charge.measures.running > 0) {
        let of_thread: &mut Vec<usize> = &mut things[charge.thread.index()];
        for (index, &node) in workers.iter().enumerate() {
            if own.is_of(node, charge.thread, charge.path) && !of_thread.contains(&index) {
                of_thread.push(index);
            }
        }
    }
    let mut sweep = PresenceSweep::new(things, workers.len());
    longpole_graph::sweep(timelines, false, &mut sweep)?;
    Ok(workers.into_iter().zip(sweep.into_times()).collect())
}

fn gain(plan: &ExecutionPlan, own: &OwnWork, node: Node, objects: &[ObjectId]) -> ExecutedGain {
    let factors = |factor: f64| {
        let work = move |thread: ThreadId, path: PathId| {
            if own.is_of(node, thread, path) { factor } else { 1.0 }
        };
        let tells_threads_apart = matches!(node, Node::Process(_));
        PlaceFactors { tells_threads_apart, ..PlaceFactors::of_work(work) }
    };
    let at = |plan: &ExecutionPlan, factor: f64, spin_ends: Option<&ExecutedSpinEnds>| {
        plan.gain_until(&factors(factor), |object| objects.contains(&object), spin_ends)
    };
    let processors = plan.processors.iter().copied().max().unwrap_or(1);
    let both = |plan: &ExecutionPlan, spin_ends: Option<&ExecutedSpinEnds>| {
        let free = at(plan, 0.0, spin_ends);
        let spread = if objects.is_empty() { at(plan, 1.0 / f64::from(processors), spin_ends) } else { free };
        (free, spread.min(plan.idle()))
    };
    let (free, spread) = both(plan, None);
    let (of_free, of_spread) =
        if plan.has_unknown_spins() { both(plan, Some(&plan.spin_ends)) } else { (free, spread) };
    let otherwise =
        |plan: &Option<Box<ExecutionPlan>>| plan.as_ref().map_or((free, spread), |plan| both(plan, None));
    let (stopped_free, stopped_spread) = otherwise(&plan.stopped);
    let (unordered_free, unordered_spread) = otherwise(&plan.unordered);
    let (in_step_free, in_step_spread) = otherwise(&plan.in_step);
    let least = LeastGain {
        free: of_free.min(free).min(unordered_free).min(in_step_free),
        spread: of_spread.min(spread).min(unordered_spread).min(in_step_spread),
    };
    let evened = plan.evened_gain(&factors(0.0)).unwrap_or(0.0);
    let free = free.max(stopped_free).max(unordered_free);
    let spread = spread.max(stopped_spread).max(unordered_spread);
    ExecutedGain { free, spread, evened, present: None, least }
}
