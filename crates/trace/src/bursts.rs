//! Where a thread worked in a burst that no timer looked into, for what needs a path for each moment (metrics.md §1).
//!
//! ```text
//!   begin B    switch-in            timer                 switch-out at E
//!              |========= p ==========|======== tail ========|            the tail has no sample of its own
//!              |===== tail =====|                                          nor has a burst shorter than the period
//! ```
//! A burst is the running time of a thread between two switches or wakes. Tables divide it by strata
//! (`longpole-metrics`); sweeps that follow a thread through time need one path for each moment instead. What the timer found
//! *last* in other bursts of the same kind tells: an instant is the last sample of its burst exactly
//! when everything after it is a tail, so the last samples of many bursts are distributed as the time in the
//! tails is. Each tail is charged to one of those paths, in turn, so that their numbers come out in proportion.
//!
//! Bursts are of one kind if they begin and end at the same sites. Kinds with fewer than [`FEWEST`] last samples are pooled by
//! end, and then by prefix; with fewer even there the end itself is charged.
//!
//! Memory: one entry per distinct (begin, end, path of a last sample).

use std::ops::Range;

use longpole_event::ThreadId;
use rustc_hash::FxHashMap;

use crate::paths::PathId;

/// Bursts with a sample that a kind of bursts needs before they say where its other bursts were.
const FEWEST: u32 = 5;

/// Where a burst ran, or what several have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Burst {
    /// What the thread's paths begin with.
    pub(crate) prefix: PathId,
    /// The site at its begin.
    begin: Option<PathId>,
    /// The site at its end.
    pub(crate) end: Option<PathId>,
    /// What is meant is its spin at the end, not its work.
    pub(crate) spins: bool,
}

impl Burst {
    /// A burst that ends there.
    pub(crate) fn new(prefix: PathId, end: PathId) -> Burst {
        Burst { prefix, begin: None, end: Some(end), spins: false }
    }

    /// Its spin at the end, or its work.
    pub(crate) fn spinning(self, spins: bool) -> Burst {
        Burst { spins, ..self }
    }

    /// What it is pooled with: bursts of its end, then of its prefix.
    fn pooled(self, rank: usize) -> Burst {
        match rank {
            0 => self,
            1 => Burst { begin: None, ..self },
            _ => Burst { begin: None, end: None, ..self },
        }
    }

    /// How many of its two sites it does not tell.
    fn untold_sites(&self) -> usize {
        usize::from(self.begin.is_none()) + usize::from(self.end.is_none())
    }
}

/// Ranks of pooling.
const RANKS: usize = 3;

/// How many last samples of a kind of bursts were at a path.
type LastSampleCount = (Burst, PathId, u32);

/// What the survey collects.
#[derive(Debug, Default)]
pub(crate) struct LastSamples {
    per_thread: Vec<BurstThread>,
    counts: FxHashMap<(Burst, PathId), u32>,
}

/// A thread's present burst.
#[derive(Clone, Copy, Debug, Default)]
struct BurstThread {
    begin: Option<PathId>,
    /// Where the last sample was, and whether in a loop that waits.
    sample: Option<(PathId, bool)>,
}

impl LastSamples {
    /// None yet, of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        LastSamples { per_thread: vec![BurstThread::default(); threads], ..LastSamples::default() }
    }

    /// A timer found the thread there.
    pub(crate) fn sampled(&mut self, thread: ThreadId, path: PathId, spins: bool) {
        self.per_thread[thread.index()].sample = Some((path, spins));
    }

    /// The thread's burst ended.
    pub(crate) fn ended(&mut self, thread: ThreadId, burst: Burst) {
        let next = BurstThread { begin: burst.end, sample: None };
        let BurstThread { begin, sample } = std::mem::replace(&mut self.per_thread[thread.index()], next);
        if let Some((path, spins)) = sample {
            *self.counts.entry((Burst { begin, spins, ..burst }, path)).or_default() += 1;
        }
    }

    /// The shares of all kinds of bursts that were sampled often enough.
    pub(crate) fn into_tails(self) -> Tails {
        let mut tails = Tails::default();
        let counts = self.counts.into_iter();
        let all: Vec<LastSampleCount> = counts.map(|((burst, path), count)| (burst, path, count)).collect();
        let mut left = all.clone();
        for rank in 0..RANKS {
            let counts = pooled(left, rank);
            left = Vec::new();
            for group in groups(&counts) {
                if is_enough(group) {
                    tails.add(group);
                } else {
                    left.extend_from_slice(group);
                }
            }
        }
        // Kinds of bursts of which none was sampled are as all of their end, or of their prefix.
        for rank in 1..RANKS {
            let counts = pooled(all.clone(), rank);
            for group in groups(&counts).filter(|group| is_enough(group)) {
                if tails.find(&group[0].0).is_none() {
                    tails.add(group);
                }
            }
        }
        tails
    }
}

