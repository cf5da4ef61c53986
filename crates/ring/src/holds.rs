//! What a thread holds, and what its holds came to.
//!
//! A lock that is free costs its thread no event: the thread adds the hold to a row for the lock and the place
//! of acquisition, and hands a row over from time to time. The rows lie in the shared memory, so that the
//! recorder finds the last of them when the thread is gone.
//!
//! A thread that takes more locks than there are rows, one after the other, would hand a row over at each: so a row goes
//! only when it is old. Until then holds of other locks that would need its room add up in a row for their place alone,
//! whose subject is the place: acquisitions are counted exactly, by lock as far as there is room, else by place.
//!
//! A long hold is handed over alone, when it ends: what happens with its lock in another order (replay) needs to know when it was.
//!
//! Reading the clock costs as much as all the rest. A thread that takes free locks in quick succession has only one
//! hold in about sixteen timed, at random; the others count as long as those of the same lock and place that were. Slower
//! threads, and locks that were not free, have every hold timed; and a hold that lasts while the header's coarse time,
//! which the recorder sets, goes on by half the age of a row is timed by that: long holds are never guessed.

use crate::atomic::{AtomicU32, AtomicU64, Ordering};

/// Locks that a thread can hold at a time; further ones are not timed.
pub const MOST_HELD: usize = 32;
/// Rows of one thread for a lock at a place.
pub const HOLD_ROWS: usize = 1 << ROW_BITS;
const ROW_BITS: u32 = 10;
/// Rows for all other locks at a place.
const PLACE_ROWS: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 6;
/// Rows that a place is looked for in.
const PLACE_PROBES: usize = 8;

const KIND_BITS: u32 = 8;
/// Where the kind stands above an address.
const KIND_SHIFT: u32 = 56;
const CONTENDED: u64 = 1 << KIND_BITS;

/// A thread that takes more locks than one in so many ticks takes them in quick succession: about a microsecond.
const QUICK_TICKS: u64 = 2_000;
/// Locks that come so quickly one after the other before any goes untimed: those that are only acquired within each
/// other do not.
const QUICK_RUN: u32 = 8;
/// Holds that are not timed then, at least; up to 15 more at random, so that no pattern of locks hides one.
const FEWEST_SKIPS: u32 = 8;
/// A hold longer than so many ticks goes over alone: about 40 microseconds, so that a thread hands over 25,000 in a second at most.
const LONG_TICKS: u64 = 100_000;
/// Set in the time of a hold that is not timed, beside the header's coarse time. No clock counts so far.
pub const UNTIMED: u64 = 1 << 63;

/// One lock that is held.
#[repr(C)]
#[derive(Debug, Default)]
struct OpenHold {
    subject: AtomicU64,
    place: AtomicU64,
    since: AtomicU64,
    /// Kind in the low 8 bits; [`CONTENDED`].
    flags: AtomicU64,
    /// The lock that the thread took last before it, with its kind above, if it held one.
    outer: AtomicU64,
}

/// What the holds of one lock at one place came to.
#[repr(C)]
#[derive(Debug, Default)]
struct SharedHoldRow {
    subject: AtomicU64,
    place: AtomicU64,
    kind: AtomicU64,
    outer: AtomicU64,
    acquisitions: AtomicU64,
    /// Acquisitions that were not timed since the last that was.
    untimed: AtomicU64,
    contended: AtomicU64,
    ticks: AtomicU64,
    longest: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
}

/// A row, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldRow {
    /// The lock.
    pub subject: u64,
    /// Where it was acquired: the return address.
    pub place: u64,
    /// Number of its [`crate::WaitKind`].
    pub kind: u64,
    /// The lock that the thread held already, the one it took last, and its kind; 0 where it held none.
    pub outer: u64,
    /// Acquisitions whose hold is over.
    pub acquisitions: u64,
    /// How many of these found the lock taken.
    pub contended: u64,
    /// Ticks held.
    pub ticks: u64,
    /// Ticks of the longest hold.
    pub longest: u64,
    /// When the last hold ended.
    pub last: u64,
}

impl HoldRow {
    /// The lock that was held already: its address and the number of its kind.
    #[must_use]
    pub fn outer(&self) -> Option<(u64, u8)> {
        (self.outer != 0).then_some((self.outer & ((1 << KIND_SHIFT) - 1), (self.outer >> KIND_SHIFT) as u8))
    }

