//! What only some views need: each part is a sweep of its own, made when it is asked for.

use longpole_graph::sweep;
use longpole_trace::{Cause, ObjectId, Program, Timelines};

use crate::analysis::{Analysis, By, MetricOptions, ThreadStates};
use crate::callers::{CallCounter, CallCounts};
use crate::contention::Contention;
use crate::early::{EarlyDetails, contention};
use crate::execution::Executions;
use crate::gains::{Gains, GainsOf, Large, gains, prospects};
use crate::holds::LockHolds;
use crate::lookahead::LaneLookahead;
use crate::object_states::ObjectStateSweep;
use crate::phases::{Phases, phases};
use crate::processors::{ProcessorSweep, ProcessorTime};
use crate::row_replays::{NoRowReplays, RowReplays};
use crate::states::{StateSweep, StateTable};
use crate::synchronisation::{CostSources, SynchronisationCost};
use crate::waits::{Explanations, Limits, Waits};

/// Which parts of [`Details`] are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DetailsDemand {
    /// [`Details::contention`] and [`Details::holds`].
    pub contention: bool,
    /// [`Details::calls`].
    pub calls: bool,
    /// [`Details::phases`].
    pub phases: bool,
    /// The objects of which contention is told by pairs of threads and of places.
    pub contended: Vec<ObjectId>,
    /// [`Details::states`], and what a row of them is.
    pub states: Option<By>,
    /// [`Details::gains`].
    pub gains: Option<GainsOf>,
    /// [`Details::replays`], and what a row of them is; [`row_replays`](crate::row_replays) makes them.
    pub replays: Option<By>,
    /// That however long the recording is.
    pub replays_all: bool,
    /// [`Details::prospects`], and with it [`Details::contention`].
    pub prospects: bool,
    /// [`Details::processors`].
    pub processors: bool,
    /// [`Details::waits`], kept apart by this.
    pub waits: Option<By>,
    /// [`Details::waits`], where threads wait at barriers for a hundredth of the run or more: by procedure. Of ranks that pass
    /// messages always: by process.
    pub barriers: bool,
}

impl DetailsDemand {
    /// What either of two views needs; where both want the same part in different ways, the first one's way.
    #[must_use]
    pub fn or(self, other: DetailsDemand) -> DetailsDemand {
        DetailsDemand {
            contention: self.contention || other.contention,
            calls: self.calls || other.calls,
            phases: self.phases || other.phases,
            contended: if self.contended.is_empty() { other.contended } else { self.contended },
            states: self.states.or(other.states),
            gains: self.gains.or(other.gains),
            replays: self.replays.or(other.replays),
            replays_all: self.replays_all || other.replays_all,
            prospects: self.prospects || other.prospects,
            processors: self.processors || other.processors,
            waits: self.waits.or(other.waits),
            barriers: self.barriers || other.barriers,
        }
    }

    pub(crate) fn needs_contention(&self) -> bool {
        self.contention || self.prospects
    }

    pub(crate) fn needs_foresight(&self) -> bool {
        self.prospects || self.gains.is_some()
    }

    /// What keeps the wanted waits apart.
    fn waits_by(&self, program: &Program, analysis: &Analysis) -> Option<By> {
        let has_ranks = program.processes.iter().any(|process| process.rank.is_some());
        let of_findings = match (self.barriers, has_ranks) {
            (true, true) => Some(By::Process),
            (true, false) => wait_at_barriers(analysis).then_some(By::Procedure),
            (false, _) => None,
        };
        self.waits.or(of_findings)
    }

    /// The demand in parts, of which each is found by itself: the details of all are theirs together.
    #[must_use]
    pub fn parts(&self, program: &Program, analysis: &Analysis) -> Vec<DetailsDemand> {
        let nothing = DetailsDemand::default;
        let contention = self.needs_contention();
        let (replays, replays_all) = (self.replays, self.replays_all);
        let parts = [
            DetailsDemand { contention, ..nothing() },
            DetailsDemand { prospects: self.prospects, ..nothing() },
            DetailsDemand { calls: self.calls, ..nothing() },
            DetailsDemand { phases: self.phases, ..nothing() },
            DetailsDemand { states: self.states, ..nothing() },
            DetailsDemand { gains: self.gains, ..nothing() },
            DetailsDemand { processors: self.processors, ..nothing() },
            DetailsDemand { waits: self.waits_by(program, analysis), ..nothing() },
            DetailsDemand { replays, replays_all: replays_all && replays.is_some(), ..nothing() },
        ];
        let wanted = parts.into_iter().filter(|part| *part != nothing());
        wanted
            .map(|part| {
                let contended = if part.contention { self.contended.clone() } else { Vec::new() };
                DetailsDemand { contended, ..part }
            })
            .collect()
    }
}

/// Parts of the answer beside the [`Analysis`](crate::Analysis).
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Waits by object.
    pub contention: Option<Contention>,
    /// How locks were held; made with the contention.
    pub holds: Option<LockHolds>,
    /// What synchronising takes, the largest first; made with the contention.
    pub synchronisation: Vec<SynchronisationCost>,
    /// How often procedures called each other, where threads told of it.
    pub calls: Option<CallCounts>,
    /// Phases, proposed from the changes of parallelism.
    pub phases: Option<Phases>,
    /// Time in each state with the parallelism meanwhile.
    pub states: Option<StateTable>,
    /// Slack and zeroing.
    pub gains: Option<Gains>,
    /// The run replayed without each of its largest rows, or why it was not.
    pub replays: Option<Result<RowReplays, NoRowReplays>>,
    /// Gains, by CPU weight, of the procedures and objects that are large.
    pub prospects: Option<Gains>,
    /// The same gains on the processors that there are, where the recording is not too large for that.
    pub executions: Option<Executions>,
    /// The time of every processor.
    pub processors: Option<Vec<ProcessorTime>>,
    /// Every wait, explained.
    pub waits: Option<Waits>,
}

