//! What if (metrics.md §5; I §2.1): the critical path with some work made shorter or longer.
//!
//! Each change has a factor for the work of one thing: 0 leaves it out, 0.5 halves it, 1 changes nothing, 2 doubles
//! it. Work that several changes meet is multiplied by all their factors.
//!
//! ```text
//!   T1  AAAABBBB      A at 0.5:  T1 2 + 4, T2 1 + 6: from 8 to 7
//!   T2  AACCCCCC      A at 0.5 and C at 0.5: T1 6, T2 4: from 8 to 6; alone they gain 1 and 0
//! ```
//! Two lengths: of the critical path by CPU time, which is what the run needs if there are enough processors and nothing
//! else waits; and the elapsed time, for which the graph is executed anew on the machine's processors.
//!
//! Time and memory: as [`Lanes`], which has two lanes more than there are changes, and an [`ExecutionPlan`].

use std::collections::BTreeMap;

use longpole_event::{ProcessId, ThreadId};
use longpole_graph::sweep;
use longpole_trace::{Cause, Folding, ObjectId, PathId, Paths, ProcedureId, Program, Timelines, Unfolded};

use crate::analysis::{Analysis, Charge, Measures, MetricOptions, PathSegment, Weight};
use crate::execution::{ExecutedSpinEnds, ExecutionPlan, PlaceFactors};
use crate::lanes::{LaneLengths, Lanes};
use crate::lookahead::LaneLookahead;
use crate::marks::{Mark, ObjectMark, Rules};
use crate::path_waits::PathWaitKind;
use crate::work_on_path::WorkOnPath;

/// Whose work changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeSubject {
    /// A procedure's own work, with what is folded into it.
    Procedure(ProcedureId),
    /// A procedure with all that it calls and starts.
    Inclusive(ProcedureId),
    /// Lines of procedures, their own work.
    Lines(Vec<(ProcedureId, u32)>),
    /// What threads wait for these objects, as far as other threads explain it.
    Objects(Vec<ObjectId>),
    /// What is done while one of these locks is held; only a replay knows of that.
    Holds(Vec<ObjectId>),
    /// Threads.
    Threads(Vec<ThreadId>),
    /// Processes.
    Processes(Vec<ProcessId>),
}

impl ChangeSubject {
    /// Whether work of the thread at this path, which is the owner of all that is folded into it, is its.
    #[must_use]
    pub fn is_of(&self, program: &Program, paths: &Paths, thread: ThreadId, path: PathId) -> bool {
        self.has((program, paths, &Folding::default()), thread, path)
    }

    fn has(&self, (program, paths, folding): WorkTree<'_>, thread: ThreadId, path: PathId) -> bool {
        let innermost = || paths.innermost(folding.owner(path));
        match self {
            ChangeSubject::Procedure(procedure) => {
                innermost().is_some_and(|place| place.procedure == *procedure)
            }
            ChangeSubject::Inclusive(procedure) => {
                paths.places_of(path).any(|place| place.procedure == *procedure)
            }
            ChangeSubject::Lines(lines) => {
                innermost().is_some_and(|place| lines.contains(&(place.procedure, place.line)))
            }
            ChangeSubject::Objects(_) | ChangeSubject::Holds(_) => false,
            ChangeSubject::Threads(threads) => threads.contains(&thread),
            ChangeSubject::Processes(processes) => {
                processes.contains(&program.threads[thread.index()].process)
            }
        }
    }
}

/// What work is found in, and to whom its paths belong.
type WorkTree<'a> = (&'a Program, &'a Paths, &'a Folding);

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkChange {
    /// Whose work.
    pub subject: ChangeSubject,
    /// What it is multiplied by; not negative.
    pub factor: f64,
}

