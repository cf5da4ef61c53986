//! Classes of waits: equal explanations of waits at one place, merged (C §2.1).

use longpole_event::ThreadId;
use longpole_trace::{Cause, ObjectId, PlaceId};
use rustc_hash::FxHashMap;

use super::explanation::Explained;
use super::limits::Limits;
use super::step::{Category, StepAction, StepId, StepTable};
use super::verdict::Unwanted;

/// What kinds of cause a positive side holds, nanoseconds (C §3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// Scopes that the waiting thread ran too, for less time.
    pub imbalance: f64,
    /// Scopes that the waiting thread had no part in.
    pub insufficient: f64,
    /// Locks, messages, devices, pages, processors.
    pub contention: f64,
    /// Nobody knows.
    pub unexplained: f64,
}

impl Split {
    pub(super) fn contention(contention: f64) -> Split {
        Split { contention, ..Split::default() }
    }

    pub(super) fn unexplained(unexplained: f64) -> Split {
        Split { unexplained, ..Split::default() }
    }

    /// All together.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.imbalance + self.insufficient + self.contention + self.unexplained
    }

    /// Adds the other's amounts.
    pub fn add(&mut self, other: &Split) {
        self.add_all(other, 1.0);
    }

    pub(super) fn scaled(&self, factor: f64) -> Split {
        let mut scaled = Split::default();
        scaled.add_all(self, factor);
        scaled
    }

    pub(super) fn add_all(&mut self, other: &Split, factor: f64) {
        self.imbalance += other.imbalance * factor;
        self.insufficient += other.insufficient * factor;
        self.contention += other.contention * factor;
        self.unexplained += other.unexplained * factor;
    }

    /// Adds a step of the positive side that is no explained wait; the waiting thread did it too or not.
    pub(super) fn add_step(&mut self, deed: &StepAction, amount: f64, is_shared: bool) {
        match deed.category {
            Category::Running if is_shared => self.imbalance += amount,
            Category::Running | Category::Released => self.insufficient += amount,
            Category::Ready
            | Category::Overhead
            | Category::Spinning
            | Category::UnderWay
            | Category::Written => self.contention += amount,
            Category::Blocked(Cause::Io | Cause::PageFault | Cause::Lock | Cause::Request) => {
                self.contention += amount
            }
            Category::Blocked(_) | Category::Absent | Category::Rest => self.unexplained += amount,
        }
    }
}

/// What a class of waits is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitClassKind {
    /// Off the processor, for this cause.
    Blocked(Cause),
    /// Busy-waiting.
    Spinning,
    /// Ended before the last of the threads that were joined with it: its processor has nothing to do for the program.
    EndedEarly,
}

/// Whose waits a class holds, where classes are kept by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitClassSource {
    /// The waiting thread, where classes are by thread; of a process or machine, one of its threads.
    pub thread: Option<ThreadId>,
    /// Where it waited.
    pub place: Option<PlaceId>,
    /// For what: of several objects with the same kind and name, the first.
    pub object: Option<ObjectId>,
}

/// Waits with the same explanation.
#[derive(Clone, Debug)]
pub struct WaitClass {
    /// Where, and for what.
    pub source: WaitClassSource,
    /// How.
    pub kind: WaitClassKind,
    /// Why nobody wants it explained, if so.
    pub unwanted: Option<Unwanted>,
    /// Waits.
    pub count: u64,
    /// Their time, nanoseconds.
    pub time: u64,
    /// Kinds of cause.
    pub split: Split,
    /// What whoever ended the waits did meanwhile, in the order of the steps.
    pub direct: Vec<StepShare>,
    /// The same with waits replaced by what explains them.
    pub roots: Vec<StepShare>,
    /// Where the comparison of paths was given up, and `direct` is what whoever ended the waits did during them: the
    /// difference of the paths. Else empty.
    pub difference: Vec<StepShare>,
}

