//! What a version of a program truly gains.

use crate::run::TrialRun;
use crate::statistics::{Interval, median, median_interval};

/// A run that needs this many times the CPU time of its version's median run was slowed down by something else on the machine (its
/// caches, a shared core), and is not counted.
pub const DISTURBED: f64 = 1.2;

/// What a change truly gains, per cent of the unchanged run; negative where the run gets longer.
#[derive(Clone, Debug, PartialEq)]
pub struct TrueGain {
    /// Median over the pairs of runs of one round.
    pub percent: f64,
    /// Holds the median of all such pairs with 95 % or more.
    pub interval: Interval,
    /// Best run against best run, as the paper has it.
    pub best_percent: f64,
    /// Pairs that count: those with a disturbed run do not.
    pub pairs: usize,
    /// Pairs that were measured.
    pub measured: usize,
}

impl TrueGain {
    /// The gain of the version with these runs, in the order of the rounds; `None` without a single undisturbed pair.
    #[must_use]
    pub fn of(unchanged: &[TrialRun], changed: &[TrialRun]) -> Option<TrueGain> {
        TrueGain::of_best(unchanged, changed, 1)
    }

    /// The same of the best of so many runs of each version that follow each other: what other programs do only lengthens runs, so the best
    /// of a few was disturbed least (the paper took the best of all).
    #[must_use]
    pub fn of_best(unchanged: &[TrialRun], changed: &[TrialRun], group: usize) -> Option<TrueGain> {
        let quiet = |runs: &[TrialRun]| -> Vec<Option<f64>> {
            let middle = median(&runs.iter().map(|run| run.cpu_seconds).collect::<Vec<_>>());
            let most = middle.unwrap_or(0.0) * DISTURBED;
            runs.iter().map(|run| (run.cpu_seconds <= most).then_some(run.elapsed_seconds)).collect()
        };
        let measured = unchanged.len().min(changed.len());
        let (unchanged, changed) = (best_of(group, quiet(unchanged)), best_of(group, quiet(changed)));
        let pairs: Vec<(f64, f64)> = unchanged
            .iter()
            .zip(&changed)
            .filter_map(|(before, after)| Some(((*before)?, (*after)?)))
            .collect();
        let gains: Vec<f64> = pairs.iter().map(|(before, after)| 100.0 * (1.0 - after / before)).collect();
        let best =
            |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).min_by(f64::total_cmp).unwrap_or(f64::NAN);
        Some(TrueGain {
            percent: median(&gains)?,
            interval: median_interval(&gains)?,
            best_percent: 100.0 * (1.0 - best(|pair| pair.1) / best(|pair| pair.0)),
            pairs: pairs.len(),
            measured,
        })
    }
}

/// The shortest of each so many runs; what is left at the end belongs to the last ones.
fn best_of(group: usize, runs: Vec<Option<f64>>) -> Vec<Option<f64>> {
    let groups = (runs.len() / group.max(1)).max(1);
    let mut best = vec![None; groups.min(runs.len())];
    for (index, run) in runs.into_iter().enumerate() {
        let own: &mut Option<f64> = &mut best[(index / group.max(1)).min(groups - 1)];
        *own = [*own, run].into_iter().flatten().reduce(f64::min);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_a_few_runs_is_less_disturbed_than_each() {
        let run =
            |elapsed_seconds| TrialRun { elapsed_seconds, cpu_seconds: 1.0, page_faults: 100, switches: 10 };
        let runs = |all: &[f64]| all.iter().copied().map(run).collect::<Vec<_>>();
        let (unchanged, changed) = (runs(&[1.0, 1.4, 1.3, 1.0, 1.0]), runs(&[0.9, 0.5, 0.7, 0.8, 0.5]));
        let gain = TrueGain::of_best(&unchanged, &changed, 2).unwrap();
        // 1.0 and 0.5, then 1.0 and 0.5: the fifth run belongs to the second pair.
        assert_eq!((gain.pairs, gain.percent, gain.measured), (2, 50.0, 5));
        assert_eq!(best_of(3, vec![None, Some(1.0)]), [Some(1.0)]);
        assert_eq!(best_of(1, vec![None, Some(1.0)]), [None, Some(1.0)]);
    }

    #[test]
    fn a_pair_with_a_disturbed_run_does_not_count() {
        let run = |elapsed_seconds, cpu_seconds| TrialRun {
            elapsed_seconds,
            cpu_seconds,
            page_faults: 100,
            switches: 10,
        };
        let unchanged = [run(1.0, 2.0), run(1.0, 2.0), run(1.0, 2.5), run(1.0, 2.0)];
        let changed = [run(0.5, 1.0), run(0.1, 1.3), run(0.9, 1.0), run(0.52, 1.1)];
        let gain = TrueGain::of(&unchanged, &changed).unwrap();
        assert_eq!((gain.pairs, gain.measured), (2, 4));
        assert!((gain.percent - 49.0).abs() < 1e-9 && (gain.best_percent - 50.0).abs() < 1e-9);
    }
}
