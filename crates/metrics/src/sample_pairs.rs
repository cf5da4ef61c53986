//! Which procedures two threads were found in at the same time, and which they never were (metrics.md §5).
//!
//! ```text
//!   T1   read | change ..... | read | change ......      found at the same time: change and change, read and change
//!   T2   ............ | read | change ..... | read       never: read and read, though both threads read
//! ```
//! Two samples of threads that both ran are a *pair* if they are at most [`APART`] apart. If threads did what they did without regard to each
//! other, a procedure that a part f of the samples are in, itself or what it calls, would be in both of f² of the pairs. One that is in far
//! fewer is done by one thread at a time: something that the recording need not tell makes it so, such as a stage of a pipeline that
//! takes one item after the other, a turn in memory, or a light thread that several threads of the system execute.
//!
//! It cannot see procedures whose calls are shorter than the time between two samples of a pair: these are found in the one thread as often
//! as chance has it. A coincidence of two threads that do the same in turns looks the same as a rule that they must.
//!
//! Memory: one number for each two paths that are found in a pair, of at most [`MOST_PAIRS`].

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use longpole_event::{ThreadId, Time};
use longpole_graph::Sweep;
use longpole_trace::{ObservationKind, PathId, Paths, ProcedureId, Program, State, stored};
use rustc_hash::{FxHashMap, FxHashSet};

/// Nanoseconds between the samples of a pair at most.
const APART: u64 = 250_000;
/// Other threads with which a sample makes pairs at most: machines have many processors.
const MOST_PARTNERS: usize = 4;
/// Pairs of paths that are counted apart; further ones are not counted.
const MOST_PAIRS: usize = 1 << 16;
/// A procedure that less of the samples are in limits no run that anybody asks for.
const PART: f64 = 0.05;
/// So seldom chance has a procedure on both sides of no more pairs, if it is to be said that threads were in it by turns.
const SELDOM: f64 = 0.02;
/// On both sides of this part of what chance has it may be: samples of a pair are not of one moment, and where one thread leaves the
/// procedure as another one comes, one pair in ten seems to be in it twice.
const TOLERATED: f64 = 0.3;

/// Pairs of samples, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SamplePairs {
    /// Each two paths, the smaller first, and how often two threads were found at these.
    counts: Vec<(PathId, PathId, u64)>,
}

stored! {
    SamplePairs { counts }
}

impl SamplePairs {
    /// The procedures that threads were in by turns, in order: each with what it calls. Pairs with a path that is `explained` do not count:
    /// who works with a lock while the other one does what comes before it does that by turns because of the lock. Nor do pairs of such a
    /// procedure with another one that threads were in by turns: either may be so because of the other.
    #[must_use]
    pub fn exclusive(&self, paths: &Paths, explained: impl Fn(PathId) -> bool) -> Vec<ProcedureId> {
        let mut known: FxHashMap<PathId, Rc<FxHashSet<ProcedureId>>> = FxHashMap::default();
        let mut procedures = |path: PathId| {
            let of_path = || Rc::new(paths.places_of(path).map(|place| place.procedure).collect());
            Rc::clone(known.entry(path).or_insert_with(of_path))
        };
        let counted = self.counts.iter().filter(|(one, other, _)| !explained(*one) && !explained(*other));
        let pairs: Vec<ProcedurePair> =
            counted.map(|&(one, other, count)| ([procedures(one), procedures(other)], count)).collect();
        let mut found_in: BTreeMap<ProcedureId, u64> = BTreeMap::new();
        for (sides, count) in &pairs {
            sides
                .iter()
                .flat_map(|side| side.iter())
                .for_each(|&id| *found_in.entry(id).or_default() += count);
        }
        let sides = 2 * pairs.iter().map(|(_, count)| count).sum::<u64>();
        let all = found_in.into_iter().filter(|&(_, found)| found as f64 >= PART * sides as f64);
        let all = all.map(|(procedure, _)| procedure);
        let none = FxHashSet::default();
        let found: FxHashSet<ProcedureId> =
            all.filter(|&procedure| is_exclusive(procedure, &pairs, &none)).collect();
        let mut kept: Vec<ProcedureId> =
            found.iter().copied().filter(|&procedure| is_exclusive(procedure, &pairs, &found)).collect();
        kept.sort_unstable();
        kept
    }
}

