//! What only some views need: each part is a sweep of its own, made when it is asked for.

use longpole_graph::sweep;
use longpole_trace::{Cause, ObjectId, Timelines};

use crate::analysis::{Analysis, By, Options, ThreadStates};
use crate::contention::{Contention, Waiters};
use crate::foresight::Foresight;
use crate::gains::{Gains, GainsOf, gains, prospects};
use crate::holds::{HoldSums, Holds};
use crate::phases::{Phases, phases};
use crate::states::{States, Watch};
use crate::waits::{Explanations, Limits, Waits};
use crate::wanted::WantedWatch;

/// Which parts of [`Details`] are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// [`Details::contention`] and [`Details::holds`].
    pub contention: bool,
    /// [`Details::phases`].
    pub phases: bool,
    /// The objects of which contention is told by pairs of threads and of places.
    pub contended: Vec<ObjectId>,
    /// [`Details::states`], and what a row of them is.
    pub states: Option<By>,
    /// [`Details::gains`].
    pub gains: Option<GainsOf>,
    /// [`Details::prospects`], and with it [`Details::contention`].
    pub prospects: bool,
    /// [`Details::waits`], kept apart by this.
    pub waits: Option<By>,
    /// [`Details::waits`] by procedure, where threads wait at barriers for a hundredth of the run or more.
    pub barriers: bool,
}

impl Demand {
    /// What either of two views needs; where both want the same part in different ways, the first one's way.
    #[must_use]
    pub fn or(self, other: Demand) -> Demand {
        Demand {
            contention: self.contention || other.contention,
            phases: self.phases || other.phases,
            contended: if self.contended.is_empty() { other.contended } else { self.contended },
            states: self.states.or(other.states),
            gains: self.gains.or(other.gains),
            prospects: self.prospects || other.prospects,
            waits: self.waits.or(other.waits),
            barriers: self.barriers || other.barriers,
        }
    }
}

/// Parts of the answer beside the [`Analysis`](crate::Analysis).
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Waits by object.
    pub contention: Option<Contention>,
    /// How locks were held; made with the contention.
    pub holds: Option<Holds>,
    /// Phases, proposed from the changes of parallelism.
    pub phases: Option<Phases>,
    /// Time in each state with the parallelism meanwhile.
    pub states: Option<States>,
    /// Slack and zeroing.
    pub gains: Option<Gains>,
    /// Gains, by CPU weight, of the procedures and objects that are large.
    pub prospects: Option<Gains>,
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
    options: &Options,
    demand: &Demand,
    analysis: &Analysis,
) -> Result<Details, T::Error>
where
    T: Timelines + Sync,
    T::Error: Send,
{
    let barriers = demand.barriers && wait_at_barriers(analysis);
    let waits_by = demand.waits.or(barriers.then_some(By::Procedure));
    std::thread::scope(|scope| {
        let waits = waits_by.map(|by| scope.spawn(move || waits(timelines, options, by)));
        let needs_foresight = demand.prospects || demand.gains.is_some();
        let foresight = needs_foresight.then(|| scope.spawn(|| Foresight::of(timelines)));
        let mut details = times(timelines, options, demand)?;
        if let Some(foresight) = foresight.map(join).transpose()? {
            if let Some(contention) = details.contention.as_ref().filter(|_| demand.prospects) {
                details.prospects = Some(prospects(timelines, options, analysis, &foresight, contention)?);
            }
            if let Some(of) = demand.gains {
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

fn waits<T: Timelines>(timelines: &T, options: &Options, by: By) -> Result<Waits, T::Error> {
    let (program, paths) = (timelines.program(), timelines.paths());
    let mut waits = Explanations::new(program, paths, timelines.objects(), (by, Limits::DEFAULT));
    sweep(timelines, options.io_idle, &mut waits)?;
    Ok(waits.into_waits())
}

/// The parts that sum up times.
fn times<T: Timelines>(timelines: &T, options: &Options, demand: &Demand) -> Result<Details, T::Error> {
    let mut details = Details::default();
    if demand.contention || demand.prospects {
        let (program, objects) = (timelines.program(), timelines.objects());
        let waiters = Waiters::new(program, timelines.paths(), objects, &demand.contended, options.io_idle);
        let mut sums = (waiters, HoldSums::new(objects, timelines.paths()));
        sweep(timelines, options.io_idle, &mut sums)?;
        details.contention = Some(sums.0.into_contention());
        details.holds = Some(sums.1.into_holds());
    }
    if let Some(by) = demand.states {
        details.states = Some(states(timelines, options, by)?);
    }
    if demand.phases {
        details.phases = Some(phases(timelines, options)?);
    }
    Ok(details)
}

fn states<T: Timelines>(timelines: &T, options: &Options, by: By) -> Result<States, T::Error> {
    if by == By::Object {
        let mut watch = WantedWatch::new(timelines.program(), timelines.objects());
        sweep(timelines, options.io_idle, &mut watch)?;
        return Ok(watch.into_states());
    }
    let mut watch = Watch::new(timelines.program(), by);
    sweep(timelines, options.io_idle, &mut watch)?;
    Ok(watch.into_states(timelines.paths()))
}
