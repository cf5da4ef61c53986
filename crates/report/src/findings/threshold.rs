//! Every threshold of the findings, once: its value, its unit and what it separates.
//!
//! The definitions list them (`metrics.md` §13); code takes them from here, so that two sentences of one answer cannot
//! disagree about what is much.

/// A number from which on something is said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Threshold {
    /// The value.
    pub value: f64,
    /// What it is counted in: `%`, `ns`, or empty for a number of things.
    pub unit: &'static str,
    /// What it separates.
    pub meaning: &'static str,
}

macro_rules! thresholds {
    ($($name:ident = $value:literal $unit:literal: $meaning:literal;)*) => {
        $(#[doc = $meaning] pub(crate) const $name: f64 = $value;)*

        /// Every threshold, in the order of the definitions.
        pub(crate) const THRESHOLDS: &[Threshold] = &[
            $(Threshold { value: $value, unit: $unit, meaning: $meaning }),*
        ];
    };
}

thresholds! {
    // What can be said at all.
    FEWEST_OBSERVATIONS = 30.0 "": "Effective observations below which no procedure is named or advised: the share of one half is known to 9 points.";
    FEWEST_OF_ROW = 5.0 "": "Observations that a row has to expect to be shown with an error, and a procedure to be advised.";
    FEW_OBSERVATIONS = 100.0 "": "Effective observations below which answers say how few they are: the share of one half is known to 5 points.";
    TOO_SHORT = 50_000_000.0 "ns": "CPU time that a timer may miss altogether.";
    // What a gain must be.
    LEAST_GAIN = 2.0 "%": "Part of the run that a change has to gain at most to be listed, and at least to be promised.";
    SHORTEST_GAIN = 1_000_000.0 "ns": "The same as a time: what start, end and the scheduler's ticks change from run to run.";
    MODEL_ERROR = 10.0 "%": "Part of a predicted gain that the execution is off at least: it keeps the recorded order of locks, and caches are not in it.";
    MISSED = 10.0 "%": "Part of the run that an execution without a change misses from which on each gain may be off by as much.";
    NEGLIGIBLE_LOW = 5.0 "%": "Part of the high end of a range below which the low end is shown as nothing (`up to`).";
    MOST_CHANGES = 6.0 "": "Entries of the list of changes at most.";
    // What limits the run.
    IDLE = 50.0 "%": "Part of the run in which no thread could run from which on the answer says that the program waits.";
    CPU_BOUND = 85.0 "%": "Part of the CPUs' time with useful work from which on the program is CPU-bound.";
    CROWDED = 85.0 "%": "Part of the run with a runnable thread for each CPU, and no idle one, from which on the CPUs are the limit, if threads also waited for one.";
    CROWDED_WAIT = 50.0 "%": "Time that threads waited for a CPU, all together, as a part of the run, from which on that holds.";
    OWN_CROWD = 70.0 "%": "Part of the CPU time that it could use which the program got, from which on a lack of CPUs is its own crowd; below it others, a quota or pinning are the cause.";
    CROWDED_OUT = 75.0 "%": "Part of the run for which others, a quota or pinning keep the critical path from a CPU, from which on that leads.";
    SPINNING = 5.0 "%": "Part of the CPU time that spins from which on that is said, advised against, and misleads gprof.";
    SHARED_LINES = 5.0 "%": "Part of the CPU time at code that accesses a cache line which other threads use at the same time, from which on it is said.";
    CALLS_COST = 5.0 "%": "Part of the CPU time in calls of a lock or barrier from which on synchronising less often is advised.";
    SHORT_PATH = 50.0 "%": "Length of the critical path, as a part of the program's time on its CPUs, below which useful work does not explain the run.";
    PATH_IS_RUN = 80.0 "%": "Length of the critical path, as a part of the run, below which a share of the path is also said as a share of the run.";
    SERIAL = 30.0 "%": "Part of the run with one busy thread, others not lacking a CPU, from which on it is called serial.";
    // Waits.
    LONG_WAITS = 10.0 "%": "Time of all threads in one kind of wait, as a part of the run, from which on it is a reason.";
    OTHER_WAITS = 5.0 "%": "Part of the run from which on further waits of an idle program are named.";
    WAITING = 20.0 "%": "Part of the working threads' time in which they wait for each other from which on the critical path is to be followed.";
    SOME_WAITING = 5.0 "%": "The same from which on it matters who ended the waits.";
    UNMATCHED = 50.0 "%": "Part of the waits with an unknown end from which on the critical path is not to be followed.";
    DEVICES = 5.0 "%": "Waits for devices and pages, as a part of the critical path by elapsed time, from which on they are mentioned.";
    PATH_TOO_SHORT = 5.0 "%": "Time that threads waited for a CPU, as a part of the CPU time, from which on gains by CPU time are more than elapsed time gains.";
    READY = 10.0 "%": "Time that threads waited for a CPU, all together, as a part of the run, from which on it is said.";
    BLAMED = 5.0 "%": "Waits of others for a procedure, as a part of the run, from which on they are said.";
    SURELY_GAINED = 50.0 "%": "Part of the time in which all work of ranks waits for a CPU that others poll on that ranks surely gain which yield.";
    LATE_RANK = 5.0 "%": "Gain of even shares, as a part of the run, from which on the rank that others wait for leads.";
    // Work.
    FLAT = 20.0 "%": "Share of a procedure below which the answer names a coarser level.";
    COARSE = 50.0 "%": "Share that a coarser level (process, calling procedure) must have.";
    HOLDS_MATTER = 25.0 "%": "Part of the most that doing without a procedure gains from which on its lock is to be held shorter, if that gains so much.";
    ONE_THREAD = 80.0 "%": "Share of the work on one thread from which on the thread is named.";
    OWN_PROCEDURE = 95.0 "%": "Part of a procedure's work that one thread does from which on no other one can take a share of it.";
    ALONE = 50.0 "%": "Part of a procedure's time with no other thread busy from which on it is to be parallelised.";
    BESIDE = 10.0 "%": "Part of the run with several busy threads from which on it is not one thread at a time that does the work.";
    BALANCED = 10.0 "%": "Imbalance of the threads' work (1 − mean ÷ most) below which it is even.";
    MANY_PROCESSES = 50.0 "": "Short processes from which on starting fewer is advised.";
    SHORT_LIFE = 50_000_000.0 "ns": "How long a short process lives at most.";
    SHORT_WORK = 10_000_000.0 "ns": "CPU time of a short process at most.";
    PROCESS = 10.0 "%": "Part of the CPU time from which on a process is a finding.";
    WHOLE_RUN = 98.0 "%": "Part of the CPU time from which on a process is as good as the program.";
    ONE_PROCEDURE = 80.0 "%": "Part of a process's work from which on a procedure stands for it.";
    EQUAL_PROCESS = 50.0 "%": "CPU time of another process of the same name, as a part of its own, from which on a process is one of several equal workers.";
    MOSTLY_FOLDED = 50.0 "%": "Part of a procedure's work in what is folded into it from which on it is named after that.";
    MENTIONED = 10.0 "%": "Part of a procedure's work from which on what is folded into it, or a caller, is mentioned.";
    KERNEL = 30.0 "%": "Part of the CPU time in the kernel from which on inclusive columns are recommended.";
    // Locks and spins.
    IN_VAIN = 50.0 "%": "Part of the wakes from a condition that are in vain from which on waking only who can go on is advised.";
    IN_TURN = 50.0 "%": "Part of the waits for an object, by time, that a thread ends which the waiting one had let go on since, from which on they wait in turn.";
    BY_TURNS = 80.0 "%": "Part of the time in which a lock can exclude threads for which it is held, from which on they do all by turns.";
    HELD = 30.0 "%": "Part of a procedure's time surely with a wanted lock from which on the lock is mentioned, and held shorter if the procedure works for those who hold it.";
    FOR_HOLDERS = 80.0 "%": "Part of a procedure's time on behalf of those who give a lock back from which on it works for them.";
    ONE_HOLDER = 80.0 "%": "Part of a lock's holding that one procedure has from which on that procedure is the one to be shortened.";
    LONG_HOLD = 1_000_000.0 "ns": "Mean hold from which on a lock is not a matter of many users.";
    STARVED = 80.0 "%": "Part of the waiting for an rwlock that is at one place, part of the time for which it is wanted with one thread that waits, and part of its holding meanwhile by others, from which on that one may be a writer that readers pass.";
    STARVED_FACTOR = 2.0 "": "Factor by which its waits have to be longer than those at other places.";
    CONTENDED = 10.0 "%": "Part of a lock's acquisitions that found it taken from which on its holds are said.";
    UNEXPLAINED_SPINS = 1.0 "%": "Busy waits with an unknown end, as a part of the run, from which on executions may say too little or too much.";
    // Metrics side by side.
    DISAGREEMENT = 10.0 "%": "Difference of a row's shares by two metrics from which on they disagree about it, if they also differ by the factor below and by more than two standard errors.";
    DISAGREEMENT_FACTOR = 2.0 "": "Factor by which those shares have to differ.";
    // Evidence.
    LOSSES = 1.0 "%": "Part of the events (or stacks) lost from which on times and waits are wrong by about as much.";
    LOSSES_LEAD = 10.0 "%": "Part of the events lost with which an answer begins.";
    LOSSES_HIDE = 33.0 "%": "Part of the events lost from which on nothing is promised.";
    OVERHEAD = 5.0 "%": "Cost of collecting, as a part of the program's CPU time (of outside series: of one CPU), from which on it is said.";
    RECORDER = 100_000_000.0 "ns": "CPU time of the recorder while the program ran below which it is not said, whatever part of the CPUs it took.";
    UNNAMED = 5.0 "%": "Part of the CPU time without a name from which on it is said.";
    UNKNOWN_WAITS = 20.0 "%": "Part of the waiting without a known cause from which on it is said, if it is also 5 % of the run.";
    WITHOUT_CAUSE = 5.0 "%": "Part of the waiting without a known cause from which on the explanations of waits say so, if it is also a millisecond and 2 % of the run.";
    TIMER_SAMPLES = 100.0 "": "Samples that a run has to expect before their number says anything about the timer.";
    TIMER_OFF = 2.0 "": "Factor by which their number may differ from what was expected.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_explained_once_each() {
        for (at, threshold) in THRESHOLDS.iter().enumerate() {
            assert!(threshold.meaning.ends_with('.'), "{threshold:?}");
            assert!(["%", "ns", ""].contains(&threshold.unit), "{threshold:?}");
            assert!(THRESHOLDS[..at].iter().all(|other| other.meaning != threshold.meaning), "{threshold:?}");
        }
    }
}
