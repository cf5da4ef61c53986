//! Makes recordings: starts a program and runs a collector on it, or imports what `perf record` wrote.

pub mod agent;
mod arguments;
mod assembler;
mod attach;
mod bpf;
mod clock;
mod collector;
mod definitions;
mod error;
pub mod import;
mod launch;
mod machine;
mod naming;
mod own;
pub mod perf;
pub mod raw;
mod ring;
mod run;
mod rungs;
mod session;
mod signals;
mod sorter;
mod stack_choice;
mod stacks;
pub mod tracefs;
mod wait;

pub use assembler::{Assembled, Assembler};
pub use clock::now;
pub use collector::{Collector, KernelCost};
pub use error::{Error, Result};
pub use launch::{Command, ExitStatus, LaunchError, Running, Suspended};
pub use naming::FramesToName;
pub use ring::{PerfEvent, Ring, RingRecord, online_cpus};
pub use rungs::{Choice, Refusal, Rung, Settings, probe};
pub use session::{DEFAULT_HERTZ, Finished, Options, Progress, Target, record};
pub use sorter::Sorter;
