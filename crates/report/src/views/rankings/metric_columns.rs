//! The columns of `rankings`: what each metric gives each row.

use longpole_metrics::{By, Measures, Node, NodeRow, RowReplays};

use super::super::is_estimated;
use super::super::npt::npt;
use super::super::objects::waiting_of_objects;
use crate::findings::threshold::LEAST_GAIN;
use crate::input::{ReportOptions, ReportTables};
use crate::quantity::percent;
use crate::share::{Estimate, PrecisionBehind, behind_cpu, behind_npt, behind_path, standard_error};

/// A metric of the comparison: its title, and its columns for the share, the seconds and the error of the share.
pub(super) struct RankingColumns {
    pub title: &'static str,
    pub percent: &'static str,
    pub seconds: &'static str,
    pub error: Option<&'static str>,
}

macro_rules! ranking_columns {
    ($($name:ident: $title:literal $percent:literal $seconds:literal $error:expr;)*) => {
        $(pub(super) const $name: RankingColumns =
            RankingColumns { title: $title, percent: $percent, seconds: $seconds, error: $error };)*
        pub(super) const ALL: [&RankingColumns; 8] = [$(&$name),*];
    };
}

ranking_columns! {
    GPROF: "gprof" "gprof_percent" "gprof_seconds" Some("gprof_error_percent");
    IPS2: "ips2" "ips2_percent" "ips2_seconds" Some("ips2_error_percent");
    PATH: "path" "critical_path_percent" "critical_path_seconds" Some("critical_path_error_percent");
    NPT: "NPT" "npt_percent" "npt_seconds" Some("npt_error_percent");
    WAITED: "waited" "wait_percent" "wait_seconds" None;
    SLACK: "slack" "slack_percent" "slack_seconds" Some("slack_error_percent");
    ZEROING: "zeroing" "zeroing_percent" "zeroing_seconds" Some("zeroing_error_percent");
    REPLAY: "replay" "replay_percent" "replay_seconds" None;
}

/// One metric of all rows.
pub(super) struct MetricColumn {
    pub columns: &'static RankingColumns,
    /// Seconds and standard error of each row, nanoseconds; `None` where the metric says nothing of the row.
    pub values: Vec<Option<(f64, Option<f64>)>>,
    /// Whether it says too little for its shares to be compared: nearly no gain at all.
    pub is_negligible: bool,
}

impl MetricColumn {
    pub fn sum(&self) -> f64 {
        self.values.iter().flatten().map(|&(value, _)| value.max(0.0)).sum()
    }

    /// Share and error of a row, percent of the metric's sum; `None` where the sum is next to nothing, of which a row that loses
    /// would be thousands of percent.
    pub fn share(&self, row: usize, sum: f64) -> Option<(f64, Option<f64>)> {
        let (value, error) = self.values[row]?;
        (sum > 0.0 && !self.is_negligible)
            .then(|| (100.0 * value / sum, error.map(|error| 100.0 * error / sum)))
    }
}

/// The metrics that there are of rows of this kind.
pub(super) fn metrics(
    input: &ReportTables<'_>,
    options: &ReportOptions,
    nodes: &[Node],
) -> Vec<MetricColumn> {
    let analysis = input.analysis;
    let (by, weight) = (options.by, options.weight);
    let mut metrics = Vec::new();
    if by == By::Object {
        metrics.extend(of_objects(input, nodes));
    } else {
        let path = behind_path(analysis);
        metrics.extend([
            of_rows(input, by, &GPROF, (&|own| own.cpu() as f64, behind_cpu(analysis))),
            of_rows(input, by, &IPS2, (&|own| own.running as f64, behind_cpu(analysis))),
            of_rows(input, by, &PATH, (&|own| own.critical(weight) as f64, path)),
            of_rows(input, by, &NPT, (&npt, behind_npt(analysis))),
        ]);
    }
    metrics.extend(of_gains(input, by, nodes));
    metrics.extend(of_replays(input, nodes));
    metrics
}

