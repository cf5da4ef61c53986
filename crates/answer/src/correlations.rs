//! Which outside series move with low parallelism, or with waiting.

use longpole_event::Time;
use longpole_series::{
    CandidateSeries, CatalogueMetric, Comparison, Correlation, MetricClass, NoCorrelation, OutsideNode,
    SeriesCorrelation, SeriesCorrelations, TargetBins, TargetCurve, Window, compare, correlate,
};
use longpole_timeline::{ProgramCurves, program_curves};

use crate::error::{Error, Result};
use crate::metric_table::MetricTable;

/// Bins by which a series may come before or after.
const MOST_LAG: usize = 4;
/// Series that have other values at the moments of interest are told of from this ratio on.
const CONTRAST: f64 = 3.0;
/// In so many bins at least, with means that are so many of their standard errors apart (Welch's t): a burst in a few
/// bins is nothing to tell of.
const LEAST_BINS: usize = 5;
const CLEAR: f64 = 4.0;
/// What may be chance is told of so many series at most.
const MOST_CONTRASTS: usize = 5;

/// A series to be held against the program.
struct ComparedSeries<'a> {
    metric: &'a CatalogueMetric,
    node: OutsideNode,
    values: Vec<f64>,
}

/// Those that move with the run between two times.
pub(crate) fn correlations(
    metrics: &MetricTable,
    (begin, end): (Time, Time),
    looks_per_second: f64,
    io_idle: bool,
) -> Result<SeriesCorrelations> {
    let window = window(begin, end, looks_per_second);
    let held = held(metrics, &window);
    let mut all = SeriesCorrelations::default();
    if held.is_empty() {
        all.notes.push(
            "the recording has no series from outside: `longpole record` collects them unless it is told `--collect none`".to_owned(),
        );
        return Ok(all);
    }
    let trace = &*metrics.trace;
    let ProgramCurves { effective_parallelism: busy, synchronisation_wait: waiting } =
        program_curves(trace, io_idle, (window.from, window.to), window.bins as u32)
            .map_err(Error::unreadable(trace.path()))?;
    let targets = [
        ("effective_parallelism", "while few threads are busy", TargetBins::Low, busy),
        ("synchronisation_wait_seconds", "while many threads wait", TargetBins::High, waiting),
    ];
    for (target, moments, interest, values) in targets {
        let of = TargetCurve { values: &values, interest };
        let told = TargetComparison { metrics, held: &held, target, moments, width: window.width_seconds() };
        told.add(of, &mut all);
    }
    all.notes.sort();
    all.notes.dedup();
    Ok(all)
}

/// Bins that hold several looks of a collector each, and few enough to be compared in a moment.
fn window(from: Time, to: Time, looks_per_second: f64) -> Window {
    let seconds = to.since(from) as f64 / 1e9;
    Window { from, to, bins: (seconds * looks_per_second / 4.0).clamp(40.0, 256.0) as usize }
}

/// What is told of one target.
struct TargetComparison<'a> {
    metrics: &'a MetricTable,
    held: &'a [ComparedSeries<'a>],
    target: &'static str,
    moments: &'static str,
    width: f64,
}

impl TargetComparison<'_> {
    fn add(&self, target: TargetCurve<'_>, all: &mut SeriesCorrelations) {
        let candidates: Vec<CandidateSeries<'_>> = self
            .held
            .iter()
            .map(|held| CandidateSeries { values: &held.values, is_trivial: is_trivial(&held.metric.name) })
            .collect();
        let found = correlate(target, &candidates, MOST_LAG);
        if let Some(silence) = found.silence {
            let why = match silence {
                NoCorrelation::TooFewBins => "the run is too short to hold series against it",
                NoCorrelation::Constant => "it does not change enough to hold series against it",
            };
            all.notes.push(format!("{}: {why}", self.target));
            return;
        }
        all.notes.push(format!(
            "{} series from outside were held against {}, each at {} lags; besides, {} never change and {} have too few values",
            found.tried, self.target, found.lags, found.constant, found.missing
        ));
        let is_strong = |index: usize| found.found.iter().any(|one| one.candidate == index);
        let contrasts = self.contrasts(target, &candidates, is_strong);
        // What is low at those moments mostly is so because nothing runs: it explains least.
        let strong = found.found.iter().map(|one| self.strong(one, false));
        let (higher, lower): (Vec<_>, Vec<_>) = strong.partition(|one| one.there > one.elsewhere);
        all.found.extend(higher.into_iter().chain(contrasts).chain(lower));
        all.found.extend(found.trivial.iter().map(|one| self.strong(one, true)));
    }

    fn strong(&self, found: &Correlation, is_trivial: bool) -> SeriesCorrelation {
        let comparison = found.comparison;
        SeriesCorrelation {
            strength: Some(found.strength),
            lead_seconds: -(found.lag as f64) * self.width,
            bins: found.bins,
            samples: found.samples,
            is_trivial,
            ..self.plain(found.candidate, (comparison.there, comparison.elsewhere))
        }
    }

    fn plain(&self, candidate: usize, (there, elsewhere): (f64, f64)) -> SeriesCorrelation {
        let ComparedSeries { metric, node, values } = &self.held[candidate];
        SeriesCorrelation {
            target: self.target.to_owned(),
            moments: self.moments,
            metric: metric.name.clone(),
            title: metric.title.clone(),
            node: node.place(self.metrics.trace.program()).node,
            unit: metric.unit_label.clone(),
            strength: None,
            lead_seconds: 0.0,
            bins: values.iter().filter(|value| !value.is_nan()).count(),
            samples: 0.0,
            there,
            elsewhere,
            is_trivial: false,
        }
    }

    /// Series that are much higher at the moments of interest, though that may be chance.
    fn contrasts(
        &self,
        target: TargetCurve<'_>,
        candidates: &[CandidateSeries<'_>],
        is_strong: impl Fn(usize) -> bool,
    ) -> Vec<SeriesCorrelation> {
        let ratio = |there: f64, elsewhere: f64| there / elsewhere.max(there / 1000.0);
        let mut contrasts: Vec<(f64, SeriesCorrelation)> = Vec::new();
        for (index, candidate) in candidates.iter().enumerate() {
            if candidate.is_trivial || is_strong(index) {
                continue;
            }
            let Some(comparison) = compare(target, candidate.values) else { continue };
            let ratio = ratio(comparison.there, comparison.elsewhere);
            let distance = distance(target, &comparison, candidate.values);
            if ratio >= CONTRAST && comparison.bins_there >= LEAST_BINS && distance >= CLEAR {
                contrasts.push((distance, self.plain(index, (comparison.there, comparison.elsewhere))));
            }
        }
        contrasts.sort_by(|one, other| other.0.total_cmp(&one.0));
        contrasts.truncate(MOST_CONTRASTS);
        contrasts.into_iter().map(|(_, kinship)| kinship).collect()
    }
}

