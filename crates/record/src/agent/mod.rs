//! The recorder's side of the agent: the memory it shares with the program, the library it preloads, and what
//! becomes of the agent's events.
//!
//! ```text
//! rings ──► Reader ──► told events, by time ──► Interpreter ──► raw events
//! ```
//! The [`Interpreter`] stands behind the sorter, where the agent's events and the kernel's are in one order. Which of
//! them it makes raw events of depends on what the kernel tells beside it, see [`Part`].

mod calls;
mod causes;
mod collector;
mod files;
mod interpreter;
mod library;
mod losses;
mod memory;
mod obstacle;
mod reader;
mod releases;
mod reorder;
mod sampler;
mod states;
mod teams;
mod ticks;
mod told;

pub(crate) use collector::{AgentCollector, WithAgent};
pub use files::File;
pub(crate) use interpreter::{Interpreter, Part};
pub(crate) use obstacle::obstacle;
pub(crate) use sampler::Sampling;
pub use told::{Told, Wait};
