//! How failures are told: the chain of causes, then what to do about it.

use std::io::{self, Write};
use std::process::ExitCode;

/// Exit status of `record` when longpole itself fails, as of `env`, `nohup` and `timeout`.
pub const RECORDER_FAILED: u8 = 125;

/// A failure with an exit status of its own and hints.
#[derive(Debug)]
pub struct Failure {
    /// Exit status.
    pub status: u8,
    /// What to do about it, a line each.
    pub hints: Vec<String>,
    /// What failed.
    pub error: anyhow::Error,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Tells the error on standard error and gives the exit status. A reader that went away is no failure.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let broken_pipe = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe);
    if broken_pipe {
        return ExitCode::SUCCESS;
    }
    let mut stderr = io::stderr().lock();
    let told = longpole_answer::told(error.as_ref());
    // Nothing can be done about a closed standard error.
    let _ = writeln!(stderr, "longpole: failed to {told}");
    let failure = error.downcast_ref::<Failure>();
    for hint in failure.iter().flat_map(|failure| &failure.hints) {
        let _ = writeln!(stderr, "  hint: {hint}");
    }
    ExitCode::from(failure.map_or(1, |failure| failure.status))
}

/// Writes data to standard output.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}
