//! What belongs to one thread in the shared memory.

use crate::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::copies::StackCopies;
use crate::event::{EventWords, RingEventKind, call_event};
use crate::header::Mode;
use crate::holds::ThreadHolds;
use crate::known_stacks::KnownStacks;
use crate::loss::LossCounters;
use crate::profile::ProfileStack;
use crate::ring::Ring;
use crate::state::PublishedState;

/// Bytes of an area, a power of two.
pub const AREA_BYTES: usize = 256 * 1024;
/// Words of a thread's ring.
const RING_WORDS: usize = 16 * 1024;
/// Words of its long ring.
const LONG_RING_WORDS: usize = 256 * 1024;
/// Bytes of what follows an area with a long ring, a multiple of the size of pages.
pub const LONG_RING_BYTES: usize = LONG_RING_WORDS * 8 + 24 * 1024;

/// Whose an area is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Process id, as the thread's own namespace has it.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
}

/// How far an area's life has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AreaStatus {
    /// Nobody's.
    Free,
    /// A thread writes.
    Live(Owner),
    /// Its thread has written its last event.
    Ended(Owner),
}

/// How long the rings of a recording's threads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingLength {
    /// Each lies in its area.
    Short,
    /// Each follows its area.
    Long,
}

impl RingLength {
    /// That of threads that tell this.
    #[must_use]
    pub const fn of(mode: Mode) -> RingLength {
        if mode.calls || mode.messages { RingLength::Long } else { RingLength::Short }
    }
}

/// What follows an area with a long ring.
#[repr(C)]
#[derive(Debug)]
struct LongPart {
    ring: Ring<LONG_RING_WORDS>,
    copies: StackCopies,
}

#[cfg(not(all(loom, test)))]
const _: () = assert!(size_of::<LongPart>() <= LONG_RING_BYTES);

/// One thread's part of the shared memory.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Area {
    /// Pid above, tid below; 0 while it is nobody's.
    owner: AtomicU64,
    /// 1 when the thread has ended.
    ended: AtomicU32,
    /// 1 where a long ring follows, which is used instead of the area's own.
    is_long: AtomicU32,
    /// What found no room.
    pub losses: LossCounters,
    /// Highest and lowest address of the thread's stack; 0 where they are not known.
    stack_top: AtomicU64,
    stack_bottom: AtomicU64,
    /// What the thread does.
    pub state: PublishedState,
    /// Where it is.
    pub profile: ProfileStack,
    /// What it holds.
    pub holds: ThreadHolds,
    /// Which stacks and texts it has told.
    pub known_stacks: KnownStacks,
    /// Its events.
    ring: Ring<RING_WORDS>,
}

impl Area {
    /// An area of nobody; the all-zero memory is one too.
    #[must_use]
    pub fn new() -> Self {
        Area {
            owner: AtomicU64::new(0),
            ended: AtomicU32::new(0),
            is_long: AtomicU32::new(0),
            losses: LossCounters::new(),
            stack_top: AtomicU64::new(0),
            stack_bottom: AtomicU64::new(0),
            state: PublishedState::default(),
            profile: ProfileStack::new(),
            holds: ThreadHolds::new(),
            known_stacks: KnownStacks::new(),
            ring: Ring::new(),
        }
    }

    /// A thread that has claimed the area from the [`crate::AreaPool`] begins to use it.
    pub fn begin(&self, owner: Owner) {
        self.owner.store(u64::from(owner.pid) << 32 | u64::from(owner.tid), Ordering::Release);
    }

    /// Uses the long ring that follows the area from now on, for threads that tell of every call. Before the first
    /// event.
    ///
    /// # Safety
    /// [`LONG_RING_BYTES`] of the same memory follow the area's [`AREA_BYTES`], zeroes or a long ring.
    pub unsafe fn lengthen(&self) {
        self.is_long.store(1, Ordering::Release);
    }

