//! The program activity graph, executed on the machine's processors (metrics.md §1, §5): what a change does to the elapsed time
//! where processors are few.
//!
//! ```text
//!   recorded on 2     T1  AAAA--BB        as a plan     T1  A 4, release x, B 2
//!                     T2  CCCCCC                        T2  C 6
//!                     T3  ..--DDDD                      T3  wait x, D 4
//!   C made free: the path stays 8, but D no longer queues behind C: the run takes 8 instead of 10.
//! ```
//! A *plan* has each thread's steps: work, time off the processors that nothing in the program explains (timers,
//! devices), releases, and waits for releases. Ready time is not in it: that is what executing it anew brings about.
//! Processors are shared evenly among the threads that can run, as a fair scheduler does in the long run.
//!
//! Every dependence of the graph holds, so the order of events is the recorded one: locks go to whom they went to.
//! The recorded run executed anew must take as long as it took; by how much it does not is the plan's error.
//!
//! *Replay* ([`crate::replay`]) executes the same kind of plan, in which threads ask for locks and give them back
//! ([`arbitration`]): locks then go to whoever comes first ([`replayer`]).
//!
//! Time: n log t for n steps and t threads. Memory: 16 bytes a step.

mod arbitration;
mod compiler;
mod ends;
mod held_work;
mod in_step;
mod job_slots;
mod lock_order;
mod node_releases;
mod plan;
mod planned_waits;
mod polls;
mod pools;
mod possible_stops;
mod presence;
mod prospects;
mod queues;
mod replayer;
mod scheduler;
mod time_limits;
mod told_turns;
mod watcher;

use longpole_event::ThreadId;
use longpole_graph::sweep;
use longpole_trace::{ObjectId, PathId, Timelines, Unfolded};
use rustc_hash::FxHashMap;

use crate::analysis::{Analysis, Order};
use crate::charging::{ChargeGroup, ChargeGroupId, ChargePart, Charging};
use crate::hand_offs::HandOffs;
use crate::lock_uses::LockUses;
use crate::lookahead::LaneLookahead;
use arbitration::Arbitration;
use compiler::Compiler;
use in_step::ThreadsInStep;
use plan::Factors;
#[cfg(test)]
pub(crate) use plan::{CompactObjectId, NodeId, PlanStep, ThreadPlan};
pub(crate) use plan::{ExecutedSpinEnds, ExecutionPlan};
pub(crate) use prospects::executions;
pub use prospects::{ExecutedGain, Executions, LeastGain, ReplayedChange, ReplayedChanges};
pub use replayer::{LockPolicy, SchedulerModel};
pub(crate) use replayer::{ReplayConditions, ReplayedRun};
use scheduler::ScheduledRun;

/// Steps that a plan may have; larger recordings are not executed.
const MOST_STEPS: usize = 8 << 20;

/// What times of a thread at a path are multiplied by.
pub(crate) struct PlaceFactors<W, S> {
    /// Of work.
    pub work: W,
    /// Of busy-waits that nothing is known to have ended.
    pub spinning: S,
    /// Of work under locks, by the sets of locks that the plan tells apart; none where it tells none.
    pub holding: Vec<f64>,
    /// Whether work has another one for other threads at the same path.
    pub tells_threads_apart: bool,
}

impl<W> PlaceFactors<W, fn(ThreadId, PathId) -> f64> {
    /// Of work alone, which has the same one for all threads at a path.
    pub fn of_work(work: W) -> Self {
        PlaceFactors { work, spinning: |_, _| 1.0, holding: Vec::new(), tells_threads_apart: false }
    }
}

