//! How often each pair of two numbers came, where there may be millions of different ones.
//!
//! ```text
//!   recent   (3,1) (0,7) (3,1) (2,2) …     sorted and merged when there are many
//!   counts   (0,7) 1  (2,2) 1  (3,1) 2
//! ```
//! A table of so many pairs is larger than a processor's caches, so that a look-up takes longer than its share of a sort.
//!
//! Time: log n per pair. Memory: 16 bytes per different pair, and a fixed number of recent ones.

/// Pairs after which those that came are counted.
const MOST_RECENT: usize = 1 << 19;

/// Counts of pairs.
#[derive(Debug, Default)]
pub(crate) struct PairCounts {
    recent: Vec<(u32, u32)>,
    /// In the order of the pairs.
    counts: Vec<((u32, u32), u64)>,
}

impl PairCounts {
    /// The pair came.
    pub fn add(&mut self, pair: (u32, u32)) {
        self.recent.push(pair);
        if self.recent.len() >= MOST_RECENT {
            self.settle();
        }
    }

    /// All pairs that came, in their order, and how often.
    pub fn into_counts(mut self) -> Vec<((u32, u32), u64)> {
        self.settle();
        self.counts
    }

    fn settle(&mut self) {
        self.recent.sort_unstable();
        let mut merged = Vec::with_capacity(self.counts.len() + self.recent.len() / 2);
        let mut known = self.counts.drain(..).peekable();
        for same in self.recent.chunk_by(|one, other| one == other) {
            let pair = same[0];
            while let Some(before) = known.next_if(|(other, _)| *other < pair) {
                merged.push(before);
            }
            let already = known.next_if(|(other, _)| *other == pair).map_or(0, |(_, count)| count);
            merged.push((pair, already + same.len() as u64));
        }
        merged.extend(known);
        self.counts = merged;
        self.recent.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn pairs_are_counted_in_their_order_however_many_come() {
        let (mut counts, mut expected) = (PairCounts::default(), BTreeMap::new());
        let mut random = 1_u64;
        for _ in 0..3 * MOST_RECENT / 2 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let pair = ((random >> 60) as u32, (random >> 40) as u32 % 1000);
            counts.add(pair);
            *expected.entry(pair).or_insert(0_u64) += 1;
        }
        assert_eq!(counts.into_counts(), expected.into_iter().collect::<Vec<_>>());
    }
}
