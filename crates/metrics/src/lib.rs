//! Every metric of the comparison, one file each, from one recording.

mod analysis;

pub use analysis::{
    Analysis, By, Charge, CriticalPath, EffectiveSamples, Measures, Node, Options, PathSegment, Row,
    ThreadStates, Weight,
};
