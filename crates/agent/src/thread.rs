//! The calling thread, as the hooks use it.

use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};

use longpole_ring::{
    AgentHeader, Area, AreaStatus, LockAcquisition, Mode, RingEventKind, UNTIMED, WaitKind, event,
};

use crate::clock;
use crate::lifecycle;
use crate::memory;
use crate::monitors;
use crate::stack::{self, HookFrame};
use crate::tls::{self, ThreadSlot};

/// The calling thread, with an area of its own, while the recorder records.
///
/// Has no destructor and borrows nothing: it may live across a call that unwinds.
#[derive(Clone, Copy, Debug)]
pub struct CurrentThread {
    header: &'static AgentHeader,
    area: &'static Area,
}

impl CurrentThread {
    /// The calling thread; `None` where it goes unrecorded, or where the agent is at work in it already (this is a
    /// signal handler then).
    #[inline(always)]
    #[must_use]
    pub fn get() -> Option<CurrentThread> {
        let header = memory::header()?;
        let slot = tls::slot();
        if slot.busy.get() != 0 && !was_left(slot) {
            return None;
        }
        let area = slot.area.get();
        if area.is_null() {
            return begin(header, slot);
        }
        // SAFETY: what is stored there points to an area, and areas are never unmapped.
        Some(CurrentThread { header, area: unsafe { &*area } })
    }

    /// A thread with this area.
    #[cfg(test)]
    pub(crate) fn new(header: &'static AgentHeader, area: &'static Area) -> CurrentThread {
        CurrentThread { header, area }
    }

    /// What the recorder wants to know.
    #[inline]
    #[must_use]
    pub fn mode(self) -> Mode {
        self.header.mode()
    }

