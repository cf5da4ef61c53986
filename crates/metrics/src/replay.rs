//! Replay (metrics.md §5): the recorded run executed again, with some work, locks or processors changed.
//!
//! ```text
//!   recorded    T1  ==mmmm====      T2  ....mmm==        without T1's work before m, T2 has it first
//!   replayed    T1  mmmm====        T2  ==..mmm==
//! ```
//! Each thread is its list of work and synchronisation ([`crate::execution`]). Where what-if keeps the recorded order of locks, replay
//! lets them go to whoever comes first in the new timing; conditions, barriers, semaphores and joins by the tokens of the graph;
//! devices and timers as long as recorded; processors by turns as long as the recorded ones.
//!
//! How threads queue for processors follows from the recorded scheduling policy ([`SchedulerModel`]). The real-time policies move no thread
//! unless a processor is free. The fair policy moves threads when it finds the queues uneven, and when it looks is not determined: the
//! ranges hold a run in which threads share all processors evenly, and one in which they are moved to free processors only.
//!
//! The unchanged run has to come out as recorded, within 2 %. Where it does not, the locks at fault keep their recorded order, which is
//! said; ranges hold an execution in which they do not, if that misses the run by less than 10 %. Where that does not help, the replay is
//! refused. Gains are in proportion to what the replay itself takes, and ranges over executions whose work is varied by 1 % and whose
//! latencies and turns are by half, so that others come first to their locks. Where the run comes
//! out as well if nothing waits for the locks that keep their order, ranges hold such an execution too.
//!
//! Time: three readings and the executions, which run in parallel. Memory: 16 bytes a step.
//!
//! Not of every busy-wait it is known who ended it. Where there are others, ranges hold a run in which they are as long as recorded, one
//! in which they last until they ended in the unchanged run, one without them, and one in which all work that is saved was done one
//! piece after the other.
//!
//! Items of a queue go to whoever comes first, with what is done for them ([`crate::execution::queues`]), unless the unchanged run is not
//! reproduced so. It cannot see locks and queues of which the program does not tell (that needs the agent, `--locks`). An item of such a
//! queue goes to the thread that took it in the recording; where threads look as if they shared work, ranges hold that they do.

mod changed_runs;

use longpole_event::ThreadId;
use longpole_graph::sweep;
use longpole_trace::{Folding, ObjectId, PathId, Timelines, Unfolded};

use crate::analysis::{Analysis, MetricOptions};
use crate::execution::{ExecutionPlan, LockPolicy, PlaceFactors, ReplayConditions, SchedulerModel};
use crate::lock_uses::{LockUses, ReplayedOrder};
use crate::lookahead::LaneLookahead;
use crate::turns::TurnCollector;
use crate::what_if::{ChangeRules, ChangeSubject, WorkChange};
use changed_runs::ChangedRuns;

/// The part of the recorded time by which the unchanged run may be missed.
pub const MOST_MISSED: f64 = 0.02;
/// The part by which a run in which no lock keeps its order may be missed, for its gains to be among those of one in which some do.
const MOST_NEARLY_MISSED: f64 = 0.1;
/// Locks that are tried one by one where the unchanged run is missed.
const MOST_SUSPECTS: usize = 4;
/// How often the run is executed with varied work and latencies.
const VARIED: u64 = 6;

/// The part of a gain that no execution knows: caches, memory, the machine.
const UNKNOWN: f64 = 0.1;
/// The part of the recorded time up to which threads that queue for processors leave the ranges as they are.
const LITTLE_QUEUED: f64 = 0.01;

/// What is to be replayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayDemand {
    /// Changes of work; objects are left out whatever their factor.
    pub changes: Vec<WorkChange>,
    /// Devices take no time.
    pub io_is_free: bool,
    /// Numbers of processors for which the run is replayed with all changes.
    pub processors: Vec<u32>,
    /// The longest turn of a thread whose processor others want, nanoseconds; as recorded where it is none.
    pub quantum: Option<u64>,
    /// To whom locks go; where it is none, to whoever takes them first, as those of C and Rust do, if that reproduces the run.
    pub policy: Option<LockPolicy>,
}

