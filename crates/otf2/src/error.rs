//! What can go wrong with a trace.

use std::io;

use crate::files::TraceFile;

/// An error about a trace; completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A file could not be read.
    #[error("read {file} of it: {error}")]
    Read {
        /// Which.
        file: TraceFile,
        /// Why.
        error: io::Error,
    },
    /// It is something else, or damaged where nothing can be read without.
    #[error("read it as OTF2: {reason}")]
    NotTrace {
        /// Why it cannot be one.
        reason: &'static str,
    },
    /// Its files are compressed, or lie in containers.
    #[error("read it as OTF2: it is stored by {what}, which is not supported")]
    NotSupported {
        /// By what.
        what: &'static str,
    },
    /// Its definitions are missing or damaged.
    #[error("read the definitions in {file}: {reason}")]
    Definitions {
        /// In which file.
        file: TraceFile,
        /// What is wrong.
        reason: &'static str,
    },
    /// It has more of something than memory is taken for.
    #[error("read it: it has more than {most} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many are read.
        most: u64,
    },
}

/// Result of reading a trace.
pub type TraceResult<T> = Result<T, TraceError>;
