//! What can go wrong with a trace.

use std::io;

/// An error about a trace; completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PerfettoError {
    /// The system could not read the file.
    #[error("read it: {0}")]
    Read(#[from] io::Error),
    /// It holds nothing of which a recording can be made.
    #[error("find anything in it to analyse: it has neither ftrace's sched_switch nor slices of threads")]
    Nothing,
}

/// Result of reading a trace.
pub type PerfettoResult<T> = Result<T, PerfettoError>;