impl ReplayDemand {
    /// The sets of locks whose holds change, in the order of the changes.
    fn holds(&self) -> Vec<Vec<ObjectId>> {
        let locks = |change: &WorkChange| match &change.subject {
            ChangeSubject::Holds(locks) => Some(locks.clone()),
            _ => None,
        };
        self.changes.iter().filter_map(locks).collect()
    }
}

/// Why the holds of these locks cannot change, if they cannot.
fn unknown_holds(holds: &[Vec<ObjectId>], uses: &LockUses) -> Option<ReplayRefusal> {
    let orders = uses.orders();
    // Of several locks of a name some may never be held.
    let order = |lock: &ObjectId| orders.iter().find(|own| own.0 == *lock).map(|own| own.1);
    let of_set = |set: &Vec<ObjectId>| {
        let mut known = set.iter().filter_map(order).peekable();
        if known.peek().is_none() {
            return Some(ReplayRefusal::UnknownHolds(None));
        }
        let unknown = known.find(|&order| order != ReplayedOrder::Arbitrated);
        unknown.map(|order| ReplayRefusal::UnknownHolds(Some(order)))
    };
    holds.iter().find_map(of_set)
}

/// A gain, nanoseconds; less than 0 where the run becomes longer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplayedGain {
    /// The least of all executions, less what they do not know.
    pub low: f64,
    /// The median.
    pub middle: f64,
    /// The most, likewise.
    pub high: f64,
}

impl ReplayedGain {
    /// The gain where it is not known who ended busy-waits, and so not what work had to follow which.
    fn or(self, of: UnknownSpinGains) -> ReplayedGain {
        let all = [self.low, self.high, of.without, of.until_recorded_ends, of.saved_work];
        ReplayedGain {
            low: all.into_iter().fold(f64::INFINITY, f64::min),
            middle: f64::midpoint(self.middle, of.without),
            high: all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// The gain where executions of another kind are as likely: this one, or this other one.
    fn or_otherwise(self, gain: f64) -> ReplayedGain {
        self.or_either(ReplayedGain::of(vec![gain], 0.0))
    }

    fn or_either(self, other: ReplayedGain) -> ReplayedGain {
        ReplayedGain { low: self.low.min(other.low), high: self.high.max(other.high), ..self }
    }

    /// The gain where what is left of threads' work may be shared by them otherwise: up to this one.
    fn or_up_to(self, gain: f64) -> ReplayedGain {
        ReplayedGain { high: self.high.max((1.0 + UNKNOWN) * gain), ..self }
    }

    /// Of what several executions gain, some at least, where the unchanged run is off by `missed`.
    fn of(mut gains: Vec<f64>, missed: f64) -> ReplayedGain {
        gains.sort_by(f64::total_cmp);
        let middle = gains[gains.len() / 2];
        let margin = UNKNOWN * middle.abs() + missed;
        ReplayedGain { low: gains[0] - margin, middle, high: gains[gains.len() - 1] + margin }
    }
}

/// Gains of executions that differ in their busy-waits of unknown end, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct UnknownSpinGains {
    /// Without these busy-waits.
    without: f64,
    /// With busy-waits that last until they ended in the unchanged run: what they wait for comes no earlier.
    until_recorded_ends: f64,
    /// All the work that is saved, one piece after the other.
    saved_work: f64,
}

/// The run on another number of processors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessorsPoint {
    /// How many each machine has.
    pub processors: u32,
    /// What it gains.
    pub gain: ReplayedGain,
    /// The part of the processors' time that has a thread.
    pub busy: f64,
    /// The lock that is held longest, and the part of the run for which it is.
    pub lock: Option<(ObjectId, f64)>,
}

