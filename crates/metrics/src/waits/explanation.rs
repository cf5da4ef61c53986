//! Explaining one wait: two paths compared, or the chain of a lock's holders followed.
//!
//! ```text
//!   A  ──●───── a ─────|········ W ········|       W = (b − a) + (b0 − a0), where a and b are the lengths
//!        a0            s                   e       of the paths and b0 − a0 is how much later B was released
//!   B  ────●──────────── b ────────────────|
//!          b0                              e
//! ```
//! What the paths have in common is taken away from both; so the positive side less the negative one stays W.

use longpole_event::ThreadId;
use longpole_trace::{Cause, Program};
use rustc_hash::FxHashMap;

use super::history::{History, Roots, WaitRelease};
use super::profile::IntervalProfile;
use super::step::{Category, StepAction, StepId, StepSums, StepTable};
use super::synchronisation::last_common;
use super::{Limits, Split};

/// A wait that is over, with what explains it.
#[derive(Clone, Debug, Default)]
pub(super) struct Explained {
    /// Each step with its amount on the positive and on the negative side, one of which is 0.
    pub direct: Vec<(StepId, f64, f64)>,
    /// The same with all waits replaced by what explains them.
    pub roots: Roots,
    /// Not all was known.
    pub is_cut: bool,
    /// Where the comparison of paths says nothing and `direct` is what happened during the wait: that comparison.
    pub difference: Option<Vec<(StepId, f64, f64)>>,
}

/// A wait to be explained.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitQuestion {
    pub thread: ThreadId,
    pub from: u64,
    pub to: u64,
    pub cause: Cause,
    /// Who ended it.
    pub release: Option<WaitRelease>,
}

/// Finds explanations; keeps what it needs for that from one to the next.
#[derive(Debug)]
pub(super) struct Explainer {
    limits: Limits,
    /// By deed: both sides of a comparison.
    deeds: StepSums,
    /// By step: what holders did.
    held: StepSums,
    /// By step: both sides of the explanation to the roots.
    roots: StepSums,
    /// What the thread that ended the last compared wait did.
    profile: IntervalProfile,
    /// Steps that may be looked at; grows with the steps that are made, which bounds the time of all explanations.
    credit: usize,
}

/// The positive side of a comparison is at most so many times the wait.
const FAR: f64 = 8.000_001;

/// Whether a wait is explained by what the holders of an object did meanwhile.
fn is_held(cause: Cause) -> bool {
    matches!(cause, Cause::Lock | Cause::Semaphore | Cause::Kernel)
}

/// Whether a wait is for nothing that a thread does.
fn is_alone(cause: Cause) -> bool {
    cause.is_of_clock()
        || matches!(cause, Cause::Io | Cause::Delivery | Cause::PageFault | Cause::Request | Cause::Stopped)
}

impl Explainer {
    pub(super) fn new(limits: Limits) -> Self {
        let (deeds, held, roots) = (StepSums::default(), StepSums::default(), StepSums::default());
        Explainer { limits, deeds, held, roots, profile: IntervalProfile::default(), credit: limits.credit }
    }

    /// A step was made.
    pub(super) fn earn(&mut self) {
        self.credit = (self.credit + self.limits.looks_per_step).min(self.limits.credit);
    }

    /// Explains a wait.
    pub(super) fn explain(
        &mut self,
        question: &WaitQuestion,
        threads: &[History],
        (table, program): (&mut StepTable, &Program),
    ) -> Explained {
        self.deeds.clear();
        self.held.clear();
        self.roots.clear();
        let release = question.release.filter(|_| !is_alone(question.cause));
        let Some(release) = release else { return by_itself(question, threads) };
        if is_held(question.cause) {
            return self.by_holders(question, &release, threads, table);
        }
        match self.stretch(question, &release, threads, program) {
            Some(stretch) => self.by_comparison(question, (&release, stretch), threads, table),
            None => Explained { is_cut: true, ..by_itself(question, threads) },
        }
    }

