//! How long threads spin before they block, where a sample seldom falls into that (metrics.md §1).
//!
//! ```text
//!   run       |======== work ========~~~~ spin ~~~~|.. blocked        two samples in a hundred runs find it spinning
//!   lower     |                           s ~~~~~~~|                  from the first of its last samples, all of which spin
//!   upper     |              w ====================|                  from the last sample that works, or the run's begin
//! ```
//! A *run* is the time of a thread on its processors since it blocked or did something to another thread, up to where it blocks; it may
//! lose its processor meanwhile.
//! Runs are of one kind if they begin and end at the same sites. Of a kind's time the part is spinning that its samples say:
//! that is unbiased, however short the runs are. The part is laid into the ends of the runs, each of which gets the same
//! length as far as its own samples allow: most loops that spin before they block turn a fixed number of times.
//!
//! Only kinds of which samples do not see work after spins are treated so; where threads spin for moments everywhere, a
//! sample says what it says of the time before it alone.
//!
//! Memory, where any stack spins: 40 bytes per run while a recording is surveyed, at most [`MOST_RUNS`] of them; afterwards
//! 40 bytes per run that ends with a spin.

use longpole_event::{PrimitiveId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::bursts::Burst;
use crate::paths::PathId;

/// Runs that are kept. What comes later is as its own samples say.
const MOST_RUNS: usize = 1 << 21;
/// Pauses of a run that are kept.
const MOST_PAUSES: usize = 64;
/// Samples that a kind of runs needs; with fewer it is pooled with others of the same end.
const FEWEST: u32 = 5;

/// Where runs begin and end: the prefix of the thread's paths, the site at the begin, and that at the end.
type RunKind = (PathId, Option<PathId>, Option<PathId>);

/// Nanoseconds of a thread's time on a processor since its run began.
type RunPosition = u64;

/// The present run of a thread.
#[derive(Clone, Debug, Default)]
struct PresentRun {
    /// The site at its begin.
    site: Option<PathId>,
    /// Since when it is on its processor, and where in the run it came there.
    on_cpu: Option<Time>,
    before: RunPosition,
    /// Where it lost its processor, and for how long.
    pauses: Vec<(RunPosition, u64)>,
    lost_at: Option<Time>,
    /// Pauses before here are forgotten.
    known_from: RunPosition,
    /// The first of its last looks, all of which spin.
    spins_since: Option<RunPosition>,
    /// The last look that found it at work.
    worked_at: RunPosition,
    samples: u32,
    /// Samples of its last spin.
    spinning_samples: u32,
    /// It worked after a spin.
    went_on: bool,
    /// It ended just now.
    ended: Option<(RunKind, Time)>,
}

impl PresentRun {
    /// Begins at a site, at that time, on a processor or not.
    fn begins(site: Option<PathId>, on_cpu: Option<Time>) -> PresentRun {
        PresentRun { site, on_cpu, ..PresentRun::default() }
    }

    fn position(&self, time: Time) -> RunPosition {
        self.before + self.on_cpu.map_or(0, |since| time.since(since))
    }
}

/// A run that ended with a wait.
#[derive(Clone, Copy, Debug)]
struct BlockedRun {
    thread: ThreadId,
    kind: u32,
    end: Time,
    /// The spin at its end took at least so much of the processor, and at most so much; nanoseconds.
    least: u32,
    most: u32,
    /// Its pauses, among those of all runs.
    pauses: (u32, u32),
}

/// What is known of a kind of runs.
#[derive(Clone, Copy, Debug, Default)]
struct KindSums {
    time: f64,
    samples: u32,
    /// Samples of spins that nothing else followed.
    spinning: u32,
    /// Runs whose last sample spins, and runs in which work was seen after a spin.
    ending: u32,
    going_on: u32,
}

impl KindSums {
    fn add(&mut self, other: &KindSums) {
        self.time += other.time;
        self.samples += other.samples;
        self.spinning += other.spinning;
        self.ending += other.ending;
        self.going_on += other.going_on;
    }

    /// The part of the time that is spinning at the ends of runs; `None` where it is not only there that they spin.
    fn part(&self) -> Option<f64> {
        let is_at_end = self.spinning > 0 && 2 * self.going_on <= self.ending;
        is_at_end.then(|| f64::from(self.spinning) / f64::from(self.samples.max(1)))
    }
}

/// What the survey collects of one machine.
#[derive(Debug, Default)]
pub(crate) struct SpinTails {
    /// Any stack of the recording spins.
    has_spins: bool,
    per_thread: Vec<PresentRun>,
    kinds: FxHashMap<RunKind, u32>,
    keys: Vec<RunKind>,
    sums: Vec<KindSums>,
    runs: Vec<BlockedRun>,
    /// How far before the ends of their runs threads lost their processors, and for how long; nanoseconds.
    pauses: Vec<(u32, u64)>,
}

/// A spin at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SpinTail {
    pub(crate) begin: Time,
    pub(crate) thread: ThreadId,
    pub(crate) end: Time,
    /// No other spin is in the run from then on.
    known_from: Time,
    /// What it spins for, where that is known.
    pub(crate) flag: Option<FlagWait>,
}

