//! Writes the log of a run of which threads, procedures and modules are known by their names, rather than by addresses.
//!
//! ```text
//!   slices     begin(f)        begin(g)   end        end        of a thread that is on a processor:
//!   events     Sample          Sample     Sample     Sample     each is of the path until then, so that charges are exact
//! ```
//! Events are pushed in the order of time; one that comes too late is taken when it comes, and counted.

mod code;
mod log;
mod recording;

pub(super) use code::NamedProcedure;
pub(super) use log::{NamedLog, NamedTask, NamedWaker};
pub(super) use recording::finish_recording;
