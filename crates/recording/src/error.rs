//! What can go wrong with a recording's files.

use std::io;
use std::path::{Path, PathBuf};

/// An error about a recording; completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder is not there.
    #[error("find a recording at {}", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The folder or file is there but is no recording.
    #[error("read {} as a recording: {reason}", path.display())]
    NotARecording {
        /// What was opened.
        path: PathBuf,
        /// Why it cannot be one.
        reason: String,
    },
    /// The recording was written by a later format.
    #[error("read {}: its format version is {found}, this longpole reads up to {supported}", path.display())]
    NewerVersion {
        /// What was opened.
        path: PathBuf,
        /// The version found.
        found: u32,
        /// The newest version this build reads.
        supported: u32,
    },
    /// The target of a new recording exists and is not a recording that could be replaced.
    #[error("create {}: it exists and is not a recording", path.display())]
    Occupied {
        /// The folder asked for.
        path: PathBuf,
    },
    /// The system refused an operation on a file.
    #[error("{operation} {}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = path.to_owned();
        move |source| Error::Io { operation, path, source }
    }

    /// Whether the disk is full or the user's quota is used up.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Error::Io { source, .. }
            if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
