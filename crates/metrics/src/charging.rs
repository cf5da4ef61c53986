//! Fair charges for sweeps that follow threads through time (metrics.md §1, §5): how the work of each piece is divided, so that all
//! pieces together are divided as the tables have it.
//!
//! Tables divide the time of a stratum by its samples, wherever they are. A longest path has to know which piece of work is
//! shorter without a procedure. In each *group* (the pieces between two sites, by critical paths) it is so:
//! 1. Samples claim the time next to them ([`crate::pieces`]). A path whose samples claim more than the table gives it has its
//!    claims cut by one factor.
//! 2. What nobody claims is divided alike in all pieces of the group: by what the table gives each path beyond its claims.
//!
//! ```text
//!   group: 100 ms, table A 60, B 40      claims A 30, B 15      unclaimed 55: A 30/55, B 25/55
//! ```
//! Both together are the table's division, whatever the samples claim, and no piece has more than its length.
//!
//! Long pieces are told by their own samples, so that a thread that does other work than its neighbours, or the run's beginning,
//! stays different. Short pieces, of which most have no sample, are all divided by the same shares. To give each of them one path, drawn
//! in proportion, would be as true in the mean; but it adds noise, tables then disagree by chance, and pieces of several
//! procedures would seem to differ more than they do. The price of equal shares: where each piece is all of one procedure, and few of
//! them lie between two synchronisations, the threads seem more alike than they are, and gains come out too large.
//!
//! Memory: a number per (group, pool), (group, sampled path), (pool, sampled path).

use longpole_trace::{PathId, Stored, StoredBytes, stored};
use rustc_hash::FxHashMap;

use crate::on_path::Membership;
use crate::pieces::{NOWHERE, StratumCell, WorkPieceOfThread};
use crate::strata::{Collected, Stratum};

/// Number of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ChargeGroupId(pub u32);

/// How the work of a run is divided.
#[derive(Clone, Debug, Default)]
pub struct Charging {
    groups: FxHashMap<(StratumCell, Membership), ChargeGroupId>,
    of_group: Vec<ChargeGroup>,
    /// Shares of the time of each pool, by path.
    pub(crate) pools: Vec<Vec<(PathId, f64)>>,
    /// What is left of the claims of these samples; of all others all.
    kept: FxHashMap<(ChargeGroupId, PathId), f64>,
    /// Gap of samples of which it is not recorded, nanoseconds.
    interval: u64,
}

/// The groups of strata, which are known before it is known how these are divided.
#[derive(Debug, Default)]
pub(crate) struct ChargeGroups {
    ids: FxHashMap<(StratumCell, Membership), ChargeGroupId>,
    /// Of each stratum.
    of: Vec<ChargeGroupId>,
}

impl ChargeGroups {
    pub(crate) fn of(collected: &Collected) -> ChargeGroups {
        let mut ids = FxHashMap::default();
        let group = |stratum: &Stratum| {
            let next = ChargeGroupId(ids.len() as u32);
            *ids.entry((stratum.cell, stratum.on)).or_insert(next)
        };
        let of = collected.strata.iter().map(group).collect();
        ChargeGroups { ids, of }
    }
}

/// How unclaimed time of a group is divided.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChargeGroup {
    /// Pools with their parts of it.
    pub pools: Vec<(u32, f64)>,
    /// What paths have claimed already, as a part of all unclaimed time.
    pub claimed: Vec<(PathId, f64)>,
}

/// Part of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ChargePart {
    /// Time at a path.
    At(PathId),
    /// Time that is divided as a group's unclaimed time is.
    Of(ChargeGroupId),
}

stored!(ids: ChargeGroupId);
stored! {
    ChargeGroup { pools, claimed }
}

impl Stored for Charging {
    fn store(&self, bytes: &mut Vec<u8>) {
        let Charging { groups, of_group, pools, kept, interval } = self;
        groups.store(bytes);
        of_group.store(bytes);
        pools.store(bytes);
        kept.store(bytes);
        interval.store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let charging = Charging {
            groups: Stored::restore(bytes)?,
            of_group: Stored::restore(bytes)?,
            pools: Stored::restore(bytes)?,
            kept: Stored::restore(bytes)?,
            interval: Stored::restore(bytes)?,
        };
        charging.is_sound().then_some(charging)
    }
}

impl Charging {
    /// Whether all that it names is there.
    fn is_sound(&self) -> bool {
        let has_group = |group: ChargeGroupId| (group.0 as usize) < self.of_group.len();
        let has_pools =
            |group: &ChargeGroup| group.pools.iter().all(|&(pool, _)| (pool as usize) < self.pools.len());
        self.groups.values().copied().all(has_group)
            && self.kept.keys().all(|&(group, _)| has_group(group))
            && self.of_group.iter().all(has_pools)
    }