    /// The stretches to compare; `None` if nothing is known of the thread that ended the wait.
    fn stretch(
        &mut self,
        question: &WaitQuestion,
        release: &WaitRelease,
        threads: &[History],
        program: &Program,
    ) -> Option<ComparedIntervals> {
        let (own, other) = (&threads[question.thread.index()], threads.get(release.source.index())?);
        let most = (question.from, release.source_time);
        let (own_begin, other_begin) = (own.begin?, other.begin.filter(|&begin| begin <= most.1)?);
        let (own_known, other_known) = (own.known_since()?, other.known_since()?);
        let (own_from, other_from) = last_common(question, release, (own, other)).unwrap_or_else(|| {
            let creator = |thread: ThreadId| program.threads.get(thread.index()).and_then(|it| it.creator);
            let creators = (creator(question.thread), creator(release.source));
            match creators {
                (Some(one), Some(two)) if one == two => (own_begin, other_begin),
                _ => (own_begin.max(other_begin), own_begin.max(other_begin)),
            }
        });
        let of_other = self.profile.cost(release.source, other, (other_from, most.1));
        let asked = own.steps_since(own_from) + of_other;
        let is_known = own_known <= own_from && other_known <= other_from;
        if is_known && asked <= self.credit {
            self.credit -= asked;
            return Some(ComparedIntervals {
                own: own_from.min(most.0),
                other: other_from.min(most.1),
                is_cut: false,
            });
        }
        let mut cut = own_known.max(other_known).max(own_from.min(other_from));
        if asked > self.credit {
            let fewest = self.limits.steps_without_credit;
            cut = cut.max(own.begin_of_last(fewest)).max(other.begin_of_last(fewest));
        }
        Some(ComparedIntervals { own: cut.min(most.0), other: cut.min(most.1), is_cut: true })
    }

    /// What the thread that ended the wait did since the last common synchronisation, less what the waiting one did.
    fn by_comparison(
        &mut self,
        question: &WaitQuestion,
        (release, stretch): (&WaitRelease, ComparedIntervals),
        threads: &[History],
        table: &mut StepTable,
    ) -> Explained {
        let (own, other) = (&threads[question.thread.index()], &threads[release.source.index()]);
        let (own_work, other_work) = (own.work(table), other.work(table));
        let paths = ((stretch.own, question.from), (stretch.other, release.source_time));
        let (deeds, roots) = (&mut self.deeds, &mut self.roots);
        own.walk(paths.0, own_work, |step, part, whole, explained| {
            deeds.lose_step(table.deed_of(step), part as f64, step);
            add_roots(roots, (step, -(part as f64)), explained, whole);
        });
        self.profile.show((release.source, other), paths.1, other_work, table);
        for part in &self.profile.parts {
            self.deeds.gain_step(table.deed_of(part.step), part.amount, part.step);
        }
        let under_way = question.to.saturating_sub(release.source_time);
        let lengths = (paths.0.1 - paths.0.0, paths.1.1 - paths.1.0 + under_way);
        let later = (question.to - question.from) as i64 + lengths.0 as i64 - lengths.1 as i64;
        let category = if stretch.is_cut { Category::Rest } else { Category::Released };
        for (category, amount) in [(Category::UnderWay, under_way as i64), (category, later)] {
            if amount != 0 {
                let step = table.intern(None, category, None);
                let side = if amount > 0 { StepSums::gain_step } else { StepSums::lose_step };
                side(&mut self.deeds, table.deed_of(step), amount.unsigned_abs() as f64, step);
            }
        }
        let mut split = Split::default();
        let (deeds, roots) = (&self.deeds, &mut self.roots);
        let sides = sides_by_procedure(deeds, table);
        let of_procedure =
            |step: StepId| sides.get(&table.step(step).deed.of_procedure()).copied().unwrap_or_default();
        let left = |(positive, negative): (f64, f64)| {
            if positive > negative { (positive - negative) / positive } else { 0.0 }
        };
        for part in self.profile.parts.iter().filter(|part| part.is_plain) {
            let both = of_procedure(part.step);
            split.add_step(&table.step(part.step).deed, part.amount * left(both), both.1 > 0.0);
            roots.gain(part.step.0, part.amount);
        }
        for part in &self.profile.roots {
            roots.gain(part.step.0, part.positive);
            roots.lose(part.step.0, part.negative);
        }
        for (deed, of_waits) in self.profile.splits.iter().filter(|(deed, _)| deeds.get(*deed).0 > 0.0) {
            split.add_all(of_waits, left(of_procedure(deeds.steps(*deed).0)));
        }
        let mut direct = Vec::with_capacity(deeds.touched().len());
        for &deed in deeds.touched() {
            let (positive, negative) = deeds.get(deed);
            let (gained, lost) = deeds.steps(deed);
            let step = table.step(if positive > negative { gained } else { lost });
            if positive > negative {
                direct.push((gained, positive - negative, 0.0));
            } else if negative > positive {
                direct.push((lost, 0.0, negative - positive));
            }
            if is_nobodys(step.deed.category) {
                split.add_step(&step.deed, (positive - negative).max(0.0), false);
                roots.gain(gained.0, positive);
                roots.lose(lost.0, negative);
            }
        }
        let roots = self.finish_roots(split, table);
        self.within_reason(
            Explained { direct, roots, is_cut: stretch.is_cut, difference: None },
            (question, release),
            threads,
            table,
        )
    }

