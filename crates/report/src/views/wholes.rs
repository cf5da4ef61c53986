//! What the shares of a row are shares of.

use longpole_metrics::{Measures, Weight};

use super::npt::npt;
use crate::input::ReportTables;

/// The run's own sums, nanoseconds.
pub(super) struct RunTotals {
    weight: Weight,
    /// Length of the critical path of that weight.
    pub path: f64,
    /// Normalised processor time.
    pub npt: f64,
    /// CPU time, useful and spinning.
    pub cpu: f64,
}

impl RunTotals {
    pub(super) fn of(input: &ReportTables<'_>, weight: Weight) -> RunTotals {
        let totals = input.totals();
        let path = input.analysis.critical(weight).length as f64;
        RunTotals { weight, path, npt: npt(totals), cpu: totals.cpu() as f64 }
    }

    /// Time on that path.
    pub(super) fn on_path(&self, measures: &Measures) -> u64 {
        measures.critical(self.weight)
    }
}
