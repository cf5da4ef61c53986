//! The thread-local words of the library: of the initial-exec model, safe in a signal handler, as Rust offers none.

use core::arch::{asm, global_asm};
use core::cell::Cell;
use core::sync::atomic::AtomicU64;

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl longpole_delay_words",
    ".hidden longpole_delay_words",
    ".type longpole_delay_words, @object",
    ".size longpole_delay_words, 48",
    "longpole_delay_words:",
    ".zero 48",
    ".popsection",
);

/// What a thread keeps.
#[repr(C)]
#[derive(Debug)]
pub(super) struct ThreadWords {
    /// Its CPU time at the end of the last sample's handler, nanoseconds.
    pub last: Cell<u64>,
    /// 1 where it was started by the procedure.
    pub is_started_inside: Cell<u64>,
    /// Inserted delays that are behind it, nanoseconds, plus 1; 0 before anything is known of the thread.
    pub carried: AtomicU64,
    /// What it paused or worked longer than it owed, nanoseconds.
    pub prepaid: Cell<u64>,
    /// 1 within a function that waits or wakes, where no sample pauses it.
    pub is_held: Cell<u64>,
    /// How many locks it holds in the memory of the lock that is looked at.
    pub holds: Cell<u64>,
}

const _: () = assert!(size_of::<ThreadWords>() == 48);

/// The calling thread's.
#[inline(always)]
pub(super) fn thread_words() -> &'static ThreadWords {
    let words: *const ThreadWords;
    // SAFETY: the variable is defined above, lives as long as its thread, and zeroes are a valid value; only its own thread (and signal
    // handlers on it) gets this reference.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + longpole_delay_words@GOTTPOFF]",
            "add {words}, qword ptr fs:[0]",
            words = out(reg) words,
            options(pure, readonly, nostack)
        );
        &*words
    }
}
