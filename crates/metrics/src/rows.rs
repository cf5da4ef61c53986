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
//! ```text
//!   main                 What was charged below a node of the tree of paths is on behalf of its procedure, unless
//!   └ work   outermost   the same procedure is further out on the path, whose node has it already.
//!     └ work
//! ```
//! Time: one addition per charge and per node of the tree of charged paths, and a look at the callers of each.
//! Rows come in the order of their nodes.

use std::collections::BTreeMap;

use longpole_event::{ProcessId, ThreadId};
use longpole_trace::{CodePlace, PathId, Paths, Program};

use crate::analysis::{Analysis, By, Measures, Node, NodeRow};
use crate::path_waits::add_times;

impl Measures {
    /// Adds the other's measures to these.
    pub fn add(&mut self, other: &Measures) {
        self.running += other.running;
        self.spinning += other.spinning;
        self.overhead += other.overhead;
        self.ready += other.ready;
        add_each(&mut self.blocked, &other.blocked);
        self.blocks += other.blocks;
        add_each(&mut self.npt_terms, &other.npt_terms);
        self.critical_cpu += other.critical_cpu;
        self.critical_elapsed += other.critical_elapsed;
        add_times(&mut self.path_waits, &other.path_waits);
        self.caused_wait += other.caused_wait;
        self.idle_blame += other.idle_blame;
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

/// The row that all work of a thread belongs to, where rows are of that kind.
pub(crate) fn node_of_thread(program: &Program, by: By, thread: ThreadId) -> Option<Node> {
    match by {
        By::Thread => Some(Node::Thread(thread)),
        By::Process => Some(Node::Process(program.threads[thread.index()].process)),
        By::Machine => Some(Node::Machine(program.machine_of(thread))),
        By::Procedure | By::Line | By::Object | By::ProcessProcedure => None,
    }
}

/// The table of the selected threads: a row per node that was charged anything, in the order of the nodes.
pub fn rows(
    analysis: &Analysis,
    program: &Program,
    paths: &Paths,
    by: By,
    select: impl Fn(ThreadId) -> bool,
) -> Vec<NodeRow> {
    let mut table = NodeRowTable::default();
    // Work is charged to paths and threads, not to objects.
    if by == By::Object {
        return Vec::new();
    }
    // Of procedures in each process apart, the paths of each process; else of all.
    let mut by_path: BTreeMap<Option<ProcessId>, BTreeMap<PathId, Measures>> = BTreeMap::new();
    for charge in analysis.charges.iter().filter(|charge| select(charge.thread)) {
        match node_of_thread(program, by, charge.thread) {
            Some(node) => table.add(node, &charge.measures),
            None => {
                let process = program.threads[charge.thread.index()].process;
                let part = (by == By::ProcessProcedure).then_some(process);
                by_path.entry(part).or_default().entry(charge.path).or_default().add(&charge.measures);
            }
        }
    }
    for (process, by_path) in by_path {
        let node = |place: CodePlace| match (by, process) {
            (By::Line, _) => Node::Line(place.procedure, place.line),
            (_, Some(process)) => Node::ProcessProcedure(process, place.procedure),
            _ => Node::Procedure(place.procedure),
        };
        for (path, measures) in &by_path {
            if let Some(place) = paths.innermost(*path) {
                table.row(node(place)).own.add(measures);
            }
        }
        outwards(paths, by_path, |caller, place, measures| {
            let is_outermost = !paths.places_of(caller).any(|outer| node(outer) == node(place));
            if is_outermost {
                table.row(node(place)).inclusive.add(measures);
            }
        });
    }
    table.rows.into_values().collect()
}

/// Calls `visit` for every path that was charged or is a caller of one: with the path of its caller, its innermost place, and
/// what was charged there and further in.
pub(crate) fn outwards(
    paths: &Paths,
    mut by_path: BTreeMap<PathId, Measures>,
    mut visit: impl FnMut(PathId, CodePlace, &Measures),
) {
    // From the ends of the paths outwards: a path's number is larger than its caller's.
    while let Some((path, measures)) = by_path.pop_last() {
        let (Some(place), Some(caller)) = (paths.innermost(path), paths.caller(path)) else { continue };
        visit(caller, place, &measures);
        by_path.entry(caller).or_default().add(&measures);
    }
}

#[derive(Default)]
struct NodeRowTable {
    rows: BTreeMap<Node, NodeRow>,
}

impl NodeRowTable {
    fn row(&mut self, node: Node) -> &mut NodeRow {
        let new = || NodeRow { node, own: Measures::default(), inclusive: Measures::default() };
        self.rows.entry(node).or_insert_with(new)
    }

    fn add(&mut self, node: Node, measures: &Measures) {
        let row = self.row(node);
        row.own.add(measures);
        row.inclusive.add(measures);
    }
}

#[cfg(test)]
mod tests {
    use longpole_trace::Timelines;

    use super::*;
    use crate::drawn::Drawn;

    #[test]
    fn a_procedure_counts_once_however_often_it_is_on_the_path() {
        let drawn = Drawn::new("A = main\nB = main > work > work\nT1 ABBBBB");
        let (own, inclusive) = drawn.procedure("main");
        assert_eq!((own.running, inclusive.running), (1, 6));
        let (own, inclusive) = drawn.procedure("work");
        assert_eq!((own.running, inclusive.running), (5, 5));
    }

    #[test]
    fn lines_of_a_procedure_are_told_apart() {
        let drawn = Drawn::new("A = main:3\nB = main:7\nT1 AABBBA");
        let (program, paths) = (drawn.timelines.program(), drawn.timelines.paths());
        let rows = rows(&drawn.analysis, program, paths, By::Line, |_| true);
        let main = drawn.timelines.procedure("main");
        let shown: Vec<_> = rows.iter().map(|row| (row.node, row.own.running)).collect();
        assert_eq!(shown, [(Node::Line(main, 3), 3), (Node::Line(main, 7), 3)]);
    }

    #[test]
    fn procedures_of_each_process_add_up_to_those_of_the_program() {
        let drawn = Drawn::new("A = main\nB = main > work\none/T1 AABB\none/T2 BB..\ntwo/T3 BBBA");
        let (program, paths) = (drawn.timelines.program(), drawn.timelines.paths());
        let rows = rows(&drawn.analysis, program, paths, By::ProcessProcedure, |_| true);
        let work = drawn.timelines.procedure("work");
        let of_work: Vec<u64> = rows
            .iter()
            .filter(|row| matches!(row.node, Node::ProcessProcedure(_, procedure) if procedure == work))
            .map(|row| row.own.running)
            .collect();
        assert_eq!(of_work, [4, 3]);
        assert!(rows.is_sorted_by_key(|row| row.node));
        assert_eq!(drawn.procedure("work").0.running, 7);
    }

    #[test]
    fn work_of_created_threads_is_charged_to_those_who_created_them() {
        let drawn = Drawn::new("A = main\nT1 AAjjj\nT2 __WWW\nT1@2 -> T2 create");
        assert_eq!(drawn.procedure("main").1.running, 5);
        assert_eq!(drawn.procedure("main").0.running, 2);
    }

    #[test]
    fn every_level_of_the_tree_adds_up_to_the_same_total() {
        let drawn = Drawn::new("one:a/T1 AABB\none:b/T2 AAll\ntwo:a/T3 A~~-");
        let (program, paths) = (drawn.timelines.program(), drawn.timelines.paths());
        let all = total(&drawn.analysis, |_| true);
        for by in [By::Procedure, By::Line, By::Thread, By::Process, By::Machine] {
            let mut sum = Measures::default();
            rows(&drawn.analysis, program, paths, by, |_| true).iter().for_each(|row| sum.add(&row.own));
            assert_eq!(
                (sum.running, sum.spinning, sum.overhead, sum.ready),
                (all.running, all.spinning, all.overhead, all.ready),
                "{by:?}"
            );
        }
        assert_eq!(rows(&drawn.analysis, program, paths, By::Machine, |_| true).len(), 2);
        assert_eq!(rows(&drawn.analysis, program, paths, By::Process, |_| true).len(), 3);
    }

    #[test]
    fn rows_are_of_the_selected_threads() {
        let drawn = Drawn::new("T1 AA\nT2 BB");
        let (program, paths) = (drawn.timelines.program(), drawn.timelines.paths());
        let second = drawn.timelines.thread("T2");
        let rows = rows(&drawn.analysis, program, paths, By::Procedure, |thread| thread == second);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].node, Node::Procedure(drawn.timelines.procedure("B")));
    }
}
