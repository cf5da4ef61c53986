//! Brings the records of several rings into time order.
//!
//! A reader, ours or `perf record`, takes the rings of all processors in turn, round after round. A record that is written
//! while round n is read may lie in round n or n + 1, so what round n − 1 reached can go out.
//!
//! ```text
//! round n      1 3 | 2 4          seen up to 4
//! round n + 1  3 5 7 | 5 6        at its end all up to 4 goes out, in order
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Holds back what may yet be preceded.
#[derive(Debug)]
pub struct RoundSorter<T> {
    heap: BinaryHeap<Reverse<HeldBackEntry<T>>>,
    sequence: u64,
    reached: u64,
    ready_to: u64,
}

#[derive(Debug)]
struct HeldBackEntry<T> {
    time: u64,
    sequence: u64,
    value: T,
}

impl<T> PartialEq for HeldBackEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.sequence) == (other.time, other.sequence)
    }
}

impl<T> Eq for HeldBackEntry<T> {}

impl<T> PartialOrd for HeldBackEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for HeldBackEntry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.sequence).cmp(&(other.time, other.sequence))
    }
}

impl<T> Default for RoundSorter<T> {
    fn default() -> Self {
        RoundSorter { heap: BinaryHeap::new(), sequence: 0, reached: 0, ready_to: 0 }
    }
}

impl<T> RoundSorter<T> {
    /// Adds a record; those of equal time keep their order.
    pub fn push(&mut self, time: u64, value: T) {
        self.reached = self.reached.max(time);
        self.sequence += 1;
        self.heap.push(Reverse(HeldBackEntry { time, sequence: self.sequence, value }));
    }

    /// Ends a round; returns the time up to which [`pop`](Self::pop) gives records.
    pub fn end_round(&mut self) -> u64 {
        std::mem::replace(&mut self.ready_to, self.reached)
    }

    /// The earliest record, if it is not later than `limit`.
    pub fn pop(&mut self, limit: u64) -> Option<(u64, T)> {
        if self.heap.peek()?.0.time > limit {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.time, entry.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(rounds: &mut RoundSorter<char>, limit: u64) -> String {
        std::iter::from_fn(|| rounds.pop(limit)).map(|(_, value)| value).collect()
    }

    #[test]
    fn a_round_goes_out_when_the_next_one_has_ended() {
        let mut rounds = RoundSorter::default();
        for (time, value) in [(1, 'a'), (3, 'c'), (2, 'b'), (4, 'e')] {
            rounds.push(time, value);
        }
        let limit = rounds.end_round();
        assert_eq!(drain(&mut rounds, limit), "");
        for (time, value) in [(3, 'd'), (5, 'f'), (7, 'i'), (5, 'g'), (6, 'h')] {
            rounds.push(time, value);
        }
        let limit = rounds.end_round();
        assert_eq!(drain(&mut rounds, limit), "abcde");
        assert_eq!(drain(&mut rounds, u64::MAX), "fghi");
    }
}
