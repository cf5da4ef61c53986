//! Normalised processor time of many stretches of many threads (metrics.md §3; Q eq. 1).
//!
//! ```text
//!   T1  ====|......         stretches begin and end at *turns*; in their order it is known how many there are at each
//!   T2  ..====|==..         time, each of which is charged the time that passes divided by U
//! ```
//! Time: a sort of the turns, and a walk along the levels of the window.

use super::sums::BinSums;
use crate::levels::LevelSteps;

/// Begins and ends of stretches.
#[derive(Debug, Default)]
pub(super) struct IntervalEdges {
    /// Twice the time, and one more for a begin.
    turns: Vec<u64>,
}

impl IntervalEdges {
    /// Adds a stretch; of those of one thread the later ones come later.
    pub fn add(&mut self, from: u64, to: u64) {
        // It goes on from the one before.
        if self.turns.last() == Some(&(from << 1)) {
            self.turns.pop();
        } else {
            self.turns.push(from << 1 | 1);
        }
        self.turns.push(to << 1);
    }

    /// Adds the stretches of others.
    pub fn append(&mut self, mut other: IntervalEdges) {
        self.turns.append(&mut other.turns);
    }

    /// Charges the stretches, which lie in the window.
    pub fn charge(mut self, levels: &LevelSteps, sums: &mut BinSums<'_>) {
        // Each thread's turns are in order already: few long runs.
        self.turns.sort();
        let mut walk = levels.walk(sums.span().0);
        let mut count = 0_u64;
        for (at, turn) in self.turns.iter().enumerate() {
            count = if turn & 1 == 1 { count + 1 } else { count - 1 };
            let (from, to) = (turn >> 1, self.turns.get(at + 1).map_or(0, |next| next >> 1));
            if count > 0 && from < to {
                walk.go(from, to, |from, to, share| {
                    sums.add_parts(from, to, |from, to| (to - from) as f64 * share * count as f64);
                });
            }
        }
    }
}
