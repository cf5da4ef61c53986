//! The recorder's side of the agent: the memory it shares with the program, the library it preloads, and what
//! becomes of the agent's events.
//!
//! ```text
//! rings ──► Reader ──► told events, by time ──► Interpreter ──► raw events
//! ```
//! The [`Interpreter`] stands behind the sorter, where the agent's events and the kernel's are in one order. Which of
//! them it makes raw events of depends on what the kernel tells beside it, see [`AgentScope`].

mod agent_event;
mod blocker;
mod bounds;
mod calls;
mod causes;
mod collector;
mod files;
#[cfg(fuzzing)]
pub mod fuzzing;
mod interpreter;
mod keeper;
mod library;
mod losses;
mod memory;
mod messages;
mod passages;
mod reader;
mod releases;
mod reorder;
mod roll_call;
mod sampler;
mod states;
mod teams;
mod ticks;

pub use agent_event::{AgentEvent, AgentWait, MpiRequest, ToldCommunicator};
pub(crate) use blocker::obstacle;
pub(crate) use collector::{AgentCollector, WithAgent};
pub use files::DescriptorFile;
pub(crate) use interpreter::{AgentScope, Interpreter};
pub use keeper::{KEEPER_ARGUMENT, hold_memory};
pub(crate) use library::AgentPart;
pub(crate) use sampler::Sampling;
