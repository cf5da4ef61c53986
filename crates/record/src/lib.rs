//! Makes recordings: starts a program and runs a collector on it, or imports what `perf record` wrote.

mod arguments;
mod assembler;
mod bpf;
mod clock;
mod collector;
pub mod import;
mod launch;
mod naming;
pub mod perf;
pub mod raw;
mod ring;
mod sorter;
mod stacks;
pub mod tracefs;

pub use assembler::{Assembled, Assembler};
pub use clock::now;
pub use collector::{Collector, KernelCost};
pub use launch::{Command, ExitStatus, LaunchError, Running, Suspended};
pub use naming::FramesToName;
pub use ring::{PerfEvent, Ring, RingRecord, online_cpus};
pub use sorter::Sorter;
