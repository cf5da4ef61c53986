//! What can fail; each text completes “failed to …”.

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log cannot be read.
    #[error(transparent)]
    Recording(#[from] longpole_recording::Error),
    /// The simulation refused its settings.
    #[error("simulate the recorded accesses")]
    Simulation(#[from] longpole_coherence::Error),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
