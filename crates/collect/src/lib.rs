//! Collectors of outside series: started before the program, stopped after it.
//!
//! In: which collectors ([`SeriesSourceChoice`]), and how often they look. Out: a machine's `series.log`, and how each collector
//! fared. One thread looks at everything that can be looked at ([`SeriesSource`]); what other programs send is handed to it.
//! Whatever a collector does, the recorded program and the rest of the recording are not touched by it.

mod choice;
mod clock;
mod collection;
mod command;
mod counters;
mod examples;
mod exposition;
mod kept_file;
mod kernel;
mod known;
mod lines;
mod pace;
mod process;
mod program;
mod prometheus;
mod sink;
mod source;
mod splitter;
mod threads;
mod track;

pub use choice::{BadChoice, SeriesSourceChoice};
pub use clock::{now, raw_now};
pub use collection::{CollectionOptions, DEFAULT_INTERVAL, SeriesCollection};
pub use exposition::{Exposition, Faults};
pub use known::{KERNEL, KnownMetric, PROCESS, descriptions};
pub use lines::{LineReader, ParsedItem, ReadTime};
pub use sink::{Handle, SeriesKey, Sink};
pub use source::SeriesSource;
