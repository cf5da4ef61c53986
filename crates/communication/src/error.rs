//! What can fail; each text completes “failed to …”.

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log cannot be read.
    #[error(transparent)]
    Recording(#[from] longpole_recording::Error),
    /// The recording has no accesses.
    #[error("simulate {0}: it has no accesses to memory; `longpole record --access` records them")]
    NoAccesses(std::path::PathBuf),
    /// A thread is in one node.
    #[error(
        "simulate {nodes} nodes: the program has {threads} threads with accesses, each of which is in one node"
    )]
    TooManyNodes {
        /// That were asked for.
        nodes: u16,
        /// Of the program.
        threads: usize,
    },
    /// The simulation refused its settings.
    #[error("simulate the recorded accesses")]
    Simulation(#[from] longpole_coherence::Error),
}

impl Error {
    /// The simulation would take more memory than there is.
    #[must_use]
    pub fn is_of_memory(&self) -> bool {
        matches!(self, Error::Simulation(longpole_coherence::Error::Memory { .. }))
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