    /// The header.
    #[inline]
    #[must_use]
    pub fn header(self) -> &'static AgentHeader {
        self.header
    }

    /// Now.
    #[inline(always)]
    #[must_use]
    pub fn now(self) -> u64 {
        clock::now(self.header)
    }

    /// Runs `work` on the thread's area with signal handlers left out.
    #[inline(always)]
    pub fn with<T>(self, work: impl FnOnce(&Area) -> T) -> T {
        let slot = tls::slot();
        slot.busy.set(stack_pointer());
        compiler_fence(Ordering::SeqCst);
        let result = work(self.area);
        compiler_fence(Ordering::SeqCst);
        slot.busy.set(0);
        result
    }

    /// Writes an event of now.
    pub fn tell<const WORDS: usize>(self, kind: RingEventKind, subject: u64, rest: &[u64]) {
        let now = self.now();
        self.with(|area| area.push(&event::<WORDS>(kind, subject, now, rest)));
    }

    /// Writes an event of now with the key of the stack as the last of `rest`.
    pub fn tell_with_stack<const WORDS: usize>(
        self,
        kind: RingEventKind,
        subject: u64,
        rest: &mut [u64],
        at: HookFrame,
    ) {
        let now = self.now();
        self.with(|area| {
            if let Some(last) = rest.last_mut() {
                *last = stack::tell(area, self.header, now, at);
            }
            area.push(&event::<WORDS>(kind, subject, now, rest));
        });
    }

    /// The thread has acquired a lock at `place`.
    #[inline(always)]
    pub fn took(self, kind: WaitKind, subject: u64, place: u64, contended: bool) {
        self.begins_hold(kind, subject, place, contended);
        if matches!(kind, WaitKind::Mutex) && monitors::has(subject) {
            self.begins_section(subject, place);
        }
    }

    /// The thread holds a lock again after it waited for a condition.
    #[inline(always)]
    pub fn begins_hold(self, kind: WaitKind, subject: u64, place: u64, contended: bool) {
        self.with(|area| {
            let is_timed = area.holds.is_timed(contended);
            let now = if is_timed { self.now() } else { UNTIMED | self.header.coarse_time() };
            area.holds.take(LockAcquisition { subject, place, kind: kind as u8, contended }, now);
        });
    }

    /// The thread holds a mutex with which threads wait for conditions. Where such sections come faster than they are read, the
    /// last that is told has no place: from then on none of this mutex is.
    #[cold]
    #[inline(never)]
    fn begins_section(self, mutex: u64, place: u64) {
        if !self.area.has_spare_room() {
            monitors::give_up(mutex);
            return self.tell::<3>(RingEventKind::Locks, mutex, &[0]);
        }
        self.tell::<3>(RingEventKind::Locks, mutex, &[place]);
    }

    #[cold]
    #[inline(never)]
    fn ends_section(self, mutex: u64) {
        self.tell::<2>(RingEventKind::Unlocks, mutex, &[]);
    }

    /// The thread waits with this mutex, or signals while it holds it: from now on all its sections are told, this one too.
    #[cold]
    pub fn monitors(self, mutex: u64) {
        if monitors::add(mutex)
            && let Some(place) = self.area.holds.place_of(mutex)
        {
            self.begins_section(mutex, place);
        }
    }

    /// The thread is about to release what it holds.
    #[inline(always)]
    pub fn gives(self, subject: u64) {
        if monitors::has(subject) {
            self.ends_section(subject);
        }
        self.ends_hold(subject);
    }

    /// The thread's hold is over, its critical section may not be: it waits for a condition.
    #[inline(always)]
    pub fn ends_hold(self, subject: u64) {
        self.with(|area| {
            let hands_over = |row| self.hand_over(area, &row);
            let times = (|| self.now(), self.header.coarse_time());
            area.holds.release(subject, times, self.header.row_age(), hands_over);
        });
    }

    #[cold]
    #[inline(never)]
    fn hand_over(self, area: &Area, row: &longpole_ring::HoldRow) {
        area.push(&event::<9>(RingEventKind::Held, row.subject, self.now(), &row.words()));
    }

    /// Whether somebody waits for what lies at this address.
    #[inline(always)]
    #[must_use]
    pub fn is_awaited(self, subject: u64) -> bool {
        self.header.waiters(memory::pid(), subject).load(Ordering::Relaxed) != 0
    }

    /// Whoever waits for the subject can go on, or try again: at most so many, 0 for all.
    #[inline(always)]
    pub fn releases(self, kind: WaitKind, subject: u64, most: u64, at: HookFrame) {
        if self.tells_releases(kind) {
            self.tells_release(kind, subject, most, at);
        }
    }

    /// Tells of a release, if somebody waits for it.
    #[inline(always)]
    pub fn releases_if_awaited(self, kind: WaitKind, subject: u64, most: u64, at: HookFrame) {
        if self.tells_releases(kind) && self.is_awaited(subject) {
            self.tells_release(kind, subject, most, at);
        }
    }

    /// Whether anybody needs to know of such releases: where the kernel tells who wakes whom, only those of teams, whose threads spin.
    #[inline(always)]
    fn tells_releases(self, kind: WaitKind) -> bool {
        matches!(kind, WaitKind::Team) || self.header.tells_waits()
    }

    #[cold]
    fn tells_release(self, kind: WaitKind, subject: u64, most: u64, at: HookFrame) {
        let kind = kind as u64 | most << 8;
        if self.header.tells_waits() {
            self.tell_with_stack::<4>(RingEventKind::Releases, subject, &mut [kind, 0], at);
        } else {
            self.tell::<4>(RingEventKind::Releases, subject, &[kind, 0]);
        }
    }

    /// The thread has come to where others wait for it, though none of them does so yet; where it is nobody needs to know.
    #[cold]
    pub fn arrives(self, kind: WaitKind, subject: u64) {
        self.tell::<4>(RingEventKind::Releases, subject, &[kind as u64, 0]);
    }

    /// The thread begins to wait. `detail` is a descriptor, a tid or the like, 0 where there is none.
    #[cold]
    pub fn waits(self, kind: WaitKind, subject: u64, detail: u64, at: HookFrame) {
        if !self.area.state.is_within() {
            self.begins_wait(kind, subject, detail, at);
        }
    }

    /// The thread's wait is over.
    #[cold]
    pub fn goes_on(self, subject: u64, granted: bool) {
        if !self.area.state.is_within() {
            self.ends_wait(subject, granted);
        }
    }

    /// The thread begins to wait, as the program or a runtime says: waits inside, of which hooks tell, are part of it.
    #[cold]
    pub fn waits_as_told(self, kind: WaitKind, subject: u64, detail: u64, at: HookFrame) {
        if self.with(|area| area.state.enter()) {
            self.begins_wait(kind, subject, detail, at);
        }
    }

    /// The wait that the program or a runtime told of is over.
    #[cold]
    pub fn goes_on_as_told(self) {
        if !self.with(|area| area.state.leave()) {
            return;
        }
        if let Some((_, subject, _)) = self.area.state.read() {
            self.area.state.note_awaited(subject);
            self.ends_wait(subject, true);
        }
    }

    fn begins_wait(self, kind: WaitKind, subject: u64, detail: u64, at: HookFrame) {
        self.header.waiters(memory::pid(), subject).fetch_add(1, Ordering::SeqCst);
        let now = self.now();
        let mut rest = [kind as u64 | detail << 8, 0];
        self.with(|area| {
            if self.header.tells_waits() {
                rest[1] = stack::tell(area, self.header, now, at);
            }
            area.state.wait(kind, subject, now);
            area.push(&event::<4>(RingEventKind::Waits, subject, now, &rest));
        });
    }

    fn ends_wait(self, subject: u64, granted: bool) {
        self.header.waiters(memory::pid(), subject).fetch_sub(1, Ordering::SeqCst);
        let now = self.now();
        self.with(|area| {
            area.state.work();
            area.push(&event::<3>(RingEventKind::Done, subject, now, &[u64::from(granted)]));
        });
    }

    /// The same for what comes from outside the program, which no thread lets go on.
    #[cold]
    pub fn waits_outside(self, kind: WaitKind, detail: u64, at: HookFrame) {
        if self.area.state.is_within() {
            return;
        }
        let now = self.now();
        self.with(|area| {
            let key = stack::tell(area, self.header, now, at);
            area.state.wait(kind, 0, now);
            area.push(&event::<4>(RingEventKind::Waits, 0, now, &[kind as u64 | detail << 8, key]));
        });
    }

    /// The wait for something from outside is over.
    #[cold]
    pub fn goes_on_outside(self) {
        if self.area.state.is_within() {
            return;
        }
        let now = self.now();
        self.with(|area| {
            area.state.work();
            area.push(&event::<3>(RingEventKind::Done, 0, now, &[1]));
        });
    }

    /// Everything that the thread holds back is handed over.
    pub fn hands_over_all(self) {
        let now = self.now();
        self.with(|area| {
            for row in area.holds.rows() {
                area.push(&event::<9>(RingEventKind::Held, row.subject, now, &row.words()));
            }
        });
    }

    /// The thread has a new name, of which the kernel keeps this much.
    pub fn is_named(self, name: &core::ffi::CStr) {
        const KEPT: usize = 15;
        let mut bytes = [0_u8; 16];
        for (byte, &letter) in bytes.iter_mut().zip(name.to_bytes().iter().take(KEPT)) {
            *byte = letter;
        }
        let (first, second) = bytes.split_at(8);
        let word = |half: &[u8]| half.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        self.tell::<4>(RingEventKind::Named, 0, &[word(first), word(second)]);
    }

    /// The thread's last words. What it holds back the recorder finds.
    pub fn ends(self) {
        // A wait that was cancelled never came back.
        if let Some((_, subject, _)) = self.area.state.read().filter(|&(_, subject, _)| subject != 0) {
            self.header.waiters(memory::pid(), subject).fetch_sub(1, Ordering::SeqCst);
        }
        let now = self.now();
        self.with(|area| {
            area.push(&event::<2>(RingEventKind::Ends, 0, now, &[]));
            area.end();
        });
        let slot = tls::slot();
        slot.is_off.set(1);
        slot.area.set(ptr::null());
    }

    /// Its process.
    #[must_use]
    pub fn pid(self) -> u32 {
        memory::pid()
    }

    /// Its own id.
    #[must_use]
    pub fn tid(self) -> u32 {
        match self.area.status() {
            AreaStatus::Free => 0,
            AreaStatus::Live(owner) | AreaStatus::Ended(owner) => owner.tid,
        }
    }

    /// The thread's area.
    #[must_use]
    pub fn area(self) -> &'static Area {
        self.area
    }
}

