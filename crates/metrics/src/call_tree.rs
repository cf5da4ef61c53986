//! The tree of logical call paths with what was charged on them (metrics.md §1): what flame graphs are drawn from.
//!
//! ```text
//!   charged: main:3 > work 5, main:4 > work 2, main 1     all  own 0, inclusive 8
//!                                                         └ main  own 1, inclusive 8
//!                                                           └ work  own 7, inclusive 7
//! ```
//! Paths are merged by procedure, whatever the lines of the calls. A procedure that calls itself is below itself, so
//! that inclusive figures are sums: those of a node are its own and those of its children.
//!
//! The root stands for everything that was charged; its own part is what was charged where no procedure is known. In
//! a tree of one procedure the root is that procedure, as it is met first on each path.
//!
//! Time and memory: one step per node of the tree of charged paths.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_trace::{PathId, Paths, ProcedureId};
use rustc_hash::FxHashMap;

use crate::analysis::{Analysis, Measures};

/// A tree of call paths: the root first, each node after the one that it is below.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    /// The nodes.
    pub nodes: Vec<CallNode>,
}

/// A procedure on one call path.
#[derive(Clone, Debug, Default)]
pub struct CallNode {
    /// Index of the node that it is below; `None` for the root.
    pub parent: Option<usize>,
    /// The procedure; `None` for a root that stands for everything.
    pub procedure: Option<ProcedureId>,
    /// The line of the procedure at which most of the inclusive time passed, on a processor or waiting; 0 where
    /// no line is known.
    pub line: u32,
    /// Charged to paths that end here.
    pub own: Measures,
    /// Charged to paths that end here or further in.
    pub inclusive: Measures,
}

/// The tree of what was charged to the selected threads: all of it, or what was done on behalf of `of`.
#[must_use]
pub fn call_tree(
    analysis: &Analysis,
    paths: &Paths,
    of: Option<ProcedureId>,
    select: impl Fn(ThreadId) -> bool,
) -> CallTree {
    let mut growth = Growth::new(paths, of);
    let mut times: BTreeMap<PathId, u64> = BTreeMap::new();
    for charge in analysis.charges.iter().filter(|charge| select(charge.thread)) {
        if let Some(node) = growth.node(charge.path) {
            growth.nodes[node].own.add(&charge.measures);
            *times.entry(charge.path).or_default() += time(&charge.measures);
        }
    }
    let lines = growth.lines(times);
    let mut nodes = growth.nodes;
    for (node, line) in lines {
        nodes[node].line = line;
    }
    for node in &mut nodes {
        node.inclusive = node.own.clone();
    }
    for at in (1..nodes.len()).rev() {
        let (before, rest) = nodes.split_at_mut(at);
        if let Some(parent) = rest[0].parent {
            before[parent].inclusive.add(&rest[0].inclusive);
        }
    }
    CallTree { nodes }
}

/// What weighs the lines of a procedure against each other.
fn time(measures: &Measures) -> u64 {
    measures.cpu() + measures.ready + measures.blocked_in_all()
}

/// A tree that grows path by path.
struct Growth<'a> {
    paths: &'a Paths,
    of: Option<ProcedureId>,
    nodes: Vec<CallNode>,
    children: FxHashMap<(usize, ProcedureId), usize>,
    /// Node of each path that was met; `None` for those that are not in the tree.
    known: FxHashMap<PathId, Option<usize>>,
}

