//! The time of strata divided among the paths that were sampled in them (metrics.md §1, rules 2 and 3).
//!
//! ```text
//!   stratum            time    samples expected, at one in 2 ms
//!   (s, t), U = 1      40 ms   20     its own samples divide it
//!   (s, t), U = 2       4 ms    2   ┐ pooled, as neither expects 5: together 3.5, still too few; then with others
//!   (s, t), U = 3       3 ms  1.5   ┘ that begin at s, with others of the prefix, with all on the same critical paths,
//! ```                                 with all
//! A cell is not split by what its own samples change ([`crate::probe_effect`]).
//!
//! One division is for all figures: CPU time, normalised time, time on either critical path; so no row has more on a path than
//! in all.
//!
//! Whether a stratum is large enough is decided by its exact time, never by the samples it got: a stratum that got few by
//! chance would else give its time away exactly then. One that got none takes the shares of what it would be pooled into.
//!
//! Parts add up: a thread's time in a pool is divided by the pool's shares, rounded so that no nanosecond is lost. Where threads and
//! paths are very many, each thread gets few of them ([`crate::share_draws`]).

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_trace::{PathId, Paths};
use rustc_hash::FxHashMap;

use crate::analyse::sort_at_once;
use crate::analysis::{EffectiveSamples, Precisions, Weight};
use crate::charging::{ChargeGroups, Charging};
use crate::npt::Terms;
use crate::on_path::{ByMembership, Membership};
use crate::pieces::{Ground, StratumCell};
use crate::precision::{Precision, SampledPool};
use crate::probe_effect::{self, Splits};
use crate::share_draws::{RunningShares, ShareDraws};
use crate::strata::{Collected, Products, SampleTally, Stratum, WeightSums};
use crate::stratum_groups::{GroupKey, RANKS, StratumFamilies, begin_alike, group_key};
use crate::timer_check::TimerCheck;

/// Samples that a pool has to expect.
const FEWEST: f64 = 5.0;

/// Time of a thread at a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Divided {
    /// Nanoseconds, in all.
    pub time: u64,
    /// Of that on the critical path by CPU time, and by elapsed time.
    pub critical: (u64, u64),
    /// Time by level as normalised processor time divides it.
    pub terms: Terms,
}

/// The shares of one pool.
#[derive(Clone, Debug, Default)]
struct SharePool {
    /// Paths, with the running sums of their shares of the time and of the normalised time; the last sums are 1.
    shares: Vec<(PathId, f64, f64)>,
    /// Samples by path, as they count for either; none where nothing is estimated.
    tallies: Vec<(PathId, SampleTally, SampleTally)>,
}

impl SharePool {
    fn only(path: PathId) -> SharePool {
        SharePool { shares: vec![(path, 1.0, 1.0)], tallies: Vec::new() }
    }

    /// The share of the time of each path, in the order of paths.
    fn time_shares(&self) -> impl Iterator<Item = (PathId, f64)> {
        let mut given = 0.0;
        self.shares.iter().map(move |&(path, sum, _)| (path, sum - std::mem::replace(&mut given, sum)))
    }

    fn of(tallies: &BTreeMap<PathId, (SampleTally, SampleTally)>) -> SharePool {
        let mut shares: Vec<_> =
            tallies.iter().map(|(&path, (time, npt))| (path, time.weight, npt.weight)).collect();
        let (mut time, mut npt) = (0.0, 0.0);
        for share in &mut shares {
            (time, npt) = (time + share.1, npt + share.2);
            (share.1, share.2) = (time, npt);
        }
        for share in &mut shares {
            (share.1, share.2) = (share.1 / time, share.2 / npt);
        }
        let tallies = tallies.iter().map(|(&path, &(time, npt))| (path, time, npt)).collect();
        SharePool { shares, tallies }
    }
}

/// Divides the time of one figure.
#[derive(Debug)]
pub(crate) struct Division<'a> {
    collected: &'a Collected,
    pools: Vec<SharePool>,
    /// By what the cell of each stratum may be split.
    splits: Vec<Splits>,
    /// The pool of each stratum.
    of: Vec<usize>,
    /// Mean time between samples; 0 without any.
    period: f64,
    /// Where the samples of each stratum begin, and where those of the last one end.
    first_tallies: Vec<u32>,
}

