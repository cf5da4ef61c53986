//! Programs that a signal ended.

use longpole_trace::Evidence;

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
