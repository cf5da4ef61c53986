//! Slack and logical zeroing (metrics.md §5; M §2.4, §2.5): what the run would gain from a thing made free.
//!
//! * **Zeroing**: the length of the critical path minus the longest path after all work of the thing weighs 0.
//! * **Slack**: the same, but only its work on the critical path weighs 0. What the gain stops at is another path,
//!   even one on which the same thing lies: balanced programs have no slack.
//!
//! ```text
//!   T1  AAAABBBB....     zeroing A: T1 4, T2 8           critical path 8: A 4, B 4 on T1, or C, A, D on T2;
//!   T2  CCCAADDD....     … of A 8 − max(4, 6) = 2        of two equal ends the later one is taken, here T2
//!                        slack of A: only A on T2 weighs 0: 8 − max(8, 6) = 0
//! ```
//! Both for work at the thing itself, and on its behalf (inclusive). For objects zeroing leaves out what threads
//! waited for them.
//!
//! No gain is larger than the thing's time on the critical path: that path is still there, and shorter by no more; tables and
//! lanes divide its work alike ([`crate::charging`]). So
//! things that are not on it gain nothing; those with less than a ten-thousandth of it get no lane and are counted.
//!
//! Time and memory: as the lanes'; if there are more lanes than memory is given, several sweeps.
//!
//! What it cannot see: [`Lanes`] says it. And by CPU weight, that processors are few.

mod prospects;

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_graph::sweep;
use longpole_trace::{ObjectId, ObjectKind, PathId, Paths, Program, Timelines, Unfolded};
use rustc_hash::FxHashMap;

use crate::analysis::{Analysis, By, CriticalPath, Measures, MetricOptions, Node, NodeRow, Weight};
use crate::lanes::Lanes;
use crate::lookahead::LaneLookahead;
use crate::marks::{Mark, ObjectMark, Rules};
use crate::rows::{node_of_thread, rows};

pub(crate) use prospects::{Large, prospects};

/// The part of the path's length below which nothing gets a lane.
const SMALLEST: f64 = 1e-4;
/// Lanes in one sweep: a cache holds those of two threads.
const MOST_LANES: usize = 4096;
/// Memory for lanes of all threads.
const MEMORY: usize = 256 << 20;

/// Gains of everything of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Gains {
    /// What rows are.
    pub by: By,
    /// What has weight.
    pub weight: Weight,
    /// Length of the critical path, nanoseconds.
    pub length: u64,
    /// In the order of the nodes.
    pub gains: Vec<Gain>,
    /// Things with so little on the path that they could each gain no more than `smallest`, and have no row here.
    pub left_out: usize,
    /// Nanoseconds.
    pub smallest: f64,
}

/// Gains of one thing, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The thing.
    pub node: Node,
    /// From its own work made free.
    pub zeroing: f64,
    /// From the work on its behalf made free.
    pub zeroing_inclusive: f64,
    /// From its own work on the critical path made free.
    pub slack: f64,
    /// From the work on its behalf on the critical path made free.
    pub slack_inclusive: f64,
}

/// Lanes of one node, by position; none where it has no work on the path.
#[derive(Clone, Copy, Debug, Default)]
struct NodeLanes {
    zeroing: Option<u32>,
    zeroing_inclusive: Option<u32>,
    slack: Option<u32>,
    slack_inclusive: Option<u32>,
}

impl NodeLanes {
    fn new(row: &NodeRow, weight: Weight, next: &mut u32) -> NodeLanes {
        let mut lane = |has_work: bool| {
            has_work.then(|| {
                *next += 1;
                *next - 1
            })
        };
        let is_same = row.own == row.inclusive;
        let own = can_gain(&row.own, weight) > 0;
        let inclusive = can_gain(&row.inclusive, weight) > 0;
        let (zeroing, slack) = (lane(own), lane(own));
        NodeLanes {
            zeroing,
            zeroing_inclusive: if is_same { zeroing } else { lane(inclusive) },
            slack,
            slack_inclusive: if is_same { slack } else { lane(inclusive) },
        }
    }

    fn own(&self, marks: &mut Vec<Mark>) {
        marks.extend(self.zeroing.map(|lane| Mark { lane, left_out: 1.0, on_path: false }));
        marks.extend(self.slack.map(|lane| Mark { lane, left_out: 1.0, on_path: true }));
    }

