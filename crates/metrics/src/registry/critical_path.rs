//! Numbers of the critical path.

use super::{MetricDefinition, MetricGroup, MetricUnit};

pub(super) const METRICS: &[MetricDefinition] = &[
    MetricDefinition {
        name: "critical_path_seconds",
        title: "Critical path",
        unit: MetricUnit::Seconds,
        group: MetricGroup::CriticalPath,
        explanation: "Useful CPU time of the row that lies on the critical path: the longest chain of work through all threads, from the start of the run to its end, in which each piece had to wait for the one before it. Only work on this chain can shorten the run. Time spinning, ready and blocked weighs nothing.",
        source: "§4, I §2.1, M §2.2",
    },
    MetricDefinition {
        name: "critical_path_percent",
        title: "Critical path %",
        unit: MetricUnit::Percent,
        group: MetricGroup::CriticalPath,
        explanation: "Critical path seconds as a share of the path's length; in `rankings`, of the sum over all rows.",
        source: "§4, I §2.1, M §2.2",
    },
    MetricDefinition {
        name: "critical_path_inclusive_seconds",
        title: "Critical path, inclusive",
        unit: MetricUnit::Seconds,
        group: MetricGroup::CriticalPath,
        explanation: "Critical path seconds of the row and of everything done on its behalf.",
        source: "§4",
    },
    MetricDefinition {
        name: "critical_path_inclusive_percent",
        title: "Critical path, inclusive %",
        unit: MetricUnit::Percent,
        group: MetricGroup::CriticalPath,
        explanation: "Inclusive critical path seconds as a share of the path's length.",
        source: "§4",
    },
    MetricDefinition {
        name: "critical_path_elapsed_seconds",
        title: "Critical path, elapsed",
        unit: MetricUnit::Seconds,
        group: MetricGroup::CriticalPath,
        explanation: "Time of the row on the critical path by elapsed weight: time runnable without a processor, waits for devices and timers, and messages under way count with their elapsed time. The length of this path is the elapsed time of the run.",
        source: "§4",
    },
    MetricDefinition {
        name: "critical_path_elapsed_percent",
        title: "Critical path, elapsed %",
        unit: MetricUnit::Percent,
        group: MetricGroup::CriticalPath,
        explanation: "Critical path seconds by elapsed weight as a share of the elapsed time of the run.",
        source: "§4",
    },
    MetricDefinition {
        name: "critical_path_length_seconds",
        title: "Length of the critical path",
        unit: MetricUnit::Seconds,
        group: MetricGroup::CriticalPath,
        explanation: "Sum of the weights on the critical path. By CPU weight: how long the run would take with as many processors as it could use, and with all else free. By elapsed weight: the elapsed time of the run.",
        source: "§4",
    },
    MetricDefinition {
        name: "hand_offs",
        title: "Hand-offs",
        unit: MetricUnit::Count,
        group: MetricGroup::CriticalPath,
        explanation: "How often the critical path goes from one thread to another.",
        source: "§4",
    },
];
