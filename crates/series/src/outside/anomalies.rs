//! What was left out of the series of a recording, or is odd about them.

use std::collections::{BTreeMap, BTreeSet};

use longpole_event::{SeriesKind, SeriesNode};

use super::Series;

/// What was left out of a metric, or odd about it.
#[derive(Debug, Default)]
pub(super) struct SeriesAnomaly {
    pub(super) disordered: u64,
    pub(super) unreadable: u64,
    pub(super) without_place: u64,
    pub(super) strangers: BTreeSet<SeriesNode>,
    pub(super) restarts: u64,
}

/// What was left out of all metrics, or odd about them.
#[derive(Debug, Default)]
pub(super) struct SeriesAnomalies {
    metrics: BTreeMap<String, SeriesAnomaly>,
    /// Values of series whose definition is lost.
    pub(super) undefined: u64,
}

impl SeriesAnomalies {
    pub(super) fn count(&mut self, metric: &str, change: impl FnOnce(&mut SeriesAnomaly)) {
        match self.metrics.get_mut(metric) {
            Some(odd) => change(odd),
            None => change(self.metrics.entry(metric.to_owned()).or_default()),
        }
    }

    /// Counts where a counter fell.
    pub(super) fn restarted(&mut self, series: &Series) {
        if series.samples == SeriesKind::Counter {
            let falls = series.values.windows(2).filter(|pair| pair[1].1 < pair[0].1).count() as u64;
            self.count(&series.metric, |odd| odd.restarts += falls);
        }
    }

    /// All of it in sentences, by metric.
    pub(super) fn into_notes(self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.undefined > 0 {
            notes.push(format!(
                "{} of outside series whose description is lost",
                counted(self.undefined, "value")
            ));
        }
        for (metric, odd) in self.metrics {
            let mut note = |count: u64, what: &str| {
                if count > 0 {
                    notes.push(format!("`{metric}`: {} {what}", counted(count, "value")));
                }
            };
            let strangers = odd.strangers.len() as u64;
            let strangers = format!(
                "left out: of {} that the program did not have then",
                counted(strangers, "process or thread number")
            );
            note(odd.without_place, &strangers);
            note(odd.disordered, "left out: earlier than the value before");
            note(odd.unreadable, "left out: no number");
            if odd.restarts > 0 {
                let times = counted(odd.restarts, "time");
                notes.push(format!(
                    "`{metric}` fell {times}: each time it is taken to have begun anew from zero"
                ));
            }
        }
        notes
    }
}

/// How many there are of what.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