    /// Of strata in these groups that are divided by these pools; `of` is the pool of each stratum.
    pub(crate) fn new(
        collected: &Collected,
        groups: ChargeGroups,
        pools: Vec<Vec<(PathId, f64)>>,
        of: &[usize],
    ) -> Charging {
        let ChargeGroups { ids, of: group_of } = groups;
        let of_group = vec![ChargeGroup::default(); ids.len()];
        let mut wholes = vec![0.0; ids.len()];
        let interval = collected.interval;
        let mut charging = Charging { groups: ids, of_group, pools, interval, ..Charging::default() };
        for ((stratum, &pool), group) in collected.strata.iter().zip(of).zip(group_of) {
            let (pools, time) = (&mut charging.of_group[group.0 as usize].pools, stratum.time as f64);
            wholes[group.0 as usize] += time;
            match pools.iter_mut().find(|(known, _)| *known == pool as u32) {
                Some((_, sum)) => *sum += time,
                None => pools.push((pool as u32, time)),
            }
        }
        for claims in collected.claims.chunk_by(|one, other| one.0 == other.0) {
            if let Some(&group) = charging.groups.get(&claims[0].0) {
                charging.claim(group, claims);
            }
        }
        for (group, whole) in charging.of_group.iter_mut().zip(wholes) {
            let claimed: f64 = group.claimed.iter().map(|(_, time)| time).sum();
            // Of nothing unclaimed nothing is ever asked but what rounding leaves.
            let unclaimed = if whole - claimed >= 1.0 { whole - claimed } else { f64::INFINITY };
            group.pools.iter_mut().for_each(|(_, time)| *time /= unclaimed);
            group.claimed.iter_mut().for_each(|(_, time)| *time /= unclaimed);
        }
        charging
    }

    /// What a sample with this gap stands for, nanoseconds; 0: its gap is not recorded.
    pub(crate) fn gap(&self, gap: u32) -> u64 {
        if gap == 0 { self.interval } else { gap.into() }
    }

    fn claim(&mut self, group: ChargeGroupId, claims: &[((StratumCell, Membership), PathId, u64)]) {
        for &(_, path, claimed) in claims.iter().filter(|claim| claim.2 > 0) {
            let of_table: f64 = self.of_group[group.0 as usize]
                .pools
                .iter()
                .map(|&(pool, time)| time * share(&self.pools[pool as usize], path))
                .sum();
            let kept = (of_table / claimed as f64).min(1.0);
            if kept < 1.0 {
                self.kept.insert((group, path), kept);
            }
            self.of_group[group.0 as usize].claimed.push((path, kept * claimed as f64));
        }
    }

    /// How unclaimed time of the group is divided.
    pub(crate) fn group(&self, group: ChargeGroupId) -> &ChargeGroup {
        &self.of_group[group.0 as usize]
    }

    /// The group of such pieces.
    fn group_of(&self, cell: StratumCell, on: Membership) -> Option<ChargeGroupId> {
        let untold = StratumCell { begin: NOWHERE, end: NOWHERE, ..cell };
        self.groups.get(&(cell, on)).or_else(|| self.groups.get(&(untold, on))).copied()
    }

    /// Gives each part of the piece, with the time of it that lies on paths so.
    pub(crate) fn divide(
        &self,
        cell: StratumCell,
        piece: &WorkPieceOfThread,
        mut charge: impl FnMut(ChargePart, Membership, f64),
    ) {
        for (index, &work) in piece.work.iter().enumerate().filter(|&(_, &work)| work > 0) {
            let on = Membership::of_index(index);
            let mut rest = work as f64;
            let Some(group) = self.group_of(cell, on) else {
                // It was not there when the work was collected.
                let place = if cell.end == NOWHERE { cell.prefix } else { cell.end };
                charge(ChargePart::At(place), on, rest);
                continue;
            };
            for claim in piece.claims.iter().filter(|claim| claim.on == on && claim.time > 0) {
                let kept = if self.kept.is_empty() { None } else { self.kept.get(&(group, claim.path)) };
                let time = claim.time as f64 * kept.copied().unwrap_or(1.0);
                charge(ChargePart::At(claim.path), on, time);
                rest -= time;
            }
            if rest > 0.0 {
                charge(ChargePart::Of(group), on, rest);
            }
        }
    }

    /// Divides unclaimed times of groups among paths; a path may come up several times, also with less than 0 where the other
    /// times more than make up for it. Each pool is divided once, however many groups have a part of it.
    pub(crate) fn divide_unclaimed(
        &self,
        times: impl IntoIterator<Item = (ChargeGroupId, f64)>,
        mut charge: impl FnMut(PathId, f64),
    ) {
        let mut of_pool: FxHashMap<u32, f64> = FxHashMap::default();
        for (group, time) in times {
            let ChargeGroup { pools, claimed } = self.group(group);
            for &(pool, part) in pools {
                *of_pool.entry(pool).or_default() += time * part;
            }
            claimed.iter().for_each(|&(path, part)| charge(path, -part * time));
        }
        let mut of_pool: Vec<(u32, f64)> = of_pool.into_iter().collect();
        of_pool.sort_unstable_by_key(|&(pool, _)| pool);
        for (pool, time) in of_pool {
            self.pools[pool as usize].iter().for_each(|&(path, share)| charge(path, time * share));
        }
    }
}

/// The share of the path; shares are in the order of paths.
fn share(shares: &[(PathId, f64)], path: PathId) -> f64 {
    let found = shares.binary_search_by_key(&path, |&(path, _)| path);
    found.map_or(0.0, |index| shares[index].1)
}