    /// The difference of two paths that have little in common, and are much longer than the wait, says nothing: then it is
    /// what the thread that ended the wait did during it that explains it.
    fn within_reason(
        &mut self,
        mut explained: Explained,
        (question, release): (&WaitQuestion, &WaitRelease),
        threads: &[History],
        table: &mut StepTable,
    ) -> Explained {
        let length = (question.to - question.from) as f64;
        let is_far = |positive: f64| positive > FAR * length;
        let of_roots = |roots: &Roots| roots.entries.iter().map(|entry| entry.1.max(0.0)).sum::<f64>();
        let is_direct_far = is_far(explained.direct.iter().map(|entry| entry.1).sum());
        if !is_direct_far && !is_far(of_roots(&explained.roots)) {
            return explained;
        }
        self.held.clear();
        self.roots.clear();
        let during = self.by_holders(question, &WaitRelease { object: None, ..*release }, threads, table);
        if is_direct_far {
            explained.difference = Some(std::mem::replace(&mut explained.direct, during.direct));
        }
        if is_far(of_roots(&explained.roots)) {
            explained.roots.entries = during.roots.entries;
        }
        if is_far(of_roots(&explained.roots)) {
            let direct = explained.direct.iter();
            explained.roots.entries =
                direct.map(|&(step, positive, negative)| (step, positive - negative)).collect();
        }
        let split = explained.roots.split;
        if split.sum() > 0.0 {
            explained.roots.split = split.scaled(length / split.sum());
        }
        explained
    }

    /// What those who held the object did from the request on, the last holder first.
    fn by_holders(
        &mut self,
        question: &WaitQuestion,
        release: &WaitRelease,
        threads: &[History],
        table: &mut StepTable,
    ) -> Explained {
        let handing_over = table.intern(None, Category::UnderWay, None);
        let rest = table.intern(None, Category::Rest, None);
        let mut is_cut = false;
        let mut upper = release.source_time.min(question.to).max(question.from);
        let mut holder = release.source;
        self.hold(handing_over, question.to - upper);
        for link in 0..=self.limits.holders {
            let history = threads.get(holder.index());
            let Some(history) = history.filter(|_| upper > question.from && link < self.limits.holders)
            else {
                is_cut |= upper > question.from;
                self.hold(rest, upper - question.from);
                break;
            };
            let handed = release.object.and_then(|object| history.handed(object, upper));
            let from = handed.map_or(question.from, |handed| handed.time.max(question.from));
            let known = history.known_since().unwrap_or(u64::MAX).clamp(from, upper);
            is_cut |= known > from;
            self.hold(rest, known - from);
            let work = history.work(table);
            let (held, roots) = (&mut self.held, &mut self.roots);
            history.walk((known, upper), work, |step, part, whole, explained| {
                held.gain(step.0, part as f64);
                add_roots(roots, (step, part as f64), explained, whole);
            });
            upper = from;
            if let Some(handed) = handed.filter(|handed| handed.time > question.from) {
                let left = handed.source_time.clamp(question.from, from);
                self.hold(handing_over, from - left);
                upper = left;
                holder = handed.source;
            }
        }
        let direct = self.held.touched().iter().map(|&step| (StepId(step), self.held.get(step).0, 0.0));
        let direct = direct.collect();
        let split = Split::contention((question.to - question.from) as f64);
        Explained { direct, roots: self.finish_roots(split, table), is_cut, difference: None }
    }