/// The procedures that both threads were in, and how often they were.
type ProcedurePair = ([Rc<FxHashSet<ProcedureId>>; 2], u64);

/// Whether two threads were in the procedure seldom enough, without the pairs of it with one of the `others`.
fn is_exclusive(procedure: ProcedureId, pairs: &[ProcedurePair], others: &FxHashSet<ProcedureId>) -> bool {
    let (mut all, mut found, mut both) = (0, 0, 0);
    for (sides, count) in pairs {
        let is_in = sides.each_ref().map(|side| side.contains(&procedure));
        let beside = sides.iter().zip(is_in).any(|(side, is_in)| !is_in && !side.is_disjoint(others));
        if is_in[0] != is_in[1] && beside {
            continue;
        }
        all += count;
        found += count * (u64::from(is_in[0]) + u64::from(is_in[1]));
        both += if is_in == [true; 2] { *count } else { 0 };
    }
    let part = found as f64 / (2 * all).max(1) as f64;
    let expected = all as f64 * part * part;
    both as f64 <= TOLERATED * expected && at_most(both, expected) <= SELDOM
}

/// How likely a number is that is no larger, where so many are expected (Poisson).
fn at_most(number: u64, expected: f64) -> f64 {
    let terms = (1..=number).scan((-expected).exp(), |term, step| {
        *term *= expected / step as f64;
        Some(*term)
    });
    (-expected).exp() + terms.sum::<f64>()
}

/// A sample that may have partners to come.
#[derive(Clone, Copy, Debug)]
struct RecentSample {
    time: Time,
    thread: ThreadId,
    path: PathId,
}

/// The sweep.
#[derive(Debug)]
pub(crate) struct SamplePairSweep {
    recent: VecDeque<RecentSample>,
    /// Since when each thread has been running, if it is.
    runs_since: Vec<Option<Time>>,
    counts: BTreeMap<(PathId, PathId), u64>,
}

impl SamplePairSweep {
    pub fn new(program: &Program) -> Self {
        SamplePairSweep {
            recent: VecDeque::new(),
            runs_since: vec![None; program.threads.len()],
            counts: BTreeMap::new(),
        }
    }

    /// What was counted.
    pub fn into_counts(self) -> SamplePairs {
        let counts = self.counts.into_iter().map(|((one, other), count)| (one, other, count));
        SamplePairs { counts: counts.collect() }
    }

    fn runs_since(&self, thread: ThreadId) -> Option<Time> {
        self.runs_since.get(thread.index()).copied().flatten()
    }
}

impl Sweep for SamplePairSweep {
    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        let Some(since) = self.runs_since.get_mut(thread.index()) else { return };
        if before != state {
            *since = (state == State::Running).then_some(time);
        }
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, kind: ObservationKind) {
        if !matches!(kind, ObservationKind::Sample { .. }) || self.runs_since(thread).is_none() {
            return;
        }
        while self.recent.front().is_some_and(|sample| time.since(sample.time) > APART) {
            self.recent.pop_front();
        }
        let is_partner = |sample: &&RecentSample| {
            sample.thread != thread
                && self.runs_since(sample.thread).is_some_and(|since| since <= sample.time)
        };
        let partners: Vec<PathId> = self
            .recent
            .iter()
            .rev()
            .filter(is_partner)
            .take(MOST_PARTNERS)
            .map(|sample| sample.path)
            .collect();
        for other in partners {
            let key = (path.min(other), path.max(other));
            if self.counts.len() < MOST_PAIRS || self.counts.contains_key(&key) {
                *self.counts.entry(key).or_default() += 1;
            }
        }
        self.recent.push_back(RecentSample { time, thread, path });
    }
}

#[cfg(test)]
mod tests {
    use longpole_trace::{CodePlace, Procedure};

