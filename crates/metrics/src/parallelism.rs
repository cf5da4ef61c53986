//! How much of the run had how much parallelism (metrics.md §1; Q §3).
//!
//! `busy[i]` is the time with effective parallelism U = i (threads running; those blocked for a device or a
//! page too, unless that is turned off), `nominal[i]` the time with nominal parallelism N = i (threads running,
//! spinning or ready).
//!
//! ```text
//!   T1  AAAA....        U: 2 for 2, 1 for 4, 0 for 2      busy    = [2, 4, 2]
//!   T2  --AA~~BB        N: 2 for 4, 1 for 4               nominal = [0, 4, 4]
//!       (T1: 4 running; T2: ready 2, running 2, spinning 2, running 2)
//! ```
//! Constant time per item, memory for the highest level.
//!
//! It cannot see which thread was busy with what; for that there are the terms of normalised processor time.

use longpole_event::Time;
use longpole_graph::{ParallelismLevel, Sweep};

use crate::analysis::Analysis;

impl Analysis {
    /// Mean of U over the run; 0 for an empty run.
    #[must_use]
    pub fn effective_parallelism(&self) -> f64 {
        mean(&self.busy)
    }

    /// Mean of N over the run; 0 for an empty run.
    #[must_use]
    pub fn nominal_parallelism(&self) -> f64 {
        mean(&self.nominal)
    }
}

fn mean(histogram: &[u64]) -> f64 {
    let elapsed: u64 = histogram.iter().sum();
    if elapsed == 0 {
        return 0.0;
    }
    let area: f64 = histogram.iter().enumerate().map(|(level, &time)| level as f64 * time as f64).sum();
    area / elapsed as f64
}

/// The sweep of the two histograms.
#[derive(Debug, Default)]
pub(crate) struct Parallelism {
    pub busy: Vec<u64>,
    pub nominal: Vec<u64>,
}

impl Sweep for Parallelism {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        let time = to.since(from);
        for (histogram, level) in
            [(&mut self.busy, level.effective as usize), (&mut self.nominal, level.nominal as usize)]
        {
            if histogram.len() <= level {
                histogram.resize(level + 1, 0);
            }
            histogram[level] += time;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::drawn::Drawn;

    #[test]
    fn time_is_counted_by_busy_and_by_runnable_threads() {
        let drawn = Drawn::new("T1 AAAA....\nT2 --AA~~BB");
        assert_eq!(drawn.analysis.busy, [2, 4, 2]);
        assert_eq!(drawn.analysis.nominal, [0, 4, 4]);
        // (4 + 2·2) / 8 and (4 + 2·4) / 8
        assert!((drawn.analysis.effective_parallelism() - 1.0).abs() < 1e-12);
        assert!((drawn.analysis.nominal_parallelism() - 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_run_of_no_length_has_no_parallelism() {
        let drawn = Drawn::new("# nobody");
        assert!(drawn.analysis.effective_parallelism().abs() < 1e-12);
    }
}