/// Computes the parts that are wanted, beside the analysis that was made with the same options. Parts that do not
/// need each other are computed at the same time.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn details<T>(
    timelines: &T,
    options: &MetricOptions,
    demand: &DetailsDemand,
    analysis: &Analysis,
) -> Result<Details, T::Error>
where
    T: Timelines + Sync,
    T::Error: Send,
{
    details_with(timelines, options, demand, analysis, EarlyDetails::default())
}

/// The same, but for what was found early of the same timelines with the same options.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn details_with<T>(
    timelines: &T,
    options: &MetricOptions,
    demand: &DetailsDemand,
    analysis: &Analysis,
    early: EarlyDetails,
) -> Result<Details, T::Error>
where
    T: Timelines + Sync,
    T::Error: Send,
{
    let EarlyDetails { contention, foresight } = early;
    std::thread::scope(|scope| {
        let waits_by = demand.waits_by(timelines.program(), analysis);
        let waits = waits_by.map(|by| scope.spawn(move || waits(timelines, options, by)));
        let foresight = demand.needs_foresight().then(|| match foresight {
            Some(foresight) => scope.spawn(|| Ok(foresight)),
            None => scope.spawn(|| LaneLookahead::of(timelines, options.order)),
        });
        let mut details = times(timelines, options, demand, (analysis, contention))?;
        let found_with_prospects = demand.prospects && details.contention.is_some();
        if !found_with_prospects {
            details.synchronisation = costs(timelines, analysis, &details);
        }
        if let Some(foresight) = foresight.map(join).transpose()? {
            if let Some(contention) = details.contention.as_ref().filter(|_| demand.prospects) {
                let costs = || costs(timelines, analysis, &details);
                let large = Large { analysis, contention, costs, with_all: demand.gains };
                let found = prospects(timelines, options, &foresight, large)?;
                (details.prospects, details.executions) = (Some(found.gains), found.executions);
                (details.gains, details.synchronisation) = (found.all, found.costs);
            }
            if let Some(of) = demand.gains.filter(|_| details.gains.is_none()) {
                details.gains = Some(gains(timelines, options, of, analysis, &foresight)?);
            }
        }
        details.waits = waits.map(join).transpose()?;
        Ok(details)
    })
}

/// Whether threads waited at barriers for a part of the run that is worth a word.
fn wait_at_barriers(analysis: &Analysis) -> bool {
    let waited = |thread: &ThreadStates| thread.blocked.get(Cause::Barrier.index()).copied().unwrap_or(0);
    let all: u64 = analysis.threads.iter().map(waited).sum();
    all >= analysis.elapsed / 100 && all > 0
}

fn join<V>(thread: std::thread::ScopedJoinHandle<'_, V>) -> V {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn waits<T: Timelines>(timelines: &T, options: &MetricOptions, by: By) -> Result<Waits, T::Error> {
    let (program, paths) = (timelines.program(), timelines.paths());
    let mut waits = Explanations::new(program, paths, timelines.objects(), (by, Limits::DEFAULT));
    sweep(timelines, options.io_idle, &mut waits)?;
    Ok(waits.into_waits())
}

/// What synchronising takes by the contention of these details, without what prospects find of it.
pub fn costs<T: Timelines>(
    timelines: &T,
    analysis: &Analysis,
    details: &Details,
) -> Vec<SynchronisationCost> {
    let (Some(contention), Some(holds)) = (&details.contention, &details.holds) else { return Vec::new() };
    let (paths, objects) = (timelines.paths(), timelines.objects());
    CostSources { paths, objects, analysis, contention, holds }.costs()
}

/// The parts that sum up times.
fn times<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    demand: &DetailsDemand,
    (analysis, found): (&Analysis, Option<(Contention, LockHolds)>),
) -> Result<Details, T::Error> {
    let mut details = Details::default();
    if demand.needs_contention() {
        let (contention, holds) = match found.filter(|_| demand.contended.is_empty()) {
            Some(found) => found,
            None => contention(timelines, options, &demand.contended)?,
        };
        (details.contention, details.holds) = (Some(contention), Some(holds));
    }
    sums(timelines, options, demand, &mut details)?;
    if demand.phases {
        details.phases = Some(phases(timelines, options, analysis)?);
    }
    Ok(details)
}

/// Calls, states and processors, in one sweep.
fn sums<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    demand: &DetailsDemand,
    details: &mut Details,
) -> Result<(), T::Error> {
    let (program, paths) = (timelines.program(), timelines.paths());
    let by_node = demand.states.filter(|&by| by != By::Object);
    let by_object = demand.states.filter(|&by| by == By::Object);
    let placements = demand.processors.then(|| timelines.placements()).transpose()?;
    let mut sums = (
        demand.calls.then(|| CallCounter::new(paths)),
        by_node.map(|by| StateSweep::new(program, by)),
        by_object.map(|_| ObjectStateSweep::new(program, timelines.objects())),
        placements.map(|placements| ProcessorSweep::new(program, &placements)),
    );
    if !(demand.calls || demand.states.is_some() || demand.processors) {
        return Ok(());
    }
    sweep(timelines, options.io_idle, &mut sums)?;
    let (calls, by_node, by_object, processors) = sums;
    details.calls = calls.map(CallCounter::into_counts);
    let by_object = by_object.map(ObjectStateSweep::into_states);
    details.states = by_node.map(|states| states.into_states(paths)).or(by_object);
    details.processors = processors.map(ProcessorSweep::into_times);
    Ok(())
}