/// What a thread spins for, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlagWait {
    pub(crate) primitive: PrimitiveId,
    pub(crate) path: PathId,
}

impl SpinTail {
    /// A busy-wait that another thread ended.
    pub(crate) fn freed(
        thread: ThreadId,
        (begin, end): (Time, Time),
        known_from: Time,
        flag: FlagWait,
    ) -> SpinTail {
        SpinTail { begin, thread, end, known_from, flag: Some(flag) }
    }
}

impl SpinTails {
    /// None yet, of so many threads; nothing is kept where no thread was ever found spinning.
    pub(crate) fn new(threads: usize, has_spins: bool) -> Self {
        SpinTails { per_thread: vec![PresentRun::default(); threads], has_spins, ..SpinTails::default() }
    }

    /// The thread comes onto its processor.
    pub(crate) fn begin(&mut self, thread: ThreadId, time: Time) {
        if !self.has_spins {
            return;
        }
        let run = &mut self.per_thread[thread.index()];
        run.on_cpu = Some(time);
        let Some(lost_at) = run.lost_at.take() else { return };
        if run.pauses.len() >= MOST_PAUSES {
            run.known_from = run.before;
            run.pauses.clear();
        } else {
            run.pauses.push((run.before, time.since(lost_at)));
        }
    }

    /// The thread is off its processor, in a wait or without one.
    pub(crate) fn leave(&mut self, thread: ThreadId, time: Time, blocks: bool) {
        if !self.has_spins {
            return;
        }
        let run = &mut self.per_thread[thread.index()];
        match run.ended.take() {
            Some((kind, _)) if blocks => {
                self.end(thread, kind, time);
                self.per_thread[thread.index()] = PresentRun::begins(kind.2, None);
            }
            _ if blocks => *run = PresentRun::begins(run.site, None),
            _ => {
                run.before = run.position(time);
                (run.on_cpu, run.lost_at) = (None, Some(time));
            }
        }
    }

    /// The thread was found in a loop that waits, or not, by a timer or since it lost its processor.
    pub(crate) fn looked(&mut self, thread: ThreadId, time: Time, (spins, is_sample): (bool, bool)) {
        if !self.has_spins {
            return;
        }
        self.go_on(thread);
        let run = &mut self.per_thread[thread.index()];
        let position = run.position(time);
        if spins {
            run.spins_since = run.spins_since.or(Some(position));
        } else {
            run.went_on |= run.spinning_samples > 0;
            (run.spins_since, run.worked_at, run.spinning_samples) = (None, position, 0);
        }
        if is_sample {
            run.samples += 1;
            run.spinning_samples += u32::from(spins);
        }
    }

    /// The thread acts at a site, after which another run begins unless it blocks there.
    pub(crate) fn acted(&mut self, thread: ThreadId, time: Time, burst: Burst) {
        if !self.has_spins {
            return;
        }
        self.go_on(thread);
        let run = &mut self.per_thread[thread.index()];
        run.ended = Some(((burst.prefix, run.site, burst.end), time));
    }

    /// What the thread did up to now is known.
    pub(crate) fn accounted(&mut self, thread: ThreadId, time: Time) {
        if !self.has_spins {
            return;
        }
        let run = &mut self.per_thread[thread.index()];
        *run = PresentRun::begins(run.site, run.on_cpu.map(|_| time));
    }

    /// The thread goes on after what it did at a site.
    fn go_on(&mut self, thread: ThreadId) {
        let run = &mut self.per_thread[thread.index()];
        if let Some(((_, _, site), at)) = run.ended.take() {
            *run = PresentRun::begins(site, run.on_cpu.map(|since| since.max(at)));
        }
    }

    fn end(&mut self, thread: ThreadId, kind: RunKind, end: Time) {
        let run = &self.per_thread[thread.index()];
        let length = run.position(end);
        let next = self.keys.len() as u32;
        let id = *self.kinds.entry(kind).or_insert(next);
        if id == next {
            self.keys.push(kind);
            self.sums.push(KindSums::default());
        }
        if self.runs.len() >= MOST_RUNS || length == 0 {
            return;
        }
        let sums = &mut self.sums[id as usize];
        sums.time += length as f64;
        sums.samples += run.samples;
        sums.spinning += run.spinning_samples;
        sums.ending += u32::from(run.spinning_samples > 0);
        sums.going_on += u32::from(run.went_on);
        let before_end =
            |position: RunPosition| u32::try_from(length - position.min(length)).unwrap_or(u32::MAX);
        let most = before_end(run.worked_at.max(run.known_from));
        // It spins when it is looked at, not only from then on.
        let least = run.spins_since.map_or(0, |since| before_end(since).saturating_add(1)).min(most);
        let first = self.pauses.len() as u32;
        self.pauses.extend(run.pauses.iter().map(|&(position, pause)| (before_end(position), pause)));
        let pauses = (first, self.pauses.len() as u32);
        self.runs.push(BlockedRun { thread, kind: id, end, least, most, pauses });
    }

