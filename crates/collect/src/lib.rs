//! Collectors of outside series: started before the program, stopped after it.
//!
//! In: which collectors ([`Choice`]), and how often they look. Out: a machine's `series.log`, and how each collector
//! fared. One thread looks at everything that can be looked at ([`Source`]); what other programs send is handed to it.
//! Whatever a collector does, the recorded program and the rest of the recording are not touched by it.

mod choice;
mod clock;
mod collection;
mod command;
mod counters;
mod examples;
mod exposition;
mod kept_file;
mod kernel;
mod known;
mod lines;
mod pace;
mod process;
mod program;
mod prometheus;
mod sink;
mod source;
mod splitter;
mod threads;
mod track;

pub use choice::{BadChoice, Choice};
pub use collection::{Collection, DEFAULT_INTERVAL, Options};
pub use exposition::{Exposition, Faults};
pub use known::{KERNEL, Known, PROCESS, descriptions};
pub use lines::{Lines, Moment, Taken};
pub use sink::{Handle, Key, Sink};
pub use source::Source;
