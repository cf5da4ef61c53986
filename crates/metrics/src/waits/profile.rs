//! What a thread did in a stretch of its past, by deed; kept for those who waited for the same thread.
//!
//! ```text
//!   main   |== serial part ==|          the 63 others that waited are released within microseconds: each looks at
//!   first  |.................|          the same stretch but for its ends, so the profile of the one before is
//!   second |..................|         patched there instead of made anew
//! ```

use longpole_event::ThreadId;

use super::Split;
use super::history::{History, Roots};
use super::step::{StepId, StepTable};

/// Steps by which two stretches may differ at each end for the one's profile to become the other's.
const NEAR: usize = 8;

/// An amount of a step; negative where a patch takes it away.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProfilePart {
    pub step: StepId,
    pub amount: f64,
    /// It is no wait that was explained.
    pub is_plain: bool,
}

/// A part of what explains a wait of this deed.
#[derive(Clone, Copy, Debug)]
pub(super) struct RootPart {
    pub deed: u32,
    pub step: StepId,
    pub positive: f64,
    pub negative: f64,
}

/// The profile of a stretch.
#[derive(Debug, Default)]
pub(super) struct IntervalProfile {
    /// Whose it is, and of which stretch, if that does not change any more.
    of: Option<(ThreadId, u64, u64)>,
    pub parts: Vec<ProfilePart>,
    pub roots: Vec<RootPart>,
    /// How the waits of a deed split.
    pub splits: Vec<(u32, Split)>,
}

impl IntervalProfile {
    /// How many steps have to be looked at to make the profile of this stretch.
    pub(super) fn cost(&self, thread: ThreadId, history: &History, (from, to): (u64, u64)) -> usize {
        match self.patches(thread, history, (from, to)) {
            Some(patches) => self.parts.len() + self.roots.len() + patches,
            None => history.steps_since(from),
        }
    }

    fn patches(&self, thread: ThreadId, history: &History, (from, to): (u64, u64)) -> Option<usize> {
        let (_, known_from, known_to) = self.of.filter(|of| of.0 == thread)?;
        let settled = history.settled_until();
        let is_settled = to <= settled && from.min(known_from) >= history.known_since()?;
        let overlaps = from.max(known_from) < to.min(known_to);
        let between = |one: u64, other: u64| {
            history.steps_since(one.min(other)).saturating_sub(history.steps_since(one.max(other)))
        };
        let (begin, end) = (between(from, known_from), between(to, known_to));
        (is_settled && overlaps && begin <= NEAR && end <= NEAR).then_some(begin + end)
    }

    /// Becomes the profile of this stretch.
    pub(super) fn show(
        &mut self,
        (thread, history): (ThreadId, &History),
        (from, to): (u64, u64),
        work: [StepId; 2],
        table: &StepTable,
    ) {
        let patched = self.patches(thread, history, (from, to)).and(self.of);
        if let Some((_, known_from, known_to)) = patched {
            for (before, after, sign) in [(known_from, from, -1.0), (to, known_to, -1.0)] {
                self.collect((history, work, table), (before, after), sign);
            }
            for (before, after, sign) in [(from, known_from, 1.0), (known_to, to, 1.0)] {
                self.collect((history, work, table), (before, after), sign);
            }
        } else {
            self.parts.clear();
            self.roots.clear();
            self.splits.clear();
            self.collect((history, work, table), (from, to), 1.0);
        }
        self.compress();
        self.of = (to <= history.settled_until()).then_some((thread, from, to));
    }

    fn collect(
        &mut self,
        (history, work, table): (&History, [StepId; 2], &StepTable),
        (from, to): (u64, u64),
        sign: f64,
    ) {
        let IntervalProfile { parts, roots, splits, .. } = self;
        history.walk((from, to), work, |step, part, whole, explained| {
            let (deed, amount) = (table.deed_of(step), part as f64 * sign);
            parts.push(ProfilePart { step, amount, is_plain: explained.is_none() });
            let Some(Roots { entries, split }) = explained else { return };
            let factor = amount / whole as f64;
            roots.extend(entries.iter().map(|&(step, amount)| {
                let (positive, negative) = (amount.max(0.0) * factor, (-amount).max(0.0) * factor);
                RootPart { deed, step, positive, negative }
            }));
            if split.sum() > 0.0 {
                splits.push((deed, split.scaled(amount / split.sum())));
            }
        });
    }

    /// Adds up what is of the same step.
    fn compress(&mut self) {
        self.parts.sort_unstable_by_key(|part| (part.step, part.is_plain));
        self.parts.dedup_by(|next, part| {
            let is_same = (next.step, next.is_plain) == (part.step, part.is_plain);
            part.amount += if is_same { next.amount } else { 0.0 };
            is_same
        });
        self.parts.retain(|part| part.amount != 0.0);
        self.roots.sort_unstable_by_key(|part| (part.deed, part.step));
        self.roots.dedup_by(|next, part| {
            let is_same = (next.deed, next.step) == (part.deed, part.step);
            if is_same {
                part.positive += next.positive;
                part.negative += next.negative;
            }
            is_same
        });
        self.splits.sort_by_key(|(deed, _)| *deed);
        self.splits.dedup_by(|next, part| {
            if next.0 == part.0 {
                part.1.add(&next.1);
            }
            next.0 == part.0
        });
    }
}