    /// The words of the event [`crate::RingEventKind::Held`] from word 2 on.
    #[must_use]
    pub fn words(&self) -> [u64; 7] {
        [self.place, self.kind, self.acquisitions, self.contended, self.ticks, self.longest, self.outer]
    }
}

/// An acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockAcquisition {
    /// The lock.
    pub subject: u64,
    /// Where: the return address.
    pub place: u64,
    /// Number of its [`crate::WaitKind`].
    pub kind: u8,
    /// The lock was not free at once.
    pub contended: bool,
}

/// The locks a thread holds, and its rows.
#[repr(C)]
#[derive(Debug)]
pub struct ThreadHolds {
    depth: AtomicU32,
    /// Acquisitions that found no room.
    missed: AtomicU32,
    /// Free locks that are still to be taken before one is timed.
    skips: AtomicU32,
    /// The same when it was set last.
    skips_at_first: AtomicU32,
    /// Times in a row that locks came quickly.
    quick_run: AtomicU32,
    /// When the last free lock was taken that was timed.
    last_timed: AtomicU64,
    held: [OpenHold; MOST_HELD],
    /// Rows that are in use, by bits, so that nobody looks at (and has memory made for) the others.
    used: [AtomicU64; HOLD_ROWS / 64],
    used_places: AtomicU64,
    rows: [SharedHoldRow; HOLD_ROWS],
    places: [SharedHoldRow; PLACE_ROWS],
}

impl ThreadHolds {
    /// Nothing held; the all-zero memory is that too.
    #[must_use]
    pub fn new() -> Self {
        ThreadHolds {
            depth: AtomicU32::new(0),
            missed: AtomicU32::new(0),
            skips: AtomicU32::new(0),
            skips_at_first: AtomicU32::new(0),
            quick_run: AtomicU32::new(0),
            last_timed: AtomicU64::new(0),
            held: core::array::from_fn(|_| OpenHold::default()),
            used: core::array::from_fn(|_| AtomicU64::new(0)),
            used_places: AtomicU64::new(0),
            rows: core::array::from_fn(|_| SharedHoldRow::default()),
            places: core::array::from_fn(|_| SharedHoldRow::default()),
        }
    }

    /// Whether the lock that is being acquired is to be timed.
    #[inline(always)]
    pub fn is_timed(&self, contended: bool) -> bool {
        let skips = self.skips.load(Ordering::Relaxed);
        if skips == 0 || contended {
            return true;
        }
        self.skips.store(skips - 1, Ordering::Relaxed);
        false
    }