/// A metric that is charged to rows.
fn of_rows(
    input: &ReportTables<'_>,
    by: By,
    columns: &'static RankingColumns,
    (of, behind): (&dyn Fn(&Measures) -> f64, PrecisionBehind<'_>),
) -> MetricColumn {
    let whole = of(input.totals());
    let estimate = Estimate::of(input, by, behind, whole);
    let value = |row: &NodeRow| {
        let value = of(&row.own);
        let share = percent(value, whole);
        let error = match &estimate {
            Some(estimate) => estimate.error(row.node, share),
            // Samples of a call path are not told apart by process: as if they were drawn at random.
            None if by == By::ProcessProcedure => standard_error(share, behind.1),
            None => None,
        };
        Some((value, error.filter(|_| value > 0.0).map(|error| error / 100.0 * whole)))
    };
    MetricColumn { columns, values: input.rows(by).iter().map(value).collect(), is_negligible: false }
}

/// What the recording knows of objects without a graph.
fn of_objects(input: &ReportTables<'_>, nodes: &[Node]) -> Vec<MetricColumn> {
    let Some(contention) = &input.details.contention else { return Vec::new() };
    let of: Vec<(f64, Option<f64>)> =
        nodes.iter().map(|&node| waiting_of_objects(input, contention, node)).collect();
    let column = |columns, values| MetricColumn { columns, values, is_negligible: false };
    vec![
        column(&NPT, of.iter().map(|&(_, npt)| Some((npt?, None))).collect()),
        column(&WAITED, of.iter().map(|&(waited, _)| Some((waited, None))).collect()),
    ]
}

/// Slack and zeroing; what has no lane gains nothing.
fn of_gains(input: &ReportTables<'_>, by: By, nodes: &[Node]) -> Vec<MetricColumn> {
    let Some(gains) = input.details.gains.as_ref().filter(|gains| gains.by == by) else { return Vec::new() };
    let length = gains.length as f64;
    let is_estimated = is_estimated(by) || by == By::ProcessProcedure;
    let samples = is_estimated.then_some(input.analysis.effective_samples.critical);
    let column = |columns, of: fn(&longpole_metrics::Gain) -> f64| {
        let value = |node: &Node| {
            let at = gains.gains.binary_search_by_key(node, |gain| gain.node);
            let value = at.map_or(0.0, |at| of(&gains.gains[at]));
            let error = samples.and_then(|samples| standard_error(percent(value, length), samples));
            Some((value, error.filter(|_| value > 0.0).map(|error| error / 100.0 * length)))
        };
        let values: Vec<_> = nodes.iter().map(value).collect();
        let mut column = MetricColumn { columns, values, is_negligible: false };
        column.is_negligible = percent(column.sum(), length) < LEAST_GAIN;
        column
    };
    let slack = (by != By::Object).then(|| column(&SLACK, |gain| gain.slack));
    slack.into_iter().chain([column(&ZEROING, |gain| gain.zeroing)]).collect()
}

fn of_replays(input: &ReportTables<'_>, nodes: &[Node]) -> Option<MetricColumn> {
    let RowReplays { gains, .. } = replays(input)?;
    let value = |node: &Node| {
        let (_, gain) = gains.iter().find(|(other, _)| other == node)?;
        // The range is what the executions differ by, so a half of it stands for two standard errors.
        Some((gain.middle, Some((gain.high - gain.low) / 4.0)))
    };
    let values: Vec<_> = nodes.iter().map(value).collect();
    let mut column = MetricColumn { columns: &REPLAY, values, is_negligible: false };
    column.is_negligible = percent(column.sum(), input.analysis.elapsed as f64) < LEAST_GAIN;
    Some(column)
}

pub(super) fn replays<'a>(input: &'a ReportTables<'_>) -> Option<&'a RowReplays> {
    input.details.replays.as_ref()?.as_ref().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_sums_to_next_to_nothing_has_no_shares() {
        let values = vec![Some((1.0, None)), Some((-4_514.0, Some(1.0)))];
        let mut column = MetricColumn { columns: &ZEROING, values, is_negligible: false };
        assert_eq!(column.share(1, column.sum()), Some((-451_400.0, Some(100.0))));
        column.is_negligible = true;
        assert_eq!(column.share(1, column.sum()), None);
    }
}
