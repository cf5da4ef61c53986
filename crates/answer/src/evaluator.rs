//! Any metric at any node over time: built in, from outside, or made of others by a formula.

use std::sync::Arc;

use longpole_event::Time;
use longpole_series::{CatalogueMetric, MetricClass, MetricCurve, Window};
use longpole_timeline::{CurveQuestion, Index};

use crate::error::Result;
use crate::metric_table::MetricTable;
use crate::place::NamedNode;

/// What computes metrics.
#[derive(Debug)]
pub(crate) struct MetricEvaluator {
    pub metrics: Arc<MetricTable>,
    pub index: Arc<Index>,
}

/// A metric at a node, bin by bin.
#[derive(Clone, Debug)]
pub(crate) struct NodeCurve {
    pub course: MetricCurve,
    /// What a reader has to know.
    pub notes: Vec<String>,
}

impl MetricEvaluator {
    /// The whole run, or a part of it, in bins.
    pub fn window(&self, (from, to): (Time, Time), bins: usize) -> Window {
        let end = Time::from_nanoseconds(self.index.elapsed());
        let (from, to) = (from.min(end), to.min(end));
        Window { from, to: to.max(from), bins: bins.max(1) }
    }

    /// The metric at the node, bin by bin. What a formula is made of and the node does not have is taken from the
    /// nearest above that has it.
    ///
    /// # Errors
    /// [`Error::NoValueThere`]; those of names and curves.
    pub fn course(&self, metric: &CatalogueMetric, node: &NamedNode, window: Window) -> Result<NodeCurve> {
        match metric.class {
            MetricClass::BuiltIn => self.built_in(metric, node, window),
            MetricClass::External => {
                let place = node.outside(&self.metrics.names())?;
                match self.metrics.above(metric, place) {
                    Some(known) if known == *place => Ok(NodeCurve {
                        course: self.metrics.external(metric, place, window),
                        notes: Vec::new(),
                    }),
                    _ => Err(self.metrics.not_there(metric, &node.text)),
                }
            }
            MetricClass::Derived => self.derived(metric, node, window),
        }
    }

    fn built_in(&self, metric: &CatalogueMetric, node: &NamedNode, window: Window) -> Result<NodeCurve> {
        let bins = u32::try_from(window.bins).unwrap_or(u32::MAX);
        let names = self.metrics.names();
        let node = node.curve(&names)?;
        let question =
            CurveQuestion { metric: &metric.name, node, from: window.from, to: Some(window.to), bins };
        let values = self.index.curve(&names, &question)?;
        Ok(NodeCurve { course: MetricCurve::of_means(values, window), notes: Vec::new() })
    }

    fn derived(&self, metric: &CatalogueMetric, node: &NamedNode, window: Window) -> Result<NodeCurve> {
        let place = node.outside(&self.metrics.names())?;
        let name = &node.text;
        let mut notes = Vec::new();
        let mut operand = |found: &CatalogueMetric| -> Result<Vec<f64>> {
            if found.class == MetricClass::BuiltIn {
                return Ok(self.built_in(found, node, window)?.course.values);
            }
            let above =
                self.metrics.above(found, place).ok_or_else(|| self.metrics.not_there(found, name))?;
            if above.nodes != place.nodes {
                let texts = above.nodes.iter().map(|&node| node.place(self.metrics.trace.program()).node);
                let texts: Vec<String> = texts.collect();
                notes.push(format!("`{}` is not known of {name}: taken of {}", found.name, texts.join(", ")));
            }
            Ok(self.metrics.external(found, &above, window).values)
        };
        let computed = self.metrics.catalogue.evaluate(&metric.name, &window, &mut operand)?;
        let computed = computed.expect("the metric is of this catalogue");
        let by_zero = computed.divided_by_zero;
        if by_zero > 0 {
            notes.push(format!(
                "`{}` of {name} has no value in {by_zero} of {} bins: division by zero",
                metric.name, window.bins
            ));
        }
        Ok(NodeCurve { course: MetricCurve::of_means(computed.values, window), notes })
    }
}
