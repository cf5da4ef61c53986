//! The recording folder on disk: written while the program runs, readable after a kill at any point.
//!
//! ```text
//! NAME.longpole/
//!   recording.json           the manifest: command, machines, versions, clocks, cost of collecting
//!   machine-0/events.log     definitions and events, in time order up to a bounded disorder
//!   machine-0/symbols.log    what each frame's address means; written when the run has ended
//!   machine-1/…
//!   sources/                 copies of the source files that it names, where they were to be kept
//!   cache/                   answers that were computed from it; can be deleted
//! ```
//!
//! A log is a file header and a sequence of chunks; each chunk is compressed and checksummed on its own
//! and says how many definitions came before it. A torn tail or a damaged chunk costs what it held and
//! is counted in [`Defects`]; ids after it stay right.

mod builder;
mod error;
mod folder;
mod log;
mod manifest;
mod metric_files;
mod sources;
mod tables;

pub use builder::LogBuilder;
pub use error::{Error, Result};
pub use folder::{Folder, LogName};
pub use log::{Chunk, Counts, Defects, LogReader, LogWriter};
pub use manifest::{
    ClockModel, Collector, Cost, FORMAT_VERSION, Machine, Manifest, Outcome, OutsideAccount, Trouble,
};
pub use metric_files::MetricFile;
pub use sources::{SourceFile, Sources};
pub use tables::Tables;
