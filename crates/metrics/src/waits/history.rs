//! What a thread did lately: its newest steps, and when it was released by whom.
//!
//! ```text
//!   past (scope known)                     tail (work since the last look)
//!   |-- A --|-- waits l --|-- B ----------|-- running ? --|-- ready B --|-- running ? ... now
//! ```
//! Work belongs to the look that comes after it, so the scope of the tail's work is not known yet; until then it
//! counts as where the thread was seen last. Pieces follow each other without gaps.

use std::cell::Cell;
use std::collections::VecDeque;

use longpole_event::{ThreadId, Time};
use longpole_trace::{Cause, CodePlace, ObjectId, PathId};

use super::class::FinishedWait;
use super::step::{Category, GroupId, StepId, StepTable};

/// What ended a wait, to its roots: signed amounts of steps, nanoseconds; they add up to the wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Roots {
    /// Each step once, and its amount; negative for what kept the waiting thread busy too.
    pub entries: Box<[(StepId, f64)]>,
    /// How the wait's positive side splits into classes, see [`super::Split`].
    pub split: super::Split,
}

#[derive(Clone, Debug)]
struct PastStep {
    from: u64,
    step: StepId,
    roots: Option<Box<Roots>>,
}

#[derive(Clone, Debug)]
struct HistoryPiece {
    from: u64,
    category: Category,
    /// Known for waits at once.
    step: Option<StepId>,
    roots: Option<Box<Roots>>,
}

/// An act of a thread that releases others: releases by one act differ in nothing but microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ReleaseAct {
    /// When it began.
    pub begin: u64,
    /// Whose.
    pub source: ThreadId,
}

/// The thread was released.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitRelease {
    pub act: ReleaseAct,
    pub source: ThreadId,
    pub source_time: u64,
    /// When it arrived.
    pub time: u64,
    /// What the thread waited for.
    pub object: Option<ObjectId>,
}

/// A wait that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct OngoingWait {
    pub since: u64,
    pub cause: Cause,
    pub object: Option<ObjectId>,
    /// Where it began.
    pub path: PathId,
    /// The thread told of it itself.
    pub is_told: bool,
}

/// A thread's newest past.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Known from the first look on that tells it.
    pub group: Option<GroupId>,
    /// When it was first there.
    pub begin: Option<u64>,
    past: VecDeque<PastStep>,
    tail: Vec<HistoryPiece>,
    /// Where it was seen last.
    pub path: PathId,
    pub scope: Option<CodePlace>,
    /// What [`History::work`] found last, and for which group and scope.
    work: Cell<Option<WorkSteps>>,
    /// Newest releases, by act.
    releases: VecDeque<WaitRelease>,
    /// The last act, and when it last released somebody.
    act: Option<(ReleaseAct, u64)>,
    pub pending: Option<OngoingWait>,
    /// The wait that it is in it told of itself: it may be on a processor.
    pub is_told: bool,
    /// What it is about to wait for.
    pub object: Option<ObjectId>,
    /// The newest release that arrived.
    pub released: Option<WaitRelease>,
    /// Who wrote, and where, what the thread's next wait or the one that goes on is for.
    pub writers: Vec<StepId>,
    /// It is no more.
    pub has_ended: bool,
    /// A wait of most of the run, until it is known whether it was for being told to end.
    pub last_wait: Option<Box<FinishedWait>>,
    /// Times it began to busy-wait since the last look.
    pub spins: u64,
}

/// The steps that work of a group in a scope counts as.
type WorkSteps = ((Option<GroupId>, Option<CodePlace>), [StepId; 2]);

/// Work without a look that is kept as such; more of it counts as where the thread was seen last.
const LONGEST_TAIL: usize = 16;

impl History {
    /// Nothing is known yet of a thread but where it was created.
    pub(super) fn new(path: PathId, scope: Option<CodePlace>) -> Self {
        History {
            group: None,
            begin: None,
            past: VecDeque::new(),
            tail: Vec::new(),
            path,
            scope,
            work: Cell::new(None),
            releases: VecDeque::new(),
            act: None,
            pending: None,
            is_told: false,
            object: None,
            released: None,
            writers: Vec::new(),
            has_ended: false,
            last_wait: None,
            spins: 0,
        }
    }