    /// The thread has acquired a lock; `now` is [`UNTIMED`] with the coarse time where [`Self::is_timed`] said so.
    #[inline(always)]
    pub fn take(&self, taken: LockAcquisition, now: u64) {
        if now & UNTIMED == 0 && !taken.contended {
            self.choose_skips(now);
        }
        let depth = self.depth.load(Ordering::Relaxed) as usize;
        let Some(hold) = self.held.get(depth) else {
            self.missed.store(self.missed.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            return;
        };
        hold.subject.store(taken.subject, Ordering::Relaxed);
        hold.place.store(taken.place, Ordering::Relaxed);
        hold.since.store(now, Ordering::Relaxed);
        let outer = depth.checked_sub(1).map_or(0, |below| {
            let below = &self.held[below];
            let kind = below.flags.load(Ordering::Relaxed) & (CONTENDED - 1);
            below.subject.load(Ordering::Relaxed) | kind << KIND_SHIFT
        });
        hold.outer.store(outer, Ordering::Relaxed);
        let contended = if taken.contended { CONTENDED } else { 0 };
        hold.flags.store(u64::from(taken.kind) | contended, Ordering::Relaxed);
        self.depth.store(depth as u32 + 1, Ordering::Relaxed);
    }

    /// Where the thread acquired a lock that it holds.
    #[must_use]
    pub fn place_of(&self, subject: u64) -> Option<u64> {
        let depth = (self.depth.load(Ordering::Relaxed) as usize).min(MOST_HELD);
        let hold =
            self.held[..depth].iter().rev().find(|hold| hold.subject.load(Ordering::Relaxed) == subject)?;
        Some(hold.place.load(Ordering::Relaxed))
    }

    /// The lock of this kind that the thread took last of those that it holds.
    #[must_use]
    pub fn innermost(&self, kind: u8) -> Option<u64> {
        let depth = (self.depth.load(Ordering::Relaxed) as usize).min(MOST_HELD);
        let is_of_kind =
            |hold: &&OpenHold| hold.flags.load(Ordering::Relaxed) & (CONTENDED - 1) == u64::from(kind);
        Some(self.held[..depth].iter().rev().find(is_of_kind)?.subject.load(Ordering::Relaxed))
    }

    /// How many of the next holds go untimed, from how quickly the last came.
    #[inline]
    fn choose_skips(&self, now: u64) {
        let takes = u64::from(self.skips_at_first.load(Ordering::Relaxed)) + 1;
        let since = now.saturating_sub(self.last_timed.load(Ordering::Relaxed));
        let is_quick = since < takes * QUICK_TICKS;
        // The lowest bits of a clock are as good as drawn.
        let run = if is_quick { self.quick_run.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.quick_run.store(run, Ordering::Relaxed);
        let skips = if run >= QUICK_RUN { FEWEST_SKIPS + (now as u32 ^ (now >> 4) as u32) % 16 } else { 0 };
        self.last_timed.store(now, Ordering::Relaxed);
        self.skips_at_first.store(skips, Ordering::Relaxed);
        self.skips.store(skips, Ordering::Relaxed);
    }

    /// The thread releases a lock: the hold is added to its row, or handed to `over` if it was long. A row that has to make room, or that
    /// is older than `age` ticks, is handed over too. A lock that was not acquired by this thread is ignored. `now` is asked where the
    /// hold is timed; `coarse` is the header's coarse time.
    #[inline(always)]
    pub fn release(
        &self,
        subject: u64,
        (now, coarse): (impl FnOnce() -> u64, u64),
        age: u64,
        over: impl FnOnce(HoldRow),
    ) {
        let depth = self.depth.load(Ordering::Relaxed) as usize;
        let Some(top) = depth.min(MOST_HELD).checked_sub(1) else { return };
        if self.held[top].subject.load(Ordering::Relaxed) != subject && !self.bring_up(subject, top) {
            return;
        }
        self.depth.store(top as u32, Ordering::Relaxed);
        let hold = &self.held[top];
        let since = hold.since.load(Ordering::Relaxed);
        let now = if since & UNTIMED == 0 {
            now()
        } else if coarse.saturating_sub(since & !UNTIMED) > age / 2 {
            hold.since.store(since & !UNTIMED, Ordering::Relaxed);
            now()
        } else {
            UNTIMED
        };
        let since = hold.since.load(Ordering::Relaxed);
        if now != UNTIMED && now.saturating_sub(since) > LONG_TICKS {
            over(hold.alone(now));
        } else if !self.add(hold, now, age) {
            self.begin_row(hold, now, age, over);
        }
    }

    /// Locks are mostly released in the opposite order of their acquisition, but need not be: puts the lock on top.
    /// `false` where it is not held.
    #[cold]
    fn bring_up(&self, subject: u64, top: usize) -> bool {
        let found = (0..top).rev().find(|&at| self.held[at].subject.load(Ordering::Relaxed) == subject);
        let Some(at) = found else { return false };
        for index in at..top {
            self.held[index].swap(&self.held[index + 1]);
        }
        true
    }

    /// Adds a hold to its row, unless that is another's or too old.
    #[inline(always)]
    fn add(&self, hold: &OpenHold, now: u64, age: u64) -> bool {
        let subject = hold.subject.load(Ordering::Relaxed);
        let place = hold.place.load(Ordering::Relaxed);
        let outer = hold.outer.load(Ordering::Relaxed);
        let row = &self.rows[row_of(subject, place, outer)];
        let acquisitions = row.acquisitions.load(Ordering::Relaxed);
        let is_other = row.subject.load(Ordering::Relaxed) != subject
            || row.place.load(Ordering::Relaxed) != place
            || row.outer.load(Ordering::Relaxed) != outer;
        let is_old = now != UNTIMED && now.saturating_sub(row.first.load(Ordering::Relaxed)) > age;
        if acquisitions == 0 || is_other || is_old {
            return false;
        }
        row.add(hold, now, age);
        true
    }

    /// Makes the hold the first of its row, whose former content is handed over; unless that is another lock's and not
    /// old: then the hold goes to its place's row. A lock that others want gets its row in any case.
    #[cold]
    #[inline(never)]
    fn begin_row(&self, hold: &OpenHold, now: u64, age: u64, over: impl FnOnce(HoldRow)) {
        let subject = hold.subject.load(Ordering::Relaxed);
        let place = hold.place.load(Ordering::Relaxed);
        let outer = hold.outer.load(Ordering::Relaxed);
        let index = row_of(subject, place, outer);
        let row = &self.rows[index];
        let time = if now == UNTIMED { self.last_timed.load(Ordering::Relaxed) } else { now };
        let is_contended = hold.flags.load(Ordering::Relaxed) & CONTENDED != 0;
        if !is_contended && row.is_young(time, age) {
            return self.add_to_place(hold, (now, time), age, over);
        }
        set_bit(&self.used[index / 64], index % 64);
        let former = row.begin(hold, (subject, outer), time);
        row.add(hold, now, age);
        if let Some(former) = former {
            over(former);
        }
    }

    /// Adds the hold to the row of its place. A row that is old, or has to make room for another place, is handed over.
    fn add_to_place(&self, hold: &OpenHold, (now, time): (u64, u64), age: u64, over: impl FnOnce(HoldRow)) {
        let place = hold.place.load(Ordering::Relaxed);
        let first = (mixed(place) >> (64 - PLACE_BITS)) as usize;
        let mut probes = (0..PLACE_PROBES).map(|probe| (first + probe) % PLACE_ROWS);
        let fits = |index: &usize| {
            let row = &self.places[*index];
            row.acquisitions.load(Ordering::Relaxed) == 0 || row.place.load(Ordering::Relaxed) == place
        };
        let index = probes.find(fits).unwrap_or(first);
        let row = &self.places[index];
        let is_its = row.place.load(Ordering::Relaxed) == place;
        let former = match is_its && row.is_young(time, age) {
            true => None,
            false => {
                set_bit(&self.used_places, index);
                row.begin(hold, (place, 0), time)
            }
        };
        row.add(hold, now, age);
        if let Some(former) = former {
            over(former);
        }
    }

    /// Takes every row out: when the thread ends, or by the recorder when the thread is gone.
    pub fn rows(&self) -> impl Iterator<Item = HoldRow> + '_ {
        let rows = self.used.iter().enumerate().flat_map(|(word, used)| {
            let rows = &self.rows[word * 64..(word + 1) * 64];
            bits(used.swap(0, Ordering::Relaxed)).filter_map(|bit| rows[bit].take())
        });
        let places = bits(self.used_places.swap(0, Ordering::Relaxed));
        rows.chain(places.filter_map(|bit| self.places[bit].take()))
    }

    /// Acquisitions that were not timed, since the beginning.
    #[must_use]
    pub fn missed(&self) -> u32 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Number of the [`crate::WaitKind`] of a lock that the thread holds.
    #[must_use]
    pub fn kind_of(&self, subject: u64) -> Option<u8> {
        let depth = (self.depth.load(Ordering::Relaxed) as usize).min(MOST_HELD);
        let held = self.held[..depth].iter().rev();
        let hold = held.into_iter().find(|hold| hold.subject.load(Ordering::Relaxed) == subject)?;
        Some((hold.flags.load(Ordering::Relaxed) & (CONTENDED - 1)) as u8)
    }

    /// Locks that the thread holds now.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth.load(Ordering::Relaxed)
    }

