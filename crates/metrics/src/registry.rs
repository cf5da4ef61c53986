//! The registry: every number and every idea that reports show, with its name, unit, meaning and source.
//!
//! Column titles, `longpole metrics`, `longpole explain` and the documentation all come from these two tables, so
//! that they cannot disagree. Names are the keys of machine-readable output and stay the same within a major
//! release. Sources: Q Quartz, I IPS-2, M the comparison of metrics, C Carnival; § a section of metrics.md.

/// What a number is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Parts of a hundred.
    Percent,
    /// Percentage points.
    PercentagePoints,
    /// A number of things.
    Count,
    /// A mean number of threads.
    Threads,
    /// Not a number.
    Text,
}

impl Unit {
    /// The unit as machine-readable output names it; empty for counts and texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Percent => "%",
            Unit::PercentagePoints => "percentage points",
            Unit::Threads => "threads",
            Unit::Count | Unit::Text => "",
        }
    }
}

/// Which part of the output a metric belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Says what a row is about.
    Identity,
    /// The view's own metric, whichever that is.
    View,
    /// The critical path.
    CriticalPath,
    /// Normalised processor time.
    Npt,
    /// Profiles and thread states.
    Profile,
    /// Parallelism over the run.
    Parallelism,
    /// The run as a whole.
    Recording,
    /// What the answer rests on.
    Evidence,
}

impl Group {
    /// Every group, in the order of documentation.
    pub const ALL: &'static [Group] = &[
        Group::Identity,
        Group::View,
        Group::CriticalPath,
        Group::Npt,
        Group::Profile,
        Group::Parallelism,
        Group::Recording,
        Group::Evidence,
    ];

    /// The group's heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Group::Identity => "What a row is about",
            Group::View => "The view's own metric",
            Group::CriticalPath => "Critical path",
            Group::Npt => "Normalised processor time",
            Group::Profile => "Profiles and thread states",
            Group::Parallelism => "Parallelism",
            Group::Recording => "The run",
            Group::Evidence => "Evidence",
        }
    }
}

/// A metric or another column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Key in machine-readable output.
    pub name: &'static str,
    /// Column title for people.
    pub title: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Where it belongs.
    pub group: Group,
    /// What it means, in one paragraph.
    pub explanation: &'static str,
    /// Where it is defined.
    pub source: &'static str,
}

/// An idea that more than one metric rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Name, as `longpole explain` takes it.
    pub name: &'static str,
    /// Heading.
    pub title: &'static str,
    /// What it is.
    pub explanation: &'static str,
    /// Where it is defined.
    pub source: &'static str,
}

/// The metric with this name.
#[must_use]
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The topic with this name; case, spaces and hyphens do not matter.
#[must_use]
pub fn topic(name: &str) -> Option<&'static Topic> {
    let plain = |text: &str| text.to_lowercase().replace([' ', '_'], "-");
    TOPICS.iter().find(|topic| plain(topic.name) == plain(name))
}

/// The name of the metric that holds the time blocked for a cause.
#[must_use]
pub fn blocked_metric(cause: longpole_trace::Cause) -> String {
    format!("blocked_{}_seconds", cause.name().replace(' ', "_"))
}

