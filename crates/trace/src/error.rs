//! What can go wrong when a recording is opened.

/// An error of opening a recording; completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The recording's files.
    #[error(transparent)]
    Recording(#[from] longpole_recording::Error),
    /// The recording holds no event at all.
    #[error("find any event in {}: {reason}", path.display())]
    Empty {
        /// The recording.
        path: std::path::PathBuf,
        /// Why that can be.
        reason: String,
    },
    /// What was kept of the recording is not what it was when it was opened.
    #[error("read {}: somebody else changed it meanwhile", path.display())]
    Columns {
        /// The file.
        path: std::path::PathBuf,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
