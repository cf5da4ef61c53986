//! The calling thread, as the hooks use it.

use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};

use longpole_ring::{Area, Header, Kind, Mode, Status, Taken, UNTIMED, WaitKind, event};

use crate::clock;
use crate::lifecycle;
use crate::memory;
use crate::stack::{self, Frame};
use crate::tls::{self, Slot};

/// The calling thread, with an area of its own, while the recorder records.
///
/// Has no destructor and borrows nothing: it may live across a call that unwinds.
#[derive(Clone, Copy, Debug)]
pub struct Me {
    header: &'static Header,
    area: &'static Area,
}

impl Me {
    /// The calling thread; `None` where it goes unrecorded, or where the agent is at work in it already (this is a
    /// signal handler then).
    #[inline(always)]
    #[must_use]
    pub fn get() -> Option<Me> {
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
        Some(Me { header, area: unsafe { &*area } })
    }

    /// A thread with this area.
    #[cfg(test)]
    pub(crate) fn new(header: &'static Header, area: &'static Area) -> Me {
        Me { header, area }
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
    pub fn header(self) -> &'static Header {
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
    pub fn tell<const WORDS: usize>(self, kind: Kind, subject: u64, rest: &[u64]) {
        let now = self.now();
        self.with(|area| area.push(&event::<WORDS>(kind, subject, now, rest)));
    }

    /// Writes an event of now with the key of the stack as the last of `rest`.
    pub fn tell_with_stack<const WORDS: usize>(self, kind: Kind, subject: u64, rest: &mut [u64], at: Frame) {
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
        self.with(|area| {
            let is_timed = area.holds.is_timed(contended);
            let now = if is_timed { self.now() } else { UNTIMED | self.header.coarse_time() };
            area.holds.take(Taken { subject, place, kind: kind as u8, contended }, now);
        });
    }

    /// The thread is about to release what it holds.
    #[inline(always)]
    pub fn gives(self, subject: u64) {
        self.with(|area| {
            let hands_over = |row| self.hand_over(area, &row);
            let times = (|| self.now(), self.header.coarse_time());
            area.holds.release(subject, times, self.header.row_age(), hands_over);
        });
    }

    #[cold]
    #[inline(never)]
    fn hand_over(self, area: &Area, row: &longpole_ring::HoldRow) {
        area.push(&event::<9>(Kind::Held, row.subject, self.now(), &row.words()));
    }

    /// Whether somebody waits for what lies at this address.
    #[inline(always)]
    #[must_use]
    pub fn is_awaited(self, subject: u64) -> bool {
        self.header.waiters(memory::pid(), subject).load(Ordering::Relaxed) != 0
    }

    /// Whoever waits for the subject can go on, or try again: at most so many, 0 for all.
    #[cold]
    pub fn releases(self, kind: WaitKind, subject: u64, most: u64, at: Frame) {
        let kind = kind as u64 | most << 8;
        if self.mode().waits {
            self.tell_with_stack::<4>(Kind::Releases, subject, &mut [kind, 0], at);
        } else {
            self.tell::<4>(Kind::Releases, subject, &[kind, 0]);
        }
    }

    /// Tells of a release, if somebody waits for it.
    #[inline(always)]
    pub fn releases_if_awaited(self, kind: WaitKind, subject: u64, most: u64, at: Frame) {
        if self.is_awaited(subject) {
            self.releases(kind, subject, most, at);
        }
    }

    /// The thread begins to wait. `detail` is a descriptor, a tid or the like, 0 where there is none.
    #[cold]
    pub fn waits(self, kind: WaitKind, subject: u64, detail: u64, at: Frame) {
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
    pub fn waits_as_told(self, kind: WaitKind, subject: u64, detail: u64, at: Frame) {
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

    fn begins_wait(self, kind: WaitKind, subject: u64, detail: u64, at: Frame) {
        self.header.waiters(memory::pid(), subject).fetch_add(1, Ordering::SeqCst);
        let now = self.now();
        let mut rest = [kind as u64 | detail << 8, 0];
        self.with(|area| {
            if self.header.mode().waits {
                rest[1] = stack::tell(area, self.header, now, at);
            }
            area.state.wait(kind, subject, now);
            area.push(&event::<4>(Kind::Waits, subject, now, &rest));
        });
    }

    fn ends_wait(self, subject: u64, granted: bool) {
        self.header.waiters(memory::pid(), subject).fetch_sub(1, Ordering::SeqCst);
        let now = self.now();
        self.with(|area| {
            area.state.work();
            area.push(&event::<3>(Kind::Done, subject, now, &[u64::from(granted)]));
        });
    }

    /// The same for what comes from outside the program, which no thread lets go on.
    #[cold]
    pub fn waits_outside(self, kind: WaitKind, detail: u64, at: Frame) {
        if self.area.state.is_within() {
            return;
        }
        let now = self.now();
        self.with(|area| {
            let key = stack::tell(area, self.header, now, at);
            area.state.wait(kind, 0, now);
            area.push(&event::<4>(Kind::Waits, 0, now, &[kind as u64 | detail << 8, key]));
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
            area.push(&event::<3>(Kind::Done, 0, now, &[1]));
        });
    }

    /// Everything that the thread holds back is handed over.
    pub fn hands_over_all(self) {
        let now = self.now();
        self.with(|area| {
            for row in area.holds.rows() {
                area.push(&event::<9>(Kind::Held, row.subject, now, &row.words()));
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
        self.tell::<4>(Kind::Named, 0, &[word(first), word(second)]);
    }

    /// The thread's last words.
    pub fn ends(self) {
        self.hands_over_all();
        // A wait that was cancelled never came back.
        if let Some((_, subject, _)) = self.area.state.read().filter(|&(_, subject, _)| subject != 0) {
            self.header.waiters(memory::pid(), subject).fetch_sub(1, Ordering::SeqCst);
        }
        let now = self.now();
        self.with(|area| {
            area.push(&event::<2>(Kind::Ends, 0, now, &[]));
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
            Status::Free => 0,
            Status::Live(owner) | Status::Ended(owner) => owner.tid,
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
fn was_left(slot: &Slot) -> bool {
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
fn begin(header: &'static Header, slot: &'static Slot) -> Option<Me> {
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
    area.map(|area| Me { header, area })
}