    fn inclusive(&self, marks: &mut Vec<Mark>) {
        let zeroing = self.zeroing_inclusive.filter(|_| self.zeroing_inclusive != self.zeroing);
        marks.extend(zeroing.map(|lane| Mark { lane, left_out: 1.0, on_path: false }));
        let slack = self.slack_inclusive.filter(|_| self.slack_inclusive != self.slack);
        marks.extend(slack.map(|lane| Mark { lane, left_out: 1.0, on_path: true }));
    }
}

/// Lanes of nodes: which work is whose.
struct NodeRules<'a, F> {
    by: By,
    program: &'a Program,
    paths: &'a Paths,
    /// To which path work at a path belongs.
    owner: F,
    lanes: u32,
    of_node: FxHashMap<Node, NodeLanes>,
    of_object: Vec<Vec<ObjectMark>>,
}

impl<F: Fn(PathId) -> PathId> Rules for NodeRules<'_, F> {
    fn lanes(&self) -> usize {
        self.lanes as usize
    }

    fn mark_work(&self) -> bool {
        self.of_node.keys().any(|node| !matches!(node, Node::Object(_)))
    }

    fn tell_paths_apart(&self) -> bool {
        matches!(self.by, By::Procedure | By::Line | By::ProcessProcedure)
    }

    fn thread_key(&self, thread: ThreadId) -> ThreadId {
        if matches!(self.by, By::Procedure | By::Line) { ThreadId(0) } else { thread }
    }

    fn marks(&self, thread: ThreadId, path: PathId, marks: &mut Vec<Mark>) {
        let path = (self.owner)(path);
        let node = |place: longpole_trace::CodePlace| match self.by {
            By::Line => Node::Line(place.procedure, place.line),
            By::ProcessProcedure => {
                Node::ProcessProcedure(self.program.threads[thread.index()].process, place.procedure)
            }
            _ => Node::Procedure(place.procedure),
        };
        if let Some(node) = node_of_thread(self.program, self.by, thread) {
            if let Some(lanes) = self.of_node.get(&node) {
                lanes.own(marks);
                lanes.inclusive(marks);
            }
            return;
        }
        if self.by == By::Object {
            return;
        }
        let mut nodes: Vec<Node> = self.paths.places_of(path).map(node).collect();
        if let Some(lanes) = nodes.first().and_then(|innermost| self.of_node.get(innermost)) {
            lanes.own(marks);
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes.iter().filter_map(|node| self.of_node.get(node)).for_each(|lanes| lanes.inclusive(marks));
    }

    fn object_marks(&self, object: ObjectId) -> &[ObjectMark] {
        self.of_object.get(object.index()).map_or(&[], Vec::as_slice)
    }
}

/// What gains are wanted of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GainsOf {
    /// What rows are.
    pub by: By,
    /// What has weight.
    pub weight: Weight,
}

/// Computes slack and zeroing of all things of one kind.
pub(crate) fn gains<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    of: GainsOf,
    analysis: &Analysis,
    foresight: &LaneLookahead,
) -> Result<Gains, T::Error> {
    let path = analysis.critical(of.weight);
    let (nodes, left_out) = worth_a_row(candidates(timelines, of, analysis), of.weight, path);
    let gains = gains_among(timelines, options, (of, analysis), foresight, &nodes)?;
    let smallest = path.length as f64 * SMALLEST;
    Ok(Gains { by: of.by, weight: of.weight, length: path.length, gains, left_out, smallest })
}

/// Gains of chosen things.
fn gains_among<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    (of, analysis): (GainsOf, &Analysis),
    foresight: &LaneLookahead,
    nodes: &[GainCandidate],
) -> Result<Vec<Gain>, T::Error> {
    let most = (MEMORY / 8 / foresight.peak.max(1)).clamp(64, MOST_LANES);
    let mut gains = Vec::with_capacity(nodes.len());
    for chunk in chunks(nodes, most) {
        gains.extend(gains_in_one_sweep(timelines, options, (of, analysis), foresight, chunk)?);
    }
    Ok(gains)
}

