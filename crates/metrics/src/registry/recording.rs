//! Numbers of the run as a whole.

use super::{MetricDefinition, MetricGroup, MetricUnit};

pub(super) const METRICS: &[MetricDefinition] = &[
    MetricDefinition {
        name: "command",
        title: "Command",
        unit: MetricUnit::Text,
        group: MetricGroup::Recording,
        explanation: "The command line that was recorded.",
        source: "§1",
    },
    MetricDefinition {
        name: "machines",
        title: "Machines",
        unit: MetricUnit::Count,
        group: MetricGroup::Recording,
        explanation: "Machines in the recording.",
        source: "§1",
    },
    MetricDefinition {
        name: "processes",
        title: "Processes",
        unit: MetricUnit::Count,
        group: MetricGroup::Recording,
        explanation: "Processes that were seen.",
        source: "§1",
    },
    MetricDefinition {
        name: "threads",
        title: "Threads",
        unit: MetricUnit::Count,
        group: MetricGroup::Recording,
        explanation: "Threads that were seen, of all processes.",
        source: "§1",
    },
    MetricDefinition {
        name: "cpus",
        title: "CPUs",
        unit: MetricUnit::Count,
        group: MetricGroup::Recording,
        explanation: "Processors of all machines together, as far as the program could use them: its affinity and its CPU quota, rounded up.",
        source: "§1",
    },
    MetricDefinition {
        name: "elapsed_seconds",
        title: "Elapsed",
        unit: MetricUnit::Seconds,
        group: MetricGroup::Recording,
        explanation: "Length of the run on the clock.",
        source: "§1",
    },
    MetricDefinition {
        name: "phase",
        title: "Phase",
        unit: MetricUnit::Text,
        group: MetricGroup::Recording,
        explanation: "The part of the run that the answer is about; all of it unless one was chosen.",
        source: "§8",
    },
];
