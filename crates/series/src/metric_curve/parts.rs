//! Which series make up the value of a node, and how much each weighs in an average.
//!
//! ```text
//!   machine          mean of A and B:    A 1/2   its thread a 1/2 · 1 = 1/2
//!   ├ process A      ── thread a                     
//!   └ process B      ── threads b, c     B 1/2   its threads b and c 1/2 · 1/2 = 1/4 each
//! ```

use std::collections::{BTreeMap, BTreeSet};

use longpole_event::SeriesKind;
use longpole_trace::Program;

use crate::{OutsideNode, Series};

/// The series of a metric by the nodes that they are of, so that each node's are found without a look at all others.
#[derive(Clone, Debug)]
pub struct SeriesTree {
    /// The series of each node, those that are added up alone, by their places among all of the metric.
    own: BTreeMap<OutsideNode, Vec<usize>>,
    below: BTreeMap<OutsideNode, BTreeSet<OutsideNode>>,
    /// The nodes of all series, and all above them.
    nodes: BTreeSet<OutsideNode>,
}

/// The series below a node, as far as they make up its value.
#[derive(Debug)]
pub(super) struct SeriesParts<'a> {
    leaves: Vec<&'a Series>,
    root: SeriesPart,
}

#[derive(Debug)]
enum SeriesPart {
    Leaf(usize),
    Whole(Vec<SeriesPart>),
}

impl<'a> SeriesParts<'a> {
    /// Of the node in the metric's tree; with a label, those with that one alone.
    pub(super) fn of(
        series: &'a [Series],
        tree: &SeriesTree,
        (node, label): (OutsideNode, Option<&str>),
    ) -> Self {
        let mut leaves = Vec::new();
        let root = tree.part(series, (node, label), &mut leaves);
        SeriesParts { leaves, root }
    }

    /// The series, in the order of nodes and labels.
    pub(super) fn leaves(&self) -> impl Iterator<Item = &'a Series> + '_ {
        self.leaves.iter().copied()
    }

    /// What each series weighs in the mean of those that are there; 0 of one that is not.
    pub(super) fn weights(&self, is_there: &dyn Fn(usize) -> bool) -> Vec<f64> {
        let mut weights = vec![0.0; self.leaves.len()];
        self.root.weigh(1.0, is_there, &mut weights);
        weights
    }
}

impl SeriesPart {
    fn is_there(&self, is_there: &dyn Fn(usize) -> bool) -> bool {
        match self {
            SeriesPart::Leaf(index) => is_there(*index),
            SeriesPart::Whole(parts) => parts.iter().any(|part| part.is_there(is_there)),
        }
    }

    fn weigh(&self, weight: f64, is_there: &dyn Fn(usize) -> bool, weights: &mut [f64]) {
        match self {
            SeriesPart::Leaf(index) => weights[*index] = if is_there(*index) { weight } else { 0.0 },
            SeriesPart::Whole(parts) => {
                let there: Vec<_> = parts.iter().filter(|part| part.is_there(is_there)).collect();
                for part in &there {
                    part.weigh(weight / there.len() as f64, is_there, weights);
                }
            }
        }
    }
}

impl SeriesTree {
    /// Of no series.
    pub const EMPTY: SeriesTree =
        SeriesTree { own: BTreeMap::new(), below: BTreeMap::new(), nodes: BTreeSet::new() };

    /// The tree of a metric's series. Where some are gauges, those that are none are left out of all values.
    #[must_use]
    pub fn of(series: &[Series], program: &Program) -> SeriesTree {
        let is_gauge = |series: &Series| series.samples == SeriesKind::Gauge;
        let has_gauge = series.iter().any(is_gauge);
        let mut tree = SeriesTree::EMPTY;
        for (index, series) in series.iter().enumerate() {
            let mut nodes = std::iter::successors(Some(series.node), |node| node.parent(program));
            while nodes.next().is_some_and(|node| tree.nodes.insert(node)) {}
            if is_gauge(series) == has_gauge {
                tree.add(index, series.node, program);
            }
        }
        tree
    }

    /// The nodes at which the metric has values: those of its series, and all above them.
    #[must_use]
    pub fn nodes(&self) -> &BTreeSet<OutsideNode> {
        &self.nodes
    }

    fn add(&mut self, index: usize, mut node: OutsideNode, program: &Program) {
        self.own.entry(node).or_default().push(index);
        while let Some(above) = node.parent(program) {
            if !self.below.entry(above).or_default().insert(node) {
                break;
            }
            node = above;
        }
    }

    fn part<'a>(
        &self,
        series: &'a [Series],
        (node, label): (OutsideNode, Option<&str>),
        leaves: &mut Vec<&'a Series>,
    ) -> SeriesPart {
        let own = self.own.get(&node).into_iter().flatten().map(|&index| &series[index]);
        let own: Vec<&Series> = own.filter(|one| label.is_none_or(|label| one.label == label)).collect();
        if own.is_empty() {
            let below = self.below.get(&node).into_iter().flatten();
            return SeriesPart::Whole(below.map(|&node| self.part(series, (node, label), leaves)).collect());
        }
        let has_whole = own.iter().any(|series| series.label.is_empty());
        let own = own.into_iter().filter(|series| !has_whole || series.label.is_empty());
        let leaf = |series: &'a Series| {
            leaves.push(series);
            SeriesPart::Leaf(leaves.len() - 1)
        };
        SeriesPart::Whole(own.map(leaf).collect())
    }
}
