//! The evidence ledger: what the answers rest on, and what is missing (metrics.md §9).

use longpole_recording::{CollectorDescription, Defects, OutsideAccount};

use crate::message_traffic::MessageTraffic;
use crate::paths::ProcedureId;

/// Counts of what was recorded, lost, and could not be matched or named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Names of the collectors, one for each distinct one among the machines.
    pub collector: String,
    /// Timer samples per second and processor.
    pub sample_hertz: u32,
    /// Events in the recording, samples included.
    pub events: u64,
    /// Switches off a processor.
    pub switches: u64,
    /// Wakes.
    pub wakes: u64,
    /// Timer samples.
    pub samples: u64,
    /// Events that the collector lost.
    pub lost_events: u64,
    /// Samples that the collector lost.
    pub lost_samples: u64,
    /// Stacks that the collector lost, of events that are there.
    pub lost_stacks: u64,
    /// Threads that did not fit the collector's table.
    pub lost_threads: u64,
    /// Entries and exits of instrumented procedures that the collector lost: their time is their callers'.
    pub lost_calls: u64,
    /// Calls of MPI that were lost; their events are among the lost ones.
    pub lost_communications: u64,
    /// Waits that ended without a recorded wake.
    pub unmatched_wakes: u64,
    /// Waits ended by an interrupt: a device, a timer, a packet. Nobody's work enabled the thread.
    pub interrupt_wakes: u64,
    /// Waits ended by a task that is not recorded.
    pub outside_wakes: u64,
    /// Those tasks by name with their number of wakes, most first.
    pub outside_wakers: Vec<(String, u64)>,
    /// Waits whose object is known: by its address, its thread, its file.
    pub waits_for_objects: u64,
    /// Waits for an object that is known by the place of the wait only, so that two objects at one place are one:
    /// the futex is the waiting thread's own, or the collector sees no arguments of system calls.
    pub waits_by_place: u64,
    /// Waits for something that is not known.
    pub waits_without_object: u64,
    /// State changes that contradict the state before: signs of loss that no count reported.
    pub contradictions: u64,
    /// Events whose time was before that of their predecessor; they stand at its time.
    pub disordered: u64,
    /// Observations (samples, switches and wakes with a stack).
    pub observations: u64,
    /// Those of them that threads made of themselves, where they entered and left what is marked: exact.
    pub told_observations: u64,
    /// Observations at switches and wakes that have no stack.
    pub without_stack: u64,
    /// CPU time in loops of which the code does not say whether they work or wait, by procedure, most first,
    /// nanoseconds. It counts as work.
    pub may_wait: Vec<(ProcedureId, u64)>,
    /// What processes that pass messages sent to each other.
    pub messages: MessageTraffic,
    /// Damage to the recording's files.
    pub defects: Defects,
    /// Definitions lost with damaged chunks, and references to them.
    pub lost_definitions: u64,
    /// Time that the collector took of the program's own threads, as these told, nanoseconds. What of it lies on their
    /// timelines is not counted as the program's.
    pub overhead_nanoseconds: u64,
    /// CPU time of the recorder while the program ran, seconds.
    pub recorder_cpu_seconds: f64,
    /// CPU time of the collector's kernel programs, seconds, where it was measured.
    pub kernel_seconds: Option<f64>,
    /// Largest resident memory of the recorder, bytes.
    pub recorder_peak_bytes: u64,
    /// Size of the recording on disk, bytes.
    pub recording_bytes: u64,
    /// Source files kept in the recording, and those that it names and has not; `None` where none were to be kept.
    pub sources: Option<SourceCounts>,
    /// The collectors of outside series of all machines, and how they fared.
    pub outside: Vec<OutsideAccount>,
    /// The recorder was killed or stopped before the program ended.
    pub truncated: bool,
    /// The signal that ended the program, where one did.
    pub killed_by: Option<i32>,
    /// The program's exit status; `None` where it is not known, or a signal ended it.
    pub exit_code: Option<i32>,
    /// The recorder attached to a running program.
    pub attached: bool,
    /// Time of the run before the part that was kept, nanoseconds; `None` where the recording is not of a part.
    pub dropped_nanoseconds: Option<u64>,
    /// What else a reader has to know.
    pub notes: Vec<String>,
}

/// What became of the source files that a recording names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// Kept.
    pub kept: u64,
    /// Not there when the run ended, or not readable.
    pub missing: u64,
    /// There, and not kept.
    pub left_out: u64,
    /// Those with their reasons, as `NAME: REASON`.
    pub refused: Vec<String>,
}

impl Evidence {
    /// Whether the run was simulated: its times are virtual, and no figure is estimated.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.collector == CollectorDescription::SIMULATION
    }

    /// Whether all times at which threads went from one procedure to another are known, so that no share of time is estimated.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        let has_only_slices = self.collector == CollectorDescription::PERFETTO && self.sample_hertz == 0;
        let is_exact =
            [CollectorDescription::OTF2, CollectorDescription::CHROME].contains(&self.collector.as_str());
        self.is_simulated() || is_exact || has_only_slices
    }

    /// Whether the recorder ended with the program's first process while tasks of others were there.
    #[must_use]
    pub fn is_outlived(&self) -> bool {
        self.notes.iter().any(|note| note.ends_with(CollectorDescription::OUTLIVED))
    }

    /// The note of a recorder that could not go on.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.notes.iter().map(String::as_str).find(|note| note.starts_with(CollectorDescription::FAILURE))
    }

    /// Cost of collecting on the recorded threads as a share of the program's CPU time, percent, where
    /// the kernel counted it.
    #[must_use]
    pub fn overhead_percent(&self, cpu_seconds: f64) -> Option<f64> {
        let share =
            self.kernel_seconds.filter(|_| cpu_seconds > 0.0).map(|kernel| 100.0 * kernel / cpu_seconds);
        // A damaged manifest may hold any number.
        share.filter(|share| share.is_finite())
    }

    /// Whether anything is missing from the recording.
    #[must_use]
    pub fn has_losses(&self) -> bool {
        self.lost_events + self.lost_samples + self.lost_stacks + self.lost_threads + self.lost_calls > 0
            || self.contradictions > 0
            || !self.defects.is_none()
            || self.lost_definitions > 0
            || self.truncated
    }
}