/// A run replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// As recorded, nanoseconds.
    pub elapsed: u64,
    /// By what part of the recorded time the unchanged run is off.
    pub error: f64,
    /// Locks with the order of their holds; those that threads waited for longest come first.
    pub locks: Vec<(ObjectId, ReplayedOrder)>,
    /// To whom they go.
    pub policy: LockPolicy,
    /// How threads queue for processors.
    pub scheduler: SchedulerModel,
    /// Whether the ranges hold executions under another model too: the recorded policy does not determine which.
    pub is_placement_open: bool,
    /// Whether threads share work by a queue that the recording does not show: ranges reach up to what is gained if they share what is
    /// left of it evenly.
    pub has_unseen_queues: bool,
    /// For how long threads were ready while processors had other programs' threads, or were on their way to one, of all threads,
    /// nanoseconds.
    pub displaced: u64,
    /// The turn of a thread whose processor others want, nanoseconds.
    pub quantum: u64,
    /// Steps of all threads.
    pub steps: usize,
    /// Gain of each change alone.
    pub alone: Vec<ReplayedGain>,
    /// Gain of all of them, with what else is changed.
    pub together: ReplayedGain,
    /// The run with all changes on these processors.
    pub curve: Vec<ProcessorsPoint>,
}

/// Why a run cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReplayRefusal {
    /// It has too many steps.
    TooLong,
    /// The unchanged run is off by this part of the recorded time.
    Missed(f64),
    /// So many threads of the unchanged run wait for ever.
    Stuck(usize),
    /// The unchanged run is reproduced, but so many threads of a changed one wait for ever.
    ChangedStuck(usize),
    /// What is done under a lock whose holds are to change is not known: its order is this one, or it was not held.
    UnknownHolds(Option<ReplayedOrder>),
}

/// A plan with what is needed to execute it.
struct ReplayablePlan {
    plan: ExecutionPlan,
    uses: LockUses,
    quantum: u64,
    latency: u64,
    policy: LockPolicy,
    scheduler: SchedulerModel,
    /// Other models that the recorded policy may follow as well.
    other_schedulers: Vec<SchedulerModel>,
    /// What the unchanged run takes, nanoseconds.
    unchanged: u64,
    /// For how long its threads queue for processors, all together, nanoseconds.
    queued: u64,
    /// The models that come nearest to the recorded run, and what the unchanged run takes with them, nanoseconds.
    nearest: Option<(LockPolicy, SchedulerModel, u64)>,
    /// Where locks keep their recorded order: the plan in which none does, if it nearly reproduces the run. Who found a lock free
    /// waits for it there.
    unordered: Option<Box<ReplayablePlan>>,
}

/// Replays the run whose analysis this is. A procedure's own work is what `folding` gives it.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn replay<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    analysis: &Analysis,
    demand: &ReplayDemand,
    folding: &Folding,
) -> Result<Result<Replay, ReplayRefusal>, T::Error> {
    let rules = ChangeRules::new(timelines, &demand.changes, folding);
    ReplayablePlan::first(timelines, options, analysis, demand, |plan| plan.changed(&rules, demand))
}

/// By what part of the recorded time another one is longer.
fn off(replayed: u64, elapsed: u64) -> f64 {
    if elapsed == 0 { 0.0 } else { replayed as f64 / elapsed as f64 - 1.0 }
}

impl ReplayablePlan {
    /// What is made of the first plan that reproduces the run, and of which it can be made.
    fn first<T: Timelines, R>(
        timelines: &T,
        options: &MetricOptions,
        analysis: &Analysis,
        demand: &ReplayDemand,
        make: impl Fn(&ReplayablePlan) -> Result<R, ReplayRefusal>,
    ) -> Result<Result<R, ReplayRefusal>, T::Error> {
        let uses = LockUses::of(timelines)?;
        let mut turns = TurnCollector::new(timelines.program());
        sweep(&Unfolded(timelines), false, &mut turns)?;
        let elapsed = timelines.program().elapsed_nanoseconds;
        let quantum = demand.quantum.unwrap_or_else(|| turns.into_quantum(elapsed)).max(1);
        let schedulers = schedulers(timelines.program());
        let holds = demand.holds();
        if let Some(unknown) = unknown_holds(&holds, &uses) {
            return Ok(Err(unknown));
        }
        let mut refusal = ReplayRefusal::TooLong;
        let mut unordered = None;
        let knows_holds = |uses: &LockUses| unknown_holds(&holds, uses).is_none();
        for uses in attempts(&uses).into_iter().filter(knows_holds) {
            let foresight = LaneLookahead::with(timelines, options.order, &uses)?;
            let Some(mut plan) = ExecutionPlan::arbitrated(timelines, analysis, &foresight, &uses)? else {
                return Ok(Err(ReplayRefusal::TooLong));
            };
            plan.tell_held_work(&holds);
            let latency = plan.latency();
            let mut attempt = ReplayablePlan {
                plan,
                uses,
                quantum,
                latency,
                policy: LockPolicy::Barging,
                scheduler: schedulers[0],
                other_schedulers: Vec::new(),
                unchanged: 0,
                queued: 0,
                nearest: None,
                unordered: unordered.take(),
            };
            loop {
                match attempt.made_with_some_models(schedulers, demand, &make) {
                    Ok(made) => return Ok(Ok(made)),
                    Err(found) => refusal = better(refusal, found),
                }
                if !attempt.plan.keep_items() {
                    break;
                }
            }
            unordered = attempt.into_unordered();
        }
        Ok(Err(refusal))
    }

