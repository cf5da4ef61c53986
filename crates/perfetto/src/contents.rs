//! What a trace holds, and what of it could not be read.

/// What a trace holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfettoContents {
    /// Switches of processors.
    pub switches: u64,
    /// Events `sched_waking`.
    pub wakings: u64,
    /// Events `sched_wakeup`, which are used where there is no `sched_waking`.
    pub wakeups: u64,
    /// Samples of tasks.
    pub samples: u64,
    /// Samples with a call stack.
    pub stacks: u64,
    /// Nanoseconds between two samples of a thread, the median; 0 where there are no samples with call stacks.
    pub sample_period: u64,
    /// Slices of threads that begin.
    pub slices: u64,
    /// Whether a process tree says which thread belongs to which process.
    pub has_tree: bool,
    /// Processors with events, or those of the machine, where that is said.
    pub cpus: u32,
    /// Release of the kernel, empty where not known.
    pub kernel: String,
    /// The machine's name, empty where not known.
    pub host: String,
}

/// What could not be read, or is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfettoDamage {
    /// The file ends within a packet.
    pub is_cut: bool,
    /// Packets that are longer than any real one, or no packets.
    pub passed_over: u64,
    /// Packets or events of which a part could not be read.
    pub damaged: u64,
    /// Compressed packets.
    pub compressed: u64,
    /// Events whose time cannot be compared with that of others.
    pub untimed: u64,
    /// References to interned data that is not there.
    pub unresolved: u64,
    /// Times that the tracer lost events.
    pub losses: u64,
    /// Samples that the kernel or the sampler lost.
    pub lost_samples: u64,
    /// Slices of tracks that are no threads.
    pub other_tracks: u64,
    /// Slices with flows.
    pub flows: u64,
    /// Packets beyond the number that is read.
    pub beyond: u64,
}
