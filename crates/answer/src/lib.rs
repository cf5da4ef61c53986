//! From a question to an answer: opens a recording, analyses what is asked of it, and remembers what was computed.
//!
//! In: a recording's folder and typed questions ([`Question`], [`Supposition`]). Out: [`Report`](longpole_report::Report)s.
//! A [`Recording`] can be asked by many threads at once. Its events are read when the first question needs them; what
//! two questions need alike (the same phase, the same details) is computed once, and a question that needs something
//! else does not wait for it.

mod analysed;
mod beside;
mod cache;
mod error;
mod figures;
mod kinships;
mod memory;
mod place;
mod question;
mod recording;
mod run;
mod timeline;
mod version;

pub use analysed::Analysed;
pub use beside::{Curve, Listed, MetricList};
pub use cache::Cache;
pub use error::{Error, Result, told};
pub use longpole_recording::MetricFile;
pub use memory::Memory;
pub use question::{Question, Supposition};
pub use recording::Recording;
pub use run::Run;
pub use timeline::{Course, Seconds, Stretch, WindowQuestion};