    /// Forgets everything, for the next owner.
    pub fn reset(&self) {
        self.depth.store(0, Ordering::Relaxed);
        self.missed.store(0, Ordering::Relaxed);
        self.skips.store(0, Ordering::Relaxed);
        self.skips_at_first.store(0, Ordering::Relaxed);
        self.last_timed.store(0, Ordering::Relaxed);
        self.rows().for_each(drop);
    }
}

impl Default for ThreadHolds {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenHold {
    /// The row of this hold alone, which ends `now`.
    #[cold]
    fn alone(&self, now: u64) -> HoldRow {
        let flags = self.flags.load(Ordering::Relaxed);
        let ticks = now.saturating_sub(self.since.load(Ordering::Relaxed));
        HoldRow {
            subject: self.subject.load(Ordering::Relaxed),
            place: self.place.load(Ordering::Relaxed),
            kind: flags & (CONTENDED - 1),
            outer: self.outer.load(Ordering::Relaxed),
            acquisitions: 1,
            contended: u64::from(flags & CONTENDED != 0),
            ticks,
            longest: ticks,
            last: now,
        }
    }

    fn swap(&self, other: &OpenHold) {
        let words = [
            (&self.subject, &other.subject),
            (&self.place, &other.place),
            (&self.since, &other.since),
            (&self.flags, &other.flags),
            (&self.outer, &other.outer),
        ];
        for (mine, theirs) in words {
            let kept = mine.load(Ordering::Relaxed);
            mine.store(theirs.load(Ordering::Relaxed), Ordering::Relaxed);
            theirs.store(kept, Ordering::Relaxed);
        }
    }
}

impl SharedHoldRow {
    /// Whether it holds something that is not to be handed over yet.
    fn is_young(&self, time: u64, age: u64) -> bool {
        self.acquisitions.load(Ordering::Relaxed) != 0
            && time.saturating_sub(self.first.load(Ordering::Relaxed)) <= age
    }

