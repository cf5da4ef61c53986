//! Opens a recording as thread timelines: one time axis, one set of ids, one tree of logical call paths,
//! whatever machines and collectors the recording came from.
//!
//! [`Trace::open`] reads the whole recording once (the *survey*): it builds the program's tree, the call
//! paths, the evidence, and finds what only the future tells (spinning). After that
//! [`Trace::items`] streams the timelines as often as wanted, in time order, with memory proportional
//! to the live threads.

mod affinities;
mod assembly;
mod bursts;
mod cause;
mod census;
mod clocks;
mod columns;
mod conditions;
mod connections;
mod deliveries;
mod dependences;
mod end_polls;
mod error;
mod evidence;
mod exclusion;
mod exit_wakes;
mod exits;
mod fold;
mod id_owners;
mod inferred_wakers;
mod inventory;
mod kept;
mod kernel_procedures;
mod library_sources;
mod log_items;
mod message_traffic;
mod messages;
mod naming;
mod object_names;
mod objects;
mod observer;
mod overheads;
mod parallel_calls;
mod parts;
mod path_cache;
mod paths;
mod phase;
mod pools;
mod primitives;
mod program;
mod read_ahead;
mod shared_words;
mod spin_tails;
mod stacks;
mod state;
mod stops;
mod stored;
mod stream;
mod subject;
mod survey;
mod synchronisation_calls;
mod task_runtime;
mod timeline;
mod tokens;
mod trace;
mod transitions;
mod waiting_frames;
mod working_stops;

pub use assembly::machines_of_logs;
pub use clocks::{ClockCurve, ClockFit, ClockKnot, DriftLimits, OffsetBound, OffsetBounds};
pub use columns::{
    ColumnsEnd, ColumnsWriter, IdCounts, ItemCache, ItemColumns, LONG_RECORDING, items_of_block,
};
pub use conditions::{ConditionCounter, ConditionRules, ConditionSites, MonitorStep, MonitorToken, Monitors};
pub use end_polls::LOOK;
pub use error::{Error, Result};
pub use evidence::{Evidence, SourceCounts};
pub use exclusion::ExclusionTimes;
pub use fold::{Fold, FoldedTimelines, Folding, enclosing_procedure};
pub use longpole_recording::{CpuQuota, LineUser, OutsideAccount, SharedLine, SharedLineSamples, Trouble};
pub use message_traffic::{MessageFlow, MessageTraffic, NotUnderstoodCalls};
pub use objects::{Object, ObjectId, ObjectKind, Objects, Signals};
pub use parallel_calls::{ParallelCalls, RegionPart};
pub use parts::{JoinRefusal, JoinedParts, RunPart, join_parts};
pub use paths::{CodePlace, PathId, Paths, PlaceId, Procedure, ProcedureId};
pub use phase::{Phase, span_of};
pub use program::{Affinity, Machine, Ownership, Process, Program, Thread};
pub use state::{Cause, State};
pub use stops::PossibleStop;
pub use stored::{LazyStored, Stored, StoredBytes, restored};
pub use stream::{Axis, LogStream};
pub use synchronisation_calls::{SynchronisationCall, SynchronisationCalls};
pub use task_runtime::TaskRuntime;
pub use timeline::{
    Acquisition, DependenceKind, Item, ItemKind, LockHold, ObservationKind, Placement, QueueId, Timelines,
    TokenId, Unfolded,
};
pub use trace::Trace;
pub use waiting_frames::is_message_library;