/// Every metric and column, by group.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "procedure",
        title: "Procedure",
        unit: Unit::Text,
        group: Group::Identity,
        explanation: "A procedure, by its demangled name; inlined procedures count as procedures. Where a module has no symbols it is the module's file name and an address, and [unknown] where not even the module is known.",
        source: "§1, I §2.1",
    },
    Metric {
        name: "module",
        title: "Module",
        unit: Unit::Text,
        group: Group::Identity,
        explanation: "File name of the program or library that holds the procedure; [kernel] for the kernel.",
        source: "§1",
    },
    Metric {
        name: "file",
        title: "File",
        unit: Unit::Text,
        group: Group::Identity,
        explanation: "Source file of the procedure; empty without line information.",
        source: "§1",
    },
    Metric {
        name: "line",
        title: "Line",
        unit: Unit::Count,
        group: Group::Identity,
        explanation: "Source line within the file; 0 where it is not known.",
        source: "§1",
    },
    Metric {
        name: "object",
        title: "Object",
        unit: Unit::Text,
        group: Group::Identity,
        explanation: "A synchronisation object (lock, barrier, queue), named by the place that made or first used it.",
        source: "§3",
    },
    Metric {
        name: "kind",
        title: "Kind",
        unit: Unit::Text,
        group: Group::Identity,
        explanation: "What kind of thing the row is about, where a view mixes several: machine, process, thread, procedure, cause of a wait.",
        source: "§1",
    },
    Metric {
        name: "machine",
        title: "Machine",
        unit: Unit::Text,
        group: Group::Identity,
        explanation: "Host name of the machine.",
        source: "§1",
    },
    Metric {
        name: "process",
        title: "Process",
        unit: Unit::Text,
        group: Group::Identity,
        explanation: "Name of the process: the file name of the program it executed last.",
        source: "§1",
    },
    Metric {
        name: "pid",
        title: "PID",
        unit: Unit::Count,
        group: Group::Identity,
        explanation: "Process id on its machine.",
        source: "§1",
    },
    Metric {
        name: "thread",
        title: "Thread",
        unit: Unit::Text,
        group: Group::Identity,
        explanation: "The thread's last name.",
        source: "§1",
    },
    Metric {
        name: "tid",
        title: "TID",
        unit: Unit::Count,
        group: Group::Identity,
        explanation: "Thread id on its machine.",
        source: "§1",
    },
    Metric {
        name: "created_by",
        title: "Created by",
        unit: Unit::Text,
        group: Group::Identity,
        explanation: "The thread that created this one, and the procedure in which it did.",
        source: "§1",
    },
    Metric {
        name: "seconds",
        title: "Seconds",
        unit: Unit::Seconds,
        group: Group::View,
        explanation: "Time of the view's metric that was charged to the row itself: to call paths that end in it.",
        source: "§1",
    },
    Metric {
        name: "percent",
        title: "%",
        unit: Unit::Percent,
        group: Group::View,
        explanation: "The row's own seconds as a share of the whole of the view's metric: the length of the path, the time in which any thread was busy, the CPU time.",
        source: "§1",
    },
    Metric {
        name: "error_percent",
        title: "±",
        unit: Unit::PercentagePoints,
        group: Group::View,
        explanation: "One standard error of the share, sqrt(p (1 − p) / n), where n is the effective number of observations. Two rows whose difference is within their error are tied.",
        source: "§1",
    },
    Metric {
        name: "inclusive_seconds",
        title: "Inclusive",
        unit: Unit::Seconds,
        group: Group::View,
        explanation: "Time charged to the row and to everything done on its behalf: by procedures that it called, and by threads that it created, whether directly or through others. A procedure that is on a path several times counts once.",
        source: "§1, Q §3.3",
    },
    Metric {
        name: "inclusive_percent",
        title: "Inclusive %",
        unit: Unit::Percent,
        group: Group::View,
        explanation: "Inclusive seconds as a share of the whole of the view's metric. These shares overlap, and do not add up to 100.",
        source: "§1, Q §3.3",
    },
    Metric {
        name: "critical_path_seconds",
        title: "Critical path",
        unit: Unit::Seconds,
        group: Group::CriticalPath,
        explanation: "Useful CPU time of the row that lies on the critical path: the longest chain of work through all threads, from the start of the run to its end, in which each piece had to wait for the one before it. Only work on this chain can shorten the run. Time spinning, ready and blocked weighs nothing.",
        source: "§4, I §2.1, M §2.2",
    },
    Metric {
        name: "critical_path_percent",
        title: "Critical path %",
        unit: Unit::Percent,
        group: Group::CriticalPath,
        explanation: "Critical path seconds as a share of the path's length.",
        source: "§4, I §2.1, M §2.2",
    },
    Metric {
        name: "critical_path_inclusive_seconds",
        title: "Critical path, inclusive",
        unit: Unit::Seconds,
        group: Group::CriticalPath,
        explanation: "Critical path seconds of the row and of everything done on its behalf.",
        source: "§4",
    },
    Metric {
        name: "critical_path_inclusive_percent",
        title: "Critical path, inclusive %",
        unit: Unit::Percent,
        group: Group::CriticalPath,
        explanation: "Inclusive critical path seconds as a share of the path's length.",
        source: "§4",
    },
    Metric {
        name: "critical_path_elapsed_seconds",
        title: "Critical path, elapsed",
        unit: Unit::Seconds,
        group: Group::CriticalPath,
        explanation: "Time of the row on the critical path by elapsed weight: time runnable without a processor, waits for devices and timers, and messages under way count with their elapsed time. The length of this path is the elapsed time of the run.",
        source: "§4",
    },
    Metric {
        name: "critical_path_elapsed_percent",
        title: "Critical path, elapsed %",
        unit: Unit::Percent,
        group: Group::CriticalPath,
        explanation: "Critical path seconds by elapsed weight as a share of the elapsed time of the run.",
        source: "§4",
    },
    Metric {
        name: "critical_path_length_seconds",
        title: "Length of the critical path",
        unit: Unit::Seconds,
        group: Group::CriticalPath,
        explanation: "Sum of the weights on the critical path. By CPU weight: how long the run would take with as many processors as it could use, and with all else free. By elapsed weight: the elapsed time of the run.",
        source: "§4",
    },
    Metric {
        name: "hand_offs",
        title: "Hand-offs",
        unit: Unit::Count,
        group: Group::CriticalPath,
        explanation: "How often the critical path goes from one thread to another.",
        source: "§4",
    },
    Metric {
        name: "npt_seconds",
        title: "NPT",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "Normalised processor time: processor time divided, at each moment, by the number of threads that were busy at that moment. Work done while nothing else ran counts in full, work done beside three other threads counts a quarter. Over all rows it adds up to the time in which any thread was busy.",
        source: "§3, Q eq. 1, M §2.3",
    },
    Metric {
        name: "npt_percent",
        title: "NPT %",
        unit: Unit::Percent,
        group: Group::Npt,
        explanation: "Normalised processor time as a share of the time in which any thread was busy.",
        source: "§3, Q eq. 1",
    },
    Metric {
        name: "npt_inclusive_seconds",
        title: "NPT, inclusive",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "Normalised processor time of the row and of everything done on its behalf.",
        source: "§3, Q §3.3",
    },
    Metric {
        name: "npt_inclusive_percent",
        title: "NPT, inclusive %",
        unit: Unit::Percent,
        group: Group::Npt,
        explanation: "Inclusive normalised processor time as a share of the time in which any thread was busy.",
        source: "§3, Q §3.3",
    },
    Metric {
        name: "npt_1_seconds",
        title: "NPT, U=1",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "The part of normalised processor time that was charged while this was the only busy thread. High: the procedure runs alone, and splitting its work pays.",
        source: "§3, Q figure 1",
    },
    Metric {
        name: "npt_2_seconds",
        title: "NPT, U=2",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "The part of normalised processor time that was charged while two threads were busy.",
        source: "§3, Q figure 1",
    },
    Metric {
        name: "npt_3_4_seconds",
        title: "NPT, U=3–4",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "The part of normalised processor time that was charged while three or four threads were busy.",
        source: "§3, Q figure 1",
    },
    Metric {
        name: "npt_5_up_seconds",
        title: "NPT, U≥5",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "The part of normalised processor time that was charged while five threads or more were busy. High: the procedure runs in parallel already, and only doing less work pays.",
        source: "§3, Q figure 1",
    },
    Metric {
        name: "cpu_seconds",
        title: "CPU",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time on a processor, in user code or in the system, busy-waiting included: the profile of gprof.",
        source: "§2, M §2.1",
    },
    Metric {
        name: "cpu_percent",
        title: "CPU %",
        unit: Unit::Percent,
        group: Group::Profile,
        explanation: "CPU time as a share of the CPU time of the whole program.",
        source: "§2, M §2.1",
    },
    Metric {
        name: "cpu_inclusive_seconds",
        title: "CPU, inclusive",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "CPU time of the row and of everything done on its behalf.",
        source: "§2, M §2.1",
    },
    Metric {
        name: "cpu_inclusive_percent",
        title: "CPU, inclusive %",
        unit: Unit::Percent,
        group: Group::Profile,
        explanation: "Inclusive CPU time as a share of the CPU time of the whole program.",
        source: "§2, M §2.1",
    },
    Metric {
        name: "running_seconds",
        title: "Running",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Useful CPU time: on a processor and not busy-waiting. The profile of IPS-2.",
        source: "§1, §2, I §2.1",
    },
    Metric {
        name: "spin_seconds",
        title: "Spinning",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "CPU time in loops that only wait for memory to change. It looks like work to the system and does none.",
        source: "§1, Q §3",
    },
    Metric {
        name: "ready_seconds",
        title: "Ready",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time runnable without a processor: more threads could run than there were processors for them.",
        source: "§1",
    },
    Metric {
        name: "wait_seconds",
        title: "Blocked",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time off the processor waiting for something, whatever it was. Charged to the call path at which the thread waits: where a wait is suffered, not where it is caused.",
        source: "§1, §2",
    },
    Metric {
        name: "synchronisation_wait_seconds",
        title: "Synchronisation wait",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for other threads and processes (locks, conditions, barriers, joins, pipes, messages), rather than for a device, a clock or a user.",
        source: "§2, I §2.1",
    },
    Metric {
        name: "blocked_lock_seconds",
        title: "Blocked: lock",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a mutex, a reader-writer lock or another lock.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_condition_seconds",
        title: "Blocked: condition",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a condition variable, or an event of a runtime.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_barrier_seconds",
        title: "Blocked: barrier",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a barrier.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_join_seconds",
        title: "Blocked: join",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for the end of another thread.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_child_process_seconds",
        title: "Blocked: child process",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for the end of a child process.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_semaphore_seconds",
        title: "Blocked: semaphore",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a semaphore.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_message_seconds",
        title: "Blocked: message",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a message: a queue of messages, MPI.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_io_seconds",
        title: "Blocked: io",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a file on a device.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_pipe_seconds",
        title: "Blocked: pipe",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for data in a pipe, or room in it.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_socket_seconds",
        title: "Blocked: socket",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a socket.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_terminal_seconds",
        title: "Blocked: terminal",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a terminal.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_poll_seconds",
        title: "Blocked: poll",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for any of several descriptors (poll, select, epoll).",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_page_fault_seconds",
        title: "Blocked: page fault",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a page of memory that had to be read or made.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_sleep_seconds",
        title: "Blocked: sleep",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a time that the program itself set.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_signal_seconds",
        title: "Blocked: signal",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a signal.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_stopped_seconds",
        title: "Blocked: stopped",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a debugger or a signal that had stopped it.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_park_seconds",
        title: "Blocked: park",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for another thread to unpark it (Rust, Java, Go).",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_kernel_lock_seconds",
        title: "Blocked: kernel lock",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a lock inside the kernel, such as that of the memory map.",
        source: "§1, I §2.1",
    },
    Metric {
        name: "blocked_futex_seconds",
        title: "Blocked: futex",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for a lock or a condition, which of them could not be told.",
        source: "§1, §2",
    },
    Metric {
        name: "blocked_other_seconds",
        title: "Blocked: other",
        unit: Unit::Seconds,
        group: Group::Profile,
        explanation: "Time blocked for something else, or something not known.",
        source: "§1, §2",
    },
    Metric {
        name: "blocks",
        title: "Blocks",
        unit: Unit::Count,
        group: Group::Profile,
        explanation: "How often a thread blocked at the row.",
        source: "§2",
    },
    Metric {
        name: "switches",
        title: "Switches",
        unit: Unit::Count,
        group: Group::Profile,
        explanation: "How often the thread left its processor, because it waited or because another thread took its place.",
        source: "§1",
    },
    Metric {
        name: "observations",
        title: "Observations",
        unit: Unit::Count,
        group: Group::Profile,
        explanation: "Looks at a thread that charged something to the row: timer samples, and stacks taken when a thread stopped, woke another or ended.",
        source: "§1",
    },
    Metric {
        name: "effective_parallelism",
        title: "Effective parallelism",
        unit: Unit::Threads,
        group: Group::Parallelism,
        explanation: "U: the mean number of busy threads over the run. Busy is running, and waiting for a device or a page unless that is turned off; spinning is not.",
        source: "§1, Q §3",
    },
    Metric {
        name: "nominal_parallelism",
        title: "Nominal parallelism",
        unit: Unit::Threads,
        group: Group::Parallelism,
        explanation: "N: the mean number of threads over the run that were running, spinning or ready.",
        source: "§1, Q §3",
    },
    Metric {
        name: "level",
        title: "Threads",
        unit: Unit::Count,
        group: Group::Parallelism,
        explanation: "A number of threads; the row tells how long so many were busy (U) and how long so many were runnable (N).",
        source: "§1, Q §3",
    },
    Metric {
        name: "effective_seconds",
        title: "Busy (U)",
        unit: Unit::Seconds,
        group: Group::Parallelism,
        explanation: "Time in which the number of busy threads was the row's.",
        source: "§1, Q §3",
    },
    Metric {
        name: "effective_percent",
        title: "Busy (U) %",
        unit: Unit::Percent,
        group: Group::Parallelism,
        explanation: "Share of the elapsed time in which the number of busy threads was the row's.",
        source: "§1, Q §3",
    },
    Metric {
        name: "nominal_seconds",
        title: "Runnable (N)",
        unit: Unit::Seconds,
        group: Group::Parallelism,
        explanation: "Time in which the number of runnable threads was the row's.",
        source: "§1, Q §3",
    },
    Metric {
        name: "nominal_percent",
        title: "Runnable (N) %",
        unit: Unit::Percent,
        group: Group::Parallelism,
        explanation: "Share of the elapsed time in which the number of runnable threads was the row's.",
        source: "§1, Q §3",
    },
    Metric {
        name: "command",
        title: "Command",
        unit: Unit::Text,
        group: Group::Recording,
        explanation: "The command line that was recorded.",
        source: "§1",
    },
    Metric {
        name: "machines",
        title: "Machines",
        unit: Unit::Count,
        group: Group::Recording,
        explanation: "Machines in the recording.",
        source: "§1",
    },
    Metric {
        name: "processes",
        title: "Processes",
        unit: Unit::Count,
        group: Group::Recording,
        explanation: "Processes that were seen.",
        source: "§1",
    },
    Metric {
        name: "threads",
        title: "Threads",
        unit: Unit::Count,
        group: Group::Recording,
        explanation: "Threads that were seen, of all processes.",
        source: "§1",
    },
    Metric {
        name: "cpus",
        title: "CPUs",
        unit: Unit::Count,
        group: Group::Recording,
        explanation: "Processors of all machines together.",
        source: "§1",
    },
    Metric {
        name: "elapsed_seconds",
        title: "Elapsed",
        unit: Unit::Seconds,
        group: Group::Recording,
        explanation: "Length of the run on the clock.",
        source: "§1",
    },
    Metric {
        name: "phase",
        title: "Phase",
        unit: Unit::Text,
        group: Group::Recording,
        explanation: "The part of the run that the answer is about; all of it unless one was chosen.",
        source: "§8",
    },
    Metric {
        name: "collector",
        title: "Collector",
        unit: Unit::Text,
        group: Group::Evidence,
        explanation: "What collected the recording: bpf, perf, or the import of another tool's file.",
        source: "§9",
    },
    Metric {
        name: "events",
        title: "Events",
        unit: Unit::Count,
        group: Group::Evidence,
        explanation: "Scheduling events that were recorded: switches, wakes, starts and ends.",
        source: "§9",
    },
    Metric {
        name: "samples",
        title: "Samples",
        unit: Unit::Count,
        group: Group::Evidence,
        explanation: "Timer samples that were recorded.",
        source: "§9",
    },
    Metric {
        name: "lost_events",
        title: "Lost events",
        unit: Unit::Count,
        group: Group::Evidence,
        explanation: "Events that the collector could not keep. States and dependences near a loss are uncertain.",
        source: "§9",
    },
    Metric {
        name: "unsymbolised_percent",
        title: "Without a name",
        unit: Unit::Percent,
        group: Group::Evidence,
        explanation: "Share of the CPU time that was charged to procedures whose name could not be found.",
        source: "§9",
    },
    Metric {
        name: "unexplained_wait_percent",
        title: "Without a cause",
        unit: Unit::Percent,
        group: Group::Evidence,
        explanation: "Share of the blocked time of which the cause is not known.",
        source: "§9",
    },
    Metric {
        name: "overhead_percent",
        title: "Overhead",
        unit: Unit::Percent,
        group: Group::Evidence,
        explanation: "Cost of collecting, as a share of the program's CPU time.",
        source: "§9",
    },
    Metric {
        name: "notes",
        title: "Notes",
        unit: Unit::Text,
        group: Group::Evidence,
        explanation: "What a reader of the numbers has to know: choices, refusals, defects of the recording.",
        source: "§9",
    },
];