impl Growth<'_> {
    fn new(paths: &Paths, of: Option<ProcedureId>) -> Growth<'_> {
        let root = CallNode { procedure: of, ..CallNode::default() };
        let known = [(Paths::ROOT, of.is_none().then_some(0))].into_iter().collect();
        Growth { paths, of, nodes: vec![root], children: FxHashMap::default(), known }
    }

    /// The node at which the path ends, made where it is new.
    fn node(&mut self, path: PathId) -> Option<usize> {
        let mut new = Vec::new();
        let mut outer = path;
        let mut node = loop {
            match self.known.get(&outer) {
                Some(node) => break *node,
                None => new.push(outer),
            }
            outer = self.paths.caller(outer).unwrap_or(Paths::ROOT);
        };
        for path in new.into_iter().rev() {
            node = self.step(node, path);
            self.known.insert(path, node);
        }
        node
    }

    /// From a node to the innermost procedure of a path that goes on from it.
    fn step(&mut self, from: Option<usize>, path: PathId) -> Option<usize> {
        let procedure = self.paths.innermost(path)?.procedure;
        let Some(parent) = from else { return (self.of == Some(procedure)).then_some(0) };
        let next = self.nodes.len();
        let nodes = &mut self.nodes;
        Some(*self.children.entry((parent, procedure)).or_insert_with(|| {
            let (parent, procedure) = (Some(parent), Some(procedure));
            nodes.push(CallNode { parent, procedure, ..CallNode::default() });
            next
        }))
    }

    /// Each node's line of most time; of equal ones the first.
    fn lines(&self, mut times: BTreeMap<PathId, u64>) -> BTreeMap<usize, u32> {
        let mut lines: BTreeMap<(usize, u32), u64> = BTreeMap::new();
        // From the ends of the paths outwards: a path's number is larger than its caller's.
        while let Some((path, time)) = times.pop_last() {
            let (Some(place), Some(caller)) = (self.paths.innermost(path), self.paths.caller(path)) else {
                continue;
            };
            if let Some(Some(node)) = self.known.get(&path) {
                *lines.entry((*node, place.line)).or_default() += time;
                *times.entry(caller).or_default() += time;
            }
        }
        let mut most: BTreeMap<usize, (u64, u32)> = BTreeMap::new();
        for ((node, line), time) in lines {
            let best = most.entry(node).or_default();
            // A line that is known tells more than one that is not.
            if line > 0 && (time > best.0 || best.1 == 0) {
                *best = (time, line);
            }
        }
        most.into_iter().map(|(node, (_, line))| (node, line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::drawn::Drawn;

    fn tree(drawn: &Drawn, of: Option<&str>) -> CallTree {
        let of = of.map(|name| drawn.timelines.procedure(name));
        call_tree(&drawn.analysis, &drawn.timelines.paths, of, |_| true)
    }

    /// `name line own inclusive` of each node, indented by its depth.
    fn drawing(drawn: &Drawn, tree: &CallTree) -> Vec<String> {
        let line = |node: &CallNode| {
            let depth = std::iter::successors(node.parent, |&at| tree.nodes[at].parent).count();
            let name = node.procedure.map_or("all", |id| &drawn.timelines.paths.procedure_named_by(id).name);
            let CallNode { line, own, inclusive, .. } = node;
            format!("{}{name} {line} {} {}", " ".repeat(depth), own.running, inclusive.running)
        };
        tree.nodes.iter().map(line).collect()
    }

    #[test]
    fn paths_are_merged_by_procedure_and_named_by_their_line_of_most_time() {
        let drawn = Drawn::new("A = main:3 > work:8\nB = main:4 > work:9\nC = main:5\nT1 AAAAABBC");
        assert_eq!(drawing(&drawn, &tree(&drawn, None)), ["all 0 0 8", " main 3 1 8", "  work 8 7 7"]);
    }

    #[test]
    fn a_procedure_that_calls_itself_is_below_itself() {
        let drawn = Drawn::new("A = main > f\nB = main > f > g > f\nT1 AABBB");
        let all = ["all 0 0 5", " main 0 0 5", "  f 0 2 5", "   g 0 0 3", "    f 0 3 3"];
        assert_eq!(drawing(&drawn, &tree(&drawn, None)), all);
        let of_f = ["f 0 2 5", " g 0 0 3", "  f 0 3 3"];
        assert_eq!(drawing(&drawn, &tree(&drawn, Some("f"))), of_f);
    }

    #[test]
    fn work_of_created_threads_is_below_those_who_created_them() {
        let drawn = Drawn::new("A = main > start\nT1 AAjjj\nT2 __WWW\nT1@2 -> T2 create");
        let all = ["all 0 0 5", " main 0 0 5", "  start 0 2 5", "   W 0 3 3"];
        assert_eq!(drawing(&drawn, &tree(&drawn, None)), all);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// What the root has is all that was charged, and what a procedure has in its own tree is its row of the table.
        #[test]
        fn trees_add_up_to_the_tables(timelines in longpole_testkit::random_timelines(4, 24)) {
            let Ok(analysis) = crate::analyse(&timelines, &crate::MetricOptions::default());
            let drawn = Drawn { timelines, analysis };
            let (program, paths) = (&drawn.timelines.program, &drawn.timelines.paths);
            let all = tree(&drawn, None);
            prop_assert_eq!(&all.nodes[0].inclusive.blocked, &crate::total(&drawn.analysis, |_| true).blocked);
            for row in crate::rows(&drawn.analysis, program, paths, crate::By::Procedure, |_| true) {
                let crate::Node::Procedure(id) = row.node else { unreachable!("rows are procedures") };
                let root = call_tree(&drawn.analysis, paths, Some(id), |_| true).nodes.remove(0);
                prop_assert_eq!(root.inclusive.running, row.inclusive.running);
                prop_assert_eq!(root.inclusive.critical_cpu, row.inclusive.critical_cpu);
                prop_assert_eq!(root.inclusive.blocked_in_all(), row.inclusive.blocked_in_all());
                let own = all.nodes.iter().filter(|node| node.procedure == Some(id));
                prop_assert_eq!(own.map(|node| node.own.idle_blame).sum::<u64>(), row.own.idle_blame);
            }
        }
    }
}
