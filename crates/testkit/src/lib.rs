//! Text timelines, random graphs and slow oracles, for tests only.
//!
//! * [`draw`] turns a drawing into timelines; [`Drawing`] documents the language and writes a drawn
//!   run as a recording.
//! * [`Mutations`] damages real inputs, to fuzz readers with.
//! * [`read_log`] and [`define_again`] copy a recording, to leave something out of it.
//! * [`random_timelines`] generates small consistent runs for property tests.
//! * [`SampledProgram`] is a program of which every nanosecond is known, as a sampling timer sees it.
//! * [`script`] executes small programs anew, as they are and with procedures changed.
//! * [`skipped`] is said by tests that cannot be done here.
//! * [`explained`] explains waits tick by tick.
//! * [`contended`] finds waits, contention, blame and states tick by tick.
//! * [`oracle`] computes the metrics slowly and obviously, from the items alone; [`altered`] the longest paths with
//!   weights that are not the recorded ones.

pub mod altered;
mod columns;
pub mod contended;
mod drawing;
pub mod explained;
mod generator;
mod log_copy;
mod memory;
mod mutation;
pub mod oracle;
mod sampled;
pub mod script;
mod skip;
mod writer;

pub use drawing::{Drawing, DrawingError, draw};
pub use generator::random_timelines;
pub use log_copy::{define_again, read_log};
pub use memory::MemoryTimelines;
pub use mutation::Mutations;
pub use sampled::{SampledProgram, SampledRun, WorkPiece};
pub use skip::skipped;