#[inline(always)]
fn stack_pointer() -> u64 {
    let pointer;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Whether the agent's work in this thread was left for good: by a jump out of a signal handler that came meanwhile.
/// Then the thread is further out on its stack than that work was; a handler is further in, or on another stack.
#[cold]
fn was_left(slot: &ThreadSlot) -> bool {
    // SAFETY: null, or an area, which is never unmapped while a thread has it.
    let Some(area) = (unsafe { slot.area.get().as_ref() }) else { return false };
    let (bottom, top) = area.stack();
    let (then, now) = (slot.busy.get(), stack_pointer());
    let is_left = bottom < then && then < now && now < top;
    if is_left {
        slot.busy.set(0);
    }
    is_left
}

#[cold]
fn begin(header: &'static AgentHeader, slot: &'static ThreadSlot) -> Option<CurrentThread> {
    if slot.is_off.get() != 0 {
        return None;
    }
    slot.busy.set(stack_pointer());
    compiler_fence(Ordering::SeqCst);
    let area = memory::claim(header);
    match area {
        Some(area) => {
            slot.area.set(area);
            lifecycle::watch_end();
        }
        None => slot.is_off.set(1),
    }
    compiler_fence(Ordering::SeqCst);
    slot.busy.set(0);
    area.map(|area| CurrentThread { header, area })
}