    #[inline]
    fn long_part(&self) -> Option<&LongPart> {
        if self.is_long.load(Ordering::Acquire) == 0 {
            return None;
        }
        // SAFETY: whoever has set the flag vouches for the memory, all words of which are atomic.
        Some(unsafe { &*core::ptr::from_ref(self).byte_add(AREA_BYTES).cast() })
    }

    #[inline]
    fn long_ring(&self) -> Option<&Ring<LONG_RING_WORDS>> {
        self.long_part().map(|part| &part.ring)
    }

    /// Copies of the stacks that the thread told last, where it tells much.
    #[inline]
    #[must_use]
    pub fn copies(&self) -> Option<&StackCopies> {
        self.long_part().map(|part| &part.copies)
    }

    /// The ring as the recorder knows it. What the area says of it can be overwritten by the program.
    ///
    /// # Safety
    /// Where it is long, as for [`Area::lengthen`].
    unsafe fn long_ring_of(&self, ring: RingLength) -> Option<&Ring<LONG_RING_WORDS>> {
        // SAFETY: the caller's.
        (ring == RingLength::Long).then(|| unsafe { &*core::ptr::from_ref(self).byte_add(AREA_BYTES).cast() })
    }

    /// Reads every event that was written before this call began, see [`Ring::drain`]. Only the recorder.
    ///
    /// # Safety
    /// Where the ring is long, as for [`Area::lengthen`].
    pub unsafe fn drain(&self, ring: RingLength, take: &mut impl FnMut(&EventWords)) -> bool {
        // SAFETY: the caller's.
        match unsafe { self.long_ring_of(ring) } {
            Some(ring) => ring.drain(take),
            None => self.ring.drain(take),
        }
    }

    /// The thread has written its last event.
    pub fn end(&self) {
        self.ended.store(1, Ordering::Release);
    }

    /// Whose it is.
    #[must_use]
    pub fn status(&self) -> AreaStatus {
        // The end is read first: an owner who ended is still named then.
        let has_ended = self.ended.load(Ordering::Acquire) != 0;
        let owner = self.owner.load(Ordering::Acquire);
        let pid_and_tid = Owner { pid: (owner >> 32) as u32, tid: owner as u32 };
        match (owner, has_ended) {
            (0, _) => AreaStatus::Free,
            (_, true) => AreaStatus::Ended(pid_and_tid),
            (_, false) => AreaStatus::Live(pid_and_tid),
        }
    }

    /// Whether a quarter of the ring or more waits to be read.
    ///
    /// # Safety
    /// Where the ring is long, as for [`Area::lengthen`].
    #[must_use]
    pub unsafe fn is_filling(&self, ring: RingLength) -> bool {
        // SAFETY: the caller's.
        match unsafe { self.long_ring_of(ring) } {
            Some(ring) => ring.room() < LONG_RING_WORDS / 4 * 3,
            None => self.ring.room() < RING_WORDS / 4 * 3,
        }
    }

    /// Makes the area nobody's. Only the recorder, when it has read the last event.
    ///
    /// # Safety
    /// Where the ring is long, as for [`Area::lengthen`].
    pub unsafe fn reset(&self, ring: RingLength) {
        self.state.reset();
        self.profile.reset();
        self.holds.reset();
        // SAFETY: the caller's.
        match unsafe { self.long_ring_of(ring) } {
            Some(ring) => ring.reset(),
            None => self.ring.reset(),
        }
        self.is_long.store(0, Ordering::Relaxed);
        self.losses.reset();
        self.known_stacks.reset();
        self.set_stack(0, 0);
        self.owner.store(0, Ordering::Release);
        self.ended.store(0, Ordering::Release);
    }

    /// Writes an event, or counts it as lost. The first that finds room again is told after how many were lost.
    #[inline]
    pub fn push(&self, event: &[u64]) -> bool {
        self.push_parts(event, &[])
    }

    /// The same, inside of the caller: for events that are many.
    #[inline(always)]
    pub fn push_here<const WORDS: usize>(&self, event: &[u64; WORDS]) -> bool {
        let is_written = !self.losses.has_gap()
            && match self.long_ring() {
                Some(ring) => ring.push_parts(event, &[]),
                None => self.ring.push_parts(event, &[]),
            };
        is_written || self.push_late(event)
    }

