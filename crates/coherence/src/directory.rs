//! Which copy a processor has of a unit, for the fast path.
//!
//! Units are looked up in leaves of 64 neighbours, so that a sweep through memory looks for a leaf once in 64 units; the
//! leaves that were used last are remembered in a small table.

use rustc_hash::FxHashMap;

use crate::footprint::{room, room_of_map};
use crate::store::CopyIndex;

/// Units of a leaf.
const LEAF: u64 = 64;
/// Leaves remembered; a power of two.
const RECENT: usize = 1024;
/// The processor has no copy.
const NONE: CopyIndex = CopyIndex::MAX;

#[derive(Clone, Copy)]
struct RecentLeaf {
    /// Number of the first unit, divided by `LEAF`.
    number: u64,
    leaf: u32,
}

/// The copies of one processor.
pub(crate) struct CopyDirectory {
    recent: Box<[RecentLeaf]>,
    index: FxHashMap<u64, u32>,
    leaves: Vec<[CopyIndex; LEAF as usize]>,
}

impl CopyDirectory {
    pub(crate) fn new() -> Self {
        // No unit has a number as high as this one.
        let nothing = RecentLeaf { number: u64::MAX, leaf: 0 };
        let recent = vec![nothing; RECENT].into_boxed_slice();
        Self { recent, index: FxHashMap::default(), leaves: Vec::new() }
    }

    /// Bytes that it takes.
    pub(crate) fn footprint(&self) -> u64 {
        room(&self.leaves) + room_of_map(&self.index)
    }

    /// The processor's copy of the unit.
    #[inline(always)]
    pub(crate) fn find(&mut self, unit: u64) -> Option<CopyIndex> {
        let number = unit / LEAF;
        let recent = self.recent[number as usize % RECENT];
        let leaf = if recent.number == number { recent.leaf } else { self.recall(number)? };
        let copy = self.leaves[leaf as usize][(unit % LEAF) as usize];
        (copy != NONE).then_some(copy)
    }

    #[inline(never)]
    fn recall(&mut self, number: u64) -> Option<u32> {
        let leaf = *self.index.get(&number)?;
        self.recent[number as usize % RECENT] = RecentLeaf { number, leaf };
        Some(leaf)
    }

    /// The processor has this copy of the unit from now on.
    pub(crate) fn insert(&mut self, unit: u64, copy: CopyIndex) {
        let next = self.leaves.len() as u32;
        let leaf = *self.index.entry(unit / LEAF).or_insert(next);
        if leaf == next {
            self.leaves.push([NONE; LEAF as usize]);
        }
        self.leaves[leaf as usize][(unit % LEAF) as usize] = copy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_leaves_that_share_a_place_in_the_table_are_found() {
        let mut directory = CopyDirectory::new();
        let far = LEAF * RECENT as u64;
        for (unit, copy) in [(3, 7), (3 + far, 8), (u64::MAX >> 3, 9)] {
            assert_eq!(directory.find(unit), None);
            directory.insert(unit, copy);
        }
        assert_eq!(
            [3, 3 + far, 4, u64::MAX >> 3].map(|unit| directory.find(unit)),
            [Some(7), Some(8), None, Some(9)]
        );
    }
}
