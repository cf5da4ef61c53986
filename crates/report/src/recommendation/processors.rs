//! Processors: threads on the elapsed-weighted critical path that could run and have none.
//!
//! With a processor for each the run would be as long as the critical path by CPU time, plus what that leaves out:
//! it gains at most the ready time on the path, and at most what the path by CPU time is shorter than the run.

use super::gain::{Bounds, Range};
use super::{Recommendation, Remedy, Subject};
use crate::diagnosis::Facts;
use crate::quantity::{percent, percent_text, time_text};

/// Use of the processors from which on they are the program's own, percent.
const USED: f64 = 70.0;

pub(super) fn recommendation(facts: &Facts, bounds: &Bounds) -> Option<Recommendation> {
    let longer = (bounds.elapsed - facts.path as f64).max(0.0);
    let used = facts.used_percent();
    let remedy = if used >= USED { Remedy::MoreProcessors } else { Remedy::FreeProcessors };
    let share = percent(facts.path_ready as f64, bounds.elapsed);
    let lacking = format!("the critical path was without a CPU {} of the run", percent_text(share));
    let evidence = match remedy {
        Remedy::MoreProcessors => {
            vec![lacking, format!("threads were ready {} in all", time_text(facts.ready))]
        }
        _ => vec![format!("it got {} of the CPUs: others, a quota, pinning", percent_text(used)), lacking],
    };
    (facts.path_ready > 0).then(|| Recommendation {
        subject: Subject::Waiting("waiting for a CPU".to_owned()),
        remedy,
        gain: Range::up_to((facts.path_ready as f64).min(longer), bounds),
        evidence,
    })
}
