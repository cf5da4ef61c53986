//! A plan executed with changes, under all conditions that its gains are to hold.

use std::sync::atomic::{AtomicUsize, Ordering};

use longpole_event::ThreadId;
use longpole_trace::{ObjectId, PathId};

use super::{
    MOST_MISSED, ProcessorsPoint, ReplayDemand, ReplayablePlan, ReplayedGain, UnknownSpinGains, VARIED, off,
};
use crate::execution::{ExecutedSpinEnds, PlaceFactors, ReplayConditions, ReplayedRun, SchedulerModel};
use crate::lock_uses::ReplayedOrder;
use crate::what_if::{ChangeRules, ChangeSubject, WorkChange};

/// Executions of a plan with changes.
pub(super) struct ChangedRuns<'a> {
    plan: &'a ReplayablePlan,
    rules: &'a ChangeRules<'a>,
    demand: &'a ReplayDemand,
    /// The most threads of an execution that wait for ever.
    pub stuck: AtomicUsize,
    /// What the unchanged run takes, by seed, nanoseconds: each gain is that of one seed.
    before: Vec<u64>,
    /// What it takes without busy-waits of unknown end, where it has many; and when these end.
    before_without_spins: Option<(u64, ExecutedSpinEnds)>,
    /// What it takes where locks that keep their recorded order have none, if that reproduces the run too.
    before_unordered: Option<u64>,
    /// What it takes under other models of the scheduler.
    before_otherwise: Vec<(SchedulerModel, u64)>,
}