impl ExecutionPlan {
    /// The plan of a run, whose analysis this is; `None` where it has too many steps.
    ///
    /// # Errors
    /// What the timelines say when they cannot be read.
    pub fn of<T: Timelines>(
        timelines: &T,
        analysis: &Analysis,
        foresight: &LaneLookahead,
    ) -> Result<Option<ExecutionPlan>, T::Error> {
        if foresight.steps > MOST_STEPS {
            return Ok(None);
        }
        let stops = possible_stops::of_run(timelines, analysis);
        let compile = |hand_offs: &HandOffs, in_step: Option<ThreadsInStep>| {
            let recorded = (timelines.program(), timelines.paths(), timelines.objects());
            let mut compiler = Compiler::new(recorded, analysis, foresight, MOST_STEPS);
            compiler.hand_offs = hand_offs;
            compiler.stops = stops.clone();
            compiler.in_step = in_step;
            sweep(&Unfolded(timelines), false, &mut compiler)?;
            let streams = std::mem::take(&mut compiler.streams);
            Ok((compiler.into_plan(timelines.program()), streams))
        };
        let (Some(mut plan), streams) = compile(&foresight.hand_offs, None)? else { return Ok(None) };
        if plan.lacks_waits() && foresight.hand_offs.leave_out_locks() {
            let ordered = compile(&HandOffs::new(timelines.objects(), Order::Recorded), None)?.0;
            plan = match ordered {
                Some(ordered) => plan.or_ordered(ordered),
                None => plan,
            };
        }
        let pairs = streams.into_pairs();
        if !pairs.is_empty() {
            plan.in_step = compile(&foresight.hand_offs, Some(ThreadsInStep::of(pairs)))?.0.map(Box::new);
        }
        Ok(Some(plan))
    }

    /// The plan of a run in which locks go to whoever comes first, as far as these uses know of them; `foresight` knows them too.
    ///
    /// # Errors
    /// What the timelines say when they cannot be read.
    pub fn arbitrated<T: Timelines>(
        timelines: &T,
        analysis: &Analysis,
        foresight: &LaneLookahead,
        uses: &LockUses,
    ) -> Result<Option<ExecutionPlan>, T::Error> {
        let recorded = (timelines.program(), timelines.paths(), timelines.objects());
        let mut compiler = Compiler::new(recorded, analysis, foresight, MOST_STEPS);
        compiler.plan.objects = timelines.objects().all().len();
        compiler.arbitration = Some(Arbitration::new(uses, timelines.program()));
        sweep(&Unfolded(timelines), false, &mut compiler)?;
        Ok(compiler.into_steps(timelines.program()))
    }

    /// Executes the plan with locks that go to whoever comes first.
    pub fn replay<W, S>(
        &self,
        changed: &PlaceFactors<W, S>,
        is_free: impl Fn(ObjectId) -> bool,
        conditions: ReplayConditions,
    ) -> ReplayedRun
    where
        W: Fn(ThreadId, PathId) -> f64,
        S: Fn(ThreadId, PathId) -> f64,
    {
        self.replay_until(changed, is_free, conditions, None)
    }

    /// The same; where the ends of another execution's busy-waits of unknown end are given, these waits end no earlier.
    pub fn replay_until<W, S>(
        &self,
        changed: &PlaceFactors<W, S>,
        is_free: impl Fn(ObjectId) -> bool,
        conditions: ReplayConditions,
        spin_ends: Option<&ExecutedSpinEnds>,
    ) -> ReplayedRun
    where
        W: Fn(ThreadId, PathId) -> f64,
        S: Fn(ThreadId, PathId) -> f64,
    {
        replayer::replay(self, &self.factors(changed), &is_free, conditions, spin_ends)
    }

    /// How much less all threads together work with these factors, nanoseconds.
    pub fn saved_work<W, S>(&self, changed: &PlaceFactors<W, S>) -> f64
    where
        W: Fn(ThreadId, PathId) -> f64,
        S: Fn(ThreadId, PathId) -> f64,
    {
        let factors = self.factors(changed);
        self.threads.iter().flat_map(|thread| &thread.steps).map(|step| factors.saved_work(step)).sum()
    }

    /// What is gained with these factors where threads that share work by a queue which the recording does not show would share what is
    /// left of it; `None` without such threads.
    pub fn evened_gain<W, S>(&self, changed: &PlaceFactors<W, S>) -> Option<f64>
    where
        W: Fn(ThreadId, PathId) -> f64,
        S: Fn(ThreadId, PathId) -> f64,
    {
        self.unseen().next().map(|_| self.evened(&self.factors(changed)))
    }

    /// How much less time the recorded run would have taken, nanoseconds, if times were multiplied
    /// by these factors, and waits for the objects for which `is_free` holds took none. In proportion to what the plan by itself
    /// takes, so that what it does not reproduce is no gain.
    pub fn gain<W, S>(&self, factors: &PlaceFactors<W, S>, is_free: impl Fn(ObjectId) -> bool) -> f64
    where
        W: Fn(ThreadId, PathId) -> f64,
        S: Fn(ThreadId, PathId) -> f64,
    {
        self.gain_until(factors, is_free, None)
    }

