//! Devices and clocks: waits on the elapsed-weighted critical path that no thread of the program ends.
//!
//! Such a wait is on that path at its length; the run gains at most that.

use longpole_trace::Cause;

use super::gain::{Bounds, Range};
use super::{Recommendation, Remedy, Subject};
use crate::diagnosis::Facts;
use crate::quantity::{percent, percent_text};

pub(super) fn recommendations(facts: &Facts, bounds: &Bounds) -> Vec<Recommendation> {
    let remedy = |cause| match cause {
        Some(Cause::Io | Cause::PageFault) => Some(Remedy::OverlapIo),
        Some(Cause::Sleep) => Some(Remedy::AwaitEvent),
        _ => None,
    };
    let recommendation = |wait: &crate::diagnosis::Wait| {
        let share = percent_text(percent(wait.time as f64, bounds.elapsed));
        Some(Recommendation {
            subject: Subject::Waiting(format!("{} in {}", wait.cause?, wait.place)),
            remedy: remedy(wait.cause)?,
            gain: Range::up_to(wait.time as f64, bounds),
            evidence: vec![format!("{share} of the critical path by elapsed time")],
        })
    };
    facts.path_waits.iter().filter_map(recommendation).collect()
}
