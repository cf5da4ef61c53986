//! Numbers of parallelism.

use super::{Group, Metric, Unit};

pub(super) const METRICS: &[Metric] = &[
    Metric {
        name: "effective_parallelism",
        title: "Effective parallelism",
        unit: Unit::Threads,
        group: Group::Parallelism,
        explanation: "U: the mean number of busy threads over the run. Busy is running, and waiting for a device or a page unless that is turned off; spinning is not.",
        source: "§1, Q §3",
    },
    Metric {
        name: "nominal_parallelism",
        title: "Nominal parallelism",
        unit: Unit::Threads,
        group: Group::Parallelism,
        explanation: "N: the mean number of threads over the run that were running, spinning or ready.",
        source: "§1, Q §3",
    },
    Metric {
        name: "level",
        title: "Threads",
        unit: Unit::Count,
        group: Group::Parallelism,
        explanation: "A number of threads; the row tells how long so many were busy (U) and how long so many were runnable (N).",
        source: "§1, Q §3",
    },
    Metric {
        name: "effective_seconds",
        title: "Busy (U)",
        unit: Unit::Seconds,
        group: Group::Parallelism,
        explanation: "Time in which the number of busy threads was the row's.",
        source: "§1, Q §3",
    },
    Metric {
        name: "effective_percent",
        title: "Busy (U) %",
        unit: Unit::Percent,
        group: Group::Parallelism,
        explanation: "Share of the elapsed time in which the number of busy threads was the row's.",
        source: "§1, Q §3",
    },
    Metric {
        name: "nominal_seconds",
        title: "Runnable (N)",
        unit: Unit::Seconds,
        group: Group::Parallelism,
        explanation: "Time in which the number of runnable threads was the row's.",
        source: "§1, Q §3",
    },
    Metric {
        name: "nominal_percent",
        title: "Runnable (N) %",
        unit: Unit::Percent,
        group: Group::Parallelism,
        explanation: "Share of the elapsed time in which the number of runnable threads was the row's.",
        source: "§1, Q §3",
    },
];
