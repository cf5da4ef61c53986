//! Numbers that answers rest on.

use super::{MetricDefinition, MetricGroup, MetricUnit};

pub(super) const METRICS: &[MetricDefinition] = &[
    MetricDefinition {
        name: "collector",
        title: "Collector",
        unit: MetricUnit::Text,
        group: MetricGroup::Evidence,
        explanation: "What collected the recording: bpf, perf, or the import of another tool's file.",
        source: "§9",
    },
    MetricDefinition {
        name: "events",
        title: "Events",
        unit: MetricUnit::Count,
        group: MetricGroup::Evidence,
        explanation: "Scheduling events that were recorded: switches, wakes, starts and ends.",
        source: "§9",
    },
    MetricDefinition {
        name: "samples",
        title: "Samples",
        unit: MetricUnit::Count,
        group: MetricGroup::Evidence,
        explanation: "Timer samples that were recorded.",
        source: "§9",
    },
    MetricDefinition {
        name: "lost_events",
        title: "Lost events",
        unit: MetricUnit::Count,
        group: MetricGroup::Evidence,
        explanation: "Events that the collector could not keep. States and dependences near a loss are uncertain.",
        source: "§9",
    },
    MetricDefinition {
        name: "unsymbolised_percent",
        title: "Without a name",
        unit: MetricUnit::Percent,
        group: MetricGroup::Evidence,
        explanation: "Share of the CPU time that was charged to procedures whose name could not be found.",
        source: "§9",
    },
    MetricDefinition {
        name: "unexplained_wait_percent",
        title: "Without a cause",
        unit: MetricUnit::Percent,
        group: MetricGroup::Evidence,
        explanation: "Share of the blocked time of which the cause is not known.",
        source: "§9",
    },
    MetricDefinition {
        name: "overhead_percent",
        title: "Overhead",
        unit: MetricUnit::Percent,
        group: MetricGroup::Evidence,
        explanation: "Cost of collecting, as a share of the program's CPU time.",
        source: "§9",
    },
    MetricDefinition {
        name: "notes",
        title: "Notes",
        unit: MetricUnit::Text,
        group: MetricGroup::Evidence,
        explanation: "What a reader of the numbers has to know: choices, refusals, defects of the recording.",
        source: "§9",
    },
];
