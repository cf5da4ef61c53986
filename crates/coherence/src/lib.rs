//! Simulated coherence: which processor fetches which unit of memory, why, and what the fetched bytes were good for.
//!
//! In: the accesses and synchronisation operations of a run, one by one. Out: requests with their causes, and their sums.
//! Pure: no files, no clocks, no threads of its own. Units are cache lines of threads or pages of the nodes of a software
//! DSM (Meira, LeBlanc, Hardavellas and Amorim 1997, §2.2 and §3.3; called C).
//!
//! # What a caller gives
//! * [`CoherenceSimulation::access`]: processor, address, size, read, write or update, call path ([`SiteId`]), time. It
//!   returns what the protocol had to do, so that a caller can charge time to it.
//! * [`CoherenceSimulation::synchronise`]: release and acquire on tokens with the rules of release sequences, barriers, fork
//!   and join. An operation is given when it has succeeded (a lock when it is taken), a barrier on arrival.
//! * [`CoherenceSimulation::place_object`]: the address range of a data object, when it is allocated.
//! * Order: any that keeps each processor's own order and puts a release before the acquire that it leads to.
//!   [`VirtualRun`] makes such an order, and the times, from one stream for each processor.
//!
//! # What it answers: [`CommunicationResult`]
//! * [`DataRequest`]: R ← I ← W, the request, the synchronisation at which the copy became invalid (or unordered), the
//!   writes behind it, each with the request by which its writer had got its copy.
//!   [`CommunicationResult::explain`] follows these chains back to the processor's previous copy.
//! * [`RequestFlow`]: sums by unit, object, reader with place, I, writer with place;
//!   [`CommunicationResult::sum_flows`] adds them by call path, object range or pair of processors.
//! * [`CausalityGraph`]: by unit, merged where units are alike; [`CauseMatrix`]: the incidence matrix of C, figure 2.
//! * [`UnitSummary`]: byte map by processor, patterns as shares ([`AccessPattern`]), used ÷ fetched, upgrades, and the
//!   [`TransferRange`]: requests that the program's order forces, up to those that it permits. The observed count is one
//!   order of many: report the range, with a [`VirtualRun`] as the point between.
//!
//! A unit and the data in it may have different patterns: a molecule is migratory, its page MPMC. To classify data, name the
//! units in [`VirtualRunSetup::words_of`]: their words of 8 bytes are simulated beside them, on the same events.
//!
//! What another layout of the data would change: name it in [`VirtualRunSetup::layout`], and the same streams are run with the
//! addresses that their accesses would then have ([`AddressMap`]).
//!
//! Where a caller simulates one unit in so many only ([`StreamStep::Unsimulated`] keeps virtual time right), a [`SampleFrame`]
//! estimates totals with intervals, and [`CommunicationResult::weigh`] makes the flows those of all units.
//!
//! # What is counted
//! A request is an access without a valid copy. The first one of each processor to a unit is cold. A write to a copy that
//! others hold too is an upgrade: it fetches nothing and is no request. Copies are never evicted. Memory grows with touched
//! units, epochs (up to the settings' limits), flows, acquisitions, and under lazy release consistency with write notices;
//! records stop at [`CoherenceSettings::records`], sums never do. A run ends with [`Error::Memory`] where that would be more than [`CoherenceSettings::memory`]. One thread is one node.
//!
//! ```
//! use longpole_coherence::{
//!     AccessKind, CoherenceSettings, CoherenceSimulation, DataAccess, ProcessorId, RequestCause, SiteId,
//! };
//! let mut simulation = CoherenceSimulation::new(CoherenceSettings::lines())?;
//! let mut access = |processor, kind, address, site| {
//!     let (processor, site) = (ProcessorId(processor), SiteId(site));
//!     simulation.access(&DataAccess { processor, address, size: 8, kind, site, time: 0 })
//! };
//! access(0, AccessKind::Read, 0x40, 1);
//! access(1, AccessKind::Write, 0x48, 2);
//! assert_eq!(access(0, AccessKind::Read, 0x40, 1).requests, 1);
//! let result = simulation.finish();
//! let RequestCause::Invalidated { synchronisation: None, writes, .. } = &result.requests[2].cause else { panic!() };
//! assert_eq!((writes[0].processor, writes[0].site), (ProcessorId(1), SiteId(2)));
//! assert_eq!(result.flows[2].totals.false_sharing, 1);
//! # Ok::<(), longpole_coherence::Error>(())
//! ```

mod access;
mod address_map;
mod bytes;
mod causality;
mod cause_matrix;
mod clocks;
mod data_words;
mod directory;
mod element_layout;
mod error;
mod fetch;
mod footprint;
mod invalidation;
mod lazy_release;
mod objects;
mod observer;
mod patterns;
mod ranges;
mod requests;
mod result;
mod sample;
mod settings;
mod simulation;
mod store;
mod virtual_run;
mod weights;

pub use access::{
    AccessKind, DataAccess, DataObjectId, ProcessorId, SiteId, SyncKind, SyncObject, SyncOperation,
    SyncOrigin, SyncToken,
};
pub use address_map::{AddressMap, DataLayout, MappedObject, MappedPiece};
pub use bytes::ByteSet;
pub use causality::{ALIKE, CausalityEdge, CausalityGraph, CausalityNode};
pub use cause_matrix::{CauseColumn, CauseMatrix};
pub use element_layout::LayoutChanges;
pub use error::{Error, Result};
pub use observer::{VirtualEvent, VirtualExchange, VirtualRunObserver, VirtualWaitSubject};
pub use patterns::{AccessPattern, PatternTallies, PatternTally, SharingKind};
pub use ranges::TransferRange;
pub use requests::{
    DataRequest, FlowKey, FlowOrigin, FlowTotals, InvalidatingWrite, LifetimeUse, RequestCause, RequestFlow,
};
pub use result::{CommunicationResult, FlowTransition, RequestExplanation, UnitSummary, UnitUse};
pub use sample::{FollowedCounts, SampleFrame, SampledTotal};
pub use settings::{CoherenceProtocol, CoherenceSettings, RequestCosts};
pub use simulation::{AccessOutcome, CoherenceSimulation};
pub use virtual_run::{
    ProcessorStream, StepCosts, StreamStep, VirtualRun, VirtualRunSetup, VirtualWait, VirtualWaitCause,
};
