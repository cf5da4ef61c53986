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
    /// The folder of a new recording holds something else.
    #[error("create the recording {}: {reason}", path.display())]
    Occupied {
        /// The folder asked for.
        path: PathBuf,
        /// What is in the way.
        reason: String,
    },
    /// The folder of a new recording holds one already.
    #[error("create the recording {}: there is a recording already", path.display())]
    Existing {
        /// The folder asked for.
        path: PathBuf,
        /// A name like it that is free.
        free: PathBuf,
    },
    /// Another recorder is writing into the folder of a new recording.
    #[error("create the recording {}: another longpole is recording into it", path.display())]
    Busy {
        /// The folder asked for.
        path: PathBuf,
        /// A name like it that is free.
        free: PathBuf,
    },
    /// A log does not carry the id of the manifest: two recorders wrote into one folder, or files were copied together.
    #[error("read {}: it belongs to another recording than the recording.json of its folder", path.display())]
    OtherRecording {
        /// The log.
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

    /// For opening a file of a recording: what is no regular file is no recording.
    pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidData => {
                Error::NotARecording { path, reason: source.to_string() }
            }
            _ => Error::Io { operation: "open", path, source },
        }
    }

    /// What to do about it, a line each.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Error::Existing { free, .. } => {
                vec!["`--force` replaces it".to_owned(), format!("`-o {}` is free", free.display())]
            }
            Error::Busy { free, .. } => vec![format!("`-o {}` is free", free.display())],
            Error::Occupied { .. } => vec!["name a folder that does not exist yet: `-o FOLDER`".to_owned()],
            _ => Vec::new(),
        }
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
