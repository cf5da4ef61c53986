//! Parts of the details that need no analysis, so that they are found while one is made.
//!
//! ```text
//!   one processor   first sweeps ──► strata ──► division ──► kept ──────► gains
//!   another                          contention              looking ahead
//! ```

use longpole_graph::sweep;
use longpole_trace::{ObjectId, Timelines};

use crate::analysis::MetricOptions;
use crate::contention::{Contention, Waiters};
use crate::details::DetailsDemand;
use crate::holds::{HoldSums, LockHolds};
use crate::lookahead::LaneLookahead;

/// What was found of the details while the analysis was made.
#[derive(Debug, Default)]
pub struct EarlyDetails {
    /// Of no chosen objects.
    pub(crate) contention: Option<(Contention, LockHolds)>,
    pub(crate) foresight: Option<LaneLookahead>,
}

impl EarlyDetails {
    /// The contention, if it is demanded of no chosen objects.
    ///
    /// # Errors
    /// What the timelines say when they cannot be read.
    pub fn contention<T: Timelines>(
        timelines: &T,
        options: &MetricOptions,
        demand: &DetailsDemand,
    ) -> Result<EarlyDetails, T::Error> {
        let is_demanded = demand.needs_contention() && demand.contended.is_empty();
        let contention = is_demanded.then(|| contention(timelines, options, &[])).transpose()?;
        Ok(EarlyDetails { contention, foresight: None })
    }

    /// The same with what gains have to know beforehand, if they are demanded.
    ///
    /// # Errors
    /// What the timelines say when they cannot be read.
    pub fn looking_ahead<T: Timelines>(
        self,
        timelines: &T,
        options: &MetricOptions,
        demand: &DetailsDemand,
    ) -> Result<EarlyDetails, T::Error> {
        let foresight = demand.needs_foresight().then(|| LaneLookahead::of(timelines, options.order));
        Ok(EarlyDetails { foresight: foresight.transpose()?, ..self })
    }
}

/// What happened at each object, told by pairs of those that are chosen, and how locks were held.
pub(crate) fn contention<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    chosen: &[ObjectId],
) -> Result<(Contention, LockHolds), T::Error> {
    let (program, paths, objects) = (timelines.program(), timelines.paths(), timelines.objects());
    let waiters = Waiters::new(program, paths, objects, chosen, options.io_idle);
    let mut sums = (waiters, HoldSums::new(objects, paths));
    sweep(timelines, options.io_idle, &mut sums)?;
    Ok((sums.0.into_contention(), sums.1.into_holds()))
}

#[cfg(test)]
mod tests {
    use longpole_testkit::random_timelines;
    use proptest::prelude::*;

    use super::*;
    use crate::{By, GainsOf, Weight, analyse, analyse_beside, details, details_with};

    proptest! {
        #[test]
        fn what_is_found_early_is_what_is_found_later(made in random_timelines(4, 60)) {
            let options = MetricOptions::default();
            let nothing = DetailsDemand::default;
            let of = GainsOf { by: By::Procedure, weight: Weight::Cpu };
            let demands = [
                DetailsDemand { prospects: true, ..nothing() },
                DetailsDemand { contention: true, contended: vec![ObjectId(0)], ..nothing() },
                DetailsDemand { gains: Some(of), contention: true, ..nothing() },
            ];
            for demand in demands {
                if demand.contended.len() > made.objects.all().len() {
                    continue;
                }
                let Ok(alone) = analyse(&made, &options);
                let Ok(later) = details(&made, &options, &demand, &alone);
                let Ok((analysis, early)) =
                    analyse_beside(&made, &options, || EarlyDetails::contention(&made, &options, &demand));
                let Ok(early) = early;
                prop_assert_eq!(early.contention.is_some(), demand.contended.is_empty());
                let Ok(early) = early.looking_ahead(&made, &options, &demand);
                prop_assert_eq!(analysis.kept_bytes(), alone.kept_bytes());
                let Ok(found) = details_with(&made, &options, &demand, &analysis, early);
                prop_assert_eq!(found.kept_bytes(), later.kept_bytes());
            }
        }
    }
}
