//! Makes recordings: starts a program and runs a collector on it, or imports what `perf record` wrote.

mod collector;
pub mod raw;
mod ring;

pub use collector::{Collector, KernelCost};
pub use ring::{PerfEvent, Ring, RingRecord, online_cpus};
