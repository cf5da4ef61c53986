//! Every metric of the comparison, one file each, from one recording.
//!
//! [`analyse`] reads timelines and gives an [`Analysis`]: what every (thread, call path) was charged, the
//! critical paths, the parallelism. [`rows`] sums the charges into tables. [`registry`] says what every
//! number is called and means.

mod analyse;
mod analysis;
mod charges;
mod contention;
mod critical_path;
mod curve;
mod details;
#[cfg(test)]
mod drawn;
mod error;
mod hops;
mod idle_blame;
mod lengths;
mod levels;
mod npt;
mod parallelism;
mod past;
mod path_charges;
mod phases;
mod profile;
pub mod registry;
mod rows;
mod states;
mod wait_ends;
mod wanted;

pub use analyse::analyse;
pub use analysis::{
    Analysis, By, Charge, CriticalPath, EffectiveSamples, Measures, Node, Options, PathSegment, Row,
    ThreadStates, Weight,
};
pub use contention::{Contended, Contention, Handover, Pair};
pub use curve::{Bin, Curve};
pub use details::{Demand, Details, details};
pub use error::{are_tied, standard_error};
pub use lengths::Lengths;
pub use phases::{Phases, ProposedPhase};
pub use rows::{rows, total};
pub use states::{Condition, Spread, Spreads, StateRow, States};
