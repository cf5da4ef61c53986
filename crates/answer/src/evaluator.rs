//! Any metric at any node over time: built in, from outside, or made of others by a formula.

use std::collections::BTreeSet;
use std::sync::Arc;

use longpole_event::Time;
use longpole_metrics::registry;
use longpole_recording::MetricFile;
use longpole_report::RecordingNames;
use longpole_series::{
    Aggregation, BuiltIn, Catalogue, CatalogueMetric, Descriptions, MetricClass, MetricCurve, Note, Outside,
    OutsideNode, SeriesAnnouncement, TableCalculation, Window,
};
use longpole_timeline::{CurveQuestion, Index, curve_metrics};
use longpole_trace::Trace;

use crate::error::{Error, Result};
use crate::place::NodesOfName;

/// The file in which a recording keeps what is known of its collectors' metrics.
const COLLECTORS: &str = "collectors.toml";

/// What computes metrics.
#[derive(Debug)]
pub(crate) struct MetricEvaluator {
    pub trace: Arc<Trace>,
    pub index: Arc<Index>,
    pub outside: Arc<Outside>,
    pub catalogue: Catalogue,
    /// What was refused, renamed or could not be placed.
    pub notes: Vec<String>,
}

/// A metric at a node, bin by bin.
#[derive(Clone, Debug)]
pub(crate) struct NodeCurve {
    pub course: MetricCurve,
    /// What a reader has to know.
    pub notes: Vec<String>,
}

impl MetricEvaluator {
    /// Of a recording, with what files and definitions say of metrics. What a file of the recording says wrong is a note;
    /// a definition that cannot be understood is an error, for somebody asked for it.
    ///
    /// # Errors
    /// [`Error::Definition`].
    pub fn new(
        (trace, index, outside): (Arc<Trace>, Arc<Index>, Arc<Outside>),
        files: &[MetricFile],
        define: &[String],
    ) -> Result<MetricEvaluator> {
        let mut notes = outside.notes.clone();
        let mut descriptions = Vec::new();
        let mut names = BTreeSet::new();
        for file in files {
            let mut described = Descriptions::parse(&file.text, &file.name).map_err(Error::Definition)?;
            notes.extend(described.notes.iter().cloned());
            // What the recorder knew of its collectors goes behind what anybody says.
            if file.name == COLLECTORS {
                described.descriptions.retain(|one| !names.contains(&one.name));
            }
            names.extend(described.descriptions.iter().map(|one| one.name.clone()));
            descriptions.push(described);
        }
        let announced: Vec<SeriesAnnouncement> = outside.series.iter().map(SeriesAnnouncement::of).collect();
        let (catalogue, said) = Catalogue::new(&built_in(), &announced, descriptions, define);
        for note in said {
            match note {
                Note::Refused { define: Some(_), error, .. } => return Err(Error::Definition(error)),
                note => notes.push(note.to_string()),
            }
        }
        Ok(MetricEvaluator { trace, index, outside, catalogue, notes })
    }