    /// Makes it the row of this subject and of what was held already; returns what it was before.
    fn begin(&self, hold: &OpenHold, (subject, outer): (u64, u64), first: u64) -> Option<HoldRow> {
        let former = self.take();
        self.subject.store(subject, Ordering::Relaxed);
        self.place.store(hold.place.load(Ordering::Relaxed), Ordering::Relaxed);
        self.kind.store(hold.flags.load(Ordering::Relaxed) & (CONTENDED - 1), Ordering::Relaxed);
        self.outer.store(outer, Ordering::Relaxed);
        self.first.store(first, Ordering::Relaxed);
        self.last.store(first, Ordering::Relaxed);
        former
    }

    /// Adds a hold that has ended `now`, or was not timed.
    #[inline(always)]
    fn add(&self, hold: &OpenHold, now: u64, age: u64) {
        let add = |word: &AtomicU64, value| {
            word.store(word.load(Ordering::Relaxed).wrapping_add(value), Ordering::Relaxed)
        };
        add(&self.acquisitions, 1);
        if now == UNTIMED {
            return add(&self.untimed, 1);
        }
        let ticks = now.saturating_sub(hold.since.load(Ordering::Relaxed));
        let is_contended = hold.flags.load(Ordering::Relaxed) & CONTENDED != 0;
        // One that found the lock taken says nothing about those that found it free, and long ones are all timed.
        let is_alone = is_contended || ticks > age / 2;
        let weight = if is_alone { 1 } else { self.untimed.load(Ordering::Relaxed) + 1 };
        if !is_alone {
            self.untimed.store(0, Ordering::Relaxed);
        }
        add(&self.contended, u64::from(is_contended));
        add(&self.ticks, ticks.wrapping_mul(weight));
        if ticks > self.longest.load(Ordering::Relaxed) {
            self.longest.store(ticks, Ordering::Relaxed);
        }
        self.last.store(now, Ordering::Relaxed);
    }

    /// The row, which is empty from then on; `None` where it is empty.
    fn take(&self) -> Option<HoldRow> {
        let acquisitions = self.acquisitions.load(Ordering::Relaxed);
        if acquisitions == 0 {
            return None;
        }
        let (ticks, untimed) = (self.ticks.load(Ordering::Relaxed), self.untimed.load(Ordering::Relaxed));
        let timed = acquisitions.saturating_sub(untimed).max(1);
        let row = HoldRow {
            subject: self.subject.load(Ordering::Relaxed),
            place: self.place.load(Ordering::Relaxed),
            kind: self.kind.load(Ordering::Relaxed),
            outer: self.outer.load(Ordering::Relaxed),
            acquisitions,
            contended: self.contended.load(Ordering::Relaxed),
            ticks: (u128::from(ticks) * u128::from(acquisitions) / u128::from(timed)) as u64,
            longest: self.longest.load(Ordering::Relaxed),
            last: self.last.load(Ordering::Relaxed),
        };
        for word in [&self.acquisitions, &self.untimed, &self.contended, &self.ticks, &self.longest] {
            word.store(0, Ordering::Relaxed);
        }
        Some(row)
    }
}

#[inline]
fn row_of(subject: u64, place: u64, outer: u64) -> usize {
    (mixed(subject ^ place.rotate_left(20) ^ outer.rotate_left(40)) >> (64 - ROW_BITS)) as usize
}

/// The highest bits depend on all.
#[inline]
fn mixed(word: u64) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    word.wrapping_mul(MIX)
}