    /// What is made of the plan with the first models that reproduce the run.
    fn made_with_some_models<R>(
        &mut self,
        schedulers: &[SchedulerModel],
        demand: &ReplayDemand,
        make: &impl Fn(&ReplayablePlan) -> Result<R, ReplayRefusal>,
    ) -> Result<R, ReplayRefusal> {
        let mut refusal = ReplayRefusal::TooLong;
        for &policy in policies(&self.uses, demand.policy) {
            for &scheduler in schedulers {
                let made = self.try_models(policy, scheduler).and_then(|()| {
                    self.other_schedulers = self.open_placement(schedulers, demand);
                    make(self)
                });
                match made {
                    Ok(made) => return Ok(made),
                    Err(found) => refusal = better(refusal, found),
                }
            }
        }
        Err(refusal)
    }

    /// Takes these models if they reproduce the run; else says how far that is missed.
    fn try_models(&mut self, policy: LockPolicy, scheduler: SchedulerModel) -> Result<(), ReplayRefusal> {
        (self.policy, self.scheduler) = (policy, scheduler);
        let factors = PlaceFactors::of_work(|_: ThreadId, _: PathId| 1.0);
        let run = self.plan.replay(&factors, |_| false, self.conditions());
        (self.unchanged, self.queued) = (run.elapsed, run.queued);
        let missed = off(run.elapsed, self.plan.elapsed);
        let by = |elapsed: u64| off(elapsed, self.plan.elapsed).abs();
        if run.stuck == 0 && self.nearest.is_none_or(|nearest| by(run.elapsed) < by(nearest.2)) {
            self.nearest = Some((policy, scheduler, run.elapsed));
        }
        match run.stuck {
            0 if missed.abs() <= MOST_MISSED => Ok(()),
            0 => Err(ReplayRefusal::Missed(missed)),
            stuck => Err(ReplayRefusal::Stuck(stuck)),
        }
    }

    /// Of a plan that missed the run: itself with the nearest models if no lock keeps its order in it and it missed the run by little;
    /// else the one that it has.
    fn into_unordered(mut self) -> Option<Box<ReplayablePlan>> {
        let is_near = |nearest: &(LockPolicy, SchedulerModel, u64)| {
            off(nearest.2, self.plan.elapsed).abs() <= MOST_NEARLY_MISSED
        };
        let keeps_any = self.uses.orders().iter().any(|own| own.1 == ReplayedOrder::AtFault);
        match self.nearest.filter(is_near).filter(|_| !keeps_any) {
            Some((policy, scheduler, unchanged)) => {
                self.unordered = None;
                Some(Box::new(ReplayablePlan { policy, scheduler, unchanged, ..self }))
            }
            None => self.unordered,
        }
    }

