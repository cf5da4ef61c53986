//! Barriers: threads that have less to do wait for the one that has most.
//!
//! ```text
//!   T1  ======|======|      In each round the others wait for the slowest. With even shares every round would take
//!   T2  ==....|===...|      the mean: the run gains the waits' sum divided by the number of threads,
//!   T3  ====..|=.....|      here (4 + 3 + 2 + 5) / 3.
//! ```
//! How many threads take part is not known where the slowest never waits: that is what the range is. Only the part of
//! the waits counts that comes from work which all do (load imbalance, C §3.4): no sharing helps against what one
//! thread alone has to do.

use longpole_trace::Cause;

use super::gain::{Bounds, Range};
use super::{Recommendation, Remedy, Subject};
use crate::diagnosis::Facts;
use crate::input::Source;
use crate::quantity::{count_of, percent_text, time_text};

pub(super) fn recommendation(input: &Source<'_>, facts: &Facts, bounds: &Bounds) -> Option<Recommendation> {
    let waited = |states: &longpole_metrics::ThreadStates| {
        states.blocked.get(Cause::Barrier.index()).copied().unwrap_or(0)
    };
    let times: Vec<u64> = input.analysis.threads.iter().map(waited).filter(|&time| time > 0).collect();
    let whole: u64 = times.iter().sum();
    let waiters = times.len();
    let place = facts.waits.iter().find(|wait| wait.cause == Some(Cause::Barrier))?;
    let split = input.barrier_split().filter(|split| split.sum() > 0.0)?;
    let uneven = split.imbalance / split.sum();
    let [most, least] = [waiters, waiters + 1].map(|threads| uneven * whole as f64 / threads as f64);
    Some(Recommendation {
        subject: Subject::Waiting(format!("barrier in {}", place.place)),
        remedy: Remedy::Balance,
        gain: Range::of(&[least, most], 0.0, bounds, bounds.elapsed),
        evidence: vec![format!(
            "{} waited {} in all, {} by imbalance",
            count_of(waiters as u64, "thread"),
            time_text(whole),
            percent_text(100.0 * uneven)
        )],
    })
}
