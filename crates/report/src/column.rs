//! Every column of every view: its key in JSON and CSV, its unit, its title, and what it means.

use serde::Serialize;

/// Unit of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Words.
    Text,
    /// Seconds.
    Seconds,
    /// A share, in percent.
    Percent,
    /// Percentage points.
    PercentagePoints,
    /// A number of things, or a number that names one.
    Count,
}

/// A column of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Key in the rows; stable.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// Title for people.
    pub title: &'static str,
    /// What it means, in one or two sentences.
    #[serde(skip)]
    pub about: &'static str,
}

macro_rules! columns {
    ($($name:literal $unit:ident $title:literal $about:literal;)*) => {
        /// Every column that a view can have.
        pub const COLUMNS: &[Column] =
            &[$(Column { name: $name, unit: Unit::$unit, title: $title, about: $about }),*];
    };
}

columns! {
    "section" Text "Section" "Part of the summary that the row belongs to: `answer`, `busy`, `procedure`, `wait`, `warning` or `next`.";
    "text" Text "Text" "A sentence of the summary, or one of its commands.";
    "rank" Count "Rank" "Place in the ranking. Rows whose shares differ by no more than the standard error of their difference share a place (`2=` in text).";
    "level" Text "Level" "Level of the tree: `program`, `machine`, `process`, `thread` or `procedure`.";
    "procedure" Text "Procedure" "Name of the procedure, demangled; `module+0x…` where the module has no symbols.";
    "module" Text "Module" "File name of the program, library or kernel that holds the procedure.";
    "file" Text "File" "Source file; absent without line information.";
    "line" Count "Line" "Line of the source file; absent where it is not known.";
    "machine" Text "Machine" "Host name.";
    "process" Text "Process" "File name of the last program that the process executed.";
    "pid" Count "Pid" "Process id.";
    "thread" Text "Thread" "The thread's last name.";
    "tid" Count "Tid" "Thread id.";
    "created_by" Text "Created by" "The thread that created it; absent for the first one.";
    "cause" Text "Cause" "What a thread waited for: lock, condition, barrier, join, child process, semaphore, message, io, pipe, socket, terminal, poll, page fault, sleep, signal, stopped, park, futex or other.";
    "seconds" Seconds "Time" "The view's measure for the row itself: time on the critical path (critical-path, tree), normalised processor time (npt), CPU time (profile, threads), or time of the run (parallelism).";
    "percent" Percent "Share" "`seconds` as a share of the whole: of the critical path's length, of all normalised processor time, of all CPU time, or of the run.";
    "error_percent" PercentagePoints "Standard error" "One standard error of `percent`, in percentage points. Absent where the share was counted rather than estimated from samples.";
    "inclusive_seconds" Seconds "Inclusive time" "The view's measure for everything done on the row's behalf: by it, by what it called, and by the threads that it created. A procedure that is on a call path several times counts once.";
    "inclusive_percent" Percent "Inclusive share" "`inclusive_seconds` as a share of the same whole as `percent`.";
    "cpu_weight_seconds" Seconds "Time on the critical path (CPU)" "Time on the critical path where only useful CPU time has weight.";
    "cpu_weight_percent" Percent "Share of the critical path (CPU)" "`cpu_weight_seconds` as a share of that path's length.";
    "elapsed_weight_seconds" Seconds "Time on the critical path (elapsed)" "Time on the critical path where io, sleep, waiting for a CPU and message latency have weight too; that path is as long as the run.";
    "elapsed_weight_percent" Percent "Share of the critical path (elapsed)" "`elapsed_weight_seconds` as a share of the run.";
    "busy_1_seconds" Seconds "NPT while 1 busy" "Normalised processor time charged while no other thread was busy: serial time.";
    "busy_2_seconds" Seconds "NPT while 2 busy" "Normalised processor time charged while two threads were busy: half of the CPU time used then.";
    "busy_3_4_seconds" Seconds "NPT while 3–4 busy" "Normalised processor time charged while three or four threads were busy.";
    "busy_5_more_seconds" Seconds "NPT while 5 or more busy" "Normalised processor time charged while five or more threads were busy.";
    "cpu_seconds" Seconds "CPU time" "CPU time, useful and spinning.";
    "cpu_percent" Percent "CPU share" "Share of all CPU time.";
    "cpu_inclusive_percent" Percent "Inclusive CPU share" "Share of all CPU time that was used on the row's behalf.";
    "useful_seconds" Seconds "Useful CPU time" "CPU time without spinning.";
    "spin_seconds" Seconds "Spinning" "CPU time in loops that only wait for memory to change.";
    "ready_seconds" Seconds "Ready" "Time in which the thread could have run but had no CPU.";
    "blocked_seconds" Seconds "Blocked" "Time off the CPU waiting for something, whatever it was.";
    "wait_seconds" Seconds "Synchronisation wait" "Time blocked for another thread or process of the program: every cause but io, terminal, page fault, sleep, signal and stopped.";
    "wait_lock_seconds" Seconds "Waiting: lock" "Time blocked for a lock.";
    "wait_condition_seconds" Seconds "Waiting: condition" "Time blocked for a condition variable or an event.";
    "wait_barrier_seconds" Seconds "Waiting: barrier" "Time blocked at a barrier.";
    "wait_join_seconds" Seconds "Waiting: join" "Time blocked for the end of another thread.";
    "wait_child_process_seconds" Seconds "Waiting: child process" "Time blocked for the end of a child process.";
    "wait_semaphore_seconds" Seconds "Waiting: semaphore" "Time blocked for a semaphore.";
    "wait_message_seconds" Seconds "Waiting: message" "Time blocked for a message of a queue, or of MPI.";
    "wait_io_seconds" Seconds "Waiting: io" "Time blocked for a file on a device.";
    "wait_pipe_seconds" Seconds "Waiting: pipe" "Time blocked for data, or for room, in a pipe.";
    "wait_socket_seconds" Seconds "Waiting: socket" "Time blocked for a socket.";
    "wait_terminal_seconds" Seconds "Waiting: terminal" "Time blocked for a terminal.";
    "wait_poll_seconds" Seconds "Waiting: poll" "Time blocked for any of several descriptors.";
    "wait_page_fault_seconds" Seconds "Waiting: page fault" "Time blocked for a page of memory.";
    "wait_sleep_seconds" Seconds "Waiting: sleep" "Time that the program itself chose to sleep.";
    "wait_signal_seconds" Seconds "Waiting: signal" "Time blocked for a signal.";
    "wait_stopped_seconds" Seconds "Waiting: stopped" "Time stopped by a signal or a debugger.";
    "wait_park_seconds" Seconds "Waiting: park" "Time parked until another thread unparked it (Rust, Java, Go).";
    "wait_futex_seconds" Seconds "Waiting: futex" "Time blocked for a lock or a condition; which of them could not be told.";
    "wait_other_seconds" Seconds "Waiting: other" "Time blocked for something else, or not known what.";
    "switches" Count "Switches" "Times the thread left its CPU.";
    "start_seconds" Seconds "Start" "When the thread was first seen, from the begin of the run.";
    "end_seconds" Seconds "End" "When the thread ended; absent when it lived to the end of the recording.";
    "critical_path_seconds" Seconds "Time on the critical path" "Time on the CPU-weighted critical path.";
    "critical_path_percent" Percent "Share of the critical path" "Share of the CPU-weighted critical path.";
    "critical_path_error_percent" PercentagePoints "Standard error of the critical path's share" "One standard error of `critical_path_percent`, in percentage points.";
    "critical_path_inclusive_percent" Percent "Inclusive share of the critical path" "Share of the CPU-weighted critical path that was work on the row's behalf.";
    "npt_seconds" Seconds "NPT" "Normalised processor time.";
    "npt_percent" Percent "NPT share" "Share of all normalised processor time.";
    "npt_inclusive_percent" Percent "Inclusive NPT share" "Share of all normalised processor time that was charged on the row's behalf.";
    "threads" Count "Threads" "Number of threads: that were busy or runnable (parallelism, summary), or that the row stands for (tree).";
    "nominal_seconds" Seconds "Runnable" "Time of the run with so many threads running, spinning or ready.";
    "nominal_percent" Percent "Runnable share" "`nominal_seconds` as a share of the run.";
    "procedure_percent" Percent "Share of the procedure" "Share that the named procedure has in the time of the row.";
    "name" Text "Name" "What was counted.";
    "count" Count "Count" "How many.";
    "value" Text "Value" "The count or the measure, with its unit.";
    "about" Text "Meaning" "What it says about the answers.";
}