    /// The same where there was no room.
    #[cold]
    #[inline(never)]
    fn push_late(&self, event: &[u64]) -> bool {
        self.push_parts(event, &[])
    }

    /// The same for an event whose words lie in two places.
    #[inline]
    pub fn push_parts(&self, event: &[u64], rest: &[u64]) -> bool {
        let is_gap_told = !self.losses.has_gap() || self.tell_gap(event);
        let is_written = is_gap_told && self.write(event, rest);
        if !is_written {
            self.losses.lose(event);
        }
        is_written
    }

    /// Whether more than half of the ring is free: events that can be left out go before those that cannot.
    #[inline]
    #[must_use]
    pub fn has_spare_room(&self) -> bool {
        match self.long_ring() {
            Some(ring) => ring.has_spare_room(),
            None => self.ring.has_spare_room(),
        }
    }

    /// Whether events of so many words in all still find room: of the thread that writes, until it has written them.
    #[inline]
    #[must_use]
    pub fn has_room(&self, words: usize) -> bool {
        match self.long_ring() {
            Some(ring) => ring.room() >= words,
            None => self.ring.room() >= words,
        }
    }

    /// Counts a call of MPI as lost, of which nothing is told.
    #[cold]
    pub fn lose_communication(&self) {
        self.losses.lose_communication();
    }

    #[inline(never)]
    fn write(&self, event: &[u64], rest: &[u64]) -> bool {
        match self.long_ring() {
            Some(ring) => ring.push_parts(event, rest),
            None => self.ring.push_parts(event, rest),
        }
    }

    /// Tells before an event what was lost before it.
    #[cold]
    fn tell_gap(&self, event: &[u64]) -> bool {
        let (count, has_communications) = self.losses.untold();
        let time = event.get(1).copied().unwrap_or(0);
        let gap = call_event(RingEventKind::Lost, count, time, u32::from(has_communications));
        let is_written = self.write(&gap, &[]);
        if is_written {
            self.losses.tell();
        }
        is_written
    }

    /// Sets between which addresses the thread's stack lies.
    pub fn set_stack(&self, bottom: u64, top: u64) {
        self.stack_bottom.store(bottom, Ordering::Relaxed);
        self.stack_top.store(top, Ordering::Relaxed);
    }

    /// Between which addresses the thread's stack lies: (lowest, highest), zeroes where it is not known.
    #[must_use]
    pub fn stack(&self) -> (u64, u64) {
        (self.stack_bottom.load(Ordering::Relaxed), self.stack_top.load(Ordering::Relaxed))
    }
}

impl Default for Area {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::event::event;

    fn kinds(area: &Area) -> Vec<(RingEventKind, u64)> {
        let mut found = Vec::new();
        let mut take =
            |words: &EventWords| found.extend(words.event().map(|event| (event.kind, event.subject)));
        // SAFETY: the area's own ring.
        assert!(unsafe { area.drain(RingLength::Short, &mut take) });
        found
    }

    #[test]
    fn the_first_event_after_a_gap_is_told_after_how_many_were_lost() {
        let area = Area::new();
        let accepted = (0..)
            .take_while(|&number| area.push(&event::<2>(RingEventKind::Ends, number, 7, &[])))
            .count() as u64;
        assert_eq!(accepted, RING_WORDS as u64 / 2);
        assert!(!area.push(&event::<2>(RingEventKind::Ends, 0, 8, &[])));
        assert!(!area.push(&call_event(RingEventKind::Returns, 1, 8, 1)));
        assert_eq!(kinds(&area).len() as u64, accepted);
        assert!(area.push(&event::<2>(RingEventKind::Ends, 77, 9, &[])));
        assert_eq!(
            (kinds(&area), area.losses.all()),
            (vec![(RingEventKind::Lost, 3), (RingEventKind::Ends, 77)], 3)
        );
        assert_eq!(area.losses.calls(), 1);
    }
}
