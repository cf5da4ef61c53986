//! What a collector writes and the analysis reads: ids, times, records and their byte encoding.
//!
//! Nothing here does I/O and nothing here knows which collector ran. A *log* is a sequence of
//! [`Record`]s: definitions (texts, modules, frames, stacks, calls, processes, threads, series) come
//! before the first event that names them, so any prefix of a log can be read. Ids count from 0 within
//! one log and are dense.
//!
//! ```
//! use longpole_event::{Decoder, Encoder, Event, EventKind, Record, ThreadId, Time};
//!
//! let event = Record::Event(Event {
//!     time: Time::from_nanoseconds(1_000),
//!     cpu: 0,
//!     thread: ThreadId(3),
//!     kind: EventKind::In,
//! });
//! let mut encoder = Encoder::default();
//! encoder.push(&event);
//! let bytes = encoder.take();
//! assert_eq!(Decoder::new(&bytes).collect::<Result<Vec<_>, _>>().unwrap(), [event]);
//! ```

mod codec;
mod format;
mod id;
mod kinds;
mod message;
mod record;
mod references;
mod time;

pub use codec::{DecodeError, Decoder, Encoder};
pub use format::format_document;
pub use id::{
    CallId, FrameId, MachineId, ModuleId, PrimitiveId, ProcessId, SeriesId, StackId, TextId, ThreadId,
};
pub use kinds::{
    Blocking, BusyWaiting, EXCHANGE, FileKind, LINE_REQUEST, LossKind, ModuleKind, PAGE_REQUEST,
    PrimitiveKind, SeriesKind, SeriesNode, SymbolPlace, Waker,
};
pub use message::{
    CollectiveMeeting, CollectiveOrder, MPI_ACCESSED, MPI_ACCESSES, MPI_LOCK, MPI_NEIGHBOUR,
    MPI_NOT_UNDERSTOOD, MPI_OPENED, MessageEnvelope,
};
pub use record::{
    CallDefinition, Callee, Event, EventKind, FileDefinition, FrameDefinition, ModuleDefinition, Primitive,
    ProcessDefinition, Record, SeriesDefinition, StackDefinition, Symbol, ThreadDefinition,
    VariableDefinition, WordDefinition,
};
pub use references::IdKind;
pub use time::Time;
