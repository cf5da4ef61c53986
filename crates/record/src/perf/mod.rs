//! The kernel's perf events: how records are laid out and what they mean, whether they come from a ring
//! buffer or from a `perf.data` file; and the collector that reads them from rings.

pub(crate) mod attributes;
mod collector;
pub mod conversion;
mod copies;
pub mod format;
pub mod futexes;
pub mod layout;
mod presence;
mod private_places;
mod reader;
pub mod repeats;
pub(crate) mod rings;
pub mod rounds;
pub mod scheduling;
mod shares;
pub(crate) mod short_stacks;
pub mod switches;
pub mod threads;

pub(crate) use collector::{PerfCollector, PerfError};
pub use conversion::{Conversion, KernelAddresses, SampleMeaning};
pub(crate) use presence::Presence;
pub(crate) use reader::PerfReader;
pub use switches::Switches;
pub use threads::{Scope, Threads};
