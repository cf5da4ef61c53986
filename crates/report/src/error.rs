//! What can go wrong with a report.

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A view's name that is not known.
    #[error("find the view `{name}`: the views are {known}")]
    UnknownView {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
}
