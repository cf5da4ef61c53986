//! The recording folder on disk: written while the program runs, readable after a kill at any point.
//!
//! ```text
//! NAME.longpole/
//!   recording.json           the manifest: id, command, machines, versions, clocks, cost of collecting
//!   recording.lock           empty; locked while a recorder writes into the folder
//!   machine-0/events.log     definitions and events, in time order up to a bounded disorder
//!   machine-0/events-7.log   in its place where only the last part of the run is kept: a segment of it
//!   machine-0/symbols.log    what each frame's address means; written when the run has ended
//!   machine-0/accesses.log   the accesses to memory of each thread, where they were to be recorded: blocks
//!   machine-1/…
//!   sources/                 copies of the source files that it names, where they were to be kept
//!   measured.json            what changes of the program were measured to gain, once `longpole zero` has run
//!   predicted.json           what changes were predicted to gain, once `longpole what-if` was asked
//!   cache/                   answers that were computed from it; can be deleted
//! ```
//!
//! Every log carries the manifest's id, so that files of two recordings are not read as one.
//!
//! A log is a file header and a sequence of chunks; each chunk is compressed and checksummed on its own
//! and says how many definitions came before it. A torn tail or a damaged chunk costs what it held and
//! is counted in [`Defects`]; ids after it stay right.

mod access_names;
mod builder;
mod clock;
mod contents;
mod destination;
mod error;
mod folder;
mod id;
mod kept_list;
mod lock;
mod log;
mod log_header;
mod manifest;
mod measured;
mod metric_files;
mod predicted;
mod regular;
mod source_files;
mod sources;
mod tables;
mod window;

pub use access_names::{AccessField, AccessNames, AccessPlaceName, AccessProcedureName, AccessVariable};
pub use builder::LogBuilder;
pub use clock::{ClockModel, ClockPiece, ClockReading, WallClock, broken_line, piece_at, without_collinear};
pub use destination::{Destination, free_name};
pub use error::{Error, Result};
pub use folder::{ITEM_COLUMNS, LogName, NEW_ITEM_COLUMNS, RecordingFolder};
pub use id::{BadRecordingId, RecordingId};
pub use log::{Chunk, Defects, DefinitionCounts, DefinitionLimit, LogReader, LogWriter};
pub use log_header::LOG_HEADER_BYTES;
pub use manifest::{
    AccessSample, CollectionCost, CollectorDescription, CpuQuota, FORMAT_VERSION, KeptWindow, LineUser,
    MachineDescription, Manifest, OutsideAccount, QuotaUse, RunOutcome, SharedLine, SharedLineSamples,
    SimulatedMachine, Trouble,
};
pub use measured::MeasuredChange;
pub use metric_files::{LARGEST_METRIC_FILE, MetricFile};
pub use predicted::PredictedChange;
pub use regular::{open_regular, read_regular};
pub use source_files::{SourceRefusal, SourceRoots};
pub use sources::{LARGEST_SOURCE, LARGEST_SOURCES, RefusedSource, SourceCopies, SourceFile};
pub use tables::DefinitionTables;
pub use window::{WindowLimits, WindowLog};