fn set_bit(word: &AtomicU64, bit: usize) {
    word.store(word.load(Ordering::Relaxed) | 1 << bit, Ordering::Relaxed);
}

fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FOR_EVER: u64 = u64::MAX;

    fn taken(subject: u64, place: u64) -> LockAcquisition {
        LockAcquisition { subject, place, kind: 1, contended: false }
    }

    /// Releases at a time; what is handed over.
    fn release(holds: &ThreadHolds, subject: u64, now: u64, age: u64) -> Option<HoldRow> {
        let mut over = None;
        holds.release(subject, (|| now, now), age, |row| over = Some(row));
        over
    }

    #[test]
    fn holds_of_one_lock_at_one_place_add_up() {
        let holds = ThreadHolds::new();
        for (begin, length) in [(100, 5), (200, 50), (300, 1)] {
            holds.take(LockAcquisition { contended: begin == 200, ..taken(7, 9) }, begin);
            assert_eq!(release(&holds, 7, begin + length, FOR_EVER), None);
        }
        let rows: Vec<_> = holds.rows().collect();
        let row = HoldRow {
            subject: 7,
            place: 9,
            kind: 1,
            outer: 0,
            acquisitions: 3,
            contended: 1,
            ticks: 56,
            longest: 50,
            last: 301,
        };
        assert_eq!(rows, [row]);
        assert_eq!(holds.rows().count(), 0);
    }

    #[test]
    fn locks_may_be_released_in_any_order() {
        let holds = ThreadHolds::new();
        (1..=3).for_each(|lock| holds.take(taken(lock, 0), lock * 10));
        for lock in [2, 1, 3] {
            release(&holds, lock, 100, FOR_EVER);
        }
        assert_eq!(release(&holds, 4, 100, FOR_EVER), None);
        let mut rows: Vec<_> = holds.rows().map(|row| (row.subject, row.ticks)).collect();
        rows.sort_unstable();
        assert_eq!(rows, [(1, 90), (2, 80), (3, 70)]);
        assert_eq!(holds.depth(), 0);
    }

    #[test]
    fn what_was_held_already_is_told() {
        let holds = ThreadHolds::new();
        holds.take(taken(1, 0), 10);
        holds.take(LockAcquisition { kind: 3, ..taken(2, 0) }, 20);
        holds.take(taken(3, 0), 30);
        [3, 2, 1].into_iter().for_each(|lock| assert_eq!(release(&holds, lock, 40, FOR_EVER), None));
        let mut rows: Vec<_> = holds.rows().map(|row| (row.subject, row.outer())).collect();
        rows.sort_unstable();
        assert_eq!(rows, [(1, None), (2, Some((1, 1))), (3, Some((2, 3)))]);
        // The same lock at the same place with nothing held is another row.
        holds.take(taken(2, 0), 50);
        release(&holds, 2, 60, FOR_EVER);
        assert_eq!(holds.rows().map(|row| row.outer()).collect::<Vec<_>>(), [None]);
    }

    #[test]
    fn a_long_hold_is_timed_though_nobody_meant_to() {
        let holds = ThreadHolds::new();
        let age = 1_000_000;
        let hold = |taken_at, now: u64, coarse| {
            let mut over = None;
            holds.take(taken(7, 9), taken_at);
            holds.release(7, (|| now, coarse), age, |row| over = Some((row.acquisitions, row.ticks)));
            over
        };
        assert_eq!(hold(100, 150, 0), None);
        assert_eq!(hold(UNTIMED | 5_000, 9_000, 6_000), None);
        assert_eq!(hold(UNTIMED | 10_000, 700_000, 690_000), Some((1, 690_000)), "it is told alone");
        // One that is meant to be timed, and is short, speaks for the other short one only.
        assert_eq!(hold(800_000, 800_050, 790_000), None);
        let rows: Vec<_> = holds.rows().map(|row| (row.acquisitions, row.ticks, row.longest)).collect();
        assert_eq!(rows, [(3, 50 + 2 * 50, 50)]);
    }

    #[test]
    fn locks_within_locks_are_not_quick_if_their_holds_are_long() {
        let holds = ThreadHolds::new();
        let mut now = 1_000_000;
        for _ in 0..100 {
            for lock in [1, 2, 3] {
                assert!(holds.is_timed(false));
                holds.take(taken(lock, 0), now);
                now += 100;
            }
            now += 1_000_000;
            for lock in [3, 2, 1] {
                assert!(release(&holds, lock, now, FOR_EVER).is_some_and(|row| row.acquisitions == 1));
            }
        }
    }

    #[test]
    fn an_old_row_is_handed_over() {
        let holds = ThreadHolds::new();
        let hold = |begin, end| {
            holds.take(taken(7, 9), begin);
            release(&holds, 7, end, 1_000)
        };
        assert_eq!(hold(1, 11), None);
        assert_eq!(hold(500, 520), None);
        let row = hold(2_000, 2_030).expect("the first hold is older than 1,000 ticks");
        assert_eq!((row.acquisitions, row.ticks, row.last), (2, 30, 520));
    }

    /// Takes and releases two locks in turn, `pause` ticks apart; returns the rows and how many holds were timed.
    fn alternate(pause: u64) -> (Vec<HoldRow>, u64) {
        let holds = ThreadHolds::new();
        let (mut now, mut timed) = (1_000_000, 0);
        for round in 0..40_000_u64 {
            let lock = 1 + round % 2;
            let is_timed = holds.is_timed(false);
            timed += u64::from(is_timed);
            holds.take(taken(lock, 0), if is_timed { now } else { UNTIMED });
            // The first lock is held 100 ticks, the second 300, give or take.
            now += lock * 200 - 100 + round % 7;
            release(&holds, lock, now, FOR_EVER);
            now += pause + round % 13;
        }
        let mut rows: Vec<_> = holds.rows().collect();
        rows.sort_by_key(|row| row.subject);
        (rows, timed)
    }

    #[test]
    fn of_quick_holds_some_are_timed_and_stand_for_all() {
        let (rows, timed) = alternate(100);
        assert!((1_500..4_500).contains(&timed), "{timed}");
        for (row, mean) in rows.iter().zip([103, 303]) {
            assert_eq!(row.acquisitions, 20_000);
            let found = row.ticks / row.acquisitions;
            assert!(found.abs_diff(mean) <= 3, "{found} instead of {mean}");
        }
    }

    #[test]
    fn slow_holds_are_all_timed() {
        let (rows, timed) = alternate(3_000);
        assert_eq!((timed, rows.len()), (40_000, 2));
    }

    /// Ten million acquisitions a second, of more locks than there are rows: counted to the last, and handed over so seldom
    /// that a ring holds it.
    #[test]
    fn many_locks_in_quick_succession_are_few_rows() {
        const LOCKS: u64 = 100_000;
        const ACQUISITIONS: u64 = 2_000_000;
        const AGE: u64 = 40_000_000;
        let holds = ThreadHolds::new();
        let (mut now, mut handed_over, mut acquisitions, mut state) = (AGE, 0_u64, 0, 1_u64);
        for _ in 0..ACQUISITIONS {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (lock, place) = (1 + (state >> 33) % LOCKS, 1 + (state >> 60));
            let time = if holds.is_timed(false) { now } else { UNTIMED | now };
            holds.take(taken(lock * 64, place), time);
            now += 200;
            if let Some(row) = release(&holds, lock * 64, now, AGE) {
                handed_over += 1;
                acquisitions += row.acquisitions;
            }
        }
        let rows: Vec<_> = holds.rows().collect();
        acquisitions += rows.iter().map(|row| row.acquisitions).sum::<u64>();
        assert_eq!(acquisitions, ACQUISITIONS);
        let ages = ACQUISITIONS * 200 / AGE;
        let most = (ages + 1) * (HOLD_ROWS + PLACE_ROWS) as u64;
        assert!(handed_over <= most, "{handed_over} rows in {ages} times the age of a row");
        assert_eq!(holds.rows().count(), 0, "all were taken");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_rows(steps in prop::collection::vec((0_u64..200, 0_u64..5, 1_u64..100), 0..500)) {
            let holds = ThreadHolds::new();
            let (mut now, mut sum, mut handed_over) = (1, 0, Vec::new());
            for &(subject, place, length) in &steps {
                holds.take(taken(subject + 1, place), now);
                now += length;
                sum += length;
                handed_over.extend(release(&holds, subject + 1, now, 2_000));
            }
            handed_over.extend(holds.rows());
            prop_assert_eq!(handed_over.iter().map(|row| row.ticks).sum::<u64>(), sum);
            prop_assert_eq!(handed_over.iter().map(|row| row.acquisitions).sum::<u64>(), steps.len() as u64);
        }
    }
}
