//! Tables: charges summed by procedure, line, thread, process or machine (metrics.md §1, "on behalf of").
//!
//! ```text
//!   charged: main > work > work  5,  main  1       procedure   own   inclusive
//!                                                  main          1           6
//!                                                  work          5           5   (once, not twice)
//! ```
//! What was charged where no procedure is known (the empty path) is in no row of a table by procedure or line; it
//! is the difference between [`total`] and the sum of the rows' own measures.
//!
//! Time: the number of charged paths times their depth. Rows come in the order of their nodes.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_trace::{PathId, Paths, Place, Program};

use crate::analysis::{Analysis, By, Measures, Node, Row};

impl Measures {
    /// Adds the other's measures to these.
    pub fn add(&mut self, other: &Measures) {
        self.running += other.running;
        self.spinning += other.spinning;
        self.ready += other.ready;
        add_each(&mut self.blocked, &other.blocked);
        self.blocks += other.blocks;
        add_each(&mut self.npt_terms, &other.npt_terms);
        self.critical_cpu += other.critical_cpu;
        self.critical_elapsed += other.critical_elapsed;
        self.observations += other.observations;
    }
}

fn add_each<T: Copy + Default + std::ops::AddAssign>(sums: &mut Vec<T>, values: &[T]) {
    if sums.len() < values.len() {
        sums.resize(values.len(), T::default());
    }
    for (sum, &value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// The sum of all charges of the selected threads.
pub fn total(analysis: &Analysis, select: impl Fn(ThreadId) -> bool) -> Measures {
    let mut sum = Measures::default();
    for charge in analysis.charges.iter().filter(|charge| select(charge.thread)) {
        sum.add(&charge.measures);
    }
    sum
}

/// The table of the selected threads: a row per node that was charged anything, in the order of the nodes.
pub fn rows(
    analysis: &Analysis,
    program: &Program,
    paths: &Paths,
    by: By,
    select: impl Fn(ThreadId) -> bool,
) -> Vec<Row> {
    let node_of_thread = |thread: ThreadId| match by {
        By::Thread => Some(Node::Thread(thread)),
        By::Process => Some(Node::Process(program.threads[thread.index()].process)),
        By::Machine => Some(Node::Machine(program.machine_of(thread))),
        By::Procedure | By::Line => None,
    };
    let mut table = Table::default();
    let mut by_path: BTreeMap<PathId, Measures> = BTreeMap::new();
    for charge in analysis.charges.iter().filter(|charge| select(charge.thread)) {
        match node_of_thread(charge.thread) {
            Some(node) => table.add(node, &charge.measures),
            None => by_path.entry(charge.path).or_default().add(&charge.measures),
        }
    }
    for (path, measures) in &by_path {
        let node = |place: Place| match by {
            By::Line => Node::Line(place.procedure, place.line),
            _ => Node::Procedure(place.procedure),
        };
        table.add_path(paths.places_of(*path).map(node), measures);
    }
    table.rows.into_values().collect()
}

#[derive(Default)]
struct Table {
    rows: BTreeMap<Node, Row>,
    /// Nodes of the path at hand.
    nodes: Vec<Node>,
}

impl Table {
    fn row(&mut self, node: Node) -> &mut Row {
        let new = || Row { node, own: Measures::default(), inclusive: Measures::default() };
        self.rows.entry(node).or_insert_with(new)
    }

    fn add(&mut self, node: Node, measures: &Measures) {
        let row = self.row(node);
        row.own.add(measures);
        row.inclusive.add(measures);
    }

    fn add_path(&mut self, nodes: impl Iterator<Item = Node>, measures: &Measures) {
        self.nodes.clear();
        self.nodes.extend(nodes);
        let Some(&innermost) = self.nodes.first() else { return };
        self.row(innermost).own.add(measures);
        self.nodes.sort_unstable();
        self.nodes.dedup();
        for node in std::mem::take(&mut self.nodes) {
            self.row(node).inclusive.add(measures);
        }
    }
}