    /// The time from which on the past is known; `None` if nothing is.
    pub(super) fn known_since(&self) -> Option<u64> {
        self.past.front().map(|past| past.from).or(self.tail.first().map(|piece| piece.from))
    }

    /// Another piece begins.
    pub(super) fn begin_piece(&mut self, time: Time, category: Category, steps: &mut StepTable, most: usize) {
        let from = time.nanoseconds();
        self.begin.get_or_insert(from);
        if self.tail.last().is_some_and(|last| last.from == from && last.roots.is_none()) {
            self.tail.pop();
        }
        if self.tail.len() >= LONGEST_TAIL {
            self.settle(steps, most);
        }
        let step = match category {
            Category::Running | Category::Spinning => None,
            _ => Some(steps.intern(self.group, category, self.scope)),
        };
        self.tail.push(HistoryPiece { from, category, step, roots: None });
    }

    /// The wait that is the newest piece was explained.
    pub(super) fn explain_last(&mut self, roots: Roots) {
        if let Some(last) = self.tail.last_mut() {
            last.roots = Some(Box::new(roots));
        }
    }

    /// Work since the last look, up to now: running, spinning.
    pub(super) fn unseen(&self, now: u64) -> (u64, u64) {
        let mut sums = (0, 0);
        for (at, piece) in self.tail.iter().enumerate() {
            let length = self.tail.get(at + 1).map_or(now, |next| next.from).saturating_sub(piece.from);
            match piece.category {
                Category::Running => sums.0 += length,
                Category::Spinning => sums.1 += length,
                _ => {}
            }
        }
        sums
    }

    /// A look at the thread at this time: what it worked since the last one was in `scope`.
    pub(super) fn look(&mut self, time: u64, scope: Option<CodePlace>, steps: &mut StepTable, most: usize) {
        self.scope = scope;
        let Some(open) = self.tail.pop() else { return };
        let is_work = matches!(open.category, Category::Running | Category::Spinning);
        let from = if is_work { open.from.max(time) } else { open.from };
        let rest = HistoryPiece { from, ..open.clone() };
        if open.from < from {
            self.tail.push(open);
        }
        self.settle(steps, most);
        self.tail.push(rest);
    }

    /// Moves the tail to the past, its work in the scope that is now known.
    fn settle(&mut self, steps: &mut StepTable, most: usize) {
        let (group, scope) = (self.group, self.scope);
        for HistoryPiece { from, category, step, roots } in self.tail.drain(..) {
            let step = step.unwrap_or_else(|| steps.intern(group, category, scope));
            match self.past.back() {
                Some(last) if last.step == step && last.roots.is_none() && roots.is_none() => {}
                _ => self.past.push_back(PastStep { from, step, roots }),
            }
        }
        while self.past.len() > most {
            self.past.pop_front();
        }
    }

    /// The wait that goes on is in the scope that was seen last.
    pub(super) fn rescope(&mut self, steps: &mut StepTable) {
        let (group, scope) = (self.group, self.scope);
        if let Some(open) = self.tail.last_mut() {
            open.step = Some(steps.intern(group, open.category, scope));
        }
    }

    /// The time until which the past does not change any more.
    pub(super) fn settled_until(&self) -> u64 {
        self.tail.first().map_or(0, |piece| piece.from)
    }

    /// The step of the wait that goes on.
    pub(super) fn waiting_step(&self) -> Option<StepId> {
        self.tail.last().and_then(|piece| piece.step)
    }

    /// The steps that work counts as which nobody has looked at yet: running, spinning.
    pub(super) fn work(&self, steps: &mut StepTable) -> [StepId; 2] {
        let of = (self.group, self.scope);
        if let Some((known, work)) = self.work.get()
            && known == of
        {
            return work;
        }
        let work = [Category::Running, Category::Spinning].map(|category| steps.intern(of.0, category, of.1));
        self.work.set(Some((of, work)));
        work
    }

    /// When the object was last handed to the thread, before this time.
    pub(super) fn handed(&self, object: ObjectId, before: u64) -> Option<&WaitRelease> {
        let fits = |release: &&WaitRelease| release.object == Some(object) && release.time < before;
        self.releases.iter().filter(fits).max_by_key(|release| release.time)
    }

    /// How many steps lie after `from`.
    pub(super) fn steps_since(&self, from: u64) -> usize {
        self.past.len() - self.first_past(|begin| begin >= from) + self.tail.len()
    }

