//! Why nothing was recorded.

use std::io;
use std::path::PathBuf;

use longpole_symbols::AccessInstrumentation;

use crate::collector_choice::CollectorAvailability;
use crate::emulation::EmulationObstacle;
use crate::launch::LaunchError;

/// An error about making a recording; completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This machine or this user permits none of the collectors that were asked for.
    #[error("find a collector that is permitted here: {}", reasons(collectors))]
    NoCollector {
        /// Each collector with the reason against it and the remedy.
        collectors: Vec<CollectorAvailability>,
    },
    /// The program does not tell of its accesses to memory.
    #[error("record the accesses of {}: {}", program.display(), why_not_instrumented(*found))]
    NotInstrumented {
        /// The program.
        program: PathBuf,
        /// What its file says.
        found: AccessInstrumentation,
    },
    /// The program cannot be emulated so that its accesses are seen.
    #[error("emulate {}: {}", program.display(), why_not_emulated(obstacle))]
    NotEmulated {
        /// The program.
        program: PathBuf,
        /// What keeps it from that.
        obstacle: EmulationObstacle,
    },
    /// There is no emulator.
    #[error("find an emulator: there is no qemu-x86_64")]
    NoEmulator,
    /// The emulator does not work with the plugin.
    #[error("use the emulator: {reason}")]
    EmulatorRefused {
        /// What it is, and what it says.
        reason: String,
    },
    /// The program did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The program was not to start, as others of its run do not.
    #[error("start the program")]
    NotReleased {
        /// Why.
        source: io::Error,
    },
    /// There is no process to attach to.
    #[error("attach to process {pid}")]
    NoProcess {
        /// The pid asked for.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
    /// The recording could not be made on disk.
    #[error(transparent)]
    Recording(#[from] longpole_recording::Error),
    /// The system refused something that collecting needs.
    #[error("{operation}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn system(operation: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::System { operation, source }
    }
}

fn why_not_instrumented(found: AccessInstrumentation) -> &'static str {
    match found {
        AccessInstrumentation::RaceDetector => "it holds the compiler's race detector (libtsan)",
        AccessInstrumentation::NoProgram => "it is no ELF program",
        AccessInstrumentation::Absent | AccessInstrumentation::Ours => "it was not compiled for that",
    }
}

fn why_not_emulated(obstacle: &EmulationObstacle) -> String {
    let reason = match obstacle {
        EmulationObstacle::NoProgram => "it is no ELF program",
        EmulationObstacle::OtherProcessor => "it is not for x86-64",
        EmulationObstacle::Static => {
            "it is statically linked, and its locks and threads are seen by a library that is loaded into it"
        }
        EmulationObstacle::OtherLoader(name) => {
            return format!("its libraries are loaded by {name}, not by that of the GNU C library");
        }
        EmulationObstacle::Instrumented => {
            "it was built by `longpole cc`, and would record each access twice"
        }
        EmulationObstacle::RaceDetector => "it holds the compiler's race detector (libtsan)",
    };
    reason.to_owned()
}

fn reasons(collectors: &[CollectorAvailability]) -> String {
    let reasons: Vec<_> = collectors
        .iter()
        .filter_map(|collector| {
            Some(format!("{}: {}", collector.name, collector.available.as_ref().err()?.reason))
        })
        .collect();
    reasons.join("; ")
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error with its cause, as a sentence.
pub(crate) fn describe(error: &longpole_recording::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("failed to {error}: {source}"),
        None => format!("failed to {error}"),
    }
}
