//! How failures are told: the chain of causes, then what to do about it.

use std::borrow::Cow;
use std::io;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use longpole_report::visible;

use crate::terminal;

/// Exit status of `record` when longpole itself fails, as of `env`, `nohup` and `timeout`.
pub const RECORDER_FAILED: u8 = 125;

/// Exit status of a command line that makes no sense.
const WRONG_COMMAND_LINE: u8 = 2;

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
    let failure = error.downcast_ref::<Failure>();
    let hints = failure.map_or(&[][..], |failure| &failure.hints);
    terminal::failure(&longpole_answer::told(error.as_ref()), hints);
    ExitCode::from(failure.map_or(1, |failure| failure.status))
}

/// What clap has to say: help and versions on standard output, else what is wrong with an argument, which is quoted there
/// and may hold any bytes.
pub fn of_arguments(mut error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nothing can be done about a closed standard output.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let quoted: Vec<(ContextKind, ContextValue)> =
        error.context().map(|(kind, value)| (kind, shown(value))).collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
    // A tip repeats an argument in a form that cannot be changed.
    if std::env::args_os().any(|argument| matches!(visible(&argument.to_string_lossy()), Cow::Owned(_))) {
        error.remove(ContextKind::Suggested);
    }
    terminal::usage(&error.to_string());
    ExitCode::from(WRONG_COMMAND_LINE)
}

/// What an argument error quotes, in one line each.
fn shown(value: &ContextValue) -> ContextValue {
    match value {
        ContextValue::String(text) => ContextValue::String(visible(text).into_owned()),
        ContextValue::Strings(texts) => {
            ContextValue::Strings(texts.iter().map(|text| visible(text).into_owned()).collect())
        }
        other => other.clone(),
    }
}
