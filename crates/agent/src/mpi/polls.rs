//! Loops of calls that only look whether something has come, which are one wait.
//!
//! ```text
//!   calls   test- test- test- test+          work   test- work   test- test+
//!   told    |enters ··············completes|        |enters      |enters completes|
//! ```
//! A loop is told when its first look finds nothing, and when one has found something: what lies between costs no event. A look
//! goes on with the loop where it follows at once; after many that did also where an interrupt came between; and where the thread
//! lacked a processor for most of the time between. Else it begins another loop, and what was between them is work.

use super::call::{CallArguments, ToldCall};
use crate::stack::HookFrame;
use crate::tls;

/// Ticks from one look to the next of a loop that does nothing else: about a microsecond.
const SHORT: u64 = 3000;
/// Looks that have to follow each other at once for something else to be an interruption of them.
const MANY: u64 = 16;
/// Ticks that an interrupt may take, also one that copies a stack: about a hundred microseconds.
const INTERRUPT: u64 = 300_000;
/// The same of a thread's processor time, in nanoseconds.
const INTERRUPT_NANOSECONDS: u64 = 100_000;
/// Looks after which the thread's processor time is taken, to which later times are compared.
const LOOKS: u64 = 64;
/// Of the time between two looks the part for which a thread that only looks may have had a processor.
const LEAST_SHARE: u64 = 4;

/// A call has looked, from `before` up to now, and found something or not. Whether there is something to tell.
pub(super) fn looked(
    (told, at): (ToldCall, HookFrame),
    arguments: CallArguments,
    before: u64,
    is_found: bool,
) -> bool {
    let slot = tls::slot();
    let goes_on = slot.polls.get() != 0 && follows(before);
    let looks = slot.polls.get();
    if !goes_on {
        slot.polls_before.set(0);
        told.entered(arguments, at, before);
    }
    if is_found {
        end();
        return true;
    }
    let now = told.now();
    let looks = if goes_on { looks + 1 } else { 1 };
    // The first look may be the only one.
    if looks % LOOKS == 2 || (looks > 1 && now.wrapping_sub(before) > SHORT) {
        note_times();
    }
    slot.polls.set(looks);
    slot.polled_until.set(now);
    false
}

/// The thread does something else.
pub(super) fn end() {
    tls::slot().polls.set(0);
}

/// Whether a look that began then goes on with what the last one did.
fn follows(before: u64) -> bool {
    let slot = tls::slot();
    let pause = before.wrapping_sub(slot.polled_until.get());
    if pause <= SHORT {
        return true;
    }
    let looks = slot.polls.get();
    let is_interruption = looks - slot.polls_before.replace(looks) >= MANY;
    if is_interruption && pause <= INTERRUPT {
        return true;
    }
    if looks < 2 {
        return false;
    }
    let (processor, elapsed) = (slot.polled_processor.get(), slot.polled_elapsed.get());
    note_times();
    let ran = slot.polled_processor.get().wrapping_sub(processor);
    let passed = slot.polled_elapsed.get().wrapping_sub(elapsed);
    ran < passed / LEAST_SHARE || is_interruption && ran < INTERRUPT_NANOSECONDS
}

#[cold]
fn note_times() {
    let slot = tls::slot();
    slot.polled_processor.set(nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID));
    slot.polled_elapsed.set(nanoseconds(libc::CLOCK_MONOTONIC));
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
