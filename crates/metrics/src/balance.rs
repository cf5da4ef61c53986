//! How evenly the work is spread over the threads that do it (M §2.4, §4.4).
//!
//! ```text
//!   T1  AAAAAAAA      useful CPU time 8, 4, 6: mean 6, most 8
//!   T2  BBBB          imbalance: 1 − 6/8 = 25 %: so much shorter the longest would be if all had the same
//!   T3  CCCCCC        variation: standard deviation / mean = √(8/3) / 6 = 27 %
//! ```
//! A thread works if it has at least 0.5 % of the CPU time, and a share of the work if it has at least 5 % of what the busiest one has;
//! others (idle pools, services, who hands out the work) say nothing about the balance. In a balanced program secondary paths are as
//! long as the critical path, so that slack is 0 whatever the procedures are worth.
//!
//! Time and memory: a number per thread.
//!
//! It cannot see imbalance that changes sides: threads that wait for each other in turn are balanced in sum.

use crate::analysis::{Analysis, ThreadStates};

/// A thread works if it used at least one part of so many of all CPU time.
const WORKERS: u64 = 200;
/// A thread has a share of the work if it did at least one part of so many of what the busiest one did.
const SHARERS: u64 = 20;

/// The spread of useful CPU time over the working threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Balance {
    /// Threads that have a share of the work.
    pub workers: usize,
    /// Their mean useful CPU time, nanoseconds.
    pub mean: f64,
    /// The most that one of them has.
    pub most: u64,
    /// Standard deviation over mean.
    pub variation: f64,
}

impl Balance {
    /// How much shorter the longest thread's work would be if so many processors had the same to do, 0 to 1.
    #[must_use]
    pub fn excess(&self, processors: usize) -> f64 {
        let share = self.mean * self.workers as f64 / self.workers.min(processors).max(1) as f64;
        if self.most == 0 { 0.0 } else { (1.0 - share / self.most as f64).max(0.0) }
    }

    /// How much shorter the longest thread's work would be if all had the same, 0 to 1.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        if self.most == 0 { 0.0 } else { 1.0 - self.mean / self.most as f64 }
    }
}

impl Analysis {
    /// Which threads used any CPU time worth naming, by their ids; all, where none used any.
    #[must_use]
    pub fn working_threads(&self) -> Vec<bool> {
        let cpu = |states: &ThreadStates| states.running + states.spinning;
        let whole: u64 = self.threads.iter().map(cpu).sum();
        let works = |states| whole == 0 || (cpu(states) > 0 && cpu(states) >= whole / WORKERS);
        self.threads.iter().map(works).collect()
    }

    /// How evenly the work is spread.
    #[must_use]
    pub fn balance(&self) -> Balance {
        let working = self.working_threads();
        let mut works: Vec<u64> = self
            .threads
            .iter()
            .zip(working)
            .filter(|(states, works)| *works && states.running > 0)
            .map(|(states, _)| states.running)
            .collect();
        let most = works.iter().copied().max().unwrap_or(0);
        works.retain(|&work| work * SHARERS >= most);
        if works.is_empty() {
            return Balance::default();
        }
        let count = works.len() as f64;
        let mean = works.iter().sum::<u64>() as f64 / count;
        let variance = works.iter().map(|&work| (work as f64 - mean).powi(2)).sum::<f64>() / count;
        Balance { workers: works.len(), mean, most, variation: variance.sqrt() / mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Drawn;

    #[test]
    fn imbalance_is_what_an_even_spread_would_save_of_the_longest() {
        let balance = Drawn::new("T1 AAAAAAAA\nT2 BBBB\nT3 CCCCCC").analysis.balance();
        assert_eq!((balance.workers, balance.most), (3, 8));
        assert!((balance.imbalance() - 0.25).abs() < 1e-12);
        assert!((balance.variation - (8.0_f64 / 3.0).sqrt() / 6.0).abs() < 1e-12);
    }

    #[test]
    fn threads_without_work_are_not_counted() {
        let balance = Drawn::new("T1 AAAA\nT2 BBBB\nT3 zzzz").analysis.balance();
        assert_eq!((balance.workers, balance.imbalance()), (2, 0.0));
        assert_eq!(Analysis::default().balance(), Balance::default());
    }

    #[test]
    fn who_hands_work_out_has_no_share_of_it() {
        // The first has 1 of 20 parts of what the second has, which is 5 %; then less.
        let workers = "A".repeat(20);
        let balance =
            |first: &str| Drawn::new(&format!("T1 {first}\nT2 {workers}\nT3 {workers}")).analysis.balance();
        assert_eq!((balance("A").workers, balance("A").most), (3, 20));
        let longer = format!("T1 A\nT2 {workers}A\nT3 {workers}A");
        let balance = Drawn::new(&longer).analysis.balance();
        assert_eq!((balance.workers, balance.imbalance()), (2, 0.0));
    }

    #[test]
    fn the_excess_goes_by_the_processors_that_share_the_work() {
        // 8 + 4 + 6: two processors have 9 each, three 6.
        let balance = Drawn::new("T1 AAAAAAAA\nT2 BBBB\nT3 CCCCCC").analysis.balance();
        assert_eq!((balance.excess(2), balance.excess(3), balance.excess(64)), (0.0, 0.25, 0.25));
        assert_eq!(Balance::default().excess(2), 0.0);
    }

    #[test]
    fn spinning_is_no_work() {
        let balance = Drawn::new("T1 AAAA\nT2 B~~~").analysis.balance();
        assert!((balance.imbalance() - (1.0 - 2.5 / 4.0)).abs() < 1e-12);
    }
}
