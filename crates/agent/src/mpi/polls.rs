//! Loops of calls that only look whether something has come, which are one wait.
//!
//! ```text
//!   calls   test- test- test- test+          work   test- work   test- test+
//!   told    |enters ··············completes|        |enters      |enters completes|
//! ```
//! A loop is told when its first look finds nothing, and when one has found something: what lies between costs no event. A look
//! goes on with the loop where it follows at once; where what came between may be an interrupt, or memory that is slow after one,
//! as long as all such pauses are a small part of the loop; and where the thread lacked a processor for most of the time between.
//! Else it begins another loop, and what was between them is work.

use super::call::{CallArguments, ToldCall};
use crate::stack::HookFrame;
use crate::tls;

/// Ticks of a nanosecond, about.
const TICKS: u64 = 3;
/// Ticks from one look to the next of a loop that does nothing else: about a microsecond.
const SHORT: u64 = 1000 * TICKS;
/// Ticks that an interrupt may take, also one that copies a stack: about a hundred microseconds.
const INTERRUPT: u64 = 100_000 * TICKS;
/// Looks after which the thread's processor time is taken, to which later times are compared.
const LOOKS: u64 = 64;
/// Of the time between two looks, and of a loop, the part for which a thread that only looks may have done something else on a
/// processor.
const LEAST_SHARE: u64 = 4;
/// The same of a loop with pauses that are longer than an interrupt: a virtual machine may lose its processor for so long.
const LEAST_SHARE_OF_LONG: u64 = 16;

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
        slot.polls_since.set(before);
        slot.polls_paused.set(0);
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
    if slot.polls.get() < 2 {
        return false;
    }
    if pause <= INTERRUPT && pauses(before, pause, LEAST_SHARE) {
        return true;
    }
    let (processor, elapsed) = (slot.polled_processor.get(), slot.polled_elapsed.get());
    note_times();
    let ran = slot.polled_processor.get().wrapping_sub(processor);
    let passed = slot.polled_elapsed.get().wrapping_sub(elapsed);
    ran < passed / LEAST_SHARE || pauses(before, pause.min(ran * TICKS), LEAST_SHARE_OF_LONG)
}

/// Whether the loop goes on after another pause of so many ticks: all of them are at most this part of it.
fn pauses(before: u64, pause: u64, share: u64) -> bool {
    let slot = tls::slot();
    let paused = slot.polls_paused.get() + pause;
    let is_small = paused < before.wrapping_sub(slot.polls_since.get()) / share;
    if is_small {
        slot.polls_paused.set(paused);
    }
    is_small
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
