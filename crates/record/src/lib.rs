//! Makes recordings: starts a program and runs a collector on it, or imports what `perf record` wrote.

mod access_library;
mod access_names;
mod accesses;
pub mod agent;
mod arguments;
mod assembler;
mod attach;
mod bpf;
mod clock;
mod collector;
mod collector_choice;
mod definitions;
mod emulation;
mod error;
mod going_on;
pub mod import;
mod launch;
mod lock_owners;
mod machine;
mod mpi;
mod naming;
pub mod perf;
mod process;
mod process_title;
mod queues;
pub mod raw;
mod reading;
mod run;
mod session;
pub mod setup;
mod signals;
mod snapshots;
mod sorter;
mod source_copies;
mod stack_choice;
mod stacks;
pub mod tracefs;
mod wait;
mod waits_at_attach;

pub use access_library::access_library_folder;
pub use assembler::{Assembled, Assembler};
pub use clock::now;
pub use collector::{Collector, KernelCost};
pub use collector_choice::{CollectorAvailability, CollectorChoice, CollectorRefusal, Settings, probe};
pub use emulation::EmulationObstacle;
pub use error::{Error, Result};
pub use going_on::GoingOn;
pub use launch::{ExitStatus, LaunchError, ProgramCommand, Running, Suspended};
pub use longpole_privileged::{PerfEvent, PerfRing, RingRecord, online_cpus};
pub use naming::FramesToName;
pub use session::{
    AccessSource, DEFAULT_HERTZ, FinishedRecording, Progress, RecordOptions, RecordTarget, record,
};
pub use signals::SNAPSHOT_SIGNAL;
pub use sorter::Sorter;