impl<'a> Division<'a> {
    pub fn new(collected: &'a Collected) -> Self {
        let samples: u64 = collected.tallies.iter().map(|(_, _, tally)| tally.count).sum();
        let time: u64 = collected.strata.iter().map(|stratum| stratum.time).sum();
        let period = if samples > 0 { time as f64 / samples as f64 } else { 0.0 };
        let of = vec![usize::MAX; collected.strata.len()];
        let cells = collected.strata.iter().map(|stratum| stratum.cell);
        let mut by_cell: Vec<(StratumCell, u32)> = cells.zip(0..).collect();
        sort_at_once(&mut by_cell);
        let splits = probe_effect::splits(collected, &by_cell);
        let by_cell: Vec<u32> = by_cell.into_iter().map(|(_, id)| id).collect();
        let mut first_tallies = vec![0; collected.strata.len() + 1];
        for &(stratum, _, _) in &collected.tallies {
            first_tallies[stratum as usize + 1] += 1;
        }
        let mut sum = 0;
        first_tallies.iter_mut().for_each(|first| {
            sum += *first;
            *first = sum;
        });
        let mut division = Division { collected, pools: Vec::new(), splits, of, period, first_tallies };
        division.pool_exact(&by_cell);
        division.pool_estimated(&by_cell);
        division
    }

    fn expected(&self, strata: &[u32]) -> f64 {
        if self.period == 0.0 {
            return 0.0;
        }
        let time: u64 = strata.iter().map(|&stratum| self.collected.strata[stratum as usize].time).sum();
        time as f64 / self.period
    }

    fn is_exact(&self, id: u32) -> bool {
        self.collected.strata[id as usize].cell.ground == Ground::Exact
    }

    fn key(&self, id: u32, rank: u32) -> GroupKey {
        group_key(&self.collected.strata[id as usize], self.splits[id as usize], rank)
    }

    /// Passes each group of these strata, in the order of their keys; within a group strata keep their order. They come by cell,
    /// or as groups of the rank before were passed: so only what has the begin of its key in common has to be sorted.
    fn grouped(&mut self, strata: &[u32], rank: u32, mut each: impl FnMut(&mut Self, GroupKey, &[u32])) {
        let of = |&id: &u32| (self.key(id, rank), id);
        let mut keyed: Vec<(GroupKey, u32)> = strata.iter().map(of).collect();
        keyed
            .chunk_by_mut(|(one, _), (other, _)| begin_alike(one, other, rank))
            .for_each(|alike| alike.sort_by_key(|&(key, _)| key));
        debug_assert!(keyed.is_sorted_by_key(|&(key, _)| key), "keys of rank {rank}");
        let mut group = Vec::new();
        for of_group in keyed.chunk_by(|one, other| one.0 == other.0) {
            group.clear();
            group.extend(of_group.iter().map(|&(_, id)| id));
            each(self, of_group[0].0, &group);
        }
    }

    /// Samples of these strata by path: as they count for CPU time, and for normalised processor time.
    fn tallied(&self, strata: &[u32]) -> BTreeMap<PathId, (SampleTally, SampleTally)> {
        let mut sums: BTreeMap<PathId, (SampleTally, SampleTally)> = BTreeMap::new();
        for &id in strata {
            let level = f64::from(self.collected.strata[id as usize].level.max(1));
            let (first, end) = (self.first_tallies[id as usize], self.first_tallies[id as usize + 1]);
            for &(_, path, tally) in &self.collected.tallies[first as usize..end as usize] {
                let sum = sums.entry(path).or_default();
                sum.0.add(tally);
                sum.1.add(tally.scaled(1.0 / level));
            }
        }
        sums
    }

    fn put(&mut self, strata: &[u32], pool: SharePool) {
        for &id in strata {
            self.of[id as usize] = self.pools.len();
        }
        self.pools.push(pool);
    }

    /// What the program itself told: divided only among what it called there.
    fn pool_exact(&mut self, by_cell: &[u32]) {
        let exact: Vec<u32> = by_cell.iter().copied().filter(|&id| self.is_exact(id)).collect();
        self.grouped(&exact, 1, |division, key, strata| {
            let tallies =
                if division.expected(strata) < FEWEST { BTreeMap::new() } else { division.tallied(strata) };
            let pool = if tallies.is_empty() { SharePool::only(key.0.end) } else { SharePool::of(&tallies) };
            division.put(strata, pool);
        });
    }

