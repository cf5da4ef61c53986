//! `recording.json`: what was run, on which machines, with which collector, and at what cost.

use serde::{Deserialize, Serialize};

use crate::clock::{ClockModel, ClockPiece, ClockReading, WallClock};
use crate::id::RecordingId;

/// Version of the recording's layout and encodings that this build writes, and the newest it reads.
///
/// 1: the first. 2: [`longpole_event::Word`], [`longpole_event::Variable`], [`longpole_event::File`], [`longpole_event::Callee`], and files in the
/// third argument of calls; recordings of version 1 have none of these. 3: the counts of a chunk. 4: [`Manifest::id`], which
/// the headers of logs carry; recordings of version 3 are read without. 5: logs in segments, [`Manifest::window`]. 6: gaps of
/// samples ([`longpole_event::EventKind::Sample`]); samples of older recordings have none.
/// 7: what processes that pass messages say of them ([`longpole_event::EventKind::Communicate`] and those behind it).
/// 8: simulated runs: requests for units of memory ([`longpole_event::PAGE_REQUEST`]), and who wrote what is requested
/// ([`longpole_event::EventKind::Written`]). 9: who ended a busy-wait ([`longpole_event::EventKind::Freed`]).
/// 10: functions of Python ([`longpole_event::ModuleKind::Python`]); clocks in pieces and their readings
/// ([`MachineDescription::clock_pieces`]), where clocks of older recordings are one line. 11: where threads may run
/// ([`longpole_event::EventKind::Allowed`]), cache lines that threads share ([`MachineDescription::shared_lines`]), calls of MPI that were
/// lost ([`longpole_event::LossKind::Communications`]). 12: hard interrupts ([`longpole_event::Waker::HardInterrupt`]).
pub const FORMAT_VERSION: u32 = 12;

/// The manifest of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Layout version; see [`FORMAT_VERSION`].
    pub format_version: u32,
    /// What its logs carry too; a folder's own, whatever is asked to be written. `None` before format version 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordingId>,
    /// Version of the longpole that wrote it.
    pub longpole: String,
    /// The command that was run, or how the recording came about (`import perf.data`).
    pub command: Vec<String>,
    /// The program's file, without links; empty where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program_file: String,
    /// Folder in which it was run.
    #[serde(default)]
    pub working_directory: String,
    /// Wall-clock start, seconds since 1970.
    #[serde(default)]
    pub started_unix_seconds: u64,
    /// The machines, by their id.
    pub machines: Vec<MachineDescription>,
    /// How the run ended; `None` while it runs and for ever if the recorder was killed.
    #[serde(default)]
    pub outcome: Option<RunOutcome>,
    /// What was to be kept of the run, where that is its last part only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<KeptWindow>,
    /// The machine on which the run was simulated, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulation: Option<SimulatedMachine>,
}

/// A simulated machine; costs in nanoseconds, but for that of a byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulatedMachine {
    /// Name of the protocol, as on the command line.
    pub protocol: String,
    /// Bytes of a unit.
    pub unit: u64,
    /// Nodes.
    pub nodes: u32,
    /// An access that needs nothing else.
    pub access: u64,
    /// A request for a unit.
    pub request: u64,
    /// Each byte that a request fetches, picoseconds.
    pub byte_picoseconds: u64,
    /// A write that takes the unit from other copies.
    pub upgrade: u64,
    /// Taking a lock.
    pub lock: u64,
    /// Passing a barrier.
    pub barrier: u64,
}

/// Which units of memory were followed, where not all were: those that a hash of the address chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessSample {
    /// One unit in so many.
    pub one_of: u32,
    /// Bytes of a unit, a power of two.
    pub unit: u64,
    /// What chooses.
    pub seed: u64,
}

/// The last part of a run, which alone is kept; logs are in segments then, the oldest of which were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptWindow {
    /// Time that is kept at least, nanoseconds; `None` where only bytes were bounded.
    #[serde(default)]
    pub nanoseconds: Option<u64>,
    /// Bytes that are kept at most; `None` where only time was bounded.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Time of the run before the part that is kept, nanoseconds; `None` until it has ended.
    #[serde(default)]
    pub dropped_nanoseconds: Option<u64>,
}

/// One machine of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineDescription {
    /// Host name.
    pub name: String,
    /// Kernel release.
    #[serde(default)]
    pub kernel: String,
    /// Processors that the program could use: those online that its affinity allows, and no more than its quota, rounded up.
    pub cpus: u32,
    /// Processors online, where the program could not use all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub online_cpus: Option<u32>,
    /// The quota of the program's control group; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<CpuQuota>,
    /// Whether the program began with a real-time scheduling policy (`SCHED_RR`, `SCHED_FIFO`); not known of imports.
    #[serde(default)]
    pub real_time: bool,
    /// How this machine's clock maps onto the recording's time axis.
    #[serde(default)]
    pub clock: ClockModel,
    /// The same where one line is not enough, in the order of time, without steps between them; then `clock` joins the ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_pieces: Vec<ClockPiece>,
    /// How far that may be off at any time of the run, nanoseconds: 0 on the machine whose clock is the axis. `None` where
    /// nothing bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_nanoseconds: Option<u64>,
    /// Tells one boot of the machine's kernel from all others: recordings of one boot have one clock. Empty where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
    /// What two clocks of the machine said at one moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_clock: Option<WallClock>,
    /// What its clocks said once a second, without readings that lie between others on a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_readings: Vec<ClockReading>,
    /// This is a further log of the machine with that number, by a recorder of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<u32>,
    /// Which units the recorded accesses to memory are of; `None`: all, or no accesses were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_sample: Option<AccessSample>,
    /// What collected on it.
    pub collector: CollectorDescription,
    /// What collecting cost; absent until the run has ended.
    #[serde(default)]
    pub cost: Option<CollectionCost>,
    /// The collectors of outside series, and how they fared; empty until the run has ended.
    #[serde(default)]
    pub outside: Vec<OutsideAccount>,
    /// Cache lines that samples found threads to share; none until the run has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_lines: Option<SharedLineSamples>,
}

