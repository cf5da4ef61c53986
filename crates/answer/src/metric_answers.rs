//! What views show of metrics of any class: figures of nodes, lists of metrics, curves.

use std::collections::{BTreeMap, BTreeSet};

use longpole_communication::CommunicationDemand;
use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_metrics::{By, MetricOptions, WorkChange, registry};
use longpole_recording::MeasuredChange;
use longpole_report::{
    IdleProcessor, MeasuredZeroing, NamedChange, OutsideAnswerKind, OutsideAnswers, RecordingNames, View,
    name_of,
};
use longpole_series::{
    Aggregation, CatalogueMetric, MetricClass, MetricValue, NodeMetrics, OutsideNode, SeriesTree,
    TableCalculation, TreeLevel, Window, course,
};
use serde::Serialize;

use crate::correlations::correlations;
use crate::error::Result;
use crate::evaluator::NodeCurve;
use crate::metric_table::MetricTable;
use crate::place::NamedNode;
use crate::question::Question;
use crate::recording::Recording;
use crate::timeline;

/// Bins of the courses in tables.
const BINS: usize = 120;
/// Nodes that a report shows, at most: more is nobody's reading.
const MOST_NODES: usize = 2_000;

/// A metric over time; `docs/page.md` has its shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveAnswer {
    /// The metric's name.
    pub metric: String,
    /// Its title.
    pub title: String,
    /// `built-in`, `external` or `derived`.
    pub class: &'static str,
    /// The unit of the values.
    pub unit: String,
    /// What it is of, as that was asked for.
    pub node: String,
    /// Begin of the window.
    pub from_seconds: f64,
    /// Its end.
    pub to_seconds: f64,
    /// Bins.
    pub bins: u32,
    /// Length of a bin.
    pub width_seconds: f64,
    /// What the metric came to in each bin; NaN where it has no value, which is `null` in JSON.
    pub values: Vec<f64>,
    /// What a reader has to know.
    pub notes: Vec<String>,
}

impl Recording {
    /// What the views need beside the analysis.
    pub(crate) fn outside_answers(&self, views: &[View], question: &Question) -> Result<OutsideAnswers> {
        let mut outside_answers = OutsideAnswers::default();
        let wants = |kind| views.iter().any(|view| view.outside().contains(&kind));
        if wants(OutsideAnswerKind::Figures) {
            outside_answers.figures = self.figures(question)?;
        }
        if wants(OutsideAnswerKind::IdleProcessors) {
            outside_answers.idle_processors = self.idle_processors(question)?;
        }
        let where_recorded =
            || wants(OutsideAnswerKind::CorrelationsWhereRecorded) && self.has_outside_values();
        if wants(OutsideAnswerKind::Correlations) || where_recorded() {
            let metrics = self.metric_table(&question.define)?;
            let ends = self.ends(question.phase.as_deref(), question.io.is_idle())?;
            let found = correlations(&metrics, ends, self.looks_per_second(), question.io.is_idle())?;
            outside_answers.correlations = Some(found);
        }
        if wants(OutsideAnswerKind::Communication) {
            let demand = CommunicationDemand {
                words: wants(OutsideAnswerKind::DataPatterns),
                graphs: wants(OutsideAnswerKind::CausalityGraphs),
                chains: question.explain.is_some(),
            };
            outside_answers.communication =
                self.simulations().get(self.folder(), question.communication, demand)?;
        }
        if wants(OutsideAnswerKind::Zeroings) {
            outside_answers.zeroings = self.zeroings()?;
        }
        Ok(outside_answers)
    }

    /// What leaving something out was measured to gain, as far as the recording knows what it is.
    fn zeroings(&self) -> Result<Vec<MeasuredZeroing>> {
        let measured = self.folder().measured();
        if measured.is_empty() {
            return Ok(Vec::new());
        }
        let trace = self.trace()?;
        let names = timeline::names(&trace);
        let zeroing = |measured: MeasuredChange| {
            let named = NamedChange::parse(&measured.change, &names).ok()?;
            let WorkChange { subject, factor } = named.change;
            let (percent, interval) = (measured.gain_percent, measured.interval_percent);
            (factor == 0.0).then_some(MeasuredZeroing { subject, percent, interval })
        };
        Ok(measured.into_iter().filter_map(zeroing).collect())
    }

