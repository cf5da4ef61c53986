//! Reads OTF2 traces, as Score-P, TAU and others write them: the anchor file, the definitions, and the events of each location.
//!
//! ```text
//!   traces.otf2            anchor: chunk sizes, number of locations, who wrote it
//!   traces.def             definitions: texts, regions, locations, communicators, clock
//!   traces/4.def           of location 4: local numbers of definitions, offsets of its clock
//!   traces/4.evt           its events, in the order of time
//! ```
//! ```text
//!   file       │ chunk            │ chunk            │ …         each begins with its byte order and the numbers of its events
//!   chunk      header record record … end padding               records do not cross chunks
//!   record     kind length content                              what is not known is passed over by its length
//! ```
//! Integers of a content have a length byte before them. Numbers of regions and communicators in events are those of the location;
//! [`LocationEvents`] gives the trace's. Nothing of a file is trusted: lengths are checked, memory is bounded, what cannot be read
//! is counted.

mod anchor;
mod bytes;
mod clock;
mod definition_reader;
mod definitions;
mod error;
mod event;
mod files;
mod local;
mod location_events;
mod memory;
mod records;

pub use anchor::TraceAnchor;
pub use clock::{ClockOffset, LocationClock};
pub use definition_reader::read_definitions;
pub use definitions::{
    CallingContext, CommunicatorDefinition, GroupDefinition, GroupKind, LocationDefinition, LocationKind,
    LocationProcess, Paradigm, RegionDefinition, RegionRole, SystemNode, TraceClock, TraceDefinitions,
};
pub use error::{TraceError, TraceResult};
pub use event::{CollectiveEnd, TraceEvent, TraceMessage};
pub use files::{TraceFile, TraceFiles, TraceFolder};
pub use local::LocalDefinitions;
pub use location_events::{LocationDamage, LocationEvents};
pub use memory::PackedTrace;
