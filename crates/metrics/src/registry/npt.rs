//! Numbers of normalised processor time.

use super::{Group, Metric, Unit};

pub(super) const METRICS: &[Metric] = &[
    Metric {
        name: "npt_seconds",
        title: "NPT",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "Normalised processor time: processor time divided, at each moment, by the number of threads that were busy at that moment. Work done while nothing else ran counts in full, work done beside three other threads counts a quarter. Over all rows it adds up to the time in which any thread was busy.",
        source: "§3, Q eq. 1, M §2.3",
    },
    Metric {
        name: "npt_percent",
        title: "NPT %",
        unit: Unit::Percent,
        group: Group::Npt,
        explanation: "Normalised processor time as a share of the time in which any thread was busy.",
        source: "§3, Q eq. 1",
    },
    Metric {
        name: "npt_inclusive_seconds",
        title: "NPT, inclusive",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "Normalised processor time of the row and of everything done on its behalf.",
        source: "§3, Q §3.3",
    },
    Metric {
        name: "npt_inclusive_percent",
        title: "NPT, inclusive %",
        unit: Unit::Percent,
        group: Group::Npt,
        explanation: "Inclusive normalised processor time as a share of the time in which any thread was busy.",
        source: "§3, Q §3.3",
    },
    Metric {
        name: "npt_1_seconds",
        title: "NPT, U=1",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "The part of normalised processor time that was charged while this was the only busy thread. High: the procedure runs alone, and splitting its work pays.",
        source: "§3, Q figure 1",
    },
    Metric {
        name: "npt_2_seconds",
        title: "NPT, U=2",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "The part of normalised processor time that was charged while two threads were busy.",
        source: "§3, Q figure 1",
    },
    Metric {
        name: "npt_3_4_seconds",
        title: "NPT, U=3–4",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "The part of normalised processor time that was charged while three or four threads were busy.",
        source: "§3, Q figure 1",
    },
    Metric {
        name: "npt_5_up_seconds",
        title: "NPT, U≥5",
        unit: Unit::Seconds,
        group: Group::Npt,
        explanation: "The part of normalised processor time that was charged while five threads or more were busy. High: the procedure runs in parallel already, and only doing less work pays.",
        source: "§3, Q figure 1",
    },
];
