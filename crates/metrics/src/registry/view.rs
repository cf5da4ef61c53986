//! The metric of a view, whichever that is.

use super::{Group, Metric, Unit};

pub(super) const METRICS: &[Metric] = &[
    Metric {
        name: "seconds",
        title: "Seconds",
        unit: Unit::Seconds,
        group: Group::View,
        explanation: "Time of the view's metric that was charged to the row itself: to call paths that end in it.",
        source: "§1",
    },
    Metric {
        name: "percent",
        title: "%",
        unit: Unit::Percent,
        group: Group::View,
        explanation: "The row's own seconds as a share of the whole of the view's metric: the length of the path, the time in which any thread was busy, the CPU time.",
        source: "§1",
    },
    Metric {
        name: "error_percent",
        title: "±",
        unit: Unit::PercentagePoints,
        group: Group::View,
        explanation: "One standard error of the share, sqrt(p (1 − p) / n), where n is the effective number of observations. Two rows whose difference is within their error are tied.",
        source: "§1",
    },
    Metric {
        name: "inclusive_seconds",
        title: "Inclusive",
        unit: Unit::Seconds,
        group: Group::View,
        explanation: "Time charged to the row and to everything done on its behalf: by procedures that it called, and by threads that it created, whether directly or through others. A procedure that is on a path several times counts once.",
        source: "§1, Q §3.3",
    },
    Metric {
        name: "inclusive_percent",
        title: "Inclusive %",
        unit: Unit::Percent,
        group: Group::View,
        explanation: "Inclusive seconds as a share of the whole of the view's metric. These shares overlap, and do not add up to 100.",
        source: "§1, Q §3.3",
    },
    Metric {
        name: "gain_low_seconds",
        title: "Gain, at least",
        unit: Unit::Seconds,
        group: Group::View,
        explanation: "What the run would gain from the change alone, by the most careful of the metrics that apply, less one standard error. Gains of several changes overlap.",
        source: "§12, M §3",
    },
    Metric {
        name: "gain_high_seconds",
        title: "Gain, at most",
        unit: Unit::Seconds,
        group: Group::View,
        explanation: "What the run would gain from the change alone, by the boldest of the metrics that apply, plus one standard error; never more than the run, nor than the processors leave for the other work.",
        source: "§12, M §3",
    },
    Metric {
        name: "gain_low_percent",
        title: "Gain, at least %",
        unit: Unit::Percent,
        group: Group::View,
        explanation: "The least gain as a share of the elapsed time.",
        source: "§12",
    },
    Metric {
        name: "gain_high_percent",
        title: "Gain, at most %",
        unit: Unit::Percent,
        group: Group::View,
        explanation: "The largest gain as a share of the elapsed time.",
        source: "§12",
    },
];
