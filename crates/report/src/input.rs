//! What reports are made from.

use longpole_metrics::{Analysis, By, Measures, Row, Weight};
use longpole_trace::{Evidence, Paths, Program};

/// Everything a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The program's tree.
    pub program: &'a Program,
    /// The call paths.
    pub paths: &'a Paths,
    /// The metrics.
    pub analysis: &'a Analysis,
    /// What they rest on.
    pub evidence: &'a Evidence,
}

/// Choices of a report.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What a row is.
    pub by: By,
    /// Rows shown in text and written to JSON and CSV; `None`: 20 in text, all elsewhere.
    pub top: Option<usize>,
    /// Which critical path ranks the rows of `critical-path` and `tree`.
    pub weight: Weight,
    /// The analysis was made with waits for devices and pages counted as idle.
    pub io_idle: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { by: By::Procedure, top: None, weight: Weight::Cpu, io_idle: false }
    }
}

impl Input<'_> {
    /// Rows of the whole program.
    pub(crate) fn rows(&self, by: By) -> Vec<Row> {
        longpole_metrics::rows(self.analysis, self.program, self.paths, by, |_| true)
    }

    /// Everything charged in the run.
    pub(crate) fn totals(&self) -> Measures {
        longpole_metrics::total(self.analysis, |_| true)
    }

    /// Mean effective parallelism: the mean of U over the run.
    pub(crate) fn effective_parallelism(&self) -> f64 {
        mean_level(&self.analysis.busy)
    }

    /// Mean nominal parallelism: the mean of N over the run.
    pub(crate) fn nominal_parallelism(&self) -> f64 {
        mean_level(&self.analysis.nominal)
    }
}

/// Mean level of a histogram of times by level.
fn mean_level(times: &[u64]) -> f64 {
    let whole: u64 = times.iter().sum();
    if whole == 0 {
        return 0.0;
    }
    let weighted: f64 = times.iter().enumerate().map(|(level, &time)| level as f64 * time as f64).sum();
    weighted / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_level_weighs_levels_by_their_time() {
        // 10 × 0 + 30 × 1 + 60 × 2 = 150 over 100.
        assert_eq!(mean_level(&[10, 30, 60]), 1.5);
        assert_eq!(mean_level(&[]), 0.0);
    }
}
