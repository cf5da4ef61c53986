//! Which outside series move with what the program does: with low parallelism, or with waiting.
//!
//! IPS-2 plots curves above each other and leaves finding to the eye (§6.1, figure 4: page faults are high where CPU time
//! is low). Here every series is held against the program's curve, moved by a few bins either way, and the answer is
//! those that go with it more than chance makes one of so many do; each with the plain comparison that people can use:
//!
//! ```text
//!   parallelism   4444 111 4444 1111 444        page faults while parallelism is low   5600/s
//!   page faults   .... ### .... #### ...                                  otherwise     300/s
//! ```
//! It says that two curves go together, not that one is the cause of the other. What happened once only (one phase of
//! page faults in the whole run) is mostly not more than chance can do; the comparison still tells it.

mod statistics;

use statistics::{PreparedCurve, probability};

/// Bins that both curves need to have values in.
const LEAST_BINS: usize = 20;
/// Independent samples that the bins have to be worth.
const LEAST_SAMPLES: f64 = 6.0;
/// How likely chance may give any of the answer's findings.
const MOST_CHANCE: f64 = 0.01;
/// How much stronger a correlation has to be for a curve to be said to lead.
const LEAD: f64 = 0.02;

/// Which bins of the program's curve ask for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetBins {
    /// Those with low values: of parallelism.
    Low,
    /// Those with high values: of waiting.
    High,
}

/// A curve of the program that asks for a reason, bin by bin.
#[derive(Clone, Copy, Debug)]
pub struct TargetCurve<'a> {
    /// Its values, `NaN` where it has none.
    pub values: &'a [f64],
    /// What is of interest in it.
    pub interest: TargetBins,
}

/// A series that may have to do with it.
#[derive(Clone, Copy, Debug)]
pub struct CandidateSeries<'a> {
    /// Its values in the same bins, `NaN` where it has none.
    pub values: &'a [f64],
    /// It measures what the target measures (the process's own CPU time beside its parallelism), so that going with it
    /// says nothing.
    pub is_trivial: bool,
}

/// A series that moves with the target.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// Which of the candidates.
    pub candidate: usize,
    /// −1 to 1: whether, and how strongly, it is high where the target is high.
    pub strength: f64,
    /// By how many bins it comes after the target; negative where it comes before, 0 where they go together.
    pub lag: isize,
    /// Bins that were compared.
    pub bins: usize,
    /// Independent samples that these are worth.
    pub samples: f64,
    /// How likely chance makes any of the candidates go with the target as strongly, at any of the lags.
    pub chance: f64,
    /// The candidate where the target asks for a reason, and otherwise.
    pub comparison: Comparison,
}

/// The mean of a series in the bins where the target asks for a reason, and in the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// What divides low values of the target from high ones.
    pub limit: f64,
    /// Mean where the target is low (or high, as asked).
    pub there: f64,
    /// Mean in the other bins.
    pub elsewhere: f64,
    /// Bins of the first mean.
    pub bins_there: usize,
    /// Bins of the second.
    pub bins_elsewhere: usize,
}

/// What goes with a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correlations {
    /// What goes with it more than chance makes one of so many do, strongest first.
    pub found: Vec<Correlation>,
    /// The same of those that measure what the target measures.
    pub trivial: Vec<Correlation>,
    /// Candidates that were held against it, without the trivial ones.
    pub tried: usize,
    /// Lags at which each was.
    pub lags: usize,
    /// Candidates left out as constant, or as a straight line.
    pub constant: usize,
    /// Candidates left out as they have values in less than half of the bins.
    pub missing: usize,
    /// Why nothing can be said, if so.
    pub silence: Option<NoCorrelation>,
}

/// Why nothing can be said about a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCorrelation {
    /// It has values in too few bins.
    TooFewBins,
    /// It does not vary, or is a straight line.
    Constant,
}