    use super::*;

    /// `main > a` and `main > b`.
    fn two_paths() -> (Paths, [PathId; 2]) {
        let mut paths = Paths::default();
        let mut path = |caller, name: &str| {
            let procedure =
                paths.procedure(Procedure { name: name.into(), module: String::new(), file: String::new() });
            let place = paths.place(CodePlace { procedure, line: 0 });
            paths.path(caller, place)
        };
        let main = path(Paths::ROOT, "main");
        let both = [path(main, "a"), path(main, "b")];
        (paths, both)
    }

    /// Which procedures two threads did by turns, where so many pairs were both in `a`, both in `b`, and one in each.
    fn exclusive(both_a: u64, both_b: u64, one_each: u64) -> Vec<String> {
        exclusive_unless(PathId(u32::MAX), (both_a, both_b, one_each))
    }

    fn exclusive_unless(explained: PathId, (both_a, both_b, one_each): (u64, u64, u64)) -> Vec<String> {
        let (paths, [a, b]) = two_paths();
        let counts = SamplePairs { counts: vec![(a, a, both_a), (b, b, both_b), (a, b, one_each)] };
        let name = |procedure| paths.procedure_named_by(procedure).name.clone();
        counts.exclusive(&paths, |path| path == explained).into_iter().map(name).collect()
    }

    #[test]
    fn a_procedure_is_exclusive_that_is_in_far_fewer_pairs_than_by_chance() {
        // A third of the samples are in a: by chance 11 of 100 pairs.
        assert_eq!(exclusive(0, 34, 66), ["a"]);
        assert_eq!(exclusive(1, 34, 65), ["a"]);
        assert_eq!(exclusive(11, 45, 44), [] as [&str; 0], "by chance");
        assert_eq!(exclusive(0, 12, 23), [] as [&str; 0], "3.8 by chance: not seldom none of them");
        assert_eq!(exclusive(0, 0, 100), [] as [&str; 0], "either may be because of the other");
    }

    #[test]
    fn turns_that_a_lock_explains_do_not_count() {
        let (_, [a, b]) = two_paths();
        assert_eq!(exclusive_unless(a, (0, 0, 100)), [] as [&str; 0], "what is done beside the lock in a");
        assert_eq!(exclusive_unless(b, (0, 40, 60)), [] as [&str; 0]);
    }

    #[test]
    fn small_numbers_are_as_likely_as_poisson_has_it() {
        for (number, expected, likely) in [(0, 4.7, 0.0091), (1, 4.7, 0.0518), (2, 3.0, 0.4232)] {
            assert!((at_most(number, expected) - likely).abs() < 1e-4, "{number} of {expected}");
        }
    }

    #[test]
    fn pairs_are_of_threads_that_both_ran_from_one_sample_to_the_other() {
        let (_, [a, b]) = two_paths();
        let [one, other] = [ThreadId(0), ThreadId(1)];
        let at = Time::from_nanoseconds;
        let run = |leaves: bool, apart: u64| {
            let (recent, counts) = (VecDeque::new(), BTreeMap::new());
            let mut sweep = SamplePairSweep { recent, runs_since: vec![None; 2], counts };
            let sample = ObservationKind::Sample { gap: 0 };
            for thread in [one, other] {
                sweep.enter(thread, at(5), State::Ready, State::Running);
            }
            sweep.observe(one, at(10), b, sample);
            sweep.observe(one, at(11), b, sample);
            if leaves {
                sweep.enter(one, at(12), State::Running, State::Ready);
                sweep.enter(one, at(13), State::Ready, State::Running);
            }
            sweep.observe(other, at(14), b, ObservationKind::Site);
            sweep.observe(other, at(11 + apart), a, sample);
            sweep.into_counts().counts
        };
        assert_eq!(run(false, 10), [(a, b, 2)]);
        assert_eq!(run(false, APART), [(a, b, 1)]);
        assert_eq!(run(false, APART + 1), []);
        assert_eq!(run(true, 10), []);
    }
}
