//! CPU time by what is known of it exactly: between which places it ran, how many threads were busy meanwhile, and whether it
//! is on a critical path (metrics.md §1, rule 1).
//!
//! ```text
//!   thread     s ==== p ====== t ==|.. blocked ..|== q === u        s, t, u: sites of waits and wakes
//!   strata       (s, t): 10 with a sample at p   |(t, u): 5, sample at q      p, q: timer samples
//! ```
//! Switches and wakes only cut the time; a *stratum* holds all time between two sites at one U and on one of the
//! critical paths, both or none, with the samples that hit it.
//! Threads with one logical path prefix share their strata, and each keeps its own part of the totals, which is exact.
//! What samples say of a stratum is decided in [`crate::division`], at the end.
//!
//! Time that a boundary ends (the program's own word that it leaves a path) is known exactly, and is divided only where
//! samples say what it called.
//!
//! A sample counts for its *gap*: half the timer's interval before it and half of that after it. Where a recording does not
//! hold the gaps, all its samples count alike.
//!
//! Time: a few look-ups in tables per piece between two sites. Memory: a number per (thread, stratum) and per
//! (stratum, sampled path); beyond [`MOST_PARTS`] of the former, new pieces are told apart only by prefix and U.

use longpole_event::ThreadId;
use longpole_trace::{ObservationKind, PathId, Paths, Program, stored};
use rustc_hash::FxHashMap;

use crate::analyse::at_once;
use crate::analysis::Weight;
use crate::on_path::{ByMembership, Membership};
use crate::pieces::{Ground, NOWHERE, PieceEnd, Pieces, StratumCell};
use crate::stratum_parts::StratumParts;
use crate::timer_check::SamplePositions;

/// Parts of strata by thread beyond which new strata are no longer told apart by their sites.
const MOST_PARTS: usize = 1 << 20;

/// Kinds of neighbouring samples that are told apart.
const MOST_PAIRS: usize = 1 << 18;

/// All time in one cell at one U and of one membership.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stratum {
    pub cell: StratumCell,
    pub level: u32,
    pub on: Membership,
    /// Nanoseconds, of all threads.
    pub time: u64,
}

/// Samples of a path in a stratum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleTally {
    pub count: u64,
    /// Nanoseconds.
    pub weight: f64,
    pub squares: f64,
}

stored! {
    SampleTally { count, weight, squares }
}

impl SampleTally {
    pub fn add(&mut self, other: SampleTally) {
        self.count += other.count;
        self.weight += other.weight;
        self.squares += other.squares;
    }

    /// The same samples, each of a weight times `factor`.
    pub fn scaled(self, factor: f64) -> SampleTally {
        SampleTally { weight: self.weight * factor, squares: self.squares * factor * factor, ..self }
    }
}

/// What is collected of the work of a run.
#[derive(Debug)]
pub(crate) struct Strata<'a> {
    pieces: Pieces<'a>,
    per_thread: Vec<StratumThread>,
    /// Gap of samples of which it is not recorded.
    interval: u64,
    index: FxHashMap<(StratumCell, u32, Membership), u32>,
    strata: Vec<Stratum>,
    parts: StratumParts,
    tallies: FxHashMap<(u32, PathId), SampleTally>,
    claims: FxHashMap<(StratumCell, Membership, PathId), u64>,
    /// Samples that follow each other within a piece: the first's stratum, both paths, and the products of their weights.
    pairs: FxHashMap<(u32, PathId, PathId), Products>,
    positions: SamplePositions,
    /// Samples and boundaries by thread and path.
    looks: FxHashMap<(ThreadId, PathId), u64>,
    exact: ExactSums,
}

/// Sums of the products of two samples' weights, as they count for time and for normalised time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Products {
    pub time: f64,
    pub normalised: f64,
}

/// Of pieces that boundaries end, and that need no estimate: the sums of what they count for and of its squares.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExactSums {
    pub time: WeightSums,
    pub normalised: WeightSums,
    /// On the critical path by CPU time.
    pub critical: WeightSums,
}

/// Sums of weights and of their squares.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WeightSums {
    sum: f64,
    squares: f64,
}

impl WeightSums {
    /// So many more of this weight.
    pub fn add(&mut self, weight: f64, count: f64) {
        self.sum += weight * count;
        self.squares += weight * weight * count;
    }

    /// Several more, whose weights come to this, as do their squares.
    pub fn add_sums(&mut self, sum: f64, squares: f64) {
        self.sum += sum;
        self.squares += squares;
    }

    /// n = (Σw)² / Σw² of exact weights beside these sampled ones, whose squares alone make errors; of the exact ones alone where
    /// nothing is sampled.
    pub fn effective_with(self, sampled: WeightSums) -> f64 {
        let sum = self.sum + sampled.sum;
        let squares = if sampled.squares > 0.0 { sampled.squares } else { self.squares };
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    }
}

