//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong; the text completes “failed to …”.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("{what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A row of a CSV file could not be written.
    #[error("write {}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: csv::Error,
    },
    /// A part of a Parquet file could not be written.
    #[cfg(feature = "parquet")]
    #[error("write {}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: parquet::errors::ParquetError,
    },
    /// This build cannot write Parquet.
    #[error("write Parquet: this longpole was built without it")]
    WithoutParquet,
    /// A cell is not of its column's kind, or a row has too many or too few of them.
    #[error("write a row of {table}: {why}")]
    Misfit {
        /// The table.
        table: String,
        /// What does not fit.
        why: String,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { what, path, source }
    }

    pub(crate) fn csv(path: &Path) -> impl FnOnce(csv::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Csv { path, source }
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn parquet(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Error {
        let path = path.to_owned();
        move |source| Error::Parquet { path, source }
    }
}
