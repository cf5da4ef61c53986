//! Reads Perfetto traces: scheduling by ftrace, samples with call stacks, and slices of threads, in the order of time.
//!
//! ```text
//!   file      packet packet packet …          field 1 of the message Trace, a packet each
//!   packet    time, sequence, then one of:    ftrace bundle of one CPU │ process tree │ clocks │ sample │ slice │ …
//! ```
//! Packets are not in the order of time. A first reading finds the time at which each begins, and collects what others refer to (names, stacks,
//! tracks, clocks); a second one reads the packets that overlap in time and hands over their events in order. So memory holds an index, the
//! interned data and the events of packets that overlap. Nothing of a file is trusted: lengths are checked, memory is bounded, what cannot be
//! read is counted.

mod clock;
mod contents;
mod definitions;
mod error;
mod event;
mod first_reading;
mod ftrace;
mod interned;
mod packet;
mod packet_file;
mod pending;
mod trace;
mod wire;

pub use contents::{PerfettoContents, PerfettoDamage};
pub use definitions::{PerfettoProcess, PerfettoThreads};
pub use error::{PerfettoError, PerfettoResult};
pub use event::{PerfettoEvent, PerfettoKind, PerfettoWaker};
pub use interned::{CallstackKey, PerfettoFrame};
pub use trace::PerfettoTrace;
