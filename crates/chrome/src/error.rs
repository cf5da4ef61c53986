//! What can go wrong with a trace.

use std::io;

/// An error about a trace; completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChromeError {
    /// The system could not read the file.
    #[error("read it: {0}")]
    Read(#[from] io::Error),
    /// It is not JSON, or not of this form.
    #[error("read it as a trace in Chrome's JSON format: {reason}")]
    NoTrace {
        /// What is wrong with it.
        reason: String,
    },
    /// It holds nothing of which a recording can be made.
    #[error(
        "find anything in it to analyse: it has no slices of threads (events of the kinds X, or B and E)"
    )]
    Nothing,
}

/// Result of reading a trace.
pub type ChromeResult<T> = Result<T, ChromeError>;
