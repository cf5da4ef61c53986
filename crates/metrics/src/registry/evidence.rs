//! Numbers that answers rest on.

use super::{Group, Metric, Unit};

pub(super) const METRICS: &[Metric] = &[
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