    fn pool_estimated(&mut self, by_cell: &[u32]) {
        let all: Vec<u32> = by_cell.iter().copied().filter(|&id| !self.is_exact(id)).collect();
        let is_sampled = |&id: &u32| self.first_tallies[id as usize] < self.first_tallies[id as usize + 1];
        let in_order = 0..self.collected.strata.len() as u32;
        let estimated = in_order.filter(|&id| !self.is_exact(id));
        let mut sampled = StratumFamilies::of(estimated.filter(is_sampled).collect());
        let mut small = all.clone();
        for rank in 0..RANKS {
            let mut left = Vec::new();
            self.grouped(&small, rank, |division, key, strata| {
                if division.expected(strata) >= FEWEST {
                    let pool = division.shares_of(&mut sampled, strata, rank);
                    division.put(strata, pool);
                } else if rank + 2 == RANKS && key.0.ground == Ground::Marked {
                    division.put(strata, SharePool::only(key.0.prefix));
                } else {
                    left.extend_from_slice(strata);
                }
            });
            small = left;
        }
        if !small.is_empty() {
            let pool = match self.expected(&all) < FEWEST {
                true => SharePool::only(Paths::ROOT),
                // Nothing is left to pool them with: few samples of their own are no worse than all those of others.
                false => self.shares_of(&mut sampled, &small, RANKS - 2),
            };
            self.put(&small, pool);
        }
    }

    /// The shares of these strata, or, where they got no sample, those of the next larger group that got one.
    fn shares_of(&self, sampled: &mut StratumFamilies, strata: &[u32], rank: u32) -> SharePool {
        let own = self.tallied(strata);
        if !own.is_empty() {
            return SharePool::of(&own);
        }
        for rank in rank + 1..RANKS {
            let tallies = self.tallied(sampled.family(strata[0], rank, |id| self.key(id, rank)));
            if !tallies.is_empty() {
                return SharePool::of(&tallies);
            }
        }
        SharePool::only(Paths::ROOT)
    }

    /// The time of each thread at each path, in the order of both.
    pub fn divided(&self) -> Vec<((ThreadId, PathId), Divided)> {
        let mut divided = Vec::new();
        let mut draws = self.draws();
        let mut place = vec![usize::MAX; self.pools.len()];
        for parts in self.collected.parts.chunk_by(|one, other| one.0 == other.0) {
            let mut wholes: Vec<(usize, Whole)> = Vec::new();
            for &(_, stratum, time) in parts {
                let Stratum { level, on, .. } = self.collected.strata[stratum as usize];
                let pool = self.of[stratum as usize];
                if place[pool] == usize::MAX {
                    place[pool] = wholes.len();
                    wholes.push((pool, Whole::default()));
                }
                let whole = &mut wholes[place[pool]].1;
                whole.levels.add(level, time);
                whole.memberships[on.index()] += time;
            }
            let mut of_thread: FxHashMap<PathId, Divided> = FxHashMap::default();
            for (pool, whole) in wholes {
                place[pool] = usize::MAX;
                let shares = &self.pools[pool].shares;
                let drawn = draws.draw(pool, shares, whole.memberships.iter().sum());
                divide(drawn.as_deref().unwrap_or(shares), &whole, &mut of_thread);
            }
            let mut of_thread: Vec<_> = of_thread.into_iter().collect();
            of_thread.sort_unstable_by_key(|&(path, _)| path);
            divided.extend(of_thread.into_iter().map(|(path, part)| ((parts[0].0, path), part)));
        }
        divided
    }

    /// How finely the time of threads is divided.
    fn draws(&self) -> ShareDraws {
        let (mut parts, mut time) = (0, 0);
        let mut seen_by = vec![None; self.pools.len()];
        for &(thread, stratum, of_stratum) in &self.collected.parts {
            let pool = self.of[stratum as usize];
            time += of_stratum;
            // A thread has one part of each path of a pool, in however many of its strata.
            if seen_by[pool].replace(thread) != Some(thread) {
                parts += self.pools[pool].shares.len() as u64;
            }
        }
        ShareDraws::new(self.pools.len(), parts, time)
    }

    /// What sweeps that follow threads through time are told of the division.
    pub fn charging(&self, groups: ChargeGroups) -> Charging {
        let pools = self.pools.iter().map(|pool| pool.time_shares().collect()).collect();
        Charging::new(self.collected, groups, pools, &self.of)
    }

    /// How the timer stood to the program.
    pub fn timer_check(&self) -> TimerCheck {
        self.collected.positions.check(self.period)
    }