    /// How long each processor had nothing to do, by the kernel's accounts.
    fn idle_processors(&self, question: &Question) -> Result<Vec<IdleProcessor>> {
        let (outside, trace) = (self.outside()?, self.trace()?);
        let end = Time::from_nanoseconds(trace.program().elapsed_nanoseconds);
        let (from, to) = match &question.phase {
            Some(phase) => {
                let span = self.span(&trace, phase)?;
                (span.begin(), span.end().unwrap_or(end))
            }
            None => (Time::ZERO, end),
        };
        let window = Window { from, to, bins: 1 };
        let mut idle: BTreeMap<(MachineId, u16), f64> = BTreeMap::new();
        for metric in ["sys_idle_time", "sys_iowait_time"] {
            let all = outside.of(metric);
            let tree = SeriesTree::of(all, trace.program());
            for series in all {
                let processor = series.label.strip_prefix("cpu").and_then(|number| number.parse().ok());
                let (OutsideNode::Machine(machine), Some(processor)) = (series.node, processor) else {
                    continue;
                };
                let of = (series.node, Some(series.label.as_str()));
                let course = course(all, &tree, of, Aggregation::Sum, window);
                *idle.entry((machine, processor)).or_default() +=
                    course.table_value(TableCalculation::Total).unwrap_or(0.0);
            }
        }
        let idle = idle.into_iter();
        Ok(idle
            .map(|((machine, processor), seconds)| IdleProcessor { machine, processor, seconds })
            .collect())
    }

    /// Whether there are outside series to hold against the run.
    fn has_outside_values(&self) -> bool {
        let accounts = self.manifest().machines.iter().flat_map(|machine| &machine.outside);
        accounts.map(|account| account.values).sum::<u64>() > 0
    }

    /// How often the slowest collector that looks by itself has looked.
    fn looks_per_second(&self) -> f64 {
        let accounts = self.manifest().machines.iter().flat_map(|machine| &machine.outside);
        let intervals =
            accounts.filter(|account| account.values > 0).filter_map(|account| account.interval_seconds);
        1.0 / intervals.fold(0.001, f64::max)
    }

    /// A metric over time.
    ///
    /// # Errors
    /// All of [`Error`].
    pub fn curve(&self, course: &timeline::CurveRequest) -> Result<CurveAnswer> {
        let evaluator = self.evaluator(&course.define, course.io.is_idle())?;
        let window = evaluator.window(course.stretch.times(evaluator.index.elapsed()), course.bins as usize);
        let metric = evaluator.metrics.metric(&course.metric)?;
        let node = NamedNode::named(&evaluator.metrics.names(), &course.node);
        let found = evaluator.course(metric, &node, window)?;
        let seconds = |time: Time| time.nanoseconds() as f64 / 1e9;
        Ok(CurveAnswer {
            metric: metric.name.clone(),
            title: metric.title.clone(),
            class: metric.class.name(),
            unit: metric.unit_label.clone(),
            node: course.node.clone(),
            from_seconds: seconds(window.from),
            to_seconds: seconds(window.to),
            bins: course.bins,
            width_seconds: window.width_seconds(),
            values: found.course.values,
            notes: found.notes,
        })
    }

    /// Begin and end of a phase, or of the run.
    fn ends(&self, phase: Option<&str>, io_idle: bool) -> Result<(Time, Time)> {
        let choices = MetricOptions { io_idle, ..MetricOptions::default() };
        let end = Time::from_nanoseconds(self.analysed(None, choices)?.analysis().elapsed);
        let Some(phase) = phase else { return Ok((Time::ZERO, end)) };
        let span = self.span(&*self.trace()?, phase)?;
        Ok((span.begin().min(end), span.end().map_or(end, |to| to.min(end))))
    }

