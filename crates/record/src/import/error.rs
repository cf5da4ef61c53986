//! What can go wrong with an import.

use std::io;
use std::path::PathBuf;

/// An error about a file that is imported; completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The import of a file, for one of the other reasons.
    #[error("import {}: failed to {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: Box<ImportError>,
    },
    /// The system could not read the file.
    #[error("read it: {0}")]
    Read(io::Error),
    /// It is something else.
    #[error("read it as perf.data: {reason}")]
    NotPerfData {
        /// Why it cannot be one.
        reason: &'static str,
    },
    /// It comes from a big-endian machine.
    #[error("read it as perf.data: it was recorded on a big-endian machine, which is not supported")]
    BigEndian,
    /// It was written into a pipe.
    #[error("read it as perf.data: it was written into a pipe; record into a file (perf record -o FILE)")]
    Pipe,
    /// A needed event was not recorded.
    #[error("find the event {event} in it; record with: perf record -e {}", super::EVENTS_AND_OPTIONS)]
    MissingEvent {
        /// The event.
        event: &'static str,
    },
    /// A needed event was recorded without something.
    #[error(
        "use the event {event} in it: it was recorded without {what}; record with: perf record -e {}",
        super::EVENTS_AND_OPTIONS
    )]
    IncompleteEvent {
        /// The event.
        event: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// It is of no kind that can be imported.
    #[error(
        "tell what it is: imports are output of perf record (perf.data), the anchor file of an OTF2 trace (traces.otf2), \
         Perfetto traces (.pftrace, .perfetto-trace), and traces in Chrome's JSON format (.json, .json.gz)"
    )]
    UnknownKind,
    /// The process that was asked for is not in it.
    #[error("find the process {name} in it: --process takes a pid, or the name of a program")]
    NoProcess {
        /// What was asked for.
        name: String,
    },
    /// It is of a kind that has one program.
    #[error("choose of it: --process is for Perfetto traces and Chrome's JSON, --rank for the latter")]
    NotChosen,
    /// It is a Perfetto trace that cannot be read.
    #[error(transparent)]
    Perfetto(#[from] longpole_perfetto::PerfettoError),
    /// It is a trace in Chrome's JSON format that cannot be read.
    #[error(transparent)]
    Chrome(#[from] longpole_chrome::ChromeError),
    /// It is a trace that cannot be read.
    #[error(transparent)]
    Trace(#[from] longpole_otf2::TraceError),
    /// The consumer of the events failed.
    #[error(transparent)]
    Recording(#[from] longpole_recording::Error),
}

/// Result of an import.
pub type ImportResult<T> = std::result::Result<T, ImportError>;
