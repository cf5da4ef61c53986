//! The kernel's perf events: how records are laid out and what they mean, whether they come from a ring
//! buffer or from a `perf.data` file.

pub mod conversion;
pub mod format;
pub mod layout;
pub mod scheduling;
pub mod threads;

pub use conversion::{Conversion, KernelAddresses, Meaning};
pub use threads::{Scope, Threads};
