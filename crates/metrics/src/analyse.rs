//! From timelines to an [`Analysis`]: sweeps for all that streams, then sweeps along the critical paths that these found. Sweeps
//! that do not need each other are done at the same time; none adds to what another one adds up, so that results stay the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use longpole_event::ThreadId;
use longpole_graph::sweep;
use longpole_trace::{PathId, Timelines, Unfolded};

use crate::analysis::{Analysis, Charge, CriticalPath, Measures, MetricOptions, Weight};
use crate::charges::ChargeEntry;
use crate::charging::ChargeGroups;
use crate::critical_path::PathSearch;
use crate::division::Division;
use crate::final_waits::FinalWaits;
use crate::hand_offs::HandOffs;
use crate::idle_blame::IdleBlame;
use crate::npt::{Npt, Terms};
use crate::on_path::OnPaths;
use crate::parallel_regions::ParallelRegions;
use crate::parallelism::Parallelism;
use crate::path_waits::{PathWaits, add_times};
use crate::pinned::PinningSweep;
use crate::polls::PollSweep;
use crate::profile::{ProfileSweep, Times};
use crate::sample_pairs::SamplePairSweep;
use crate::spin_costs::SpinCostSweep;
use crate::spin_ends::SpinEnds;

/// Computes everything that reports are made from. Memory is proportional to the live threads and the distinct
/// call paths, and to the hand-offs on the critical paths.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn analyse<T>(timelines: &T, options: &MetricOptions) -> Result<Analysis, T::Error>
where
    T: Timelines + Sync,
    T::Error: Send,
{
    analyse_beside(timelines, options, || ()).map(|(analysis, ())| analysis)
}

/// The same, with something done beside it that does not need it, once the first sweeps are over: from then on there is less
/// that can be done at the same time.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn analyse_beside<T, B: Send>(
    timelines: &T,
    options: &MetricOptions,
    beside: impl FnOnce() -> B + Send,
) -> Result<(Analysis, B), T::Error>
where
    T: Timelines + Sync,
    T::Error: Send,
{
    let program = timelines.program();
    let mut sums = (
        ProfileSweep::new(program),
        Parallelism::default(),
        IdleBlame::new(program),
        FinalWaits::new(program, timelines.paths()),
        SpinEnds::default(),
        SpinCostSweep::default(),
        PinningSweep::new(program),
        PollSweep::new(program),
        SamplePairSweep::new(program),
    );
    let (summed, paths) =
        at_once(|| sweep(timelines, options.io_idle, &mut sums), || critical_paths(timelines, options));
    summed?;
    let (analysis, beside) = at_once(|| analyse_work(timelines, options, sums, paths?), beside);
    Ok((analysis?, beside))
}

/// What the first sweeps summed up.
type FirstSums<'a> = (
    ProfileSweep,
    Parallelism,
    IdleBlame,
    FinalWaits<'a>,
    SpinEnds,
    SpinCostSweep,
    PinningSweep<'a>,
    PollSweep,
    SamplePairSweep,
);

/// The analysis, after the first sweeps, with these paths by CPU time and by elapsed time.
fn analyse_work<T>(
    timelines: &T,
    options: &MetricOptions,
    sums: FirstSums<'_>,
    (critical_cpu, critical_elapsed): (CriticalPath, CriticalPath),
) -> Result<Analysis, T::Error>
where
    T: Timelines + Sync,
    T::Error: Send,
{
    let program = timelines.program();
    let (profile, parallelism, idle_blame, final_waits, spin_ends, spin_costs, pinning, polls, sample_pairs) =
        sums;

    let on_paths = OnPaths::new(&critical_cpu.segments, &critical_elapsed.segments);
    let mut npt = Npt::new((program, timelines.paths()), options.io_idle, on_paths, profile.interval());
    let mut waits_on_path = PathWaits::new(program, &critical_elapsed.segments);
    let (strata, waits) = at_once(
        || sweep(&Unfolded(timelines), options.io_idle, &mut npt),
        || sweep(&Unfolded(timelines), options.io_idle, &mut waits_on_path),
    );
    strata.and(waits)?;

    let mut table = ChargeTable::default();
    table.merge_times(profile.ledger.into_entries());
    let owner = |path| timelines.owner(path);
    let work = npt.strata.into_collected();
    let (division, groups) = at_once(|| Division::new(&work), || ChargeGroups::of(&work));
    let busy_waits = npt.ledger.into_entries();
    let (charging, ()) = at_once(
        || Arc::new(division.charging(groups).into()),
        || table.merge_work(&division, busy_waits, owner),
    );
    for &(thread, path, looks) in &work.looks {
        table.0.entry((thread, owner(path))).or_default().observations += looks;
    }
    for (key, blame) in idle_blame.into_charges() {
        let measures = table.0.entry(key).or_default();
        (measures.caused_wait, measures.idle_blame) = (blame.waited, blame.idle.round() as u64);
    }
    for ChargeEntry { thread, path, value } in waits_on_path.into_charges() {
        let measures = table.0.entry((thread, owner(path))).or_default();
        measures.critical_elapsed += value.values().sum::<u64>();
        add_times(&mut measures.path_waits, &value);
    }

    Ok(Analysis {
        elapsed: parallelism.busy.iter().sum(),
        busy: parallelism.busy,
        nominal: parallelism.nominal,
        charges: table.into_charges(),
        folded: Vec::new(),
        synchronisation: Vec::new(),
        parallel_regions: ParallelRegions::default(),
        spun_for_unknown: spin_ends.unknown(),
        spin_costs: spin_costs.into_costs(),
        threads: profile.threads,
        critical_cpu,
        critical_elapsed,
        effective_samples: division.effective_samples(),
        precisions: division.precisions().folded(owner),
        final_waits: final_waits.into_waits(),
        pinning: pinning.into_pinning(),
        polls: polls.into_times(),
        sample_pairs: sample_pairs.into_counts(),
        timer: division.timer_check(),
        charging,
    })
}