    /// Position of the first step of the past with such a begin, as all later steps have. Mostly one of the newest is asked for, and the
    /// past may be long: the search goes back from its end by steps that double.
    fn first_past(&self, is_such: impl Fn(u64) -> bool) -> usize {
        let length = self.past.len();
        let mut width = 1;
        while width < length && is_such(self.past[length - width].from) {
            width *= 2;
        }
        let (mut low, mut high) = (length.saturating_sub(width), length - width / 2);
        while low < high {
            let middle = low.midpoint(high);
            if is_such(self.past[middle].from) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Begin of the step that is the `count`th before now.
    pub(super) fn begin_of_last(&self, count: usize) -> u64 {
        let at = self.past.len().saturating_sub(count);
        let past = self.past.get(at).map(|past| past.from);
        past.or(self.tail.first().map(|piece| piece.from)).unwrap_or(0)
    }

    /// Shows the steps from `from` to `to`, all of them known: the step, how much of it lies there, the
    /// length of all of it, and its roots if it is a wait that was explained. Without gaps: the parts add up to `to − from`.
    pub(super) fn walk(
        &self,
        (from, to): (u64, u64),
        work: [StepId; 2],
        mut show: impl FnMut(StepId, u64, u64, Option<&Roots>),
    ) {
        if from >= to {
            return;
        }
        let tail_begin = self.tail.first().map_or(u64::MAX, |piece| piece.from);
        let first = self.first_past(|begin| begin > from).saturating_sub(1);
        let mut at = first;
        while let Some(past) = self.past.get(at) {
            if past.from >= to {
                return;
            }
            let end = self.past.get(at + 1).map_or(tail_begin, |next| next.from);
            let part = end.min(to).saturating_sub(past.from.max(from));
            if part > 0 {
                show(past.step, part, end - past.from, past.roots.as_deref());
            }
            at += 1;
        }
        for (at, piece) in self.tail.iter().enumerate() {
            let end = self.tail.get(at + 1).map_or(u64::MAX, |next| next.from);
            let part = end.min(to).saturating_sub(piece.from.max(from));
            if part > 0 {
                let running = usize::from(piece.category == Category::Spinning);
                let step = piece.step.unwrap_or(work[running]);
                show(step, part, end.saturating_sub(piece.from), piece.roots.as_deref());
            }
        }
    }

    /// The thread releases somebody at this time.
    pub(super) fn release(&mut self, source: ThreadId, time: u64, tolerance: u64) -> ReleaseAct {
        match &mut self.act {
            Some((act, last)) if act.begin <= time && time <= *last + tolerance => {
                *last = time.max(*last);
                *act
            }
            Some((_, last)) if time < *last => ReleaseAct { begin: time, source },
            _ => {
                let act = ReleaseAct { begin: time, source };
                self.act = Some((act, time));
                act
            }
        }
    }

    /// What the thread does next is another act.
    pub(super) fn end_act(&mut self) {
        self.act = None;
    }

    /// The thread was released.
    pub(super) fn receive(&mut self, release: WaitRelease, most: usize) {
        self.released = Some(release);
        let after = self.releases.iter().rposition(|other| other.act <= release.act).map_or(0, |at| at + 1);
        self.releases.insert(after, release);
        if self.releases.len() > most {
            self.releases.pop_front();
        }
    }

    /// Its newest releases, the oldest act first.
    pub(super) fn releases(&self) -> &VecDeque<WaitRelease> {
        &self.releases
    }

    /// Gives up all that is known.
    pub(super) fn forget(&mut self) {
        self.past = VecDeque::new();
        self.tail = Vec::new();
        self.releases = VecDeque::new();
        self.act = None;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn steps_are_found_from_the_end(mut begins in proptest::collection::vec(0..40_u64, 0..40), from in 0..41_u64) {
            begins.sort_unstable();
            let mut history = History::new(PathId(0), None);
            let step = |&from: &u64| PastStep { from, step: StepId(0), roots: None };
            history.past = begins.iter().map(step).collect();
            let at_least = begins.partition_point(|&begin| begin < from);
            prop_assert_eq!(history.first_past(|begin| begin >= from), at_least);
            prop_assert_eq!(history.steps_since(from), begins.len() - at_least);
            prop_assert_eq!(history.first_past(|begin| begin > from), begins.partition_point(|&begin| begin <= from));
        }
    }
}