/// The column with this name.
///
/// # Panics
/// When no column has that name, which is a defect of the view.
pub(crate) fn column(name: &str) -> Column {
    *COLUMNS
        .iter()
        .find(|column| column.name == name)
        .unwrap_or_else(|| panic!("every column of a view stands in COLUMNS, `{name}` too"))
}

/// The columns with these names.
pub(crate) fn columns(names: &[&str]) -> Vec<Column> {
    names.iter().map(|name| column(name)).collect()
}

/// Names of the columns of waits by cause, in the order of the causes.
pub(crate) fn wait_columns() -> impl Iterator<Item = (&'static str, longpole_trace::Cause)> {
    longpole_trace::Cause::ALL.iter().map(|&cause| {
        let name = format!("wait_{}_seconds", cause.name().replace(' ', "_"));
        (column(&name).name, cause)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_column_is_explained() {
        for (at, column) in COLUMNS.iter().enumerate() {
            assert!(COLUMNS[..at].iter().all(|other| other.name != column.name), "{}", column.name);
            assert!(column.about.ends_with('.') && !column.title.is_empty(), "{}", column.name);
            let is_key = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(column.name.chars().all(is_key), "{}", column.name);
        }
    }

    #[test]
    fn units_agree_with_names() {
        for column in COLUMNS {
            assert_eq!(column.name.ends_with("seconds"), column.unit == Unit::Seconds, "{}", column.name);
        }
    }

    #[test]
    fn every_cause_of_waiting_has_a_column() {
        assert_eq!(wait_columns().count(), longpole_trace::Cause::ALL.len());
    }
}
