//! The series of a recording, each at its place in the program's tree (IPS-2 §4.3, `docs/series.md`).
//!
//! A collector knows processes and threads by their numbers, which the kernel gives again; here each value goes to
//! whoever had the number at its time. What has no owner, goes back in time or is no number is left out and told.

mod anomalies;
mod lifetimes;
mod namesakes;
mod reading;

use longpole_event::{MachineId, ProcessId, SeriesKind, ThreadId, Time};
use longpole_recording::{Manifest, RecordingFolder};
use longpole_trace::Program;

/// What a series is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OutsideNode {
    /// The program, on all its machines.
    Program,
    /// A machine.
    Machine(MachineId),
    /// A process.
    Process(ProcessId),
    /// A thread.
    Thread(ThreadId),
}

impl OutsideNode {
    /// The node that this one's values go up to.
    #[must_use]
    pub fn parent(self, program: &Program) -> Option<OutsideNode> {
        match self {
            OutsideNode::Program => None,
            OutsideNode::Machine(_) => Some(OutsideNode::Program),
            OutsideNode::Process(process) => {
                Some(OutsideNode::Machine(program.processes[process.index()].machine))
            }
            OutsideNode::Thread(thread) => {
                Some(OutsideNode::Process(program.threads[thread.index()].process))
            }
        }
    }
}

/// A series: the values of one metric at one node, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The metric's name.
    pub metric: String,
    /// Its unit as the collector gave it, empty where it has none.
    pub unit: String,
    /// How its values are to be read.
    pub samples: SeriesKind,
    /// What it is about.
    pub node: OutsideNode,
    /// The part of the node, empty for all of it.
    pub label: String,
    /// Which collector it comes from.
    pub collector: String,
    /// When its process or thread ended, if it did: a gauge has no value from then on.
    pub end: Option<Time>,
    /// Times since the begin of the run and values. What was before the run is one value at time zero: of a gauge its
    /// last one, of a counter what it came to, of amounts nothing.
    pub values: Vec<(Time, f64)>,
}

/// All series of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outside {
    /// By metric, node, label and collector.
    pub series: Vec<Series>,
    /// What could not be read or has no place, in sentences.
    pub notes: Vec<String>,
}

impl Outside {
    /// Reads the series of all machines; `program` is the tree of the whole run.
    ///
    /// Memory: the values, 16 bytes each, twice while it reads. A log that is cut off or damaged gives what is intact.
    ///
    /// # Errors
    /// When the system cannot read a file, or a later format wrote it.
    pub fn read(
        folder: &RecordingFolder,
        manifest: &Manifest,
        program: &Program,
    ) -> longpole_trace::Result<Self> {
        reading::read(folder, manifest, program)
    }

    /// The series of one metric.
    #[must_use]
    pub fn of(&self, metric: &str) -> &[Series] {
        let begin = self.series.partition_point(|series| series.metric.as_str() < metric);
        let end = self.series.partition_point(|series| series.metric.as_str() <= metric);
        &self.series[begin..end]
    }

    /// The series metric by metric.
    pub fn metrics(&self) -> impl Iterator<Item = &[Series]> {
        self.series.chunk_by(|one, other| one.metric == other.metric)
    }
}

#[cfg(test)]
mod tests;