/// The critical paths by CPU time and by elapsed time.
fn critical_paths<T: Timelines>(
    timelines: &T,
    options: &MetricOptions,
) -> Result<(CriticalPath, CriticalPath), T::Error> {
    let program = timelines.program();
    let hand_offs = HandOffs::new(timelines.objects(), options.order);
    let mut searches = (
        PathSearch::new(program, Weight::Cpu, hand_offs.clone()),
        PathSearch::new(program, Weight::Elapsed, hand_offs),
    );
    sweep(timelines, options.io_idle, &mut searches)?;
    Ok((searches.0.into_path(), searches.1.into_path()))
}

/// Does two things that do not need each other at the same time.
pub(crate) fn at_once<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        (one, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Elements from which on sorting them is done in two parts at the same time.
const MANY: usize = 1 << 15;

/// Sorts, in two parts at the same time where there are many. Elements that compare equal have to be equal.
pub(crate) fn sort_at_once<T: Ord + Send>(all: &mut [T]) {
    if all.len() < MANY {
        all.sort_unstable();
        return;
    }
    let (one, other) = all.split_at_mut(all.len() / 2);
    at_once(|| one.sort_unstable(), || other.sort_unstable());
    // A stable sort finds what is sorted already, and merges it.
    all.sort();
}

/// Charges by thread and path.
#[derive(Default)]
struct ChargeTable(BTreeMap<(ThreadId, PathId), Measures>);

impl ChargeTable {
    fn merge_times(&mut self, entries: Vec<ChargeEntry<Times>>) {
        for ChargeEntry { thread, path, value } in entries {
            let measures = self.0.entry((thread, path)).or_default();
            let Times { spinning, overhead, ready, blocked, blocks } = value;
            *measures = Measures { spinning, overhead, ready, blocked, blocks, ..Measures::default() };
        }
    }

    /// Useful work, with the normalised processor time of waits that count as busy.
    fn merge_work(
        &mut self,
        division: &Division<'_>,
        busy_waits: Vec<ChargeEntry<Terms>>,
        owner: impl Fn(PathId) -> PathId,
    ) {
        let mut terms: BTreeMap<_, Terms> = BTreeMap::new();
        for ChargeEntry { thread, path, value } in busy_waits {
            let sum = terms.entry((thread, owner(path))).or_default();
            value.times().for_each(|(level, time)| sum.add(level, time));
        }
        for ((thread, path), part) in division.divided() {
            let key = (thread, owner(path));
            let measures = self.0.entry(key).or_default();
            measures.running += part.time;
            measures.critical_cpu += part.critical.0;
            measures.critical_elapsed += part.critical.1;
            let sum = terms.entry(key).or_default();
            part.terms.times().for_each(|(level, time)| sum.add(level, time));
        }
        for (key, terms) in terms {
            self.0.entry(key).or_default().npt_terms = terms.normalised();
        }
    }

    fn into_charges(self) -> Vec<Charge> {
        self.0
            .into_iter()
            .filter(|(_, measures)| *measures != Measures::default())
            .map(|((thread, path), measures)| Charge { thread, path, measures })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sorted_in_two_parts_is_sorted() {
        for count in [0, 1, MANY - 1, MANY, 3 * MANY + 1] {
            let mut random = count as u64;
            let mut draw = |_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 50, random >> 40)
            };
            let mut all: Vec<(u64, u64)> = (0..count).map(&mut draw).collect();
            let mut expected = all.clone();
            expected.sort_unstable();
            sort_at_once(&mut all);
            assert_eq!(all, expected, "{count}");
        }
    }
}
