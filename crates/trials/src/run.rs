//! One run of a version of a program: how long it takes, and what of the machine.

use std::io::Error;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::delay::{DelayCounts, PreparedDelay, ProcedureDelay};
use crate::skip::SkippedProcedure;

/// How a version of the program differs from what its command executes.
#[derive(Clone, Debug, Default)]
pub enum AppliedChange {
    /// It does not.
    #[default]
    Unchanged,
    /// A procedure returns at once.
    Skipped(SkippedProcedure),
    /// A procedure takes longer, or virtually less, or the program is only sampled as if it did.
    Delayed(ProcedureDelay),
}

/// One run of a version of the program, without a recorder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialRun {
    /// From before the program's start until its end was seen, less the delay that a virtual speed-up inserted.
    pub elapsed_seconds: f64,
    /// User and system time of the program and of the children it waited for.
    pub cpu_seconds: f64,
    /// Page faults of the same, minor and major.
    pub page_faults: u64,
    /// Context switches of the same, voluntary and not.
    pub switches: u64,
}

/// Why a run is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The program was not started.
    #[error("start {command}")]
    Start {
        /// As it was to be executed.
        command: String,
        /// Why.
        source: Error,
    },
    /// It could not be waited for, or its output not be read.
    #[error("wait for {command}")]
    Wait {
        /// As it was executed.
        command: String,
        /// Why.
        source: Error,
    },
    /// It ended in another way than it should.
    #[error("run {command}: it ended with {ended}, not {wanted}")]
    Status {
        /// As it was executed.
        command: String,
        /// How it ended.
        ended: String,
        /// How it should.
        wanted: String,
    },
}

/// Runs a command once, to its end; it has to end with this status, as `wait` has it. Its output is not kept.
///
/// # Errors
/// [`TrialError`].
pub fn measure(command: &mut Command, status: i32) -> Result<TrialRun, TrialError> {
    Ok(measure_changed(command, status, &AppliedChange::Unchanged)?.0)
}

/// The same of a program that is changed as it starts, and what a delay did.
///
/// # Errors
/// [`TrialError`].
pub fn measure_changed(
    command: &mut Command,
    status: i32,
    change: &AppliedChange,
) -> Result<(TrialRun, DelayCounts), TrialError> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let prepared = prepare(command, change)?;
    let begin = Instant::now();
    let child = start(command, change)?;
    let (mut run, ended) = wait(command, &child, begin)?;
    if ended != status {
        return Err(TrialError::Status {
            command: words(command),
            ended: status_text(ended),
            wanted: status_text(status),
        });
    }
    let counts = counts(prepared.as_ref());
    run.elapsed_seconds -= counts.inserted_seconds;
    Ok((run, counts))
}

/// What is done before a run's clock begins.
pub(crate) fn prepare(
    command: &mut Command,
    change: &AppliedChange,
) -> Result<Option<PreparedDelay>, TrialError> {
    let AppliedChange::Delayed(delay) = change else { return Ok(None) };
    let prepared = delay.prepare(command);
    prepared.map(Some).map_err(|source| TrialError::Start { command: words(command), source })
}

/// What the delay of a run did; nothing where there was none.
pub(crate) fn counts(prepared: Option<&PreparedDelay>) -> DelayCounts {
    prepared.map(PreparedDelay::counts).unwrap_or_default()
}

pub(crate) fn start(command: &mut Command, change: &AppliedChange) -> Result<Child, TrialError> {
    let started = match change {
        AppliedChange::Skipped(procedure) => procedure.start(command),
        AppliedChange::Unchanged | AppliedChange::Delayed(_) => command.spawn(),
    };
    started.map_err(|source| TrialError::Start { command: words(command), source })
}

/// Waits for a child by `wait4`, which knows more than the standard library's wait; its status as `wait` has it.
pub(crate) fn wait(command: &Command, child: &Child, begin: Instant) -> Result<(TrialRun, i32), TrialError> {
    let mut status = 0;
    // SAFETY: a structure of plain numbers.
    let mut own: libc::rusage = unsafe { std::mem::zeroed() };
    let pid = libc::pid_t::try_from(child.id()).unwrap_or(-1);
    // SAFETY: both point to values that outlive the call.
    while unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut own) } != pid {
        let source = Error::last_os_error();
        if source.kind() != std::io::ErrorKind::Interrupted {
            return Err(TrialError::Wait { command: words(command), source });
        }
    }
    let elapsed_seconds = begin.elapsed().as_secs_f64();
    let run = TrialRun {
        elapsed_seconds,
        cpu_seconds: seconds(own.ru_utime) + seconds(own.ru_stime),
        page_faults: number(own.ru_minflt + own.ru_majflt),
        switches: number(own.ru_nvcsw + own.ru_nivcsw),
    };
    Ok((run, status))
}

/// A command's words, for people.
pub(crate) fn words(command: &Command) -> String {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    all.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// How a program ended, by its status as `wait` has it.
#[must_use]
pub fn status_text(status: i32) -> String {
    if libc::WIFSIGNALED(status) {
        format!("signal {}", libc::WTERMSIG(status))
    } else {
        format!("status {}", libc::WEXITSTATUS(status))
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_nothing_takes_next_to_no_cpu_time_and_ends_well() {
        let run = measure(&mut Command::new("true"), 0).unwrap();
        assert!(run.cpu_seconds < 1.0 && run.elapsed_seconds > 0.0 && run.page_faults > 0);
    }

    #[test]
    fn a_run_that_ends_otherwise_is_no_measurement() {
        let error = measure(&mut Command::new("false"), 0).unwrap_err();
        assert_eq!(error.to_string(), "run false: it ended with status 1, not status 0");
        assert!(measure(&mut Command::new("false"), 1 << 8).is_ok());
    }
}