/// A sample in the present piece of a thread.
#[derive(Clone, Copy, Debug)]
struct SampleSeen {
    path: PathId,
    level: u32,
    on: Membership,
    weight: f64,
}

/// The present piece of a thread.
#[derive(Clone, Debug, Default)]
struct StratumThread {
    work: Vec<(u32, Membership, u64)>,
    samples: Vec<SampleSeen>,
    /// How far into the piece each sample came.
    positions: Vec<u64>,
}

/// What was collected, for the division.
#[derive(Debug)]
pub(crate) struct Collected {
    pub strata: Vec<Stratum>,
    /// Thread, stratum, time; in this order.
    pub parts: Vec<(ThreadId, u32, u64)>,
    /// Stratum, path, samples; in this order.
    pub tallies: Vec<(u32, PathId, SampleTally)>,
    /// Cell, membership, path, what its samples claim; in this order.
    pub claims: Vec<((StratumCell, Membership), PathId, u64)>,
    /// Stratum, paths, sums; in this order.
    pub pairs: Vec<(u32, PathId, PathId, Products)>,
    pub positions: SamplePositions,
    pub looks: Vec<(ThreadId, PathId, u64)>,
    pub exact: ExactSums,
    /// Gap of samples of which it is not recorded, nanoseconds.
    pub interval: u64,
}

impl<'a> Strata<'a> {
    pub fn new(program: &Program, paths: &'a Paths, interval: u64) -> Self {
        Strata {
            pieces: Pieces::new(program, paths),
            per_thread: vec![StratumThread::default(); program.threads.len()],
            interval,
            index: FxHashMap::default(),
            strata: Vec::new(),
            parts: StratumParts::default(),
            tallies: FxHashMap::default(),
            claims: FxHashMap::default(),
            pairs: FxHashMap::default(),
            positions: SamplePositions::default(),
            looks: FxHashMap::default(),
            exact: ExactSums::default(),
        }
    }

    fn of_thread(&mut self, thread: ThreadId) -> &mut StratumThread {
        if thread.index() >= self.per_thread.len() {
            self.per_thread.resize(thread.index() + 1, StratumThread::default());
        }
        &mut self.per_thread[thread.index()]
    }

    /// The thread worked so long, on paths and off them.
    pub fn advance(&mut self, thread: ThreadId, times: &ByMembership) {
        self.pieces.work(thread, times);
    }

    /// Of that it worked so long while so many threads were busy, and of this membership.
    pub fn work(&mut self, thread: ThreadId, (level, on): (u32, Membership), time: u64) {
        let work = &mut self.of_thread(thread).work;
        match work.iter_mut().find(|(known, known_on, _)| (*known, *known_on) == (level, on)) {
            Some((_, _, sum)) => *sum += time,
            None => work.push((level, on, time)),
        }
    }

    /// A timer found the thread, which works, at this path; the gap is in nanoseconds, 0 where it is not recorded.
    pub fn sample(&mut self, thread: ThreadId, path: PathId, (level, on, gap): (u32, Membership, u32)) {
        let gap = if gap == 0 { self.interval } else { gap.into() };
        let of_thread = self.of_thread(thread);
        of_thread.positions.push(of_thread.work.iter().map(|&(_, _, time)| time).sum());
        of_thread.samples.push(SampleSeen { path, level, on, weight: gap as f64 });
        self.pieces.sample(thread, (path, on), gap);
    }

    /// A node of the graph is here.
    pub fn cut(&mut self, thread: ThreadId) {
        self.pieces.cut(thread);
    }

    /// The thread is looked at for another reason.
    pub fn site(&mut self, thread: ThreadId, path: PathId, kind: ObservationKind) {
        let Some(end) = PieceEnd::of(path, kind) else { return };
        let of_thread = self.of_thread(thread);
        if !of_thread.work.is_empty() || !of_thread.samples.is_empty() {
            self.settle(thread, end);
        }
        self.pieces.end(thread, end);
    }

