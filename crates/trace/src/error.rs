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
        reason: &'static str,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
