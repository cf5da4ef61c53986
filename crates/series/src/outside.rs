//! The series of a recording, each at its place in the program's tree.

use longpole_event::{MachineId, ProcessId, Samples, ThreadId, Time};

/// What a series is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// The program, on all its machines.
    Program,
    /// A machine.
    Machine(MachineId),
    /// A process.
    Process(ProcessId),
    /// A thread.
    Thread(ThreadId),
}

/// A series: the values of one metric at one node, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The metric's name.
    pub metric: String,
    /// Its unit as the collector gave it, empty where it has none.
    pub unit: String,
    /// How its values are to be read.
    pub samples: Samples,
    /// What it is about.
    pub node: Node,
    /// The part of the node, empty for all of it.
    pub label: String,
    /// Which collector it comes from.
    pub collector: String,
    /// Times since the begin of the run and values; the first can lie before the run, then its time is zero.
    pub values: Vec<(Time, f64)>,
}