/// What becomes of the run; nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// As recorded.
    pub before: RecordedLengths,
    /// By what part of its time the recorded run, executed anew without a change, is off; `None` where it has too many events to
    /// be executed, and the elapsed times are those of the graph without limits by processors.
    pub execution_error: Option<f64>,
    /// Whether threads may have been told to end, or had to sleep so often: [`PredictedGain::elapsed_most`] is if they were told.
    pub may_be_stopped: bool,
    /// Whether locks that are seldom held keep the recorded order, since the unchanged run is too short without; gains lie between this, and
    /// what the changes gain if these locks exclude nobody.
    pub keeps_order: bool,
    /// Whether threads pass data on through streams that are not seen: the least is gained if they keep in step.
    pub keeps_step: bool,
    /// Gain of each change alone.
    pub alone: Vec<PredictedGain>,
    /// Gain of all of them.
    pub together: PredictedGain,
    /// What the procedures that change slept and waited for devices by themselves, on the critical path by elapsed time, as far as their
    /// changes leave it out: it stays in [`PredictedGain::elapsed`] and is left out of [`PredictedGain::elapsed_most`].
    pub own_waits: f64,
    /// What is on the critical path by CPU time after all changes: each charge's `critical_cpu`, by thread and path.
    pub path: Vec<Charge>,
}

/// Lengths as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedLengths {
    /// Of the critical path by CPU time.
    pub path: u64,
    /// Of the run.
    pub elapsed: u64,
}

/// What a change gains; less than 0 where the run becomes longer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictedGain {
    /// Of the critical path by CPU time.
    pub path: f64,
    /// Of the elapsed time.
    pub elapsed: f64,
    /// The same at least, where threads poll or spin for what was not seen: it comes no earlier than in the recorded run. Else the same.
    pub elapsed_least: f64,
    /// The same at most, where threads poll or spin for what was not seen: what others did before may be what they waited for, so
    /// that the run gains all of it; where procedures wait by themselves ([`WhatIf::own_waits`]), and where threads may have been told to end.
    /// Else the same.
    pub elapsed_most: f64,
}

/// Lane i is change i alone; the last one is all of them.
#[derive(Clone, Debug)]
pub(crate) struct ChangeRules<'a> {
    tree: WorkTree<'a>,
    changes: &'a [WorkChange],
    of_object: Vec<Vec<ObjectMark>>,
}

impl<'a> ChangeRules<'a> {
    pub fn new<T: Timelines>(timelines: &'a T, changes: &'a [WorkChange], folding: &'a Folding) -> Self {
        let mut of_object: Vec<Vec<ObjectMark>> = vec![Vec::new(); timelines.objects().all().len()];
        let mut all = vec![1.0; of_object.len()];
        for (lane, change) in changes.iter().enumerate() {
            let ChangeSubject::Objects(objects) = &change.subject else { continue };
            for object in objects {
                of_object[object.index()].push(ObjectMark { lane: lane as u32, factor: change.factor });
                all[object.index()] *= change.factor;
            }
        }
        for (marks, factor) in of_object.iter_mut().zip(all) {
            if !marks.is_empty() {
                marks.push(ObjectMark { lane: changes.len() as u32, factor });
            }
        }
        ChangeRules { tree: (timelines.program(), timelines.paths(), folding), changes, of_object }
    }

    /// What work of this thread at this path is multiplied by.
    fn factor(&self, thread: ThreadId, path: PathId) -> f64 {
        self.factor_of(thread, path, |_| true)
    }

    /// The same with those changes alone whose positions are meant.
    pub fn factor_of(&self, thread: ThreadId, path: PathId, is_meant: impl Fn(usize) -> bool) -> f64 {
        let meant = self.changes.iter().enumerate().filter(|&(index, _)| is_meant(index));
        meant
            .filter(|(_, change)| change.subject.has(self.tree, thread, path))
            .map(|(_, change)| change.factor)
            .product()
    }

    /// Whether a path's work is another thing for another thread.
    pub fn tells_threads_apart(&self) -> bool {
        tell_threads_apart(self.changes)
    }
}

impl Rules for ChangeRules<'_> {
    fn lanes(&self) -> usize {
        self.changes.len() + 1
    }

    fn mark_work(&self) -> bool {
        self.changes.iter().any(|change| !matches!(change.subject, ChangeSubject::Objects(_)))
    }

    fn tell_paths_apart(&self) -> bool {
        true
    }

    fn thread_key(&self, thread: ThreadId) -> ThreadId {
        if tell_threads_apart(self.changes) { thread } else { ThreadId(0) }
    }

    fn marks(&self, thread: ThreadId, path: PathId, marks: &mut Vec<Mark>) {
        let before = marks.len();
        for (lane, change) in self.changes.iter().enumerate() {
            if change.subject.has(self.tree, thread, path) {
                marks.push(Mark { lane: lane as u32, left_out: 1.0 - change.factor, on_path: false });
            }
        }
        if marks.len() > before {
            let left_out = 1.0 - self.factor(thread, path);
            marks.push(Mark { lane: self.changes.len() as u32, left_out, on_path: false });
        }
    }

    fn object_marks(&self, object: ObjectId) -> &[ObjectMark] {
        self.of_object.get(object.index()).map_or(&[], Vec::as_slice)
    }
}