    /// Executes it with the changes. A changed run in which threads wait for ever is no run: it would seem short.
    fn changed(&self, rules: &ChangeRules<'_>, demand: &ReplayDemand) -> Result<Replay, ReplayRefusal> {
        let executions = ChangedRuns::new(self, rules, demand);
        let replay = Replay {
            elapsed: self.plan.elapsed,
            error: off(self.unchanged, self.plan.elapsed),
            locks: self.uses.orders(),
            policy: self.policy,
            scheduler: self.scheduler,
            is_placement_open: !self.other_schedulers.is_empty(),
            has_unseen_queues: self.plan.unseen().next().is_some(),
            displaced: self.plan.displaced(),
            quantum: self.quantum,
            steps: self.plan.steps(),
            alone: (0..demand.changes.len()).map(|change| executions.gain(Some(change), None).0).collect(),
            together: executions.gain(None, None).0,
            curve: demand.processors.iter().map(|&processors| executions.point(processors)).collect(),
        };
        match executions.stuck.into_inner() {
            0 => Ok(replay),
            stuck => Err(ReplayRefusal::ChangedStuck(stuck)),
        }
    }

    fn conditions(&self) -> ReplayConditions {
        let &ReplayablePlan { quantum, latency, policy, scheduler, .. } = self;
        ReplayConditions {
            processors: None,
            quantum,
            scheduler,
            latency,
            policy,
            io: 1.0,
            seed: 0,
            draws: None,
        }
    }

    /// Other models that the recorded policy may follow, where it does not determine one and threads queue.
    fn open_placement(&self, schedulers: &[SchedulerModel], demand: &ReplayDemand) -> Vec<SchedulerModel> {
        let queue = self.queued as f64 > LITTLE_QUEUED * self.plan.elapsed as f64;
        // The first model is that of the policy; the fair one is any of them.
        let is_open = schedulers[0] == SchedulerModel::Even && (queue || !demand.processors.is_empty());
        schedulers.iter().copied().filter(|&other| is_open && other != self.scheduler).collect()
    }
}

/// The models of the recorded scheduling policy, the first one that reproduces the run is taken.
fn schedulers(program: &longpole_trace::Program) -> &'static [SchedulerModel] {
    if program.machines.iter().any(|machine| machine.real_time) {
        &[SchedulerModel::RealTime, SchedulerModel::Even]
    } else {
        &[SchedulerModel::Even, SchedulerModel::Placed, SchedulerModel::RealTime]
    }
}

/// To whom locks can go.
fn policies(uses: &LockUses, wanted: Option<LockPolicy>) -> &'static [LockPolicy] {
    let is_arbitrated = uses.orders().iter().any(|own| own.1 == ReplayedOrder::Arbitrated);
    match wanted {
        Some(LockPolicy::HandOver) => &[LockPolicy::HandOver],
        None if is_arbitrated => &[LockPolicy::Barging, LockPolicy::HandOver],
        _ => &[LockPolicy::Barging],
    }
}

/// Which locks are arbitrated: all; all but one of those that threads waited for longest; none.
fn attempts(uses: &LockUses) -> Vec<LockUses> {
    let orders = uses.orders();
    let arbitrated = orders.iter().filter(|own| own.1 == ReplayedOrder::Arbitrated).map(|own| own.0);
    let suspects: Vec<ObjectId> = arbitrated.take(MOST_SUSPECTS).collect();
    let mut attempts = vec![uses.clone()];
    if suspects.len() > 1 {
        attempts.extend(suspects.iter().map(|&suspect| uses.without(|lock| lock == suspect)));
    }
    if !suspects.is_empty() {
        attempts.push(uses.without(|_| true));
    }
    attempts
}

/// The refusal that says more: the one that comes nearest to the recorded run.
fn better(one: ReplayRefusal, other: ReplayRefusal) -> ReplayRefusal {
    let rank = |refusal: ReplayRefusal| match refusal {
        ReplayRefusal::ChangedStuck(_) | ReplayRefusal::UnknownHolds(_) => 0.0,
        ReplayRefusal::Missed(missed) => missed.abs(),
        ReplayRefusal::Stuck(_) => f64::MAX,
        ReplayRefusal::TooLong => f64::INFINITY,
    };
    if rank(other) < rank(one) { other } else { one }
}

#[cfg(test)]
mod tests;