/// A step's part in the waits of a class; nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepShare {
    /// The step.
    pub step: StepId,
    /// On the side of those who ended the waits.
    pub positive: f64,
    /// On the side of the waiting threads.
    pub negative: f64,
    /// Waits in which it occurs.
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WaitClassSubject {
    pub source: WaitClassSource,
    pub kind: WaitClassKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct WaitClassKey {
    subject: WaitClassSubject,
    unwanted: Option<Unwanted>,
    /// Of the set of scopes; 0 for all those that are not told apart.
    signature: u64,
    /// The comparison of paths was given up.
    is_given_up: bool,
}

/// A wait of a subject, explained.
#[derive(Clone, Debug)]
pub(super) struct FinishedWait {
    pub thread: ThreadId,
    pub subject: WaitClassSubject,
    pub count: u64,
    pub time: u64,
    pub explained: Explained,
    /// Why nobody wants it explained, whoever else waited there.
    pub surely: Option<Unwanted>,
    /// It took most of the run.
    pub is_most_of_run: bool,
}

#[derive(Debug, Default)]
struct WaitClassSums {
    count: u64,
    time: u64,
    split: Split,
    direct: Sides,
    roots: Sides,
    difference: Sides,
}

/// Amounts on the positive and the negative side, and waits in which the step occurs.
type Sides = FxHashMap<StepId, (f64, f64, u64)>;

fn add(sides: &mut Sides, step: StepId, (positive, negative): (f64, f64), count: u64) {
    let sum = sides.entry(step).or_default();
    *sum = (sum.0 + positive, sum.1 + negative, sum.2 + count);
}

/// All classes.
#[derive(Debug, Default)]
pub(super) struct Classes {
    ids: FxHashMap<WaitClassKey, usize>,
    all: Vec<(WaitClassKey, WaitClassSums)>,
    /// Explanations for which not all was known.
    pub cut: u64,
    /// Waits whose explanations are in no class of their own.
    pub merged: u64,
}

/// Shares of a class that are kept however many classes there are.
const LEAST_SHARES: usize = 32;

/// A wait on its way to its class, without its shares.
#[derive(Debug)]
pub(super) struct ClassifiedWait {
    key: WaitClassKey,
    count: u64,
    time: u64,
    split: Split,
    is_cut: bool,
}

impl ClassifiedWait {
    /// The wait, with the class that it is of by itself.
    pub(super) fn of(finished: &FinishedWait, unwanted: Option<Unwanted>, table: &StepTable) -> Self {
        let FinishedWait { subject, count, time, explained, .. } = finished;
        let signature = signature(explained, *time, table);
        let is_given_up = explained.difference.is_some();
        let key = WaitClassKey { subject: *subject, unwanted, signature, is_given_up };
        let (split, is_cut) = (explained.roots.split, explained.is_cut);
        ClassifiedWait { key, count: *count, time: *time, split, is_cut }
    }
}

/// The shares of a wait, as its explanation has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitShares<'a> {
    pub direct: &'a [(StepId, f64, f64)],
    pub roots: &'a [(StepId, f64)],
    pub difference: &'a [(StepId, f64, f64)],
}

impl Classes {
    /// Adds a wait. Shares that are put together are of the step that `rest` gives.
    pub(super) fn add(
        &mut self,
        wait: &ClassifiedWait,
        shares: WaitShares<'_>,
        limits: Limits,
        rest: &mut impl FnMut() -> StepId,
    ) {
        let ClassifiedWait { mut key, count, time, split, is_cut } = *wait;
        if self.all.len() >= limits.classes && !self.ids.contains_key(&key) {
            key.signature = 0;
            self.merged += 1;
        }
        let next = self.all.len();
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.all.push((key, WaitClassSums::default()));
        }
        let sums = &mut self.all[id].1;
        sums.count += count;
        sums.time += time;
        sums.split.add_all(&split, 1.0);
        self.cut += u64::from(is_cut);
        for &(step, positive, negative) in shares.direct {
            add(&mut sums.direct, step, (positive, negative), count);
        }
        for &(step, amount) in shares.roots {
            add(&mut sums.roots, step, (amount.max(0.0), (-amount).max(0.0)), count);
        }
        for &(step, positive, negative) in shares.difference {
            add(&mut sums.difference, step, (positive, negative), count);
        }
        let kept = (limits.shares / (next + 1)).max(LEAST_SHARES);
        for sides in [&mut sums.direct, &mut sums.roots, &mut sums.difference] {
            keep_largest(sides, kept, rest);
        }
    }

    /// The classes, in the order in which they were met.
    pub(super) fn into_classes(self) -> Vec<WaitClass> {
        let shares = |sums: Sides| {
            let mut shares: Vec<StepShare> = sums
                .into_iter()
                .map(|(step, (positive, negative, count))| StepShare { step, positive, negative, count })
                .collect();
            shares.sort_by_key(|share| share.step);
            shares
        };
        let class = |(key, sums): (WaitClassKey, WaitClassSums)| WaitClass {
            source: key.subject.source,
            kind: key.subject.kind,
            unwanted: key.unwanted,
            count: sums.count,
            time: sums.time,
            split: sums.split,
            direct: shares(sums.direct),
            roots: shares(sums.roots),
            difference: shares(sums.difference),
        };
        self.all.into_iter().map(class).collect()
    }
}

/// Once there are twice as many shares as are kept, the smaller ones are put together; so each share is looked at a
/// constant number of times.
fn keep_largest(sums: &mut Sides, kept: usize, rest: &mut impl FnMut() -> StepId) {
    if sums.len() <= 2 * kept {
        return;
    }
    let rest = rest();
    let mut all: Vec<(StepId, (f64, f64, u64))> = sums.drain().collect();
    all.select_nth_unstable_by(kept, |one, other| {
        let size = |sides: (f64, f64, u64)| sides.0 + sides.1;
        size(other.1).total_cmp(&size(one.1)).then(one.0.cmp(&other.0))
    });
    for (_, (positive, negative, count)) in all.drain(kept..) {
        add(sums, rest, (positive, negative), count);
    }
    for (step, (positive, negative, count)) in all {
        add(sums, step, (positive, negative), count);
    }
    sums.shrink_to(2 * kept);
}

/// Steps below this part of a wait do not tell its class from others.
const TELLING_PART: f64 = 0.1;

/// The set of scopes that tell on a wait: the same whatever their order and amounts.
fn signature(explained: &Explained, time: u64, table: &StepTable) -> u64 {
    let least = time as f64 * TELLING_PART;
    let mut signature = 1_u64;
    for &(step, positive, negative) in &explained.direct {
        if positive.max(negative) >= least {
            let number = u64::from(table.deed_of(step)) * 2 + u64::from(negative > positive) + 1;
            signature =
                signature.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ number);
        }
    }
    signature.max(1)
}
