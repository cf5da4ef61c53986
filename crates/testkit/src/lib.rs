//! Text timelines, random graphs and slow oracles, for tests only.
//!
//! * [`draw`] turns a drawing into timelines; [`Drawing`] documents the language and writes a drawn
//!   run as a recording.
//! * [`Mutations`] damages real inputs, to fuzz readers with.
//! * [`random_timelines`] generates small consistent runs for property tests.
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
mod memory;
mod mutation;
pub mod oracle;
mod skip;
mod writer;

pub use drawing::{Drawing, DrawingError, draw};
pub use generator::random_timelines;
pub use memory::MemoryTimelines;
pub use mutation::Mutations;
pub use skip::skipped;