/// The counts by what this rank pools, in the order of bursts and of paths.
fn pooled(mut counts: Vec<LastSampleCount>, rank: usize) -> Vec<LastSampleCount> {
    counts.iter_mut().for_each(|count| count.0 = count.0.pooled(rank));
    counts.sort_unstable();
    counts.dedup_by(|next, sum| {
        let is_same = (next.0, next.1) == (sum.0, sum.1);
        sum.2 += if is_same { next.2 } else { 0 };
        is_same
    });
    counts
}

/// The counts of each kind of bursts.
fn groups(counts: &[LastSampleCount]) -> impl Iterator<Item = &[LastSampleCount]> {
    counts.chunk_by(|one, other| one.0 == other.0)
}

fn is_enough(group: &[LastSampleCount]) -> bool {
    // A spin is in few places, and that one of them is meant is known.
    let fewest = if group.first().is_some_and(|first| first.0.spins) { 1 } else { FEWEST };
    group.iter().map(|&(_, _, count)| count).sum::<u32>() >= fewest
}

/// Where tails are charged, by kind of burst.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    /// By how many sites are untold: where no kind has both, none of the many that there are is looked for.
    by_burst: [FxHashMap<Burst, u32>; RANKS],
    /// Paths with the running sum of their counts, of one kind after the other.
    shares: Vec<(u32, PathId)>,
    /// Where the shares of each kind begin and end.
    places: Vec<Range<u32>>,
}

impl Tails {
    fn add(&mut self, group: &[LastSampleCount]) {
        let (mut sum, first) = (0, self.shares.len() as u32);
        self.shares.extend(group.iter().map(|&(_, path, count)| {
            sum += count;
            (sum, path)
        }));
        let kind = group[0].0;
        self.by_burst[kind.untold_sites()].insert(kind, self.places.len() as u32);
        self.places.push(first..self.shares.len() as u32);
    }

    fn find(&self, kind: &Burst) -> Option<u32> {
        self.by_burst[kind.untold_sites()].get(kind).copied()
    }

    /// Turns for one replay.
    pub(crate) fn turns(&self) -> TailTurns {
        TailTurns { taken: vec![0; self.places.len()], begins: Vec::new() }
    }

    /// The path to which the thread's tail is charged, which ends with this burst.
    pub(crate) fn charged(&self, thread: ThreadId, burst: Burst, turns: &mut TailTurns) -> PathId {
        let begin = turns.begin(thread, burst);
        let burst = Burst { begin, ..burst };
        let index = (0..RANKS).find_map(|rank| self.find(&burst.pooled(rank)));
        let (Some(index), Some(end)) = (index, burst.end) else { return burst.end.unwrap_or(burst.prefix) };
        let Range { start, end: behind } = self.places[index as usize];
        let shares = &self.shares[start as usize..behind as usize];
        let turn = &mut turns.taken[index as usize];
        *turn = turn.wrapping_add(1);
        // Multiples of the golden ratio fill the unit interval evenly, however many there are.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let total = shares.last().map_or(1, |&(sum, _)| sum);
        let place = ((u128::from(turn.wrapping_mul(GOLDEN)) * u128::from(total)) >> 64) as u32;
        share_at(shares, place, total).map_or(end, |share| share.1)
    }
}

/// The first of these shares whose running sum is larger than `place`, which is less than `total`. Mostly their counts are alike, and
/// it is near where that says: to halve the shares again and again would look at many more of them.
fn share_at(shares: &[(u32, PathId)], place: u32, total: u32) -> Option<(u32, PathId)> {
    const NEAR: usize = 4;
    let guess = (u64::from(place) * shares.len() as u64 / u64::from(total.max(1))) as usize;
    let from = guess.saturating_sub(NEAR);
    let near = &shares[from..shares.len().min(guess + NEAR)];
    let is_before = |&(sum, _): &(u32, PathId)| sum <= place;
    let begins_before = from == 0 || is_before(&shares[from - 1]);
    match near.iter().find(|share| !is_before(share)) {
        Some(&found) if begins_before => Some(found),
        _ => shares.get(shares.partition_point(is_before)).copied(),
    }
}

/// How many tails of each kind were charged in a replay, and where the threads' present bursts began.
#[derive(Debug, Default)]
pub(crate) struct TailTurns {
    taken: Vec<u64>,
    begins: Vec<Option<PathId>>,
}