    /// Puts what the thread did since its last site into its cell.
    fn settle(&mut self, thread: ThreadId, end: PieceEnd) {
        let cell = self.pieces.cell(thread, end);
        let mut of_thread = std::mem::take(&mut self.per_thread[thread.index()]);
        let length = of_thread.work.iter().map(|&(_, _, time)| time).sum();
        self.positions.add(&of_thread.positions, length);
        of_thread.positions.clear();
        if cell.ground == Ground::Exact {
            self.exact.add(&of_thread.work);
            *self.looks.entry((thread, cell.end)).or_default() += 1;
        }
        for &(level, on, time) in &of_thread.work {
            let stratum = self.stratum(thread, cell, (level, on));
            self.strata[stratum as usize].time += time;
            self.parts.add(thread, stratum, time);
        }
        for &SampleSeen { path, level, on, weight } in &of_thread.samples {
            let stratum = self.stratum(thread, cell, (level, on));
            let tally = SampleTally { count: 1, weight, squares: weight * weight };
            self.tallies.entry((stratum, path)).or_default().add(tally);
            *self.looks.entry((thread, path)).or_default() += 1;
        }
        for pair in of_thread.samples.windows(2) {
            let stratum = self.stratum(thread, cell, (pair[0].level, pair[0].on));
            self.add_pair(stratum, pair);
        }
        self.claim(thread, cell);
        // Emptied buffers go back, so that the next piece needs no new ones.
        of_thread.work.clear();
        of_thread.samples.clear();
        self.per_thread[thread.index()] = of_thread;
    }

    fn claim(&mut self, thread: ThreadId, cell: StratumCell) {
        self.pieces.cut(thread);
        for claim in &self.pieces.piece(thread).claims {
            *self.claims.entry((cell, claim.on, claim.path)).or_default() += claim.time;
        }
    }

    fn add_pair(&mut self, stratum: u32, pair: &[SampleSeen]) {
        let key = (stratum, pair[0].path, pair[1].path);
        let is_known = self.pairs.len() < MOST_PAIRS || self.pairs.contains_key(&key);
        if is_known {
            let sum = self.pairs.entry(key).or_default();
            let product = pair[0].weight * pair[1].weight;
            sum.time += product;
            sum.normalised += product / (f64::from(pair[0].level.max(1)) * f64::from(pair[1].level.max(1)));
        }
    }

    fn stratum(&mut self, thread: ThreadId, cell: StratumCell, (level, on): (u32, Membership)) -> u32 {
        if let Some(&known) = self.index.get(&(cell, level, on))
            && (self.parts.len() < MOST_PARTS || self.parts.has(thread, known))
        {
            return known;
        }
        let is_full = self.parts.len() >= MOST_PARTS && cell.ground != Ground::Exact;
        let cell = if is_full { StratumCell { begin: NOWHERE, end: NOWHERE, ..cell } } else { cell };
        let next = self.strata.len() as u32;
        let stratum = *self.index.entry((cell, level, on)).or_insert(next);
        if stratum == next {
            self.strata.push(Stratum { cell, level, on, time: 0 });
        }
        stratum
    }

    /// Ends all threads' last pieces.
    pub fn into_collected(mut self) -> Collected {
        for index in 0..self.per_thread.len() {
            let of_thread = &self.per_thread[index];
            if !of_thread.work.is_empty() || !of_thread.samples.is_empty() {
                let is_sampled = !of_thread.samples.is_empty();
                self.settle(ThreadId::from_index(index), PieceEnd::Nothing { is_sampled });
            }
        }
        let Strata {
            strata, parts, tallies, claims, pairs, positions, looks, exact, interval, index, ..
        } = self;
        // Not needed any more, and large.
        drop(index);
        // The maps have no order of their own; sums must be the same every time.
        let sorted = || {
            let mut tallies: Vec<_> =
                tallies.into_iter().map(|((stratum, path), tally)| (stratum, path, tally)).collect();
            let mut claims: Vec<_> =
                claims.into_iter().map(|((cell, on, path), time)| ((cell, on), path, time)).collect();
            let mut pairs: Vec<_> =
                pairs.into_iter().map(|((stratum, one, other), sum)| (stratum, one, other, sum)).collect();
            tallies.sort_unstable_by_key(|&(stratum, path, _)| (stratum, path));
            claims.sort_unstable();
            pairs.sort_unstable_by_key(|&(stratum, one, other, _)| (stratum, one, other));
            (tallies, claims, pairs)
        };
        let (parts, (tallies, claims, pairs)) = at_once(|| parts.into_sorted(), sorted);
        let looks = looks.into_iter().map(|((thread, path), count)| (thread, path, count)).collect();
        Collected { strata, parts, tallies, claims, pairs, positions, looks, exact, interval }
    }
}

impl ExactSums {
    fn add(&mut self, work: &[(u32, Membership, u64)]) {
        let (mut time, mut normalised, mut critical) = (0.0, 0.0, 0.0);
        for &(level, on, of_level) in work {
            let of_level = of_level as f64;
            time += of_level;
            normalised += of_level / f64::from(level.max(1));
            critical += if on.has(Weight::Cpu) { of_level } else { 0.0 };
        }
        self.time.add(time, 1.0);
        self.normalised.add(normalised, 1.0);
        self.critical.add(critical, 1.0);
    }
}
