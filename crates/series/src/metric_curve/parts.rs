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
    pub(super) fn of(
        series: &'a [Series],
        program: &Program,
        node: OutsideNode,
        label: Option<&str>,
    ) -> Self {
        let mut tree = SeriesTree::default();
        let is_gauge = |series: &Series| series.samples == SeriesKind::Gauge;
        let has_gauge = series.iter().any(is_gauge);
        for series in series.iter().filter(|series| is_gauge(series) == has_gauge) {
            if label.is_none_or(|label| series.label == label) {
                tree.add(series, program);
            }
        }
        let mut parts = SeriesParts { leaves: Vec::new(), root: SeriesPart::Whole(Vec::new()) };
        parts.root = tree.part(node, &mut parts.leaves);
        parts
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

/// Nodes with series, and those above them.
#[derive(Debug, Default)]
struct SeriesTree<'a> {
    own: BTreeMap<OutsideNode, Vec<&'a Series>>,
    below: BTreeMap<OutsideNode, BTreeSet<OutsideNode>>,
}

impl<'a> SeriesTree<'a> {
    fn add(&mut self, series: &'a Series, program: &Program) {
        self.own.entry(series.node).or_default().push(series);
        let mut node = series.node;
        while let Some(above) = node.parent(program) {
            if !self.below.entry(above).or_default().insert(node) {
                break;
            }
            node = above;
        }
    }

    fn part(&self, node: OutsideNode, leaves: &mut Vec<&'a Series>) -> SeriesPart {
        let Some(own) = self.own.get(&node) else {
            let below = self.below.get(&node).into_iter().flatten();
            return SeriesPart::Whole(below.map(|&node| self.part(node, leaves)).collect());
        };
        let has_whole = own.iter().any(|series| series.label.is_empty());
        let own = own.iter().filter(|series| !has_whole || series.label.is_empty());
        let leaf = |&series: &&'a Series| {
            leaves.push(series);
            SeriesPart::Leaf(leaves.len() - 1)
        };
        SeriesPart::Whole(own.map(leaf).collect())
    }
}
