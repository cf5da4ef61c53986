//! What only some views need: each part is a sweep of its own, made when it is asked for.

use longpole_graph::sweep;
use longpole_trace::Timelines;

use crate::analysis::{Analysis, Options};
use crate::contention::Contention;
use crate::phases::{Phases, phases};

/// Which parts of [`Details`] are wanted.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// [`Details::contention`].
    pub contention: bool,
    /// [`Details::phases`].
    pub phases: bool,
}

/// Parts of the answer beside the [`Analysis`](crate::Analysis).
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Waits by object.
    pub contention: Option<Contention>,
    /// Phases, proposed from the changes of parallelism.
    pub phases: Option<Phases>,
}

/// Computes the parts that are wanted, beside the analysis that was made with the same options.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn details<T: Timelines>(
    timelines: &T,
    options: &Options,
    demand: &Demand,
    _analysis: &Analysis,
) -> Result<Details, T::Error> {
    let mut details = Details::default();
    if demand.contention {
        let mut contention = Contention::new(timelines.objects());
        sweep(timelines, options.io_idle, &mut contention)?;
        details.contention = Some(contention);
    }
    if demand.phases {
        details.phases = Some(phases(timelines, options)?);
    }
    Ok(details)
}
