//! Outside series joined to the program's tree, and everything that is computed of them: time histograms, what
//! metrics are (descriptions), formulas over metrics, and which series move together.
//!
//! In: the `series.log`s of a recording and the [`Program`](longpole_trace::Program) they belong to; curves of built-in
//! metrics from whoever can compute them. Out: histograms, table values and correlations of any metric at any
//! node. `docs/series.md` defines all of it.

mod aggregation;
mod catalogue;
mod correlation;
mod description;
mod expected;
mod formula;
mod metric_curve;
mod nearest;
mod node_metrics;
mod outside;
mod place;
mod series_correlations;
mod text_error;
mod unit;
mod window;

pub use aggregation::{Aggregation, TableCalculation};
pub use catalogue::{BuiltIn, Catalogue, CatalogueMetric, Note, SeriesAnnouncement};
pub use correlation::{
    CandidateSeries, Comparison, Correlation, Correlations, NoCorrelation, TargetBins, TargetCurve, compare,
    correlate,
};
pub use description::{Description, Descriptions, MetricClass, StatedUnit, TreeLevel};
pub use formula::{Evaluated, Formula, FormulaError};
pub use metric_curve::{MetricCurve, SeriesTree, course};
pub use nearest::{did_you_mean, is_like};
pub use node_metrics::{MetricValue, NodeMetrics};
pub use outside::{Outside, OutsideNode, Series};
pub use place::NodeTitle;
pub use series_correlations::{SeriesCorrelation, SeriesCorrelations};
pub use text_error::TextError;
pub use unit::{BadUnit, Unit};
pub use window::Window;
