//! What strata have in common, rank by rank: with whom one is pooled that is too small by itself ([`crate::division`]).

use longpole_trace::PathId;

use crate::on_path::Membership;
use crate::pieces::{Ground, StratumCell};
use crate::probe_effect::Splits;
use crate::strata::Stratum;

/// How strata are grouped: by everything, and then by less and less.
pub(crate) const RANKS: u32 = 6;

/// What a group of strata has in common.
pub(crate) type GroupKey = (StratumCell, u32, Option<Membership>);

/// What a group of this rank has in common.
pub(crate) fn group_key(stratum: &Stratum, splits: Splits, rank: u32) -> GroupKey {
    const ANY: PathId = PathId(u32::MAX);
    let Stratum { mut cell, level, on, .. } = *stratum;
    if rank >= 2 {
        cell.end = ANY;
    }
    if rank >= 3 {
        cell.begin = ANY;
    }
    if rank >= 4 {
        cell.prefix = ANY;
        cell.ground = Ground::Thread;
    }
    let level = if rank >= 1 || !splits.by_level { u32::MAX } else { level };
    (cell, level, (rank < 5 && splits.by_path).then_some(on))
}

/// Whether two keys of this rank have in common by what keys of the rank before, or cells, come in order.
pub(crate) fn begin_alike(one: &GroupKey, other: &GroupKey, rank: u32) -> bool {
    let (one, other) = (&one.0, &other.0);
    match rank {
        0 | 1 => one == other,
        2 => (one.prefix, one.begin) == (other.prefix, other.begin),
        3 => one.prefix == other.prefix,
        _ => true,
    }
}

/// Strata, found by what those of a rank have in common.
#[derive(Debug)]
pub(crate) struct StratumFamilies {
    ids: Vec<u32>,
    /// By rank, once that was asked for: strata with the same key side by side, each with smaller numbers first.
    by_rank: [Vec<u32>; RANKS as usize],
}

impl StratumFamilies {
    pub fn of(ids: Vec<u32>) -> StratumFamilies {
        StratumFamilies { ids, by_rank: Default::default() }
    }

    /// Those of the rank that have the same key as this one, in their order.
    pub fn family(&mut self, of: u32, rank: u32, key: impl Fn(u32) -> GroupKey) -> &[u32] {
        let sorted = &mut self.by_rank[rank as usize];
        if sorted.is_empty() {
            sorted.clone_from(&self.ids);
            sorted.sort_by_cached_key(|&id| key(id));
        }
        let wanted = key(of);
        let family = &sorted[sorted.partition_point(|&id| key(id) < wanted)..];
        &family[..family.partition_point(|&id| key(id) == wanted)]
    }
}
