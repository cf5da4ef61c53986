//! How well each metric guides: its correlation with true zeroing, and how far it is off.

use longpole_trials::{TrueGain, median, pearson, spearman};

use super::verdict::{ChangeVerdict, JudgedMetric, ProgramVerdict};

/// A change whose truth is known.
pub struct JudgedPair<'a> {
    pub change: &'a ChangeVerdict,
    pub truth: TrueGain,
}

/// Pearson's and Spearman's correlation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GuidanceCorrelations {
    pub pearson: Option<f64>,
    pub spearman: Option<f64>,
}

/// The changes of a program that were measured undisturbed at least once.
pub fn pairs(program: &ProgramVerdict) -> Vec<JudgedPair<'_>> {
    let of = |change| Some(JudgedPair { change, truth: program.truth(change)? });
    program.changes.iter().filter_map(of).collect()
}

/// What a metric predicted, and the truth, of these procedures left out.
fn guidance(pairs: &[&JudgedPair], metric: &JudgedMetric) -> Vec<(f64, f64)> {
    let zeroings = pairs.iter().filter(|pair| pair.change.is_zeroing());
    zeroings
        .filter_map(|pair| Some(((metric.predicted)(&pair.change.predicted)?, pair.truth.percent)))
        .collect()
}

/// GuidanceCorrelations of a metric with the truth.
pub fn correlations(pairs: &[&JudgedPair], metric: &JudgedMetric) -> GuidanceCorrelations {
    let guidance = guidance(pairs, metric);
    GuidanceCorrelations { pearson: pearson(&guidance), spearman: spearman(&guidance) }
}

/// The pairs without the procedure that is truly worth most, which dominates the others.
pub fn without_dominating<'a, 'b>(pairs: &[&'a JudgedPair<'b>]) -> Vec<&'a JudgedPair<'b>> {
    let zeroings = pairs.iter().enumerate().filter(|(_, pair)| pair.change.is_zeroing());
    let first = zeroings.max_by(|(_, a), (_, b)| a.truth.percent.total_cmp(&b.truth.percent));
    let Some((first, _)) = first else { return pairs.to_vec() };
    pairs.iter().enumerate().filter(|(index, _)| *index != first).map(|(_, pair)| *pair).collect()
}

/// A metric over all programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricScore {
    /// Medians over the programs.
    pub with: GuidanceCorrelations,
    /// The same without each program's dominating procedure.
    pub without: GuidanceCorrelations,
    /// Of all procedures of all programs together.
    pub together: GuidanceCorrelations,
    /// Mean absolute error, percentage points.
    pub error: Option<f64>,
    /// Procedures of which the metric said something.
    pub procedures: usize,
}

/// Scores a metric; one list of pairs a program.
pub fn score(programs: &[Vec<JudgedPair>], metric: &JudgedMetric) -> MetricScore {
    let each: Vec<Vec<&JudgedPair>> = programs.iter().map(|pairs| pairs.iter().collect()).collect();
    let middle = |of: &dyn Fn(&[&JudgedPair]) -> GuidanceCorrelations| {
        let all: Vec<GuidanceCorrelations> = each.iter().map(|pairs| of(pairs)).collect();
        let over = |side: fn(&GuidanceCorrelations) -> Option<f64>| {
            median(&all.iter().filter_map(side).collect::<Vec<_>>())
        };
        GuidanceCorrelations { pearson: over(|both| both.pearson), spearman: over(|both| both.spearman) }
    };
    let together: Vec<&JudgedPair> = each.iter().flatten().copied().collect();
    let guidance = guidance(&together, metric);
    let errors = guidance.iter().map(|(predicted, truth)| (predicted - truth).abs());
    let procedures = guidance.len();
    MetricScore {
        with: middle(&|pairs| correlations(pairs, metric)),
        without: middle(&|pairs| correlations(&without_dominating(pairs), metric)),
        together: correlations(&together, metric),
        error: (procedures > 0).then(|| errors.sum::<f64>() / procedures as f64),
        procedures,
    }
}

/// How honest and how useful the ranges are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeScore {
    pub ranges: usize,
    /// The true gain lies inside.
    pub honest: usize,
    /// The range at least touches the interval of the true gain: what is measured does not say that it is wrong.
    pub touching: usize,
    /// Narrower than half of its middle.
    pub useful: usize,
    /// Changes of which replay said nothing, as it refused the recording.
    pub refused: usize,
}

/// Scores the ranges of all changes.
pub fn ranges<'a>(pairs: impl Iterator<Item = &'a JudgedPair<'a>>) -> RangeScore {
    let mut score = RangeScore::default();
    for pair in pairs {
        let predicted = &pair.change.predicted;
        let (Some(low), Some(high)) = (predicted.replay_low, predicted.replay_high) else {
            score.refused += 1;
            continue;
        };
        score.ranges += 1;
        score.honest += usize::from(pair.change.is_inside(&pair.truth) == Some(true));
        score.touching += usize::from(low <= pair.truth.interval.high && pair.truth.interval.low <= high);
        score.useful += usize::from(high - low < f64::midpoint(low, high).abs() / 2.0);
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::page::tests::drawn;
    use crate::judge::verdict::METRICS;

    #[test]
    fn the_dominating_procedure_is_left_out_and_objects_are_no_procedures() {
        let verdict = drawn();
        let pairs = pairs(&verdict);
        let all: Vec<&JudgedPair> = pairs.iter().collect();
        let rest: Vec<&str> = without_dominating(&all).iter().map(|pair| pair.change.name.as_str()).collect();
        assert_eq!(rest, ["middle", "small", "late", "the_lock"]);
        // The drawn critical path is twice the truth for every procedure: in line with it, and far off.
        let path = score(&[pairs], &METRICS[1]);
        assert!((path.with.pearson.unwrap() - 1.0).abs() < 1e-9);
        assert_eq!((path.with.spearman, path.procedures), (Some(1.0), 4));
        // (40 + 20 + 5 + 0) / 4.
        assert!((path.error.unwrap() - 16.25).abs() < 1e-9, "{path:?}");
    }

    #[test]
    fn a_range_beside_the_truth_can_still_touch_what_was_measured() {
        let verdict = drawn();
        let pairs = pairs(&verdict);
        let score = ranges(pairs.iter());
        assert_eq!(score, RangeScore { ranges: 4, honest: 3, touching: 3, useful: 2, refused: 1 });
    }
}
