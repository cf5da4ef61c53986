//! Who makes whom fetch what (C §2.2): the recorded accesses of a program, run in virtual time, with names.
//!
//! In: the log of accesses of a recording. Out: [`RecordedCommunication`], the requests of the simulated caches or nodes in rows that
//! agree in who asked, where, for what, and whose write was behind it through which synchronisation.
//!
//! The log is read twice: once for where each thread's blocks are and for the names, and once, thread by thread, while the
//! simulation asks for each thread's next step. Memory is a block for each thread, and what the simulation keeps of the
//! touched units. How the threads really ran beside each other plays no part: see [`longpole_coherence::VirtualRun`].

mod answer;
mod budget;
mod chains;
mod classes;
mod error;
mod flows;
mod graphs;
mod layouts;
mod log;
mod memory;
mod names;
mod numbered;
mod objects;
mod run;
mod sample;
mod settings;
mod simulated;
mod sites;
mod steps;
mod streams;

pub use answer::{
    AccessThread, CommunicationFlow, DataObject, DataPlace, FlowWriter, RecordedCommunication, SharedUnit,
    SharedUnitUse,
};
pub use chains::{CallPathFlow, RequestChains, WayBack, WayEnd, WayStep, WaysBack};
pub use classes::{DataTransfers, UnitClass};
pub use error::{Error, Result};
pub use graphs::{CausalityCause, CausalityPlace, CausalityTransition, CausePaths, ObjectCausality};
pub use layouts::{
    LayoutObject, LayoutOutcome, LayoutSimulator, ObjectTransfers, ObjectsLayout, ThreadStarts,
};
pub use longpole_coherence::{AccessPattern, LayoutChanges, PatternTallies, PatternTally, SampledTotal};
pub use longpole_recording::AccessField;
pub use sample::{CommunicationSample, FollowedRequests, UnfollowedUnit};
pub use settings::{CommunicationDemand, CommunicationOptions, SimulatedCosts, UnitProtocol};
pub use simulated::{SimulatedRecording, SimulationOptions, write_simulated_recording};
