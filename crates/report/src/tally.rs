//! Sums of charges.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_metrics::{Analysis, By, Charge, Measures, Node, Row};
use longpole_trace::{PathId, Paths, Place, Program};

/// Adds `other` to `sum`.
pub(crate) fn add(sum: &mut Measures, other: &Measures) {
    fn widen<T: Clone + Default + Copy + std::ops::AddAssign>(sum: &mut Vec<T>, other: &[T]) {
        if sum.len() < other.len() {
            sum.resize(other.len(), T::default());
        }
        for (sum, &other) in sum.iter_mut().zip(other) {
            *sum += other;
        }
    }
    sum.running += other.running;
    sum.spinning += other.spinning;
    sum.ready += other.ready;
    widen(&mut sum.blocked, &other.blocked);
    sum.blocks += other.blocks;
    widen(&mut sum.npt_terms, &other.npt_terms);
    sum.critical_cpu += other.critical_cpu;
    sum.critical_elapsed += other.critical_elapsed;
    sum.observations += other.observations;
}

/// Rows of the threads that `select` takes, in the order of their nodes.
pub(crate) fn rows(
    analysis: &Analysis,
    program: &Program,
    paths: &Paths,
    by: By,
    select: impl Fn(ThreadId) -> bool,
) -> Vec<Row> {
    charged_rows(analysis.charges.iter().filter(|charge| select(charge.thread)), program, paths, by)
}

/// Rows of these charges.
pub(crate) fn rows_of_charges(charges: &[Charge], program: &Program, paths: &Paths, by: By) -> Vec<Row> {
    charged_rows(charges.iter(), program, paths, by)
}

fn charged_rows<'a>(
    charges: impl Iterator<Item = &'a Charge>,
    program: &Program,
    paths: &Paths,
    by: By,
) -> Vec<Row> {
    let mut table: BTreeMap<Node, (Measures, Measures)> = BTreeMap::new();
    for charge in charges {
        let (own, others) = nodes(by, program, paths, charge.thread, charge.path);
        for node in others {
            add(&mut table.entry(node).or_default().1, &charge.measures);
        }
        if let Some(own) = own {
            add(&mut table.entry(own).or_default().0, &charge.measures);
        }
    }
    table.into_iter().map(|(node, (own, inclusive))| Row { node, own, inclusive }).collect()
}

/// The node that a path ends at, and every node that it passes through, once.
fn nodes(
    by: By,
    program: &Program,
    paths: &Paths,
    thread: ThreadId,
    path: PathId,
) -> (Option<Node>, Vec<Node>) {
    let of_place = |place: Place| match by {
        By::Line => Node::Line(place.procedure, place.line),
        _ => Node::Procedure(place.procedure),
    };
    let single = match by {
        By::Procedure | By::Line => {
            let mut nodes: Vec<Node> = paths.places_of(path).map(of_place).collect();
            let own = nodes.first().copied();
            nodes.sort_unstable();
            nodes.dedup();
            return (own, nodes);
        }
        By::Thread => Node::Thread(thread),
        By::Process => Node::Process(program.threads[thread.index()].process),
        By::Machine => Node::Machine(program.machine_of(thread)),
    };
    (Some(single), vec![single])
}
