//! Virtual speed-ups, as Curtsinger and Berger have them (Coz, SOSP 2015, §3.4): in place of making a procedure faster, all others are delayed.
//!
//! ```text
//!   T1   ===solve===|===solve===|==write==        each sample in `solve` inserts a delay of d = factor × its CPU time
//!   T2   ===parse=====|..d..|====parse==|..d..    T2 pauses for it; T1 has it behind it already
//!   T3   wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww==       T3 waited for T1, which had both behind it: T3 owes nothing
//! ```
//! The elapsed time less all delays is about that of the program with a `solve` of (1 − factor) of its CPU time. Each thread keeps how much of
//! the inserted delay it has behind it. It pauses for the rest at its next sample, and before it waits for others or wakes them; a wait that another
//! thread of the program ended is credited with what was inserted meanwhile. One that a clock or a device ended is not: that
//! time goes on as it did. What two threads do in the procedure side by side is inserted once.

use core::sync::atomic::Ordering;

use super::sampling::{is_active, memory};
use super::system::sleep;
use super::thread_words::{ThreadWords, thread_words};
use crate::layout::DelayMemory;

/// With a factor below 1 each pause leaves less to pay for; others that are many can keep a thread no longer than this.
const MOST_PAUSES: u32 = 8;

/// The thread's words. One that this library did not see start has all delays behind it.
fn known(memory: &DelayMemory) -> &'static ThreadWords {
    let words = thread_words();
    if words.carried.load(Ordering::Relaxed) == 0 {
        words.carried.store(memory.inserted.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
    words
}

fn carried(words: &ThreadWords) -> u64 {
    words.carried.load(Ordering::Relaxed).saturating_sub(1)
}

/// The shared memory, where delays are inserted in this process.
fn virtual_memory() -> Option<&'static DelayMemory> {
    memory().filter(|memory| memory.is_virtual() && is_active())
}

/// A process begins with all delays behind it: it did not exist while they were inserted, or it is a copy of a thread that paid for them.
pub(super) fn begin_process(memory: &DelayMemory) {
    known(memory);
}

/// Whether delays are inserted in this process.
pub(super) fn is_running() -> bool {
    virtual_memory().is_some()
}

/// What the calling thread has behind it of the inserted delays; 0 where none are inserted.
pub(super) fn carried_now() -> u64 {
    virtual_memory().map_or(0, |memory| carried(known(memory)))
}

/// A thread begins with so much behind it.
pub(super) fn begin_thread(carried: u64) {
    if is_running() {
        thread_words().carried.store(carried + 1, Ordering::Relaxed);
    }
}

/// A process that ends by itself may be waited for.
pub(super) fn end_process() {
    let Some(memory) = virtual_memory() else { return };
    pause();
    memory.ended.fetch_max(carried(known(memory)) + 1, Ordering::Relaxed);
}

/// A sample of the calling thread in the procedure: delays all others by so many nanoseconds.
pub(super) fn insert(memory: &DelayMemory, delay: u64) {
    let words = known(memory);
    let behind = words.carried.fetch_add(delay, Ordering::Relaxed) - 1 + delay;
    memory.inserted.fetch_max(behind, Ordering::Relaxed);
}

/// At a sample: pauses, unless the thread waits for others just now.
pub(super) fn pause_at_sample(memory: &DelayMemory) {
    let words = known(memory);
    if words.is_held.get() == 0 {
        pay(memory, words);
    }
}

/// Pauses the calling thread for what it owes: before it wakes others.
pub(super) fn pause() {
    let Some(memory) = virtual_memory() else { return };
    let words = known(memory);
    if words.is_held.replace(1) == 0 {
        pay(memory, words);
        words.is_held.set(0);
    }
}

/// Pauses until nothing is owed, also of what others insert meanwhile: who goes on with a debt gets it back by its own delays, as if
/// both had been side by side.
fn pay(memory: &DelayMemory, words: &ThreadWords) {
    for _ in 0..MOST_PAUSES {
        let owed = memory.inserted.load(Ordering::Relaxed).saturating_sub(carried(words));
        if owed == 0 {
            return;
        }
        let prepaid = words.prepaid.get();
        let paused = if owed > prepaid { sleep(owed - prepaid) } else { 0 };
        words.prepaid.set((prepaid + paused).saturating_sub(owed));
        words.carried.fetch_add(owed, Ordering::Relaxed);
        memory.paused.fetch_add(paused, Ordering::Relaxed);
    }
}

/// A wait of the calling thread, from before it begins.
pub(super) struct CreditedWait {
    /// What was inserted then, and what the thread had behind it; `None` where nothing is delayed, or within another wait.
    begin: Option<(u64, u64)>,
}

impl CreditedWait {
    /// Pauses for what is owed, so that the thread comes as late as it should.
    pub(super) fn begin() -> CreditedWait {
        let Some(memory) = virtual_memory() else { return CreditedWait { begin: None } };
        let words = known(memory);
        if words.is_held.replace(1) == 1 {
            return CreditedWait { begin: None };
        }
        pay(memory, words);
        CreditedWait { begin: Some((memory.inserted.load(Ordering::Relaxed), carried(words))) }
    }

    /// Credits what was inserted meanwhile, where the program itself ended the wait; asked only where something was.
    pub(super) fn end(self, is_ended_by_program: impl FnOnce() -> bool) {
        let (Some((inserted, behind)), Some(memory)) = (self.begin, memory()) else { return };
        let words = thread_words();
        let meanwhile = memory.inserted.load(Ordering::Relaxed) - inserted;
        if meanwhile > 0 && is_ended_by_program() {
            // A sample of the thread's own inside the wait has raised it already.
            words.carried.fetch_max(behind + meanwhile + 1, Ordering::Relaxed);
            words.prepaid.set(0);
        }
        words.is_held.set(0);
    }
}
