//! What keeps the page from being served.

use std::io;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The recording.
    #[error(transparent)]
    Answer(#[from] longpole_answer::Error),
    /// The port is not free, or not for us.
    #[error("listen on 127.0.0.1:{port}")]
    Listen {
        /// The port asked for.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The system gives no random bytes.
    #[error("make a token: {reason}")]
    Random {
        /// What the system said.
        reason: String,
    },
    /// What the system refuses a server.
    #[error("serve the page")]
    Serve(#[source] io::Error),
    /// The file that leads the browser to the page.
    #[error("write {}", path.display())]
    Redirect {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The recording cannot be read to its end.
    #[error("{what}")]
    Export {
        /// What failed.
        what: String,
        /// What to do about it.
        hints: Vec<String>,
    },
    /// The embedded page is not as it is expected.
    #[error("write the page: it lacks {what}")]
    Page {
        /// What was looked for.
        what: &'static str,
    },
    /// A place for sources that is none.
    #[error("look for sources in {}: it is no folder", path.display())]
    NoFolder {
        /// What was named.
        path: PathBuf,
    },
}

impl Error {
    /// What to do about it, a line each.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Error::Answer(error) => error.hints(),
            Error::Export { hints, .. } => hints.clone(),
            Error::Listen { port, source } if source.kind() == io::ErrorKind::AddrInUse => vec![format!(
                "another program, perhaps another `longpole view`, uses port {port}: without `--port` any free one is taken"
            )],
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                vec!["ports below 1024 are for root: without `--port` any free one is taken".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}