    /// The same; where ends are given, busy-waits of unknown end last at least until these.
    pub fn gain_until<W, S>(
        &self,
        factors: &PlaceFactors<W, S>,
        is_free: impl Fn(ObjectId) -> bool,
        spin_ends: Option<&ExecutedSpinEnds>,
    ) -> f64
    where
        W: Fn(ThreadId, PathId) -> f64,
        S: Fn(ThreadId, PathId) -> f64,
    {
        if self.unchanged == 0.0 {
            return 0.0;
        }
        self.elapsed as f64 * (1.0 - self.execute(factors, is_free, spin_ends).elapsed / self.unchanged)
    }

    /// Executes it without a change.
    fn execute_unchanged(&mut self) {
        let unchanged = PlaceFactors::of_work(|_: ThreadId, _: PathId| 1.0);
        let run = self.execute(&unchanged, |_| false, None);
        (self.unchanged, self.spin_ends) = (run.elapsed, run.spin_ends);
    }

    /// Executes the changed plan.
    fn execute<W: Fn(ThreadId, PathId) -> f64, S: Fn(ThreadId, PathId) -> f64>(
        &self,
        changed: &PlaceFactors<W, S>,
        is_free: impl Fn(ObjectId) -> bool,
        spin_ends: Option<&ExecutedSpinEnds>,
    ) -> ScheduledRun {
        let factors = self.factors(changed);
        let least = self.locks.least_length(&changed.work, &is_free);
        let run = scheduler::execute(self, &factors, &is_free, spin_ends);
        ScheduledRun { elapsed: run.elapsed.max(least), ..run }
    }

    /// The factors of all places.
    fn factors<W: Fn(ThreadId, PathId) -> f64, S: Fn(ThreadId, PathId) -> f64>(
        &self,
        changed: &PlaceFactors<W, S>,
    ) -> Factors {
        let mut divided =
            DividedFactors { charging: &self.charging, factors: changed, of_pool: FxHashMap::default() };
        let spinning = |&(thread, part): &(ThreadId, ChargePart)| match part {
            ChargePart::At(path) => (changed.spinning)(thread, path),
            ChargePart::Of(_) => 1.0,
        };
        Factors {
            work: self
                .places
                .iter()
                .enumerate()
                .map(|(place, &(thread, part))| {
                    divided.of_part(thread, part) * self.held_factor(place, &changed.holding)
                })
                .collect(),
            spinning: self.places.iter().map(spinning).collect(),
        }
    }
}

/// The factors of divided work.
struct DividedFactors<'a, W, S> {
    charging: &'a Charging,
    factors: &'a PlaceFactors<W, S>,
    of_pool: FxHashMap<(ThreadId, u32), f64>,
}

impl<W: Fn(ThreadId, PathId) -> f64, S> DividedFactors<'_, W, S> {
    fn of_part(&mut self, thread: ThreadId, part: ChargePart) -> f64 {
        match part {
            ChargePart::At(path) => (self.factors.work)(thread, path),
            ChargePart::Of(group) => self.of_group(thread, group),
        }
    }

    fn of_group(&mut self, thread: ThreadId, group: ChargeGroupId) -> f64 {
        let ChargeGroup { pools, claimed } = self.charging.group(group);
        let of_pools: f64 = pools.iter().map(|&(pool, part)| part * self.of_pool(thread, pool)).sum();
        let of_claims =
            claimed.iter().map(|&(path, part)| part * (self.factors.work)(thread, path)).sum::<f64>();
        (of_pools - of_claims).max(0.0)
    }

    fn of_pool(&mut self, thread: ThreadId, pool: u32) -> f64 {
        let key = if self.factors.tells_threads_apart { thread } else { ThreadId(0) };
        let (charging, factors) = (self.charging, self.factors);
        *self.of_pool.entry((key, pool)).or_insert_with(|| {
            let shares = charging.pools[pool as usize].iter();
            shares.map(|&(path, share)| share * (factors.work)(thread, path)).sum()
        })
    }
}

#[cfg(test)]
mod tests;
