//! The course of an external metric at a node: its values over a part of the run, and one number of them.
//!
//! At each moment a series has a value or none: a gauge its last number, a counter or amount the rate at which it
//! grows between two numbers. The values of parts become that of their whole at each moment, and only then the mean
//! over a bin is taken, so that a hundred processes of 1 MB one after another are 1 MB and not a hundred.
//!
//! ```text
//!   gauge     1.......3.......|           |: its process ends      mean over the time at which it has a value
//!   counter   0______4__4________10       4 in 7, 0 in 3, 6 in 9   what came in the bin / length of the bin
//!   amount    ·______4__0_________6       the same; the first number, which has none before it, came at its time
//! ```
//! Time: linear in the numbers within the window; for an average, also in parts × changes of which parts have values.

mod parts;
mod pieces;

use longpole_event::{SeriesKind, Time};

use crate::{Aggregation, OutsideNode, Series, TableCalculation, Window};
use parts::SeriesParts;
pub use parts::SeriesTree;
use pieces::WindowBins;

/// Values of a metric at a node, bin by bin.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricCurve {
    /// Where the bins are.
    pub window: Window,
    /// The value of each bin, `NaN` where there is none: of gauges in the metric's unit, else per second.
    pub values: Vec<f64>,
    /// What came in the window, from the numbers and not from the bins; of gauges the sum over time, unit × s.
    pub total: f64,
    /// Seconds of the window at which there is a value.
    pub covered_seconds: f64,
    /// Whether the values are of gauges.
    pub is_gauge: bool,
}

impl MetricCurve {
    /// Of values that are means over their bins already, as those of built-in and derived metrics are.
    #[must_use]
    pub fn of_means(values: Vec<f64>, window: Window) -> MetricCurve {
        let known = values.iter().copied().filter(|value| !value.is_nan());
        let (count, sum) = known.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
        let width = window.width_seconds();
        MetricCurve { window, total: sum * width, covered_seconds: count * width, is_gauge: true, values }
    }

    /// The course as one number; `None` where it has no value.
    #[must_use]
    pub fn table_value(&self, calculation: TableCalculation) -> Option<f64> {
        let mut values = self.values.iter().copied().filter(|value| !value.is_nan());
        let last = values.clone().next_back()?;
        Some(match calculation {
            TableCalculation::Total => self.total,
            TableCalculation::Average if self.is_gauge => self.total / self.covered_seconds,
            TableCalculation::Average => self.total / (self.window.width_seconds() * self.window.bins as f64),
            TableCalculation::Minimum => values.fold(f64::INFINITY, f64::min),
            TableCalculation::Maximum => values.by_ref().fold(f64::NEG_INFINITY, f64::max),
            TableCalculation::Last => last,
        })
    }
}

/// The course at a node of the metric that `series` are of, with their tree; with a label, of that part of it only.
///
/// A node that has a series of its own has that one's values (without a label that of all of the node, if there is
/// one, else its parts together); any other has those of the nodes below it. Where some are gauges, those that are
/// none are left out: their numbers cannot be added.
#[must_use]
pub fn course(
    series: &[Series],
    tree: &SeriesTree,
    of: (OutsideNode, Option<&str>),
    aggregation: Aggregation,
    window: Window,
) -> MetricCurve {
    let parts = SeriesParts::of(series, tree, of);
    let is_gauge = parts.leaves().any(|leaf| leaf.samples == SeriesKind::Gauge);
    let mut bins = WindowBins::new(window, is_gauge);
    let spans: Vec<_> = parts.leaves().map(|leaf| pieces::span(leaf, window)).collect();
    match aggregation {
        Aggregation::Sum => {
            for leaf in parts.leaves() {
                bins.add(leaf, (window.from, window.to), 1.0);
            }
        }
        Aggregation::Average => {
            for (from, to) in epochs(&spans) {
                let weights = parts
                    .weights(&|index| spans[index].is_some_and(|(begin, end)| begin <= from && to <= end));
                for (leaf, weight) in parts.leaves().zip(weights).filter(|&(_, weight)| weight > 0.0) {
                    bins.add(leaf, (from, to), weight);
                }
            }
        }
    }
    bins.cover(spans.into_iter().flatten().collect());
    bins.into_course()
}

/// The times between which the same series have values.
fn epochs(spans: &[Option<(Time, Time)>]) -> Vec<(Time, Time)> {
    let mut edges: Vec<Time> = spans.iter().flatten().flat_map(|&(begin, end)| [begin, end]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

#[cfg(test)]
mod tests;
