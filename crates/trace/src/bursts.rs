//! Where a thread worked in a burst that no timer looked into (metrics.md §1).
//!
//! ```text
//!   switch-in            timer                 switch-out at E
//!   |========= p ==========|======== tail ========|            the tail has no sample of its own
//!   |===== tail =====|                                          nor has a burst shorter than the timer's period
//! ```
//! A burst is the running time of a thread between two switches or wakes. Charging every tail to the procedure
//! that called the wait at its end would give that procedure all short bursts of a server. What the timer found
//! *last* in other bursts with the same end tells better: an instant is the last sample of its burst exactly
//! when everything after it is a tail, so the last samples of many bursts are distributed as the time in the
//! tails is. Each tail is charged to one of those paths, in turn, so that their numbers come out in proportion;
//! the end itself counts as one more sample. With fewer than [`FEWEST`] last samples the end alone is charged:
//! then it is the better guide, as for short critical sections, which end where they are.
//!
//! Memory: one entry per distinct (end, path of a last sample).

use longpole_event::ThreadId;
use rustc_hash::FxHashMap;

use crate::paths::PathId;

/// Bursts with a sample that an end needs before they say where its other bursts were.
const FEWEST: u32 = 16;

/// What the survey collects.
#[derive(Debug, Default)]
pub(crate) struct LastSamples {
    /// Path of the last sample in each thread's present burst.
    present: Vec<Option<PathId>>,
    by_end: FxHashMap<PathId, FxHashMap<PathId, u32>>,
}

impl LastSamples {
    /// None yet, of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        LastSamples { present: vec![None; threads], ..LastSamples::default() }
    }

    /// A timer found the thread there.
    pub(crate) fn sampled(&mut self, thread: ThreadId, path: PathId) {
        self.present[thread.index()] = Some(path);
    }

    /// The thread's burst ended there.
    pub(crate) fn ended(&mut self, thread: ThreadId, end: PathId) {
        if let Some(path) = self.present[thread.index()].take() {
            *self.by_end.entry(end).or_default().entry(path).or_default() += 1;
        }
    }

    /// The shares of all ends that were sampled often enough.
    pub(crate) fn into_tails(self) -> Tails {
        let mut tails = Tails::default();
        for (end, found) in self.by_end {
            if found.values().sum::<u32>() < FEWEST {
                continue;
            }
            let mut found: Vec<_> = found.into_iter().collect();
            // The map has no order of its own; the turns must be the same every time.
            found.sort_unstable();
            let mut sum = 1;
            let mut shares = vec![(sum, end)];
            for (path, count) in found {
                sum += u64::from(count);
                shares.push((sum, path));
            }
            tails.by_end.insert(end, tails.shares.len());
            tails.shares.push(shares);
        }
        tails
    }
}

/// Where tails are charged, by the end of the burst.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    by_end: FxHashMap<PathId, usize>,
    /// Paths with the running sum of their counts.
    shares: Vec<Vec<(u64, PathId)>>,
}

impl Tails {
    /// Turns for one replay.
    pub(crate) fn turns(&self) -> Turns {
        Turns(vec![0; self.shares.len()])
    }

    /// The path to which the next tail that ends at `end` is charged.
    pub(crate) fn charged(&self, end: PathId, turns: &mut Turns) -> PathId {
        let Some(&index) = self.by_end.get(&end) else { return end };
        let shares = &self.shares[index];
        let turn = &mut turns.0[index];
        *turn = turn.wrapping_add(1);
        // Multiples of the golden ratio fill the unit interval evenly, however many there are.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let total = shares.last().map_or(1, |&(sum, _)| sum);
        let place = (u128::from(turn.wrapping_mul(GOLDEN)) * u128::from(total)) >> 64;
        shares[shares.partition_point(|&(sum, _)| u128::from(sum) <= place)].1
    }
}

/// How many tails of each end were charged in a replay.
#[derive(Debug, Default)]
pub(crate) struct Turns(Vec<u64>);

#[cfg(test)]
mod tests {
    use super::*;

    const END: PathId = PathId(9);
    const THREAD: ThreadId = ThreadId(0);

    /// Bursts that end at [`END`], each with one sample at the path given.
    fn tails(samples: &[(u32, usize)]) -> Tails {
        let mut last = LastSamples::new(1);
        for &(path, times) in samples {
            for _ in 0..times {
                last.sampled(THREAD, PathId(path));
                last.ended(THREAD, END);
            }
        }
        last.into_tails()
    }

    #[test]
    fn tails_are_charged_in_proportion_to_the_last_samples() {
        // 60 + 39 samples and the end itself: of 1000 tails 600, 390 and 10.
        let tails = tails(&[(1, 60), (2, 39)]);
        let mut turns = tails.turns();
        let mut counts = [0; 10];
        for _ in 0..1000 {
            counts[tails.charged(END, &mut turns).0 as usize] += 1;
        }
        let near = |count: i32, expected: i32| (count - expected).abs() <= 3;
        assert!(near(counts[1], 600) && near(counts[2], 390) && near(counts[9], 10), "{counts:?}");
    }

    #[test]
    fn an_end_with_few_samples_is_charged_itself() {
        let tails = tails(&[(1, FEWEST as usize - 1)]);
        assert_eq!(tails.charged(END, &mut tails.turns()), END);
    }

    #[test]
    fn only_the_last_sample_of_a_burst_counts_and_only_for_its_end() {
        let mut last = LastSamples::new(1);
        for _ in 0..100 {
            last.sampled(THREAD, PathId(1));
            last.sampled(THREAD, PathId(2));
            last.ended(THREAD, END);
            last.ended(THREAD, PathId(8));
        }
        let tails = last.into_tails();
        let mut turns = tails.turns();
        let charged: Vec<_> = (0..50).map(|_| tails.charged(END, &mut turns)).collect();
        assert!(!charged.contains(&PathId(1)) && charged.contains(&PathId(2)));
        assert_eq!(tails.charged(PathId(8), &mut turns), PathId(8));
    }
}