fn gains_in_one_sweep<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    (of, analysis): (GainsOf, &Analysis),
    foresight: &LaneLookahead,
    nodes: &[GainCandidate],
) -> Result<Vec<Gain>, T::Error> {
    let mut next = 0;
    let lanes: Vec<NodeLanes> = nodes.iter().map(|candidate| candidate.lanes(of.weight, &mut next)).collect();
    let rules = NodeRules {
        by: of.by,
        program: timelines.program(),
        paths: timelines.paths(),
        owner: |path| timelines.owner(path),
        lanes: next,
        of_node: nodes.iter().map(|candidate| candidate.node).zip(lanes.iter().copied()).collect(),
        of_object: object_marks(timelines.objects().all().len(), nodes, &lanes),
    };
    let tree = (timelines.program(), timelines.paths());
    let mut sweeping = Lanes::new(tree, of.weight, foresight, rules, analysis);
    sweep(&Unfolded(timelines), options.io_idle, &mut sweeping)?;
    let lengths = sweeping.into_lengths();
    let gain = |lane: Option<u32>| lane.map_or(0.0, |lane| lengths.gains[lane as usize]);
    let gain_of = |(candidate, lanes): (&GainCandidate, NodeLanes)| Gain {
        node: candidate.node,
        zeroing: gain(lanes.zeroing),
        zeroing_inclusive: gain(lanes.zeroing_inclusive),
        slack: gain(lanes.slack),
        slack_inclusive: gain(lanes.slack_inclusive),
    };
    Ok(nodes.iter().zip(lanes).map(gain_of).collect())
}

/// A thing that gets a row.
#[derive(Clone)]
struct GainCandidate {
    node: Node,
    row: Option<NodeRow>,
    objects: Vec<ObjectId>,
}

impl GainCandidate {
    fn lanes(&self, weight: Weight, next: &mut u32) -> NodeLanes {
        match &self.row {
            Some(row) => NodeLanes::new(row, weight, next),
            None => {
                *next += 1;
                let lane = Some(*next - 1);
                NodeLanes { zeroing: lane, zeroing_inclusive: lane, ..NodeLanes::default() }
            }
        }
    }
}

/// All things of a kind that work, or that threads wait for.
fn candidates<T: Timelines>(timelines: &T, of: GainsOf, analysis: &Analysis) -> Vec<GainCandidate> {
    if of.by == By::Object {
        let mut named: BTreeMap<(ObjectKind, &str), Vec<ObjectId>> = BTreeMap::new();
        for (index, object) in timelines.objects().all().iter().enumerate() {
            named.entry((object.kind, &object.name)).or_default().push(ObjectId(index as u32));
        }
        let candidate =
            |objects: Vec<ObjectId>| GainCandidate { node: Node::Object(objects[0]), row: None, objects };
        let mut candidates: Vec<GainCandidate> = named.into_values().map(candidate).collect();
        candidates.sort_by_key(|candidate| candidate.node);
        return candidates;
    }
    let mut rows = rows(analysis, timelines.program(), timelines.paths(), of.by, |_| true);
    rows.retain(|row| row.inclusive.running > 0);
    let candidate = |row: NodeRow| GainCandidate { node: row.node, row: Some(row), objects: Vec::new() };
    rows.into_iter().map(candidate).collect()
}

/// Those that get a row, and how many others are on the path, too little of them.
fn worth_a_row(
    mut candidates: Vec<GainCandidate>,
    weight: Weight,
    path: &CriticalPath,
) -> (Vec<GainCandidate>, usize) {
    let smallest = path.length as f64 * SMALLEST;
    let all = candidates.len();
    // Zero gains are known without a lane.
    candidates.retain(|candidate| {
        candidate.row.as_ref().is_none_or(|row| match can_gain(&row.inclusive, weight) {
            0 => true,
            time => time as f64 >= smallest,
        })
    });
    let left_out = all - candidates.len();
    (candidates, left_out)
}

/// What can be gained at most, nanoseconds: by CPU weight no more than lies on the path. By elapsed weight the path follows holders of a lock
/// only since it was asked for, and the graph all of what they did.
fn can_gain(measures: &Measures, weight: Weight) -> u64 {
    match weight {
        Weight::Cpu => measures.critical_cpu,
        Weight::Elapsed => measures.running,
    }
}

/// As many at a time as have at most so many lanes.
fn chunks(candidates: &[GainCandidate], most: usize) -> impl Iterator<Item = &[GainCandidate]> {
    candidates.chunks((most / 4).max(1))
}

fn object_marks(objects: usize, candidates: &[GainCandidate], lanes: &[NodeLanes]) -> Vec<Vec<ObjectMark>> {
    let mut marks = vec![Vec::new(); objects];
    for (candidate, lanes) in candidates.iter().zip(lanes) {
        for object in &candidate.objects {
            marks[object.index()].extend(lanes.zeroing.map(|lane| ObjectMark { lane, factor: 0.0 }));
        }
    }
    marks
}

#[cfg(test)]
mod tests;