/// What goes with the target, moved by up to `most_lag` bins either way. Some 100 to 250 bins are enough; with bins
/// shorter than the time between two looks of a collector, a lag means nothing.
///
/// Time: bins² per candidate for its own rhythm, bins per lag.
#[must_use]
pub fn correlate(
    target: TargetCurve<'_>,
    candidates: &[CandidateSeries<'_>],
    most_lag: usize,
) -> Correlations {
    let most_lag = most_lag.min(target.values.len() / 4);
    let mut all = Correlations { lags: 2 * most_lag + 1, ..Correlations::default() };
    if known(target.values) < LEAST_BINS {
        all.silence = Some(NoCorrelation::TooFewBins);
        return all;
    }
    let Some(ready) = PreparedCurve::of(target.values) else {
        all.silence = Some(NoCorrelation::Constant);
        return all;
    };
    for (index, candidate) in candidates.iter().enumerate() {
        let bins = known(candidate.values);
        if bins < LEAST_BINS || 2 * bins < target.values.len() {
            all.missing += 1;
            continue;
        }
        let Some(other) = PreparedCurve::of(candidate.values) else {
            all.constant += 1;
            continue;
        };
        all.tried += usize::from(!candidate.is_trivial);
        if let Some(found) = best(&ready, &other, most_lag as isize)
            && let Some(comparison) = compare(target, candidate.values)
        {
            let into = if candidate.is_trivial { &mut all.trivial } else { &mut all.found };
            into.push(Correlation { candidate: index, comparison, ..found });
        }
    }
    let tests = (all.tried.max(1) * all.lags) as f64;
    for list in [&mut all.found, &mut all.trivial] {
        list.iter_mut().for_each(|one| one.chance = (one.chance * tests).min(1.0));
        list.retain(|one| one.chance <= MOST_CHANCE);
        list.sort_by(|one, other| other.strength.abs().total_cmp(&one.strength.abs()));
    }
    all
}

/// The strongest correlation over the lags; `None` where the bins are worth too few samples.
fn best(target: &PreparedCurve, candidate: &PreparedCurve, most_lag: isize) -> Option<Correlation> {
    // Nearest first, so that a lag is only said where it makes a difference.
    let lags = std::iter::once(0).chain((1..=most_lag).flat_map(|lag| [-lag, lag]));
    let mut found: Option<(f64, usize, isize)> = None;
    for lag in lags {
        let (strength, bins) = target.with(candidate, lag);
        if bins >= LEAST_BINS && found.is_none_or(|found| strength.abs() > found.0.abs() + LEAD) {
            found = Some((strength, bins, lag));
        }
    }
    let (strength, bins, lag) = found?;
    let samples = target.effective(candidate, bins);
    let nothing = Comparison { limit: 0.0, there: 0.0, elsewhere: 0.0, bins_there: 0, bins_elsewhere: 0 };
    (samples >= LEAST_SAMPLES).then(|| Correlation {
        candidate: 0,
        strength,
        lag,
        bins,
        samples,
        chance: probability(strength, samples),
        comparison: nothing,
    })
}

fn known(values: &[f64]) -> usize {
    values.iter().filter(|value| !value.is_nan()).count()
}

/// Compares the values of a series where the target asks for a reason with its values elsewhere; `None` where one of
/// the two has no bins.
#[must_use]
pub fn compare(target: TargetCurve<'_>, values: &[f64]) -> Option<Comparison> {
    let limit = limit(target.values)?;
    let asks = |value: f64| match target.interest {
        TargetBins::Low => value < limit,
        TargetBins::High => value > limit,
    };
    let mean = |is_there: bool| {
        let both =
            target.values.iter().zip(values).filter(|(target, value)| !target.is_nan() && !value.is_nan());
        let chosen = both.filter(|&(&target, _)| asks(target) == is_there);
        let (count, sum) = chosen.fold((0, 0.0), |(count, sum), (_, value)| (count + 1, sum + value));
        (count > 0).then(|| (sum / count as f64, count))
    };
    let ((there, bins_there), (elsewhere, bins_elsewhere)) = (mean(true)?, mean(false)?);
    Some(Comparison { limit, there, elsewhere, bins_there, bins_elsewhere })
}

/// The middle between the 5th and the 95th hundredth: what is low lies below it, whether it is most of the time or a
/// tenth of it. `None` where these are the same.
fn limit(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)? as f64;
    let [low, high] = [0.05, 0.95].map(|share| sorted[(last * share).round() as usize]);
    (low < high).then(|| low + (high - low) / 2.0)
}

#[cfg(test)]
mod tests;