/// Cache lines that several threads accessed at the same time on several processors, one of them by writing, as samples show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedLineSamples {
    /// All samples of the recorded threads.
    pub samples: u64,
    /// The lines, those with most samples first.
    pub lines: Vec<SharedLine>,
}

/// A line of 64 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedLine {
    /// The process, by its number.
    pub process: u32,
    /// Its first address.
    pub address: u64,
    /// The variable at its first byte that is accessed, where that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The procedure in which threads were there most often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedure: Option<String>,
    /// Samples of threads at code that accesses it while another thread was, on another processor.
    pub samples: u64,
    /// These threads.
    pub users: Vec<LineUser>,
}

/// A thread that accesses a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineUser {
    /// Its number.
    pub thread: u32,
    /// Its part of the samples.
    pub samples: u64,
    /// The bytes that it reads, a bit for each.
    pub read: u64,
    /// Those that it writes.
    pub written: u64,
}

/// How much of the processors a control group may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuQuota {
    /// In processors: 0.5 is half of one.
    pub processors: f64,
    /// What was used of it during the run; all 0 until the run has ended.
    #[serde(default)]
    pub used: QuotaUse,
}

/// How the kernel held a control group to its quota, by its own account (`cpu.stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUse {
    /// Periods of the quota in which the group ran.
    pub periods: u64,
    /// Those in which it used the quota up.
    pub throttled_periods: u64,
    /// Time for which it was kept off the processors then, of all processors together, nanoseconds.
    pub throttled_nanoseconds: u64,
}

impl QuotaUse {
    /// This and that of another group.
    #[must_use]
    pub fn and(self, other: QuotaUse) -> QuotaUse {
        QuotaUse {
            periods: self.periods.saturating_add(other.periods),
            throttled_periods: self.throttled_periods.saturating_add(other.throttled_periods),
            throttled_nanoseconds: self.throttled_nanoseconds.saturating_add(other.throttled_nanoseconds),
        }
    }
}

/// How a collector of outside series fared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutsideAccount {
    /// Which: `kernel`, `process`, `counters`, `prometheus=URL`, `cmd:COMMAND`, `program`.
    pub collector: String,
    /// Series it gave.
    pub series: u32,
    /// Values it gave.
    pub values: u64,
    /// CPU time that it cost the recorder, seconds; what a command used itself is in it.
    pub cpu_seconds: f64,
    /// Time between two looks as it was at the end, seconds; `None` where the other side decides.
    #[serde(default)]
    pub interval_seconds: Option<f64>,
    /// What was refused or went wrong, each with how often.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
}

/// Something that went wrong with a collector.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trouble {
    /// What, in words.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// How a machine's events were collected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectorDescription {
    /// `bpf`, `perf`, `import`, `otf2`.
    pub name: String,
    /// Timer samples per second and processor.
    pub sample_hertz: u32,
    /// Bytes of user stack copied at a switch or wake.
    #[serde(default)]
    pub stack_bytes: u32,
    /// The recorder attached to a running program: what came before is not known.
    #[serde(default)]
    pub attached: bool,
    /// What a reader of the results has to know: collectors that were refused and why, options chosen.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl CollectorDescription {
    /// Name of the collector of a simulated run: times are virtual, and all of them exact.
    pub const SIMULATION: &'static str = "simulation";
    /// Name of an imported OTF2 trace: all entries into procedures and exits from them are in it, with their times.
    pub const OTF2: &'static str = "otf2";
    /// Name of an imported trace in Chrome's JSON format: the times of its slices are exact.
    pub const CHROME: &'static str = "chrome";
    /// Name of an imported Perfetto trace.
    pub const PERFETTO: &'static str = "perfetto";
    /// What the note of a recorder begins with that could not go on: why the recording is shorter than the run.
    pub const FAILURE: &'static str = "the recording ends before the program: ";
    /// How the note of a recorder ends that did not wait for all tasks.
    pub const OUTLIVED: &'static str = "tasks of the program were still there when it ended";
}

/// The measured cost of collecting on one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectionCost {
    /// CPU time of the recorder while the program ran, seconds.
    pub recorder_cpu_seconds: f64,
    /// CPU time spent in the collector's kernel programs on the recorded threads, seconds, where the
    /// kernel counts it.
    #[serde(default)]
    pub kernel_seconds: Option<f64>,
    /// Times the kernel programs ran.
    #[serde(default)]
    pub kernel_runs: Option<u64>,
    /// CPU time of the sampling threads, which is part of the recorder's; `None` where there were none.
    #[serde(default)]
    pub sampler_cpu_seconds: Option<f64>,
    /// Largest resident memory of the recorder, bytes.
    #[serde(default)]
    pub recorder_peak_bytes: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOutcome {
    /// Start of the run on the first machine's clock, nanoseconds.
    pub begin_nanoseconds: u64,
    /// End of the run on the first machine's clock, nanoseconds.
    pub end_nanoseconds: u64,
    /// Exit status of the program; `None` when it was attached to or killed.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The recording was cut short (disk full, interrupted) and ends before the program did.
    pub truncated: bool,
}