    /// Metrics of one node, or of the nodes of the tree down to a level.
    fn figures(&self, question: &Question) -> Result<Vec<NodeMetrics>> {
        let evaluator = self.evaluator(&question.define, question.io.is_idle())?;
        let metrics = &evaluator.metrics;
        let names = metrics.names();
        let ends = self.ends(question.phase.as_deref(), question.io.is_idle())?;
        let window = evaluator.window(ends, BINS);
        let nodes: Vec<(NamedNode, String, usize)> = match &question.of {
            Some(of) => {
                let node = NamedNode::named(&names, of);
                node.outside(&names)?;
                vec![(node, format!("`{of}`"), 0)]
            }
            None => tree(&names, levels(question.by)),
        };
        let wanted: Vec<&CatalogueMetric> = if question.metrics.is_empty() {
            metrics.catalogue.metrics().iter().collect()
        } else {
            question.metrics.iter().map(|name| metrics.metric(name)).collect::<Result<_>>()?
        };
        let is_one = nodes.len() == 1;
        let origins: Vec<String> = wanted.iter().map(|metric| metrics.origin(metric)).collect();
        let mut all = Vec::new();
        for (node, name, depth) in nodes {
            let mut figures = Vec::new();
            for (metric, origin) in wanted.iter().zip(&origins) {
                match evaluator.course(metric, &node, window) {
                    Ok(found) => figures.extend(figure(metric, origin, found)),
                    // What was asked for by its name has to say why it is not there; of several nodes some have it.
                    Err(error) if is_one && !question.metrics.is_empty() => return Err(error),
                    Err(_) => {}
                }
            }
            // Those that the user made first, then those that need no explanation.
            figures.sort_by_key(|figure| std::cmp::Reverse(figure.class));
            let notes = if all.is_empty() { metrics.notes.clone() } else { Vec::new() };
            all.push(NodeMetrics { node: node.text, name, depth, figures, notes });
        }
        Ok(all)
    }
}

/// Every metric that the recording can show; `docs/page.md` has its shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricList {
    /// The metrics.
    pub metrics: Vec<ListedMetric>,
    /// What was refused or renamed.
    pub notes: Vec<String>,
}

/// A metric of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedMetric {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Unit of its total.
    pub unit: String,
    /// What it means, or how its values are read.
    pub explanation: String,
    /// Where it is defined.
    pub source: String,
    /// Its group: of an external one the collector.
    pub group: String,
    /// `built-in`, `external` or `derived`.
    pub class: &'static str,
    /// The lowest level of the tree that has values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<&'static str>,
    /// Whether there is a curve of it.
    pub has_curve: bool,
    /// Nodes that have values; absent where any node can be asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<String>>,
    /// Of a derived one, how it is computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
}

/// Nodes of a metric that are listed, at most.
const LISTED_NODES: usize = 400;

impl Recording {
    /// Every metric that can be shown, with these defined too.
    ///
    /// # Errors
    /// All of [`Error`](crate::Error).
    pub fn metrics(&self, define: &[String]) -> Result<MetricList> {
        let table = self.metric_table(define)?;
        let metrics = table.catalogue.metrics().iter().map(|metric| table.listed(metric)).collect();
        Ok(MetricList { metrics, notes: table.notes.clone() })
    }
}

/// How the values of an external or derived metric are read.
fn about(metric: &CatalogueMetric) -> String {
    let how = match metric.samples {
        Some(samples) => format!("Read as a {}. ", samples.name()),
        None => "Computed bin by bin. ".to_owned(),
    };
    let up = match metric.aggregation {
        _ if metric.class == MetricClass::Derived => "It is computed anew at every node",
        Aggregation::Sum => "Values of parts of the tree add up",
        Aggregation::Average => "Of parts of the tree the mean is taken",
    };
    format!("{how}{up}; tables have its {} over time.", metric.calculation.name())
}

