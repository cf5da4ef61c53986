//! From a question to an answer: opens a recording, analyses what is asked of it, and remembers what was computed.
//!
//! In: a recording's folder and typed questions ([`Question`], [`WhatIfQuestion`]). Out: [`Report`](longpole_report::Report)s.
//! A [`Recording`] can be asked by many threads at once. Its events are read when the first question needs them; what
//! two questions need alike (the same phase, the same details) is computed once, and a question that needs something
//! else does not wait for it.

mod analysed;
mod cache;
mod choice;
mod communication;
mod correlations;
mod error;
mod evaluator;
mod layouts;
mod memory;
mod metric_answers;
mod metric_table;
mod place;
mod question;
mod recording;
mod run;
mod timeline;
mod version;

pub use analysed::Analysed;
pub use cache::Cache;
pub use choice::{Choice, DeviceWaits};
pub use error::{Error, Result, told};
pub use longpole_communication::{
    CommunicationOptions, SimulatedCosts, SimulatedRecording, SimulationOptions, UnitProtocol,
    write_simulated_recording,
};
pub use longpole_recording::MetricFile;
pub use longpole_trace::{JoinRefusal, JoinedParts, RunPart, join_parts};
pub use memory::ValueCache;
pub use metric_answers::{CurveAnswer, ListedMetric, MetricList};
pub use question::{LayoutQuestion, Question, ReplayQuestion, WhatIfQuestion};
pub use recording::Recording;
pub use run::Run;
pub use timeline::{CurveRequest, Seconds, TimeRange, WindowQuestion};