/// Every idea that can be explained.
pub const TOPICS: &[Topic] = &[
    Topic {
        name: "thread-states",
        title: "States of a thread",
        explanation: "At each moment a thread is running (on a processor, doing useful work), spinning (on a processor, only waiting for memory to change), ready (could run, but has no processor) or blocked (waiting for something: the cause). The times in the four states add up to the thread's life.",
        source: "§1",
    },
    Topic {
        name: "charging",
        title: "How time is charged to procedures",
        explanation: "A thread is looked at when a timer finds it running, when it stops, when it wakes or creates another and when it ends. The CPU time between two looks is charged to the call path of the later one, so that the charges of a thread add up to its CPU time exactly. A wait is charged to the path at which it began.",
        source: "§1",
    },
    Topic {
        name: "call-path",
        title: "Logical call paths",
        explanation: "A call path is the chain of procedures that led to a piece of work. It begins, for a thread, with the path at which the thread was created, so that work done by threads counts for the procedures that started them. Inclusive figures count a procedure once, however often it is on the path.",
        source: "§1, Q §3.3",
    },
    Topic {
        name: "program-activity-graph",
        title: "The program activity graph",
        explanation: "The run as a graph: each thread is a line of arcs (pieces of work and waits), and where one thread enabled another to go on there is a dependence between their lines: it created it, ended while the other waited for that, released a lock, signalled, arrived last at a barrier, sent a message. All metrics are sweeps over this graph in the order of time.",
        source: "§1, M §2",
    },
    Topic {
        name: "critical-path",
        title: "The critical path",
        explanation: "The longest chain of work from the start of the run to its end, in which each piece had to wait for the one before it. Shortening what is not on it gains nothing. Shortening what is on it gains at most that much: another chain may be nearly as long. By CPU weight only useful CPU time counts; by elapsed weight also time without a processor, waits for devices and timers, and messages under way.",
        source: "§4, I §2.1, M §2.2",
    },
    Topic {
        name: "npt",
        title: "Normalised processor time",
        explanation: "Processor time weighted by how alone it was: while U threads are busy, each is charged 1/U of the time that passes. It tells serial work from parallel work: a procedure with little CPU time that runs while everyone else waits ranks high. It sees no dependences, so it undervalues work that runs beside other work and is waited for later. The critical path sees those; where both agree, trust them.",
        source: "§3, Q eq. 1, M §2.3",
    },
    Topic {
        name: "profile",
        title: "Profiles",
        explanation: "CPU time by procedure, as gprof (busy-waiting included) and as IPS-2 (useful work alone, and the waits beside it, by cause). They say where processors spend their time, which is what limits a program that keeps all of them busy; they do not say what a parallel program waits for.",
        source: "§2, M §2.1, I §2.1",
    },
    Topic {
        name: "parallelism",
        title: "Parallelism",
        explanation: "Effective parallelism U is the number of threads that do useful work, nominal parallelism N the number that could use a processor. N above U: threads spin, or there are too few processors. U near 1 for long: a serial part.",
        source: "§1, Q §3",
    },
    Topic {
        name: "spinning",
        title: "Spinning",
        explanation: "A thread that waits in a loop keeps a processor and does nothing useful. Such loops are found by decoding the code around the samples: a short loop that pauses, or that only reads memory it does not change.",
        source: "§1",
    },
    Topic {
        name: "error",
        title: "Errors of estimated shares",
        explanation: "Shares estimated from n observations carry the standard error sqrt(p (1 − p) / n). Observations are charged unequal times w; they count as n = (Σw)² / Σw² equal ones. Rows within the error of their difference are tied: their order may be chance.",
        source: "§1",
    },
    Topic {
        name: "dependence",
        title: "Dependences",
        explanation: "Where one thread enabled another to go on: create, join, unlock, signal, barrier, post, message, or a wake whose reason is not known. A wait that no thread of the program ended (a device, a timer, a user) has none.",
        source: "§1",
    },
    Topic {
        name: "evidence",
        title: "Evidence",
        explanation: "Every answer rests on what was collected. What was lost, could not be matched, has no name or was estimated is counted, and the cost of collecting is measured, in every recording.",
        source: "§9",
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use longpole_trace::Cause;

    use super::*;

    #[test]
    fn names_are_unique_and_fit_for_keys() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for name in names {
            let is_key_character = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(!name.is_empty() && name.chars().all(is_key_character), "{name}");
        }
        let topics: BTreeSet<_> = TOPICS.iter().map(|topic| topic.name).collect();
        assert_eq!(topics.len(), TOPICS.len());
    }

    #[test]
    fn a_name_tells_its_unit() {
        for metric in METRICS {
            let is = |suffix: &str| metric.name.ends_with(suffix);
            assert_eq!(metric.unit == Unit::Seconds, is("seconds"), "{}", metric.name);
            let is_share = matches!(metric.unit, Unit::Percent | Unit::PercentagePoints);
            assert_eq!(is_share, is("percent"), "{}", metric.name);
        }
    }

    #[test]
    fn everything_is_explained_by_sentences_with_a_source() {
        let metrics = METRICS.iter().map(|metric| (metric.title, metric.explanation, metric.source));
        let topics = TOPICS.iter().map(|topic| (topic.title, topic.explanation, topic.source));
        for (title, explanation, source) in metrics.chain(topics) {
            assert!(!title.is_empty());
            assert!(explanation.len() > 15 && explanation.ends_with('.'), "{title}");
            assert!(source.starts_with('§'), "{title}");
        }
    }

    #[test]
    fn groups_are_contiguous_and_in_their_order() {
        let mut groups: Vec<_> = METRICS.iter().map(|metric| metric.group).collect();
        groups.dedup();
        assert_eq!(groups, Group::ALL);
    }

    #[test]
    fn every_cause_of_a_wait_has_a_metric() {
        for &cause in Cause::ALL {
            assert!(metric(&blocked_metric(cause)).is_some(), "{cause}");
        }
    }

    #[test]
    fn topics_are_found_however_they_are_written() {
        assert_eq!(topic("Critical Path").map(|topic| topic.name), Some("critical-path"));
        assert_eq!(topic("call_path").map(|topic| topic.name), Some("call-path"));
        assert_eq!(topic("nothing"), None);
    }
}