    /// The time at which so much of the run was still to come.
    fn time_before_end(&self, run: &BlockedRun, left: u32) -> Time {
        let pauses = &self.pauses[run.pauses.0 as usize..run.pauses.1 as usize];
        let paused: u64 = pauses.iter().filter(|pause| pause.0 < left).map(|pause| pause.1).sum();
        Time::from_nanoseconds(run.end.nanoseconds().saturating_sub(u64::from(left) + paused))
    }

    /// The spins at the ends of runs, in the order of time.
    pub(crate) fn into_found(self) -> Vec<SpinTail> {
        let pool = self.pools();
        let mut by_pool: FxHashMap<u32, Vec<&BlockedRun>> = FxHashMap::default();
        for run in self.runs.iter().filter(|run| run.most > 0) {
            if let Some(pool) = pool[run.kind as usize] {
                by_pool.entry(pool.0).or_default().push(run);
            }
        }
        let mut found = Vec::new();
        for (id, runs) in by_pool {
            let Some((_, wanted)) = pool[id as usize] else { continue };
            let length = common_length(&runs, wanted);
            for run in runs {
                let spin = length.clamp(run.least, run.most);
                if spin > 0 {
                    let begin = self.time_before_end(run, spin);
                    let known_from = self.time_before_end(run, run.most);
                    found.push(SpinTail { begin, thread: run.thread, end: run.end, known_from, flag: None });
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// The pool of each kind, named by one of its kinds, and the time that its runs spin at their ends; `None` where no
    /// sample found that.
    fn pools(&self) -> Vec<Option<(u32, f64)>> {
        let mut pools = vec![None; self.keys.len()];
        let mut by_end: FxHashMap<Option<PathId>, Vec<u32>> = FxHashMap::default();
        for (id, sums) in self.sums.iter().enumerate() {
            if sums.samples >= FEWEST {
                pools[id] = sums.part().map(|part| (id as u32, part * sums.time));
            } else {
                by_end.entry(self.keys[id].2).or_default().push(id as u32);
            }
        }
        for small in by_end.values() {
            let mut sums = KindSums::default();
            small.iter().for_each(|&id| sums.add(&self.sums[id as usize]));
            let wanted = sums.part().filter(|_| sums.samples >= FEWEST).map(|part| part * sums.time);
            small.iter().for_each(|&id| pools[id as usize] = wanted.map(|wanted| (small[0], wanted)));
        }
        pools
    }
}

/// The length that gives these runs so many nanoseconds in all, each as many as it may have.
fn common_length(runs: &[&BlockedRun], wanted: f64) -> u32 {
    let sum = |length: u32| runs.iter().map(|run| f64::from(length.clamp(run.least, run.most))).sum::<f64>();
    let (mut low, mut high) = (0, u32::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if sum(middle) < wanted { low = middle + 1 } else { high = middle }
    }
    low
}

/// Those of each of so many threads.
pub(crate) fn by_thread(tails: &[SpinTail], threads: usize) -> Vec<Vec<SpinTail>> {
    let mut of = vec![Vec::new(); threads];
    tails.iter().for_each(|&tail| of[tail.thread.index()].push(tail));
    of
}

/// The spins of a thread with those at the ends of its runs, both in the order of time.
pub(crate) fn with_tails(spins: Vec<(Time, Time)>, tails: &[SpinTail]) -> Vec<(Time, Time)> {
    let mut all = Vec::with_capacity(spins.len() + tails.len());
    let mut tails = tails.iter().peekable();
    let push_tail = |all: &mut Vec<(Time, Time)>, tail: &SpinTail| all.push((tail.begin, tail.end));
    for (begin, end) in spins {
        let mut rest = begin;
        while let Some(tail) = tails.next_if(|tail| tail.known_from < end) {
            if rest < tail.known_from {
                all.push((rest, tail.known_from));
            }
            push_tail(&mut all, tail);
            rest = rest.max(tail.end);
        }
        if rest < end {
            all.push((rest, end));
        }
    }
    tails.for_each(|tail| push_tail(&mut all, tail));
    all
}

#[cfg(test)]
mod tests;
