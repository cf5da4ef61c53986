//! What only some views need: each part is a sweep of its own, made when it is asked for.

use longpole_graph::sweep;
use longpole_trace::{ObjectId, Timelines};

use crate::analysis::{Analysis, By, Options};
use crate::contention::{Contention, Waiters};
use crate::foresight::Foresight;
use crate::gains::{Gains, GainsOf, gains, prospects};
use crate::phases::{Phases, phases};
use crate::states::{States, Watch};
use crate::waits::{Explanations, Limits, Waits};
use crate::wanted::WantedWatch;

/// Which parts of [`Details`] are wanted.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// [`Details::contention`].
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
}

/// Parts of the answer beside the [`Analysis`](crate::Analysis).
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Waits by object.
    pub contention: Option<Contention>,
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

/// Computes the parts that are wanted, beside the analysis that was made with the same options.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn details<T: Timelines>(
    timelines: &T,
    options: &Options,
    demand: &Demand,
    analysis: &Analysis,
) -> Result<Details, T::Error> {
    let mut details = Details::default();
    if demand.contention || demand.prospects {
        let (program, objects) = (timelines.program(), timelines.objects());
        let mut waiters =
            Waiters::new(program, timelines.paths(), objects, &demand.contended, options.io_idle);
        sweep(timelines, options.io_idle, &mut waiters)?;
        details.contention = Some(waiters.into_contention());
    }
    if let Some(by) = demand.states {
        details.states = Some(states(timelines, options, by)?);
    }
    if demand.phases {
        details.phases = Some(phases(timelines, options)?);
    }
    if let Some(contention) = details.contention.as_ref().filter(|_| demand.prospects) {
        let foresight = Foresight::of(timelines)?;
        details.prospects = Some(prospects(timelines, options, analysis, &foresight, contention)?);
    }
    if let Some(of) = demand.gains {
        let foresight = Foresight::of(timelines)?;
        details.gains = Some(gains(timelines, options, of, analysis, &foresight)?);
    }
    if let Some(by) = demand.waits {
        let (program, paths) = (timelines.program(), timelines.paths());
        let mut waits = Explanations::new(program, paths, timelines.objects(), (by, Limits::DEFAULT));
        sweep(timelines, options.io_idle, &mut waits)?;
        details.waits = Some(waits.into_waits());
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
