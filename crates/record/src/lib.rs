//! Makes recordings: starts a program and runs a collector on it, or imports what `perf record` wrote.

mod bpf;
mod clock;
mod collector;
mod launch;
pub mod raw;
mod ring;
mod sorter;

pub use clock::now;
pub use collector::{Collector, KernelCost};
pub use launch::{Command, ExitStatus, LaunchError, Running, Suspended};
pub use ring::{PerfEvent, Ring, RingRecord, online_cpus};
pub use sorter::Sorter;
