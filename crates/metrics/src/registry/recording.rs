//! Numbers of the run as a whole.

use super::{Group, Metric, Unit};

pub(super) const METRICS: &[Metric] = &[
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
];