    fn hold(&mut self, step: StepId, amount: u64) {
        if amount > 0 {
            self.held.gain(step.0, amount as f64);
            self.roots.gain(step.0, amount as f64);
        }
    }

    /// Takes away what is on both sides, and puts the smallest amounts together.
    fn finish_roots(&mut self, split: Split, table: &mut StepTable) -> Roots {
        self.deeds.clear();
        for &step in self.roots.touched() {
            let (positive, negative) = self.roots.get(step);
            let deed = table.deed_of(StepId(step));
            self.deeds.gain(deed, positive);
            self.deeds.lose(deed, negative);
        }
        let remainder = |step: u32| {
            let (positive, negative) = self.roots.get(step);
            let (gained, lost) = self.deeds.get(table.deed_of(StepId(step)));
            let common = gained.min(lost);
            let part =
                |amount: f64, whole: f64| if whole > 0.0 { amount * (whole - common) / whole } else { 0.0 };
            (StepId(step), part(positive, gained) - part(negative, lost))
        };
        let mut entries: Vec<(StepId, f64)> =
            self.roots.touched().iter().map(|&step| remainder(step)).collect();
        entries.retain(|&(_, amount)| amount.abs() > 1e-9);
        let most = self.limits.roots;
        if entries.len() > most {
            entries.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()).then(one.0.cmp(&other.0)));
            let rest: f64 = entries.drain(most..).map(|(_, amount)| amount).sum();
            entries.push((table.intern(None, Category::Rest, None), rest));
        }
        Roots { entries: entries.into_boxed_slice(), split }
    }
}

/// The stretches of two paths that are compared: from here to the wait, and to the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ComparedIntervals {
    own: u64,
    other: u64,
    is_cut: bool,
}

/// The wait is its own explanation: a device, a timer, or nobody who is known.
fn by_itself(question: &WaitQuestion, threads: &[History]) -> Explained {
    let length = (question.to - question.from) as f64;
    let split = if is_alone(question.cause) { Split::contention(length) } else { Split::unexplained(length) };
    let step = threads[question.thread.index()].waiting_step();
    let entries: Box<[(StepId, f64)]> = step.into_iter().map(|step| (step, length)).collect();
    let direct = entries.iter().map(|&(step, amount)| (step, amount, 0.0)).collect();
    Explained { direct, roots: Roots { entries, split }, is_cut: false, difference: None }
}

impl Explained {
    /// The same wait, explained by those who wrote what it was for, in equal parts.
    pub(super) fn by_writers(self, writers: &[StepId]) -> Explained {
        let amount = self.direct.iter().map(|entry| entry.1).sum::<f64>() / writers.len() as f64;
        let direct = writers.iter().map(|&step| (step, amount, 0.0)).collect();
        let entries = writers.iter().map(|&step| (step, amount)).collect();
        Explained { direct, roots: Roots { entries, split: self.roots.split }, ..self }
    }
}

fn is_nobodys(category: Category) -> bool {
    matches!(category, Category::UnderWay | Category::Released | Category::Rest)
}

/// Adds a step to the roots, to the negative side if the amount is negative: a wait that was explained by its own roots, in
/// proportion.
fn add_roots(roots: &mut StepSums, (step, amount): (StepId, f64), explained: Option<&Roots>, whole: u64) {
    let mut add = |step: StepId, amount: f64| {
        if amount > 0.0 { roots.gain(step.0, amount) } else { roots.lose(step.0, -amount) }
    };
    match explained {
        Some(explained) => {
            explained.entries.iter().for_each(|&(step, part)| add(step, part * amount / whole as f64))
        }
        None => add(step, amount),
    }
}

/// Both sides of a comparison by procedure. Classes are of procedures where lines are compared, too: who did less of other lines of
/// the same procedure had a part in it.
fn sides_by_procedure(deeds: &StepSums, table: &StepTable) -> FxHashMap<StepAction, (f64, f64)> {
    let mut sides: FxHashMap<StepAction, (f64, f64)> = FxHashMap::default();
    for &deed in deeds.touched() {
        let (positive, negative) = deeds.get(deed);
        let (gained, lost) = deeds.steps(deed);
        let step = if positive > 0.0 { gained } else { lost };
        let sum = sides.entry(table.step(step).deed.of_procedure()).or_default();
        *sum = (sum.0 + positive, sum.1 + negative);
    }
    sides
}
