//! Every metric of the comparison, one file each, from one recording.
//!
//! [`analyse`] reads timelines and gives an [`Analysis`]: what every (thread, call path) was charged, the
//! critical paths, the parallelism. [`rows`] sums the charges into tables. [`registry`] says what every
//! number is called and means.

mod analyse;
mod analysis;
mod balance;
mod call_tree;
mod charges;
mod contention;
mod critical_path;
mod curve;
mod details;
#[cfg(test)]
mod drawn;
mod error;
mod foresight;
mod gains;
mod histogram;
mod holds;
mod hops;
mod idle_blame;
mod lanes;
mod lengths;
mod levels;
mod marks;
mod npt;
mod on_path;
mod parallelism;
mod past;
mod path_charges;
mod phases;
mod profile;
mod regions;
pub mod registry;
mod rows;
mod source_lines;
mod states;
mod told;
mod trail;
mod wait_ends;
mod waits;
mod wanted;
mod what_if;

pub use analyse::analyse;
pub use analysis::{
    Analysis, By, Charge, CriticalPath, EffectiveSamples, Measures, Node, Options, PathSegment, Row,
    ThreadStates, Weight,
};
pub use balance::Balance;
pub use call_tree::{CallNode, CallTree, call_tree};
pub use contention::{Contended, Contention, Handover, Pair};
pub use curve::{Bin, Curve};
pub use details::{Demand, Details, details};
pub use error::{are_tied, standard_error};
pub use gains::{Gain, Gains, GainsOf};
pub use histogram::Histogram;
pub use holds::{Held, Holds};
pub use lengths::Lengths;
pub use phases::{Phases, ProposedPhase};
pub use regions::MarkedRegion;
pub use rows::{rows, total};
pub use source_lines::{SourceLine, source_lines};
pub use states::{Condition, Spread, Spreads, StateRow, States};
pub use waits::{
    Category, Deed, GroupId, Share, Source, Split, Step, StepId, StepTable, ThreadGroup, Unwanted, WaitClass,
    WaitKind, Waits,
};
pub use what_if::{Before, Change, Saved, Subject, WhatIf, what_if};
