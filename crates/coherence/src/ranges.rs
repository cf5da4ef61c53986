//! How many requests the program's order allows: from those that happens-before forces to those that it permits.
//!
//! The observed interleaving of a slowed program is one of many. What is fixed is the order within each processor and the
//! order that synchronisation made (locks in the order in which they were taken). For a processor *p* with accesses
//! `a₀ … aₙ₋₁` to a unit, gap *i* is the time just before `aᵢ`. Each write *w* by another falls into one gap, somewhere in
//! an interval that happens-before gives:
//!
//! ```text
//! p      a₀    a₁    a₂    a₃          gaps 0 … 4; 0 and 4 cost nothing: before the first reference, after the last access
//!           └──────────┐   ↑
//! q              acquire  w  release   w: after a₀ and, by the release, before a₃: gaps 1 to 3
//! ```
//!
//! * **Necessary**: the fewest gaps, other than the free ones, that hold all writes: the largest number of intervals apart
//!   from each other.
//! * **Possible**: the most gaps that can each have a write of their own: a maximum matching of writes and gaps.
//!
//! Both are exact for each processor separately. Their sums over processors are bounds: no order has fewer or more requests.
//! First references are not counted; they happen in every order. Where epochs were merged to save memory the intervals are
//! wider, so necessary is lower and possible higher, never wrong. Both hold for lines and for lazy release consistency.

use std::collections::BTreeMap;

use crate::clocks::Clocks;
use crate::store::{EpochBlock, ShadowStore, UnitIndex};

/// Requests that are not first references, over all orders that happens-before allows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TransferRange {
    /// No order has fewer.
    pub necessary: u64,
    /// No order has more.
    pub possible: u64,
}

impl TransferRange {
    /// Adds another's requests.
    pub fn merge(&mut self, other: &Self) {
        self.necessary += other.necessary;
        self.possible += other.possible;
    }
}

/// So many writes, each in a gap from `first` to `last`.
#[derive(Clone, Copy)]
struct WriteInterval {
    first: u64,
    last: u64,
    writes: u64,
}

/// The range of a unit whose blocks have ended.
pub(crate) fn unit_range(store: &ShadowStore, clocks: &Clocks, unit: UnitIndex) -> TransferRange {
    let copies = &store.units[unit as usize].copies;
    let mut range = TransferRange::default();
    for &copy in copies {
        let mut intervals = Vec::new();
        for &other in copies.iter().filter(|&&other| other != copy) {
            let written = store.details[other as usize].blocks.iter().filter(|block| block.writes > 0);
            intervals.extend(written.map(|block| interval(store, clocks, copy, (other, block))));
        }
        let accesses = store.details[copy as usize].blocks.iter().map(|block| block.accesses).sum();
        intervals.sort_by_key(|interval: &WriteInterval| (interval.last, interval.first));
        range.necessary += fewest(&intervals, accesses);
        range.possible += most(&intervals, accesses);
    }
    range
}

/// The gaps of a copy into which the writes of another's block can fall.
fn interval(
    store: &ShadowStore,
    clocks: &Clocks,
    copy: u32,
    (other, write): (u32, &EpochBlock),
) -> WriteInterval {
    let blocks = &store.details[copy as usize].blocks;
    let own = store.hot[copy as usize].processor;
    let writer = store.hot[other as usize].processor;
    let seen = clocks.known(writer, write.first, own);
    let before = blocks.partition_point(|block| block.last <= seen);
    let not_after = blocks.partition_point(|block| clocks.known(own, block.first, writer) < write.last);
    let accesses = |blocks: &[EpochBlock]| blocks.iter().map(|block| block.accesses).sum();
    WriteInterval {
        first: accesses(&blocks[..before]),
        last: accesses(&blocks[..not_after]),
        writes: write.writes,
    }
}

/// The fewest gaps that hold a write; intervals ascend by `last`.
fn fewest(intervals: &[WriteInterval], accesses: u64) -> u64 {
    let mut gaps = 0;
    let mut newest = 0;
    for interval in intervals.iter().filter(|interval| interval.first > 0 && interval.last < accesses) {
        if interval.first > newest {
            gaps += 1;
            newest = interval.last;
        }
    }
    gaps
}

/// The most gaps that hold a write each; intervals ascend by `last`. Each takes the first free gaps.
fn most(intervals: &[WriteInterval], accesses: u64) -> u64 {
    // Free gaps [start, end).
    let mut free = BTreeMap::from([(1, accesses)]);
    let mut gaps = 0;
    for interval in intervals {
        let end = (interval.last + 1).min(accesses);
        let mut wanted = interval.writes;
        while wanted > 0 {
            let Some((from, until)) = first_free(&free, interval.first.max(1), end) else { break };
            let taken = wanted.min(until - from);
            take(&mut free, from, from + taken);
            wanted -= taken;
            gaps += taken;
        }
    }
    gaps
}

/// The first free gaps in `[start, end)`, without a break.
fn first_free(free: &BTreeMap<u64, u64>, start: u64, end: u64) -> Option<(u64, u64)> {
    let around = free.range(..=start).next_back().filter(|(_, until)| **until > start);
    let (&from, &until) = around.or_else(|| free.range(start..).next())?;
    let (from, until) = (from.max(start), until.min(end));
    (from < until).then_some((from, until))
}

/// Takes `[from, to)`, which is free without a break.
fn take(free: &mut BTreeMap<u64, u64>, from: u64, to: u64) {
    let Some((start, until)) = free.range(..=from).next_back().map(|(start, until)| (*start, *until)) else {
        return;
    };
    free.remove(&start);
    if start < from {
        free.insert(start, from);
    }
    if to < until {
        free.insert(to, until);
    }
}
