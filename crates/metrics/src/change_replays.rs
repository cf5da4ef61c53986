//! What the run replayed gains of the things that a list of changes is about (metrics.md §5, §12).
//!
//! ```text
//!   executed in the recorded order of locks    update 120 ms    parse 90 ms    q 60 ms
//!   replayed, the largest of them              update  95–130   parse 88–101   q 20–35
//! ```
//! Where the recording tells how locks were held, replay lets them go to whoever comes first in the changed run; executions of the graph
//! keep the recorded order. All changes share one plan of the run.
//!
//! Time: a replay of the run with two changes for each procedure, and one for each object, of the [`MOST_CHANGES`] that gain most.

use std::collections::BTreeMap;

use longpole_trace::{Folding, ObjectId, Timelines};

use crate::analysis::{Analysis, MetricOptions, Node};
use crate::execution::{ExecutedGain, Executions, ReplayedChange, ReplayedChanges};
use crate::holds::LockHolds;
use crate::replay::{ReplayDemand, replay};
use crate::what_if::{ChangeSubject, WorkChange};

/// Things that are replayed at most: a list of changes has six.
const MOST_CHANGES: usize = 8;

/// Whether the recording tells how locks were held, so that a replay knows more than an execution of the graph.
#[must_use]
pub fn tells_holds(holds: Option<&LockHolds>) -> bool {
    holds.is_some_and(|holds| holds.objects.iter().any(|own| own.acquisitions > 0))
}

/// Replays the run with what gains most of these; the analysis is that of `timelines`, not folded.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn change_replays<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
    (unfolded, folding): (&Analysis, &Folding),
    executions: &Executions,
) -> Result<ReplayedChanges, T::Error> {
    let most = |gain: &ExecutedGain| gain.free.max(gain.evened);
    let replayed = |node: &Node| matches!(node, Node::Procedure(_) | Node::Object(_));
    let largest = executions.gains.iter().filter(|(node, _)| replayed(node));
    let mut largest: Vec<(Node, f64)> = largest.map(|(node, gain)| (*node, most(gain))).collect();
    largest.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
    largest.truncate(MOST_CHANGES);
    let processors =
        timelines.program().machines.iter().map(|machine| machine.cpus).max().unwrap_or(1).max(1);
    let of_node = |(node, _): &(Node, f64)| {
        let factors = [0.0, 1.0 / f64::from(processors)];
        let (subject, factors) = match *node {
            Node::Procedure(procedure) => (ChangeSubject::Procedure(procedure), &factors[..]),
            Node::Object(object) => (ChangeSubject::Objects(namesakes(timelines, object)), &factors[..1]),
            _ => return None,
        };
        let changes = factors.iter().map(|&factor| WorkChange { subject: subject.clone(), factor });
        Some((*node, changes.collect::<Vec<_>>()))
    };
    let wanted: Vec<(Node, Vec<WorkChange>)> = largest.iter().filter_map(of_node).collect();
    let changes = wanted.iter().flat_map(|(_, changes)| changes).cloned().collect();
    let demand = ReplayDemand { changes, ..ReplayDemand::default() };
    let replayed = match replay(timelines, options, unfolded, &demand, folding)? {
        Err(refusal) => return Ok(ReplayedChanges { refusal: Some(refusal), gains: BTreeMap::new() }),
        Ok(replayed) => replayed,
    };
    let mut alone = replayed.alone.into_iter();
    let of_changes = |(node, changes): (Node, Vec<WorkChange>)| {
        let mut gains = alone.by_ref().take(changes.len());
        let free = gains.next()?;
        Some((node, ReplayedChange { free, spread: gains.next() }))
    };
    Ok(ReplayedChanges { refusal: None, gains: wanted.into_iter().filter_map(of_changes).collect() })
}

/// All objects of its kind and name.
fn namesakes<T: Timelines>(timelines: &T, object: ObjectId) -> Vec<ObjectId> {
    let all = timelines.objects().all();
    let of = &all[object.index()];
    let is_same = |index: &usize| all[*index].kind == of.kind && all[*index].name == of.name;
    (0..all.len()).filter(is_same).map(|index| ObjectId(index as u32)).collect()
}

#[cfg(test)]
mod tests {
    use longpole_testkit::script::{Conditions, random_script_with_a_mutex};
    use longpole_trace::Fold;

    use super::*;
    use crate::{DetailsDemand, analyse, details};

    /// A list of changes has what `what-if --replay` says of each change alone.
    #[test]
    fn a_change_gains_what_its_own_replay_gains() {
        let (mut compared, mut differ) = (0, 0);
        for seed in 0..40 {
            let script = random_script_with_a_mutex(seed, 30);
            let timelines =
                script.timelines(&Conditions { processors: 2, quantum: 1000, ..Conditions::unlimited() });
            let options = MetricOptions::default();
            let folding = Folding::new(timelines.paths(), Fold::None);
            let Ok(analysis) = analyse(&timelines, &options);
            let demand = DetailsDemand { prospects: true, ..DetailsDemand::default() };
            let Ok(found) = details(&timelines, &options, &demand, &analysis);
            let Some(executions) = found.executions.filter(|_| tells_holds(found.holds.as_ref())) else {
                continue;
            };
            let Ok(replayed) = change_replays(&timelines, &options, (&analysis, &folding), &executions);
            assert!(
                replayed.refusal.is_some()
                    || replayed.gains.len() == executions.gains.len().min(MOST_CHANGES)
            );
            for (node, change) in replayed.gains {
                let Node::Procedure(procedure) = node else { continue };
                let alone = WorkChange { subject: ChangeSubject::Procedure(procedure), factor: 0.0 };
                let demand = ReplayDemand { changes: vec![alone], ..ReplayDemand::default() };
                let Ok(Ok(own)) = replay(&timelines, &options, &analysis, &demand, &folding) else {
                    panic!("it was replayed with others")
                };
                assert_eq!(change.free, own.alone[0], "{seed}: {node:?}");
                compared += 1;
                differ += u32::from(
                    (change.free.middle - executions.gains[&node].free).abs() > 0.02 * own.elapsed as f64,
                );
            }
        }
        assert!(
            compared > 50 && differ > 0,
            "{compared} changes, of which {differ} are not what executions say"
        );
    }
}