impl MetricTable {
    /// Collector or formula.
    fn origin(&self, metric: &CatalogueMetric) -> String {
        match &metric.formula {
            Some(formula) => formula.text().to_owned(),
            None => self.collectors(metric),
        }
    }

    fn collectors(&self, metric: &CatalogueMetric) -> String {
        let mut names: Vec<&str> =
            self.series(metric).iter().map(|series| series.collector.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    }

    fn group(&self, metric: &CatalogueMetric) -> String {
        match metric.class {
            MetricClass::Derived => "derived".to_owned(),
            _ => self.collectors(metric),
        }
    }

    fn listed(&self, metric: &CatalogueMetric) -> ListedMetric {
        let program = self.trace.program();
        let known = registry::metric(&metric.name).filter(|_| metric.class == MetricClass::BuiltIn);
        let nodes = (metric.class == MetricClass::External).then(|| self.series_tree(metric).1.nodes());
        let level = nodes.and_then(|nodes| nodes.last()).map(|&node| TreeLevel::from(node).name());
        let texts = |nodes: &BTreeSet<OutsideNode>| {
            nodes.iter().take(LISTED_NODES).map(|node| node.place(program).node).collect()
        };
        ListedMetric {
            name: metric.name.clone(),
            title: metric.title.clone(),
            unit: metric.table_unit_label.clone(),
            explanation: known.map_or_else(|| about(metric), |known| known.explanation.to_owned()),
            source: known.map_or("", |known| known.source).to_owned(),
            group: known.map_or_else(|| self.group(metric), |known| known.group.title().to_owned()),
            class: metric.class.name(),
            level,
            has_curve: true,
            nodes: nodes.map(texts),
            formula: metric.formula.as_ref().map(|formula| formula.text().to_owned()),
        }
    }
}

/// Levels below the program that rows of this kind reach.
fn levels(by: By) -> usize {
    match by {
        By::Machine => 1,
        By::Process => 2,
        By::Thread => 3,
        By::Procedure | By::Line | By::Object | By::ProcessProcedure => 0,
    }
}

/// The nodes of the tree down to a level, each with its name and depth: the first of them, as many as a report shows.
fn tree(names: &RecordingNames<'_>, levels: usize) -> Vec<(NamedNode, String, usize)> {
    let program = names.program;
    let mut nodes = vec![OutsideNode::Program];
    nodes.extend((0..program.machines.len()).map(|id| OutsideNode::Machine(MachineId::from_index(id))));
    nodes.extend((0..program.processes.len()).map(|id| OutsideNode::Process(ProcessId::from_index(id))));
    nodes.extend((0..program.threads.len()).map(|id| OutsideNode::Thread(ThreadId::from_index(id))));
    let above = |node: OutsideNode| {
        let mut above: Vec<OutsideNode> =
            std::iter::successors(Some(node), |node| node.parent(program)).collect();
        above.reverse();
        above
    };
    // In the order of what they are in, down from the program.
    nodes.sort_by_cached_key(|&node| above(node));
    let depth = |node: OutsideNode| above(node).len() - 1;
    let shown = nodes.into_iter().filter(|&node| depth(node) <= levels).take(MOST_NODES);
    let named = |node: OutsideNode| match node {
        OutsideNode::Program => "the program".to_owned(),
        node => name_of(program, node),
    };
    shown.map(|node| (NamedNode::of(names, node), named(node), depth(node))).collect()
}

/// The metric as tables show it; `None` where it has no value at all and nobody asked for it alone.
fn figure(metric: &CatalogueMetric, origin: &str, found: NodeCurve) -> Option<MetricValue> {
    // None where no bin has a value.
    let value = found.course.table_value(metric.calculation)?;
    Some(MetricValue {
        metric: metric.name.clone(),
        title: metric.title.clone(),
        class: metric.class,
        origin: origin.to_owned(),
        calculation: metric.calculation.name(),
        value: Some(value),
        unit: metric.table_unit_label.clone(),
        course: found.course.values,
        course_unit: metric.unit_label.clone(),
        notes: found.notes,
    })
}
