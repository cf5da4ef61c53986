//! Opens a recording as thread timelines: one time axis, one set of ids, one tree of logical call paths,
//! whatever machines and collectors the recording came from.
//!
//! [`Trace::open`] reads the whole recording once (the *survey*): it builds the program's tree, the call
//! paths, the evidence, and finds what only the future tells (spinning). After that
//! [`Trace::items`] streams the timelines as often as wanted, in time order, with memory proportional
//! to the live threads.

mod assembly;
mod bursts;
mod cause;
mod census;
mod enablers;
mod ends;
mod error;
mod evidence;
mod inventory;
mod library_sources;
mod naming;
mod object_names;
mod objects;
mod observer;
mod overheads;
mod path_cache;
mod paths;
mod phase;
mod primitives;
mod program;
mod stacks;
mod state;
mod stream;
mod subject;
mod survey;
mod tenants;
mod timeline;
mod trace;
mod transitions;
mod waiting_frames;

pub use error::{Error, Result};
pub use evidence::{Evidence, SourceCounts};
pub use longpole_recording::{OutsideAccount, Trouble};
pub use objects::{Object, ObjectId, ObjectKind, Objects};
pub use paths::{PathId, Paths, Place, PlaceId, Procedure, ProcedureId};
pub use phase::{Phase, span_of};
pub use program::{Machine, Process, Program, Thread};
pub use state::{Cause, State};
pub use stream::{Axis, LogStream};
pub use timeline::{DependenceKind, Hold, Item, Timelines, What};
pub use trace::Trace;
