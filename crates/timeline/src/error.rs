//! What can be wrong with a question.

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A metric of which there are no curves.
    #[error("draw a curve of `{name}`: there are curves of {known}")]
    UnknownMetric {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A metric that the node does not have.
    #[error("draw a curve of `{metric}` for {node}: it is of {of}")]
    NotOfNode {
        /// The metric.
        metric: String,
        /// What it was asked for.
        node: String,
        /// What has it.
        of: &'static str,
    },
    /// Nothing has this name.
    #[error("find a machine named `{name}`: there are {known}")]
    NoSuchMachine {
        /// What was asked for.
        name: String,
        /// The machines.
        known: String,
    },
    /// A name that stands for nothing, or for several things.
    #[error(transparent)]
    Name(#[from] longpole_report::Error),
}
