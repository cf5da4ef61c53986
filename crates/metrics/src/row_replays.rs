//! What the run replayed gains without the work of each of its largest rows (metrics.md §5): the column beside slack and zeroing.
//!
//! ```text
//!   row       CPU time   on the path   replayed without it
//!   update     320 ms        320 ms          240 ms           other work is as long from there on
//! ```
//! A row is large if it has 1 % of the CPU time, of the critical path or of the normalised processor time; of objects, if threads
//! waited for it at all. At most [`MOST_ROWS`] rows are replayed, the largest ones. All of them share one plan of the run.
//!
//! It cannot see what [`replay`] cannot.

use std::collections::BTreeMap;

use longpole_trace::{Folding, ObjectId, ObjectKind, Timelines};

use crate::analysis::{Analysis, By, Measures, MetricOptions, Node, NodeRow};
use crate::contention::Contention;
use crate::replay::{ReplayDemand, ReplayRefusal, ReplayedGain, replay};
use crate::rows::{rows, total};
use crate::what_if::{ChangeSubject, WorkChange};

/// Rows that are replayed at most.
pub const MOST_ROWS: usize = 20;
/// The share of any metric from which on a row is replayed.
const LARGE: f64 = 0.01;

/// Gains of rows, each replayed alone.
#[derive(Clone, Debug, PartialEq)]
pub struct RowReplays {
    /// By what part of the recorded time the unchanged replay is off.
    pub error: f64,
    /// In the order of their size.
    pub gains: Vec<(Node, ReplayedGain)>,
}

/// Why rows were not replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoRowReplays {
    /// The run cannot be replayed.
    Refused(ReplayRefusal),
    /// Only a part of the run is asked for.
    Part,
    /// The recording has so many events that replaying it row by row takes long.
    Long(u64),
    /// Rows of this kind cannot be removed.
    Kind,
}

/// Replays the run without each of its largest rows; `unfolded` is the analysis of `timelines`, `folded` the same folded.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn row_replays<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    (unfolded, folded, folding): (&Analysis, &Analysis, &Folding),
    (by, contention): (By, Option<&Contention>),
) -> Result<Result<RowReplays, NoRowReplays>, T::Error> {
    let candidates = match by {
        By::Machine | By::ProcessProcedure => return Ok(Err(NoRowReplays::Kind)),
        By::Object => contended(timelines, contention),
        _ => large(timelines, folded, by),
    };
    let change = |(_, subject): &(Node, ChangeSubject)| WorkChange { subject: subject.clone(), factor: 0.0 };
    let demand = ReplayDemand { changes: candidates.iter().map(change).collect(), ..ReplayDemand::default() };
    let found = replay(timelines, options, unfolded, &demand, folding)?;
    Ok(found.map_err(NoRowReplays::Refused).map(|found| RowReplays {
        error: found.error,
        gains: candidates.into_iter().map(|(node, _)| node).zip(found.alone).collect(),
    }))
}

/// Rows with a large share of any metric, the largest first.
fn large<T: Timelines>(timelines: &T, analysis: &Analysis, by: By) -> Vec<(Node, ChangeSubject)> {
    let whole = total(analysis, |_| true);
    let part = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let share = |own: &Measures| {
        part(own.cpu() as f64, whole.cpu() as f64)
            .max(part(own.critical_cpu as f64, analysis.critical_cpu.length as f64))
            .max(part(own.npt(), whole.npt()))
    };
    let mut rows: Vec<(f64, NodeRow)> = rows(analysis, timelines.program(), timelines.paths(), by, |_| true)
        .into_iter()
        .map(|row| (share(&row.own), row))
        .filter(|(share, _)| *share >= LARGE)
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.node.cmp(&b.1.node)));
    rows.truncate(MOST_ROWS);
    rows.into_iter().filter_map(|(_, row)| Some((row.node, subject(row.node)?))).collect()
}

/// What is left out of the run when this row is.
fn subject(node: Node) -> Option<ChangeSubject> {
    match node {
        Node::Procedure(procedure) => Some(ChangeSubject::Procedure(procedure)),
        Node::Line(procedure, line) => Some(ChangeSubject::Lines(vec![(procedure, line)])),
        Node::Thread(thread) => Some(ChangeSubject::Threads(vec![thread])),
        Node::Process(process) => Some(ChangeSubject::Processes(vec![process])),
        Node::Machine(_) | Node::Object(_) | Node::ProcessProcedure(..) => None,
    }
}

/// Objects for which threads waited, by kind and name, those with most waiting first.
fn contended<T: Timelines>(timelines: &T, contention: Option<&Contention>) -> Vec<(Node, ChangeSubject)> {
    let Some(contention) = contention else { return Vec::new() };
    let mut named: BTreeMap<(ObjectKind, &str), (u64, Vec<ObjectId>)> = BTreeMap::new();
    for (index, (object, contended)) in timelines.objects().all().iter().zip(&contention.objects).enumerate()
    {
        let (waited, ids) = named.entry((object.kind, &object.name)).or_default();
        *waited += contended.waited();
        ids.push(ObjectId(index as u32));
    }
    let mut objects: Vec<(u64, Vec<ObjectId>)> =
        named.into_values().filter(|(waited, _)| *waited > 0).collect();
    objects.sort_by_key(|(waited, ids)| (std::cmp::Reverse(*waited), ids[0]));
    objects.truncate(MOST_ROWS);
    objects.into_iter().map(|(_, ids)| (Node::Object(ids[0]), ChangeSubject::Objects(ids))).collect()
}
