//! Gains of what is large: the few procedures and objects that a short answer can be about, in one sweep.
//!
//! By CPU weight: by elapsed weight a thread that sleeps beside the work (a timer, a monitor) would make every gain
//! nothing. Procedures with at least 2 % of the critical path, of
//! the normalised processor time or of the CPU time, the largest 32; objects for which threads waited for at least 1 %
//! of the run, the 16 most waited for; what synchronising takes, where it is at least 2 % of the CPU time. Of programs of several processes
//! those with at least 2 % of the CPU time, the largest 8, are executed too, and have no lane.
//!
//! Time: a sweep with at most 144 lanes, and executions of the run.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use longpole_trace::Timelines;

use super::{Gain, GainCandidate, Gains, GainsOf, SMALLEST, candidates, gains_among, worth_a_row};
use crate::analyse::at_once;
use crate::analysis::{Analysis, By, Measures, MetricOptions, Node, Weight};
use crate::contention::Contention;
use crate::execution::{Executions, executions};
use crate::lookahead::LaneLookahead;
use crate::rows::rows;
use crate::synchronisation::SynchronisationCost;

/// Shares from which on a procedure and an object are large.
const LARGE: (f64, f64) = (0.02, 0.01);
/// Procedures and objects at most.
const MOST: (usize, usize) = (32, 16);
/// Processes at most.
const MOST_PROCESSES: usize = 8;

/// What the large things are found among.
pub(crate) struct Large<'a, F> {
    pub analysis: &'a Analysis,
    pub contention: &'a Contention,
    /// What synchronising takes.
    pub costs: F,
    /// Of what all gains are wanted too; they are found in the same sweep where that can be.
    pub with_all: Option<GainsOf>,
}

/// The gains of what is large.
#[derive(Debug)]
pub(crate) struct Prospects {
    pub gains: Gains,
    /// Those of all things that are wanted too, where one sweep found both.
    pub all: Option<Gains>,
    pub executions: Option<Executions>,
    /// Those that are large have their gains.
    pub costs: Vec<SynchronisationCost>,
}

/// Computes the gains of what is large.
pub(crate) fn prospects<T, F>(
    timelines: &T,
    options: &MetricOptions,
    foresight: &LaneLookahead,
    Large { analysis, contention, costs, with_all }: Large<'_, F>,
) -> Result<Prospects, T::Error>
where
    T: Timelines + Sync,
    T::Error: Send,
    F: FnOnce() -> Vec<SynchronisationCost> + Send,
{
    let of = GainsOf { by: By::Procedure, weight: Weight::Cpu };
    let path = &analysis.critical_cpu;
    let procedures = candidates(timelines, of, analysis);
    let is_all = with_all == Some(of);
    let total = crate::total(analysis, |_| true);
    let share = |own: &Measures| {
        let part = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        part(own.critical_cpu as f64, analysis.critical_cpu.length as f64)
            .max(part(own.npt(), total.npt()))
            .max(part(own.running as f64, total.running as f64))
    };
    let own = |candidate: &GainCandidate| candidate.row.as_ref().map_or(0.0, |row| share(&row.own));
    let large = largest(procedures.clone(), own, LARGE.0, MOST.0);
    let objects = candidates(timelines, GainsOf { by: By::Object, ..of }, analysis);
    let waited = |candidate: &GainCandidate| {
        let of = |object: &longpole_trace::ObjectId| contention.objects[object.index()].waited();
        candidate.objects.iter().map(of).sum::<u64>() as f64 / analysis.elapsed.max(1) as f64
    };
    let objects = largest(objects, waited, LARGE.1, MOST.1);
    let processes = large_processes(timelines, analysis, total.running);
    let named: Vec<_> =
        large.iter().chain(&objects).map(|candidate| (candidate.node, candidate.objects.clone())).collect();
    let executed: Vec<_> =
        named.iter().cloned().chain(processes.into_iter().map(|node| (node, Vec::new()))).collect();
    let share = |cost: &SynchronisationCost| (cost.running + cost.spinning) / total.cpu().max(1) as f64;
    let execute = || {
        let mut costs = costs();
        let large = costs.iter_mut().filter(|cost| share(cost) >= LARGE.0).take(MOST.1).collect();
        let executions = executions(timelines, (analysis, foresight), &executed, large);
        executions.map(|executions| (executions, costs))
    };
    let (wholes, left_out) = if is_all { worth_a_row(procedures, of.weight, path) } else { (large, 0) };
    let count = wholes.len();
    let among: Vec<GainCandidate> = wholes.into_iter().chain(objects).collect();
    let (gains, executed) =
        at_once(|| gains_among(timelines, options, (of, analysis), foresight, &among), execute);
    let (mut found, (executions, costs)) = (gains?, executed?);
    let of_node: BTreeMap<Node, Gain> = found.iter().map(|gain| (gain.node, *gain)).collect();
    let large = named.iter().filter_map(|(node, _)| of_node.get(node).copied()).collect();
    let GainsOf { by, weight } = of;
    let gains = Gains { by, weight, length: path.length, gains: large, left_out: 0, smallest: 0.0 };
    found.truncate(count);
    let smallest = path.length as f64 * SMALLEST;
    let all = is_all.then(|| Gains { gains: found, left_out, smallest, ..gains.clone() });
    Ok(Prospects { gains, all, executions, costs })
}

