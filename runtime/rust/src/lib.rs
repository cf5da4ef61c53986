//! Tells longpole what a program knows of itself: regions, tasks, names of threads and of locks, locks that it makes
//! itself, and metrics of its own. Collectors of other metrics are written with it too.
//!
//! Programs may be linked with this and run as ever. Where no recorder watches, each call costs one relaxed load and
//! one branch; without the feature `enabled` it costs nothing. Nothing here allocates or changes `errno`, and every
//! function may be called from any thread, in signal handlers and after `fork`.
//!
//! The same for C and C++ is `runtime/c/longpole.h`; `docs/runtime.md` shows both at work.
//!
//! ```
//! use longpole_runtime::{Task, region};
//!
//! let tasks: Vec<_> = {
//!     let _region = region(c"hand out");
//!     (0..4).map(|_| Task::spawn()).collect()
//! };
//! for task in tasks {
//!     task.run(c"one piece", || { /* on whatever thread */ });
//! }
//! ```
#![no_std]

#[cfg(not(target_os = "linux"))]
compile_error!("longpole-runtime is for Linux");

pub mod interface;

mod lookup;
mod name;
mod object;
mod region;
mod series;
mod task;

pub use interface::ProgramObjectKind;
pub use name::{name, name_thread};
pub use object::{Wait, acquired, released, wait};
pub use region::{Region, region};
pub use series::{Looks, Metric, MetricNode, Samples, now};
pub use task::{Task, TaskFuture, TaskPart, task};