impl<'a> ChangedRuns<'a> {
    pub fn new(
        plan: &'a ReplayablePlan,
        rules: &'a ChangeRules<'a>,
        demand: &'a ReplayDemand,
    ) -> ChangedRuns<'a> {
        let mut executed = ChangedRuns {
            plan,
            rules,
            demand,
            stuck: AtomicUsize::new(0),
            before: Vec::new(),
            before_without_spins: None,
            before_unordered: None,
            before_otherwise: Vec::new(),
        };
        let unchanged = executed.varied(None, plan.conditions());
        executed.before = unchanged.iter().map(|run| run.elapsed).collect();
        if plan.plan.has_unknown_spins() {
            let run = executed.execute(None, plan.conditions(), 0.0);
            // Nothing is varied in the first one.
            let first = unchanged.into_iter().next().filter(|_| run.stuck == 0);
            executed.before_without_spins = first.map(|first| (run.elapsed, first.spin_ends));
        }
        let run = executed.execute_unordered(None, plan.conditions());
        executed.before_unordered = run
            .filter(|run| run.stuck == 0 && off(run.elapsed, plan.plan.elapsed).abs() <= MOST_MISSED)
            .map(|run| run.elapsed);
        let others = plan.other_schedulers.iter().filter_map(|&scheduler| {
            let run = executed.execute(None, ReplayConditions { scheduler, ..plan.conditions() }, 1.0);
            (run.stuck == 0).then_some((scheduler, run.elapsed))
        });
        executed.before_otherwise = others.collect();
        executed
    }

    /// Executions under these conditions, one for each seed.
    fn varied(&self, changed: Option<Option<usize>>, conditions: ReplayConditions) -> Vec<ReplayedRun> {
        std::thread::scope(|scope| {
            let of_seed = |seed| {
                scope.spawn(move || self.execute(changed, ReplayConditions { seed, ..conditions }, 1.0))
            };
            let running: Vec<_> = (0..=VARIED).map(of_seed).collect();
            let done = running.into_iter().map(|run| run.join());
            let runs: Vec<ReplayedRun> =
                done.map(|run| run.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect();
            let stuck = runs.iter().map(|run| run.stuck).max().unwrap_or(0);
            self.stuck.fetch_max(stuck, Ordering::Relaxed);
            runs
        })
    }

    /// The gain of one change, or of all with this number of processors; and the first execution.
    pub fn gain(&self, change: Option<usize>, processors: Option<u32>) -> (ReplayedGain, ReplayedRun) {
        let io = if self.demand.io_is_free && change.is_none() { 0.0 } else { 1.0 };
        let draws = self.drawn_factor(change);
        let conditions = ReplayConditions { processors, io, draws, ..self.plan.conditions() };
        let runs = self.varied(Some(change), conditions);
        let gain = |(after, &before): (&ReplayedRun, &u64)| {
            self.plan.plan.elapsed as f64 * (1.0 - after.elapsed as f64 / before.max(1) as f64)
        };
        let gains: Vec<f64> = runs.iter().zip(&self.before).map(gain).collect();
        let mut range = ReplayedGain::of(gains, self.plan.unchanged.abs_diff(self.plan.plan.elapsed) as f64);
        if let Some(before) = &self.before_unordered
            && let Some(run) = self.execute_unordered(Some(change), conditions)
            && run.stuck == 0
        {
            range = range.or_otherwise(gain((&run, before)));
        }
        if let Some(plan) = &self.plan.unordered {
            let conditions = ReplayConditions { processors, io, draws, ..plan.conditions() };
            let is_free = |object: ObjectId| self.is_removed(Some(change), object);
            let run = plan.plan.replay(&self.factors(Some(change), 1.0), is_free, conditions);
            if run.stuck == 0 {
                let missed = plan.unchanged.abs_diff(plan.plan.elapsed) as f64;
                range = range.or_either(ReplayedGain::of(vec![gain((&run, &plan.unchanged))], missed));
            }
        }
        for (scheduler, before) in &self.before_otherwise {
            let conditions = ReplayConditions { scheduler: *scheduler, ..conditions };
            let run = self.execute(Some(change), conditions, 1.0);
            if run.stuck == 0 {
                range = range.or_otherwise(gain((&run, before)));
            }
        }
        if let Some((before, spin_ends)) = &self.before_without_spins {
            let run = self.execute(Some(change), conditions, 0.0);
            let is_free = |object: ObjectId| self.is_removed(Some(change), object);
            let factors = self.factors(Some(change), 1.0);
            let until_ends = self.plan.plan.replay_until(&factors, is_free, conditions, Some(spin_ends));
            self.stuck.fetch_max(run.stuck.max(until_ends.stuck), Ordering::Relaxed);
            range = range.or(UnknownSpinGains {
                without: gain((&run, before)),
                until_recorded_ends: gain((&until_ends, &self.plan.unchanged)),
                saved_work: self.plan.plan.saved_work(&factors),
            });
        }
        if let Some(evened) = self.plan.plan.evened_gain(&self.factors(Some(change), 1.0)) {
            range = range.or_up_to(evened);
        }
        let first = runs.into_iter().next().unwrap_or_default();
        (range, first)
    }

    /// The same as [`ChangedRuns::execute`], but nothing waits for locks that keep their recorded order; `None` where all go to whoever comes first.
    fn execute_unordered(
        &self,
        changed: Option<Option<usize>>,
        conditions: ReplayConditions,
    ) -> Option<ReplayedRun> {
        let orders = self.plan.uses.orders();
        let kept: Vec<ObjectId> =
            orders.iter().filter(|own| own.1 != ReplayedOrder::Arbitrated).map(|own| own.0).collect();
        if kept.is_empty() {
            return None;
        }
        let is_free = |object: ObjectId| self.is_removed(changed, object) || kept.contains(&object);
        Some(self.plan.plan.replay(&self.factors(changed, 1.0), is_free, conditions))
    }

    /// The one factor that the meant changes of work have.
    fn drawn_factor(&self, change: Option<usize>) -> Option<f64> {
        let is_meant = |&(index, own): &(usize, &WorkChange)| {
            change.is_none_or(|only| only == index) && !matches!(own.subject, ChangeSubject::Objects(_))
        };
        let mut factors = self.demand.changes.iter().enumerate().filter(is_meant).map(|(_, own)| own.factor);
        let first = factors.next()?;
        factors.all(|factor| factor == first).then_some(first)
    }

    /// Without a change, with this one, or with all; with busy-waits of unknown end so many times as long.
    fn execute(
        &self,
        changed: Option<Option<usize>>,
        conditions: ReplayConditions,
        spinning: f64,
    ) -> ReplayedRun {
        let is_free = |object: ObjectId| self.is_removed(changed, object);
        self.plan.plan.replay(&self.factors(changed, spinning), is_free, conditions)
    }

    /// Whether the object is left out, as [`ChangedRuns::execute`] has it.
    fn is_removed(&self, changed: Option<Option<usize>>, object: ObjectId) -> bool {
        let is_meant = is_meant(changed);
        let has = |(index, change): (usize, &WorkChange)| {
            is_meant(index) && matches!(&change.subject, ChangeSubject::Objects(of) if of.contains(&object))
        };
        self.demand.changes.iter().enumerate().any(has)
    }

    /// What work is multiplied by without a change, with this one, or with all.
    fn factors(
        &self,
        changed: Option<Option<usize>>,
        spinning: f64,
    ) -> PlaceFactors<impl Fn(ThreadId, PathId) -> f64, impl Fn(ThreadId, PathId) -> f64> {
        PlaceFactors {
            work: move |thread, path| self.rules.factor_of(thread, path, is_meant(changed)),
            spinning: move |_, _| spinning,
            holding: self.holding(changed),
            tells_threads_apart: self.rules.tells_threads_apart(),
        }
    }

    /// What work under the locks of each set is multiplied by.
    fn holding(&self, changed: Option<Option<usize>>) -> Vec<f64> {
        let is_meant = is_meant(changed);
        let changes = self.demand.changes.iter().enumerate();
        let of_holds = changes.filter(|(_, own)| matches!(own.subject, ChangeSubject::Holds(_)));
        of_holds.map(|(index, own)| if is_meant(index) { own.factor } else { 1.0 }).collect()
    }

    pub fn point(&self, processors: u32) -> ProcessorsPoint {
        let (gain, run) = self.gain(None, Some(processors));
        let all = run.elapsed as f64 * f64::from(processors) * self.plan.plan.processors.len() as f64;
        let locks = run.locks.iter().enumerate();
        let longest = locks.max_by_key(|(_, lock)| lock.held).filter(|(_, lock)| lock.held > 0);
        ProcessorsPoint {
            processors,
            gain,
            busy: run.busy as f64 / all.max(1.0),
            lock: longest
                .map(|(index, lock)| (ObjectId(index as u32), lock.held as f64 / run.elapsed.max(1) as f64)),
        }
    }
}

/// Whether a change is among those meant: none, one, or all.
fn is_meant(changed: Option<Option<usize>>) -> impl Fn(usize) -> bool + Copy {
    move |index| changed.is_some_and(|only| only.is_none_or(|only| only == index))
}