    /// How sure the estimates are.
    pub fn precisions(&self) -> Precisions {
        let whole = |_: &Stratum| 1.0;
        let normalised = |stratum: &Stratum| 1.0 / f64::from(stratum.level.max(1));
        let on_path = |stratum: &Stratum| f64::from(u8::from(stratum.on.has(Weight::Cpu)));
        Precisions {
            cpu: self.precision(whole, |pool| pool.1, |sum| sum.time),
            npt: self.precision(normalised, |pool| pool.2, |sum| sum.normalised),
            critical: self.precision(on_path, |pool| pool.1, |sum| sum.time),
        }
    }

    /// How sure the estimates of one figure are, which has so much of a stratum's time.
    fn precision(
        &self,
        part: impl Fn(&Stratum) -> f64,
        tally: fn(&(PathId, SampleTally, SampleTally)) -> SampleTally,
        product: fn(&Products) -> f64,
    ) -> Precision {
        let pool = |pool: &SharePool| SampledPool {
            total: 0.0,
            tallies: pool.tallies.iter().map(|each| (each.0, tally(each))).collect(),
            pairs: Vec::new(),
        };
        let mut pools: Vec<SampledPool> = self.pools.iter().map(pool).collect();
        for (stratum, &pool) in self.collected.strata.iter().zip(&self.of) {
            pools[pool].total += stratum.time as f64 * part(stratum);
        }
        for (stratum, one, other, sum) in &self.collected.pairs {
            pools[self.of[*stratum as usize]].pairs.push((*one, *other, product(sum)));
        }
        pools.retain(|pool| pool.total > 0.0 && !pool.tallies.is_empty());
        Precision::of(pools)
    }

    /// Effective numbers of observations behind each figure: what is exact adds to what is known, and not to the errors, unless
    /// samples divide it. Where there are none, exact pieces are counted by what they count for.
    pub fn effective_samples(&self) -> EffectiveSamples {
        let exact = &self.collected.exact;
        let mut sampled = [WeightSums::default(); 3];
        for &(stratum, _, tally) in &self.collected.tallies {
            let Stratum { level, cell, on, .. } = self.collected.strata[stratum as usize];
            let is_exact = cell.ground == Ground::Exact;
            if is_exact && self.pools[self.of[stratum as usize]].shares.len() < 2 {
                continue;
            }
            let normalised = tally.scaled(1.0 / f64::from(level.max(1)));
            let is_on = f64::from(u8::from(on.has(Weight::Cpu)));
            for (sums, tally) in sampled.iter_mut().zip([tally, normalised, tally.scaled(is_on)]) {
                sums.add_sums(if is_exact { 0.0 } else { tally.weight }, tally.squares);
            }
        }
        let [cpu, npt, critical] = sampled;
        EffectiveSamples {
            cpu: exact.time.effective_with(cpu),
            npt: exact.normalised.effective_with(npt),
            critical: exact.critical.effective_with(critical),
        }
    }
}

/// A thread's time in a pool.
#[derive(Debug, Default)]
struct Whole {
    levels: Terms,
    memberships: ByMembership,
}

/// Divides a thread's time in a pool among paths.
fn divide(shares: &RunningShares, whole: &Whole, divided: &mut FxHashMap<PathId, Divided>) {
    let up_to = |time: u64, share: f64| (time as f64 * share).round() as u64;
    let (mut given, mut given_npt) = (0.0, 0.0);
    let mut terms: Vec<(u32, u64)> = Vec::new();
    for &(path, share, share_npt) in shares {
        let by_membership = whole.memberships.map(|time| up_to(time, share) - up_to(time, given));
        let of_level = |(level, time)| (level, up_to(time, share_npt) - up_to(time, given_npt));
        terms.clear();
        terms.extend(whole.levels.times().map(of_level).filter(|&(_, time)| time > 0));
        (given, given_npt) = (share, share_npt);
        let time: u64 = by_membership.iter().sum();
        if time > 0 || !terms.is_empty() {
            let sum = divided.entry(path).or_default();
            sum.time += time;
            sum.critical.0 += on(Weight::Cpu, &by_membership);
            sum.critical.1 += on(Weight::Elapsed, &by_membership);
            terms.iter().for_each(|&(level, time)| sum.terms.add(level, time));
        }
    }
}

/// The time on the path of this weight.
fn on(weight: Weight, times: &ByMembership) -> u64 {
    let has = |&(index, _): &(usize, &u64)| Membership::of_index(index).has(weight);
    times.iter().enumerate().filter(has).map(|(_, time)| time).sum()
}
