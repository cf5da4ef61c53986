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
    /// Units that are larger than what was followed or not.
    #[error(
        "simulate units of {unit} bytes: the recording has 1 of {} units of {} bytes, so that parts of the larger ones are missing",
        .sample.one_of,
        .sample.unit
    )]
    LargeUnit {
        /// Bytes asked for.
        unit: u64,
        /// What was recorded.
        sample: longpole_recording::AccessSample,
    },
    /// No access to a followed unit.
    #[error(
        "estimate the communication of all units: of {accesses} accesses, none was to a followed one (1 of {one_of}); the program touches few units"
    )]
    NothingFollowed {
        /// Accesses.
        accesses: u64,
        /// One unit in so many is followed.
        one_of: u32,
    },
    /// What needs all units.
    #[error("{what}: that needs all accesses, and the recording has those to 1 of {one_of} units")]
    NeedsAllUnits {
        /// What was asked for, in words that complete "failed to …".
        what: &'static str,
        /// One unit in so many is followed.
        one_of: u32,
    },
    /// The simulation refused its settings.
    #[error("simulate the recorded accesses")]
    Simulation(#[from] longpole_coherence::Error),
}

impl Error {
    /// What to do about it, a line each.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        let again = |arguments: &str| format!("record again{arguments}");
        match self {
            Error::LargeUnit { unit, sample } => vec![again(&format!(
                " with `--access-sample 1/{} --access-sample-unit {unit}`, or without to have all units",
                sample.one_of
            ))],
            Error::NothingFollowed { one_of, .. } => vec![
                again(&format!(" with a larger share, `--access-sample 1/{}`", (one_of / 8).max(2))),
                again(" without `--access-sample`: few units take little time and room"),
            ],
            Error::NeedsAllUnits { .. } => vec![again(" without `--access-sample`")],
            _ if self.is_of_memory() => vec![
                "a larger `--unit` has fewer units; or let longpole have more memory".to_owned(),
                "or record less: fewer rounds of the program, a smaller input, or `--access-sample 1/16`"
                    .to_owned(),
            ],
            _ => Vec::new(),
        }
    }

    /// The simulation would take more memory than there is.
    #[must_use]
    pub fn is_of_memory(&self) -> bool {
        matches!(self, Error::Simulation(longpole_coherence::Error::Memory { .. }))
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