/// Processes with much of so much CPU time, where there are several with any, the largest first.
fn large_processes<T: Timelines>(timelines: &T, analysis: &Analysis, running: u64) -> Vec<Node> {
    let mut rows = rows(analysis, timelines.program(), timelines.paths(), By::Process, |_| true);
    rows.retain(|row| row.own.running as f64 >= LARGE.0 * running as f64 && row.own.running > 0);
    if rows.len() < 2 {
        return Vec::new();
    }
    rows.sort_by_key(|row| (Reverse(row.own.running), row.node));
    rows.truncate(MOST_PROCESSES);
    rows.into_iter().map(|row| row.node).collect()
}

/// Those of at least so large a share, at most so many.
fn largest(
    candidates: Vec<GainCandidate>,
    share: impl Fn(&GainCandidate) -> f64,
    least: f64,
    most: usize,
) -> Vec<GainCandidate> {
    let mut sized: Vec<(f64, GainCandidate)> =
        candidates.into_iter().map(|candidate| (share(&candidate), candidate)).collect();
    sized.retain(|&(share, _)| share >= least);
    sized.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.node.cmp(&b.node)));
    sized.truncate(most);
    sized.into_iter().map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use longpole_testkit::random_timelines;
    use proptest::prelude::*;

    use crate::{By, DetailsDemand, GainsOf, MetricOptions, Weight, analyse, details};

    proptest! {
        /// What is large has the gain that it has among all.
        #[test]
        fn gains_are_those_of_the_whole_table(made in random_timelines(4, 60)) {
            let options = MetricOptions::default();
            let Ok(analysis) = analyse(&made, &options);
            let gains = |demand: DetailsDemand| { let Ok(details) = details(&made, &options, &demand, &analysis); details };
            let few = gains(DetailsDemand { prospects: true, ..DetailsDemand::default() }).prospects.expect("demanded");
            let of = |by| {
                let of = Some(GainsOf { by, weight: Weight::Cpu });
                gains(DetailsDemand { gains: of, ..DetailsDemand::default() }).gains.expect("demanded").gains
            };
            let few_gains = few.gains.clone();
            let all: Vec<_> = of(By::Procedure).into_iter().chain(of(By::Object)).collect();
            for gain in few.gains {
                prop_assert!(all.contains(&gain), "{:?}", gain);
            }
            let gains_of = Some(GainsOf { by: By::Procedure, weight: Weight::Cpu });
            let both = gains(DetailsDemand { prospects: true, gains: gains_of, ..DetailsDemand::default() });
            prop_assert_eq!(both.gains.expect("demanded").gains, of(By::Procedure));
            prop_assert_eq!(both.prospects.expect("demanded").gains, few_gains);
        }
    }
}