/// Whether a path's work is another thing for another thread.
fn tell_threads_apart(changes: &[WorkChange]) -> bool {
    let is_of_threads = |change: &WorkChange| {
        matches!(change.subject, ChangeSubject::Threads(_) | ChangeSubject::Processes(_))
    };
    changes.iter().any(is_of_threads)
}

/// The run with these changes, whose analysis this is. A procedure's own work is what `folding` gives it.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn what_if<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    analysis: &Analysis,
    changes: &[WorkChange],
    folding: &Folding,
) -> Result<WhatIf, T::Error> {
    let program = timelines.program();
    let foresight = LaneLookahead::of(timelines, options.order)?;
    let rules = ChangeRules::new(timelines, changes, folding);
    let tree = (program, timelines.paths());
    let lanes = |weight| Lanes::new(tree, weight, &foresight, rules.clone(), analysis);
    let mut cpu = lanes(Weight::Cpu).following(changes.len());
    sweep(&Unfolded(timelines), options.io_idle, &mut cpu)?;
    let cpu = cpu.into_lengths();
    let plan = ExecutionPlan::of(timelines, analysis, &foresight)?;
    let elapsed = match &plan {
        Some(plan) => (0..=changes.len()).map(|lane| executed(plan, &rules, lane, None)).collect(),
        None => {
            let mut elapsed = lanes(Weight::Elapsed);
            sweep(&Unfolded(timelines), options.io_idle, &mut elapsed)?;
            elapsed.into_lengths().gains
        }
    };
    let unknown = plan.as_ref().filter(|plan| plan.has_unknown_spins());
    let stopped = plan.as_ref().and_then(|plan| plan.stopped.as_deref());
    let unordered = plan.as_ref().and_then(|plan| plan.unordered.as_deref());
    let in_step = plan.as_ref().and_then(|plan| plan.in_step.as_deref());
    let otherwise = |plan: Option<&ExecutionPlan>, lane: usize| {
        plan.map_or(elapsed[lane], |plan| executed(plan, &rules, lane, None))
    };
    let most = |lane: usize| {
        let spun = unknown.map_or(elapsed[lane], |plan| saved_work(plan, &rules, lane));
        elapsed[lane].max(spun).max(otherwise(stopped, lane)).max(otherwise(unordered, lane))
    };
    let saved = |lane: usize| PredictedGain {
        path: cpu.gains[lane],
        elapsed: elapsed[lane],
        elapsed_least: unknown
            .map_or(elapsed[lane], |plan| executed(plan, &rules, lane, Some(&plan.spin_ends)))
            .min(elapsed[lane])
            .min(otherwise(unordered, lane))
            .min(otherwise(in_step, lane)),
        elapsed_most: (most(lane) + own_waits(analysis, &rules, lane))
            .min((program.elapsed_nanoseconds as f64).max(elapsed[lane])),
    };
    let path = new_path(timelines, analysis, &cpu.segments, &rules)?;
    let LaneLengths { base, .. } = cpu;
    Ok(WhatIf {
        before: RecordedLengths { path: base, elapsed: program.elapsed_nanoseconds },
        execution_error: plan.as_ref().map(ExecutionPlan::error),
        may_be_stopped: stopped.is_some(),
        keeps_order: unordered.is_some(),
        keeps_step: in_step.is_some(),
        alone: (0..changes.len()).map(saved).collect(),
        together: saved(changes.len()),
        own_waits: own_waits(analysis, &rules, changes.len()),
        path,
    })
}

/// The work of all threads that a change alone, or all of them together, leaves out.
fn saved_work(plan: &ExecutionPlan, rules: &ChangeRules<'_>, lane: usize) -> f64 {
    plan.saved_work(&factors(rules, lane))
}

