//! True zeroing (metrics.md §5): versions of a program run in turn, and what each gains.
//!
//! ```text
//!   round 1    unchanged 230 ms    without P1 200 ms    pair: gain 13.0 %
//!   round 2    unchanged 228 ms    without P1 199 ms    pair: gain 12.7 %
//!   …                                                   median of the pairs, and the interval that holds it (sign test)
//! ```
//! Runs of one round are close in time, so a drift of the machine is in both of a pair. `longpole zero` and `cargo xtask judge` measure by
//! this. It knows nothing of recordings.

mod delay;
mod gain;
mod output;
mod procedures;
mod run;
mod skip;
mod statistics;

pub use delay::{DelayCounts, DelayError, DelayLibrary, DelayMode, DelayScope, DelayTarget, ProcedureDelay};
pub use gain::{DISTURBED, TrueGain};
pub use output::{OutputDigest, digest_output};
pub use run::{AppliedChange, TrialError, TrialRun, measure, measure_changed, status_text};
pub use skip::{SkipError, SkippedProcedure};
pub use statistics::{FEWEST, Interval, median, median_interval, pearson, spearman, values_for};