impl TailTurns {
    /// Where the burst began that ends now; the next one begins where it ends.
    fn begin(&mut self, thread: ThreadId, burst: Burst) -> Option<PathId> {
        if self.begins.len() <= thread.index() {
            self.begins.resize(thread.index() + 1, None);
        }
        std::mem::replace(&mut self.begins[thread.index()], burst.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: PathId = PathId(0);
    const END: PathId = PathId(9);
    const THREAD: ThreadId = ThreadId(0);

    fn ending(end: PathId) -> Burst {
        Burst::new(PREFIX, end)
    }

    /// Bursts that end at [`END`], each with one sample at the path given.
    fn tails(samples: &[(u32, usize)]) -> Tails {
        let mut last = LastSamples::new(1);
        last.ended(THREAD, ending(END));
        for &(path, times) in samples {
            for _ in 0..times {
                last.sampled(THREAD, PathId(path), false);
                last.ended(THREAD, ending(END));
            }
        }
        last.into_tails()
    }

    #[test]
    fn tails_are_charged_in_proportion_to_the_last_samples() {
        let tails = tails(&[(1, 60), (2, 40)]);
        let mut turns = tails.turns();
        let mut counts = [0; 10];
        for _ in 0..1000 {
            counts[tails.charged(THREAD, ending(END), &mut turns).0 as usize] += 1;
        }
        let near = |count: i32, expected: i32| (count - expected).abs() <= 3;
        assert!(near(counts[1], 600) && near(counts[2], 400) && counts[9] == 0, "{counts:?}");
    }

    #[test]
    fn an_end_with_few_samples_is_charged_itself() {
        let tails = tails(&[(1, FEWEST as usize - 1)]);
        assert_eq!(tails.charged(THREAD, ending(END), &mut tails.turns()), END);
    }

    #[test]
    fn only_the_last_sample_of_a_burst_counts_and_only_for_its_kind() {
        let mut last = LastSamples::new(1);
        for _ in 0..100 {
            last.sampled(THREAD, PathId(1), false);
            last.sampled(THREAD, PathId(2), false);
            last.ended(THREAD, ending(END));
            last.sampled(THREAD, PathId(3), false);
            last.ended(THREAD, ending(PathId(8)));
        }
        let tails = last.into_tails();
        let mut turns = tails.turns();
        let charged: Vec<_> = (0..50)
            .flat_map(|_| [END, PathId(8)])
            .map(|end| tails.charged(THREAD, ending(end), &mut turns).0)
            .collect();
        assert!(charged.chunks(2).skip(1).all(|pair| pair == [2, 3]), "{charged:?}");
    }

    #[test]
    fn work_and_spins_of_a_kind_have_places_of_their_own() {
        let mut last = LastSamples::new(1);
        for turn in 0..100 {
            last.sampled(THREAD, PathId(1 + turn % 2), turn % 2 == 1);
            last.ended(THREAD, ending(END));
        }
        let tails = last.into_tails();
        let spin = Burst { spins: true, ..ending(END) };
        let mut turns = tails.turns();
        for _ in 0..10 {
            assert_eq!(tails.charged(THREAD, ending(END), &mut turns), PathId(1));
            assert_eq!(tails.charged(THREAD, spin, &mut turns), PathId(2));
        }
    }

    #[test]
    fn the_share_at_a_place_is_found_wherever_it_is() {
        for counts in [
            vec![1; 40],
            vec![90, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            vec![1, 1, 1, 1, 1, 1, 1, 1, 90],
            vec![7],
        ] {
            let mut sum = 0;
            let shares: Vec<_> = (0..)
                .zip(&counts)
                .map(|(id, count)| {
                    sum += count;
                    (sum, PathId(id))
                })
                .collect();
            let each = (0..).zip(&counts).flat_map(|(id, &count)| vec![PathId(id); count as usize]);
            for (place, expected) in (0..).zip(each) {
                assert_eq!(
                    share_at(&shares, place, sum).map(|share| share.1),
                    Some(expected),
                    "{place} of {counts:?}"
                );
            }
        }
    }

    #[test]
    fn kinds_with_few_samples_share_them() {
        let mut last = LastSamples::new(1);
        for end in 10..30 {
            last.sampled(THREAD, PathId(1), false);
            last.ended(THREAD, ending(PathId(end)));
        }
        let tails = last.into_tails();
        assert_eq!(tails.charged(THREAD, ending(PathId(10)), &mut tails.turns()), PathId(1));
        let other = Burst { prefix: PathId(5), ..ending(PathId(10)) };
        assert_eq!(tails.charged(THREAD, other, &mut tails.turns()), PathId(10), "of another prefix");
    }
}