/// What the procedures of a change alone, or of all of them, slept and waited for devices on the critical path by elapsed time, as far as
/// it is left out, nanoseconds.
fn own_waits(analysis: &Analysis, rules: &ChangeRules<'_>, lane: usize) -> f64 {
    let of_procedure = |index: usize| {
        matches!(rules.changes[index].subject, ChangeSubject::Procedure(_) | ChangeSubject::Inclusive(_))
    };
    let is_meant = |index: usize| (index == lane || lane == rules.changes.len()) && of_procedure(index);
    let left_out = |charge: &Charge| {
        let of_cause = |cause| charge.measures.on_elapsed_path(PathWaitKind::Blocked(cause));
        let on_path: u64 = UNEXPLAINED.map(of_cause).iter().sum();
        if on_path == 0 {
            0.0
        } else {
            on_path as f64 * (1.0 - rules.factor_of(charge.thread, charge.path, is_meant)).max(0.0)
        }
    };
    analysis.charges.iter().map(left_out).sum()
}

/// Waits that no thread of the program ends.
const UNEXPLAINED: [Cause; 6] =
    [Cause::Sleep, Cause::Timer, Cause::PollTimeout, Cause::PollingSleep, Cause::Io, Cause::PageFault];

/// What work is multiplied by, of a change alone, or behind the last of them all together.
fn factors(
    rules: &ChangeRules<'_>,
    lane: usize,
) -> PlaceFactors<impl Fn(ThreadId, PathId) -> f64, impl Fn(ThreadId, PathId) -> f64> {
    let is_meant = move |index: usize| index == lane || lane == rules.changes.len();
    PlaceFactors {
        work: move |thread: ThreadId, path: PathId| rules.factor_of(thread, path, is_meant),
        spinning: |_: ThreadId, _: PathId| 1.0,
        holding: Vec::new(),
        tells_threads_apart: tell_threads_apart(rules.changes),
    }
}

/// What a change alone, or behind the last of them all together, gains on the machine's processors. Waits for an object
/// at a factor of their time gain that part of what none of them would.
fn executed(
    plan: &ExecutionPlan,
    rules: &ChangeRules<'_>,
    lane: usize,
    spin_ends: Option<&ExecutedSpinEnds>,
) -> f64 {
    let changes: Vec<&WorkChange> = rules
        .changes
        .iter()
        .enumerate()
        .filter(|&(i, _)| i == lane || lane == rules.changes.len())
        .map(|c| c.1)
        .collect();
    let factor = factors(rules, lane);
    let of_work = plan.gain_until(&factor, |_| false, spin_ends);
    let of_objects = changes.iter().filter(|change| matches!(change.subject, ChangeSubject::Objects(_)));
    let (number, left) = of_objects.fold((0, 0.0), |(n, left), change| (n + 1, left + change.factor));
    if number == 0 {
        return of_work;
    }
    let is_free = |object: ObjectId| {
        let has = |change: &&WorkChange| matches!(&change.subject, ChangeSubject::Objects(of) if of.contains(&object));
        changes.iter().any(has)
    };
    of_work + (1.0 - left / f64::from(number)) * (plan.gain_until(&factor, is_free, spin_ends) - of_work)
}

/// What the path after all changes consists of.
fn new_path<T: Timelines>(
    timelines: &T,
    analysis: &Analysis,
    segments: &[PathSegment],
    rules: &ChangeRules<'_>,
) -> Result<Vec<Charge>, T::Error> {
    let tree = (timelines.program(), timelines.paths());
    let mut work = WorkOnPath::new(tree, analysis, segments);
    sweep(&Unfolded(timelines), false, &mut work)?;
    let mut times: BTreeMap<(ThreadId, PathId), f64> = BTreeMap::new();
    for ((thread, path), time) in work.into_times() {
        let owner = rules.tree.2.owner(path);
        *times.entry((thread, owner)).or_default() += time * rules.factor(thread, path);
    }
    // Rounded so that the sum stays what it is.
    let (mut sum, mut given) = (0.0, 0);
    let charge = |((thread, path), time): ((ThreadId, PathId), f64)| {
        sum += time;
        let up_to = f64::round(sum) as u64;
        let critical_cpu = up_to.saturating_sub(given);
        given = up_to.max(given);
        Charge { thread, path, measures: Measures { critical_cpu, ..Measures::default() } }
    };
    Ok(times.into_iter().map(charge).filter(|charge| charge.measures.critical_cpu > 0).collect())
}

#[cfg(test)]
mod tests;