/// Every external metric of the program, and where the machine has it, of the machine.
fn held<'a>(metrics: &'a MetricTable, window: &Window) -> Vec<ComparedSeries<'a>> {
    let of_metric = |metric: &'a CatalogueMetric| {
        let (series, tree) = metrics.series_tree(metric);
        let known = tree.nodes();
        // What every machine has of its own is not the program's.
        let is_of_machines =
            !known.iter().any(|node| matches!(node, OutsideNode::Process(_) | OutsideNode::Thread(_)));
        let nodes = known.iter().copied().filter(move |node| match node {
            OutsideNode::Program => !is_of_machines,
            OutsideNode::Machine(_) => is_of_machines,
            _ => false,
        });
        nodes.map(move |node| {
            let course = longpole_series::course(series, tree, (node, None), metric.aggregation, *window);
            ComparedSeries { metric, node, values: course.values }
        })
    };
    let external = metrics.catalogue.metrics().iter().filter(|metric| metric.class == MetricClass::External);
    external.flat_map(of_metric).collect()
}

/// Whether the metric measures that threads run: going with parallelism then says nothing.
fn is_trivial(metric: &str) -> bool {
    const OF_RUNNING: [&str; 12] = [
        "sys_user_time",
        "sys_nice_time",
        "sys_system_time",
        "sys_idle_time",
        "sys_iowait_time",
        "sys_running",
        "sys_cpu_stall_time",
        "user_time",
        "system_time",
        "run_time",
        "run_queue_time",
        "task_clock",
    ];
    OF_RUNNING.contains(&metric)
}

/// The distance of the two means of a comparison in standard errors, were all bins independent.
fn distance(target: TargetCurve<'_>, comparison: &Comparison, values: &[f64]) -> f64 {
    let is_there = |value: f64| match target.interest {
        TargetBins::Low => value < comparison.limit,
        TargetBins::High => value > comparison.limit,
    };
    let error = |wanted: bool, mean: f64, count: usize| {
        let both =
            target.values.iter().zip(values).filter(|(target, value)| !target.is_nan() && !value.is_nan());
        let squares =
            both.filter(|&(&target, _)| is_there(target) == wanted).map(|(_, value)| (value - mean).powi(2));
        squares.sum::<f64>() / (count as f64 * (count as f64 - 1.0).max(1.0))
    };
    let errors = error(true, comparison.there, comparison.bins_there)
        + error(false, comparison.elsewhere, comparison.bins_elsewhere);
    (comparison.there - comparison.elsewhere) / errors.sqrt().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_far_from_the_rest_and_one_burst_is_not() {
        let target: Vec<f64> = (0..60).map(|bin| if bin < 20 { 0.0 } else { 2.0 }).collect();
        let target = TargetCurve { values: &target, interest: TargetBins::Low };
        let step: Vec<f64> =
            (0..60).map(|bin| if bin < 20 { 50.0 + f64::from(bin % 3) } else { 1.0 }).collect();
        let burst: Vec<f64> = (0..60).map(|bin| if bin == 7 { 900.0 } else { 1.0 }).collect();
        let far = |values: &[f64]| distance(target, &compare(target, values).unwrap(), values);
        assert!(far(&step) > 50.0, "{}", far(&step));
        assert!(far(&burst) < 1.1, "{}", far(&burst));
    }
}
