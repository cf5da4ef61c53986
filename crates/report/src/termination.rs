//! Programs that a signal ended, those that failed, and those that go on when the recording ends.

use std::collections::BTreeSet;

use longpole_event::ProcessId;
use longpole_trace::{Evidence, Program};

/// That the program did not end by itself.
pub(crate) fn ended_by_signal(evidence: &Evidence) -> Option<String> {
    let signal = evidence.killed_by?;
    let name = signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned);
    let crashed = if CRASHES.contains(&signal) { "crashed" } else { "was ended from outside" };
    Some(format!("the program {crashed} ({name}): the answer is about the run until then"))
}

/// The same of a program that has itself to blame.
pub(crate) fn crashed(evidence: &Evidence) -> Option<String> {
    evidence.killed_by.filter(|signal| CRASHES.contains(signal)).and_then(|_| ended_by_signal(evidence))
}

/// That the program told of a failure when it ended, or of what some programs mean otherwise (`grep`, `diff`).
pub(crate) fn failed(program: &Program, evidence: &Evidence) -> Option<String> {
    let code = evidence.exit_code.filter(|&code| code != 0)?;
    let name = program.processes.first().map_or("", |first| &first.name);
    if (name, code) == ("timeout", TIMED_OUT) {
        return Some(
            "`timeout` ended the program: the run is as long as its limit, and the answer is about what the program did until then"
                .to_owned(),
        );
    }
    Some(format!(
        "the program ended with exit status {code}; if it failed, the answer is about the run until then"
    ))
}

/// That processes of the program were there when its first one ended, and the recording with it.
pub(crate) fn outlived(program: &Program, evidence: &Evidence) -> Option<String> {
    let alive = program.threads.iter().filter(|thread| thread.end.is_none()).map(|thread| thread.process);
    let alive: BTreeSet<ProcessId> = alive.filter(|&process| process != ProcessId(0)).collect();
    let first = *alive.first().filter(|_| evidence.is_outlived() && program.machines.len() == 1)?;
    let name = program.processes[first.index()].label();
    Some(match alive.len() {
        1 => format!(
            "1 process of the program ({name}) was still there when its first one ended, which ended the recording: what it did \
             then is not in the answer; let the program wait for it, or record it by --pid"
        ),
        several => format!(
            "{several} processes of the program ({name} and others) were still there when its first one ended, which ended the \
             recording: what they did then is not in the answer; let the program wait for them, or record them by --pid"
        ),
    })
}

/// The exit status of `timeout` where the time was over.
const TIMED_OUT: i32 = 124;

/// Signals that a program brings on itself: `SIGILL`, `SIGTRAP`, `SIGABRT`, `SIGBUS`, `SIGFPE`, `SIGSEGV`, `SIGSYS`.
const CRASHES: [i32; 7] = [4, 5, 6, 7, 8, 11, 31];

/// A signal's name by its number on Linux (`signal(7)`; x86-64 and ARM).
fn signal_name(signal: i32) -> Option<&'static str> {
    const NAMES: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    NAMES.get(usize::try_from(signal).ok()?.checked_sub(1)?).copied()
}