    /// What things are called.
    pub fn names(&self) -> RecordingNames<'_> {
        RecordingNames {
            program: self.trace.program(),
            paths: self.trace.paths(),
            objects: self.trace.objects(),
        }
    }

    /// The whole run, or a part of it, in bins.
    pub fn window(&self, (from, to): (Time, Time), bins: usize) -> Window {
        let end = Time::from_nanoseconds(self.index.elapsed());
        let (from, to) = (from.min(end), to.min(end));
        Window { from, to: to.max(from), bins: bins.max(1) }
    }

    /// The metric of this name.
    ///
    /// # Errors
    /// [`Error::UnknownMetric`].
    pub fn metric(&self, name: &str) -> Result<&CatalogueMetric> {
        let unknown = || Error::UnknownMetric { name: name.to_owned(), hint: self.catalogue.hint(name) };
        self.catalogue.metric(name).ok_or_else(unknown)
    }

    /// The metric at the node, bin by bin. What a formula is made of and the node does not have is taken from the
    /// nearest above that has it.
    ///
    /// # Errors
    /// [`Error::NoValueThere`]; those of names and curves.
    pub fn course(&self, metric: &CatalogueMetric, node: &str, window: Window) -> Result<NodeCurve> {
        match metric.class {
            MetricClass::BuiltIn => self.built_in(metric, node, window),
            MetricClass::External => {
                let place = NodesOfName::named(&self.names(), node)?;
                match self.above(metric, &place) {
                    Some(known) if known == place => {
                        Ok(NodeCurve { course: self.external(metric, &place, window), notes: Vec::new() })
                    }
                    _ => Err(self.not_there(metric, node)),
                }
            }
            MetricClass::Derived => self.derived(metric, node, window),
        }
    }

    fn built_in(&self, metric: &CatalogueMetric, node: &str, window: Window) -> Result<NodeCurve> {
        let bins = u32::try_from(window.bins).unwrap_or(u32::MAX);
        let question =
            CurveQuestion { metric: &metric.name, node, from: window.from, to: Some(window.to), bins };
        let curve = self.index.curve(&self.names(), &question)?;
        Ok(NodeCurve { course: MetricCurve::of_means(curve.values, window), notes: Vec::new() })
    }

    /// Of a place that has it.
    fn external(&self, metric: &CatalogueMetric, place: &NodesOfName, window: Window) -> MetricCurve {
        let (series, program) = (self.series(metric), self.trace.program());
        let label = place.label.as_deref();
        let course = |&node: &OutsideNode| {
            longpole_series::course(series, program, (node, label), metric.aggregation, window)
        };
        together(place.nodes.iter().map(course).collect(), metric.aggregation)
    }

    fn derived(&self, metric: &CatalogueMetric, node: &str, window: Window) -> Result<NodeCurve> {
        let place = NodesOfName::named(&self.names(), node)?;
        let mut notes = Vec::new();
        let mut operand = |found: &CatalogueMetric| -> Result<Vec<f64>> {
            if found.class == MetricClass::BuiltIn {
                return Ok(self.built_in(found, node, window)?.course.values);
            }
            let above = self.above(found, &place).ok_or_else(|| self.not_there(found, node))?;
            if above.nodes != place.nodes {
                let texts = above.nodes.iter().map(|&node| node.place(self.trace.program()).node);
                let texts: Vec<String> = texts.collect();
                notes.push(format!("`{}` is not known of {node}: taken of {}", found.name, texts.join(", ")));
            }
            Ok(self.external(found, &above, window).values)
        };
        let computed = self.catalogue.evaluate(&metric.name, &window, &mut operand)?;
        let computed = computed.expect("the metric is of this catalogue");
        let by_zero = computed.divided_by_zero;
        if by_zero > 0 {
            notes.push(format!(
                "`{}` of {node} has no value in {by_zero} of {} bins: division by zero",
                metric.name, window.bins
            ));
        }
        Ok(NodeCurve { course: MetricCurve::of_means(computed.values, window), notes })
    }

    /// The series of an external metric.
    pub fn series(&self, metric: &CatalogueMetric) -> &[longpole_series::Series] {
        metric.series.as_ref().map_or(&[], |name| self.outside.of(name))
    }

    fn above(&self, metric: &CatalogueMetric, place: &NodesOfName) -> Option<NodesOfName> {
        place.above_with(self.series(metric), self.trace.program())
    }

    fn not_there(&self, metric: &CatalogueMetric, node: &str) -> Error {
        let program = self.trace.program();
        let known = longpole_series::nodes(self.series(metric), program);
        let texts: Vec<String> = known.iter().take(8).map(|&node| node.place(program).node).collect();
        let known = if texts.is_empty() { "nothing in this recording".to_owned() } else { texts.join(", ") };
        Error::NoValueThere { metric: metric.name.clone(), node: node.to_owned(), known }
    }
}

/// The built-in metrics that have curves.
fn built_in() -> Vec<BuiltIn> {
    let described = |metric: &&registry::MetricDefinition| BuiltIn {
        name: metric.name.to_owned(),
        title: metric.title.to_owned(),
        unit: registry::MetricUnit::Threads.name().to_owned(),
        calculation: match metric.unit {
            registry::MetricUnit::Seconds => TableCalculation::Total,
            _ => TableCalculation::Average,
        },
    };
    curve_metrics().iter().map(described).collect()
}

/// Courses of several nodes of one name as one: there is at least one.
fn together(mut courses: Vec<MetricCurve>, aggregation: Aggregation) -> MetricCurve {
    let mut whole = courses.swap_remove(0);
    if courses.is_empty() {
        return whole;
    }
    let mut counts: Vec<f64> =
        whole.values.iter().map(|value| if value.is_nan() { 0.0 } else { 1.0 }).collect();
    for course in &courses {
        for ((sum, count), &value) in whole.values.iter_mut().zip(&mut counts).zip(&course.values) {
            if !value.is_nan() {
                *sum = if sum.is_nan() { value } else { *sum + value };
                *count += 1.0;
            }
        }
        whole.total += course.total;
        whole.covered_seconds = whole.covered_seconds.max(course.covered_seconds);
    }
    if aggregation == Aggregation::Average {
        whole.values.iter_mut().zip(&counts).for_each(|(sum, count)| *sum /= count);
        whole.total /= courses.len() as f64 + 1.0;
    }
    whole
}
