//! Every metric of a recording by its name, and the series of those from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use longpole_metrics::registry;
use longpole_recording::MetricFile;
use longpole_report::RecordingNames;
use longpole_series::{
    Aggregation, BuiltIn, Catalogue, CatalogueMetric, Descriptions, MetricCurve, Note, Outside, OutsideNode,
    Series, SeriesAnnouncement, SeriesTree, TableCalculation, Window,
};
use longpole_timeline::curve_metrics;
use longpole_trace::Trace;

use crate::error::{Error, Result};
use crate::place::NodesOfName;
use crate::timeline;

/// The file in which a recording keeps what is known of its collectors' metrics.
const COLLECTORS: &str = "collectors.toml";

/// The metrics of a recording.
#[derive(Debug)]
pub(crate) struct MetricTable {
    pub trace: Arc<Trace>,
    pub outside: Arc<Outside>,
    pub catalogue: Catalogue,
    /// The series of the outside metrics by their nodes.
    trees: BTreeMap<String, SeriesTree>,
    /// What was refused, renamed or could not be placed.
    pub notes: Vec<String>,
}

impl MetricTable {
    /// Of a recording, with what files and definitions say of metrics. What a file of the recording says wrong is a note;
    /// a definition that cannot be understood is an error, for somebody asked for it.
    ///
    /// # Errors
    /// [`Error::Definition`].
    pub fn new(
        (trace, outside): (Arc<Trace>, Arc<Outside>),
        files: &[MetricFile],
        define: &[String],
    ) -> Result<MetricTable> {
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
        let tree = |series: &[Series]| (series[0].metric.clone(), SeriesTree::of(series, trace.program()));
        let trees = outside.metrics().map(tree).collect();
        Ok(MetricTable { trees, trace, outside, catalogue, notes })
    }

    /// What things are called.
    pub fn names(&self) -> RecordingNames<'_> {
        timeline::names(&self.trace)
    }

    /// The metric of this name.
    ///
    /// # Errors
    /// [`Error::UnknownMetric`].
    pub fn metric(&self, name: &str) -> Result<&CatalogueMetric> {
        let unknown = || Error::UnknownMetric { name: name.to_owned(), hint: self.catalogue.hint(name) };
        self.catalogue.metric(name).ok_or_else(unknown)
    }

    /// Of a place that has it.
    pub fn external(&self, metric: &CatalogueMetric, place: &NodesOfName, window: Window) -> MetricCurve {
        let (series, tree) = self.series_tree(metric);
        let label = place.label.as_deref();
        let course = |&node: &OutsideNode| {
            longpole_series::course(series, tree, (node, label), metric.aggregation, window)
        };
        together(place.nodes.iter().map(course).collect(), metric.aggregation)
    }

    /// The series of an external metric.
    pub fn series(&self, metric: &CatalogueMetric) -> &[Series] {
        self.series_tree(metric).0
    }

    /// The same with the tree of them.
    pub fn series_tree(&self, metric: &CatalogueMetric) -> (&[Series], &SeriesTree) {
        static NONE: SeriesTree = SeriesTree::EMPTY;
        let of = |name: &String| Some((self.outside.of(name), self.trees.get(name)?));
        metric.series.as_ref().and_then(of).unwrap_or((&[], &NONE))
    }

    /// The place, or the nearest above it, that has the metric.
    pub fn above(&self, metric: &CatalogueMetric, place: &NodesOfName) -> Option<NodesOfName> {
        place.above_with(self.series_tree(metric), self.trace.program())
    }

    /// Says where it has values.
    pub fn not_there(&self, metric: &CatalogueMetric, node: &str) -> Error {
        let program = self.trace.program();
        let known = self.series_tree(metric).1.nodes();
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
