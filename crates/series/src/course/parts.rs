//! Which series make up the value of a node, and how much each weighs in an average.
//!
//! ```text
//!   machine          mean of A and B:    A 1/2   its thread a 1/2 · 1 = 1/2
//!   ├ process A      ── thread a                     
//!   └ process B      ── threads b, c     B 1/2   its threads b and c 1/2 · 1/2 = 1/4 each
//! ```

use std::collections::{BTreeMap, BTreeSet};

use longpole_event::Samples;
use longpole_trace::Program;

use crate::{Node, Series};

/// The series below a node, as far as they make up its value.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    leaves: Vec<&'a Series>,
    root: Part,
}

#[derive(Debug)]
enum Part {
    Leaf(usize),
    Whole(Vec<Part>),
}

impl<'a> Parts<'a> {
    pub(super) fn of(series: &'a [Series], program: &Program, node: Node, label: Option<&str>) -> Self {
        let mut tree = Tree::default();
        let is_gauge = |series: &Series| series.samples == Samples::Gauge;
        let has_gauge = series.iter().any(is_gauge);
        for series in series.iter().filter(|series| is_gauge(series) == has_gauge) {
            if label.is_none_or(|label| series.label == label) {
                tree.add(series, program);
            }
        }
        let mut parts = Parts { leaves: Vec::new(), root: Part::Whole(Vec::new()) };
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

impl Part {
    fn is_there(&self, is_there: &dyn Fn(usize) -> bool) -> bool {
        match self {
            Part::Leaf(index) => is_there(*index),
            Part::Whole(parts) => parts.iter().any(|part| part.is_there(is_there)),
        }
    }

    fn weigh(&self, weight: f64, is_there: &dyn Fn(usize) -> bool, weights: &mut [f64]) {
        match self {
            Part::Leaf(index) => weights[*index] = if is_there(*index) { weight } else { 0.0 },
            Part::Whole(parts) => {
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
struct Tree<'a> {
    own: BTreeMap<Node, Vec<&'a Series>>,
    below: BTreeMap<Node, BTreeSet<Node>>,
}

impl<'a> Tree<'a> {
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

    fn part(&self, node: Node, leaves: &mut Vec<&'a Series>) -> Part {
        let Some(own) = self.own.get(&node) else {
            let below = self.below.get(&node).into_iter().flatten();
            return Part::Whole(below.map(|&node| self.part(node, leaves)).collect());
        };
        let has_whole = own.iter().any(|series| series.label.is_empty());
        let own = own.iter().filter(|series| !has_whole || series.label.is_empty());
        let leaf = |&series: &&'a Series| {
            leaves.push(series);
            Part::Leaf(leaves.len() - 1)
        };
        Part::Whole(own.map(leaf).collect())
    }
}
