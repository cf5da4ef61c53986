//! The kernel's perf events: how records are laid out and what they mean, whether they come from a ring
//! buffer or from a `perf.data` file; and the collector that reads them from rings (rung 2).

mod attributes;
mod collector;
pub mod conversion;
pub mod format;
pub mod layout;
pub mod rounds;
pub mod scheduling;
pub mod threads;
mod tracepoints;

pub use attributes::PerfSettings;
pub use collector::{PerfCollector, PerfError};
pub use conversion::{Conversion, KernelAddresses, Meaning};
pub use threads::{Scope, Threads};
pub use tracepoints::Tracepoints;
