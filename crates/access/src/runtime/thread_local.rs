//! The thread-local words of the library: of the initial-exec model, as the library is always loaded with the program.

use core::arch::{asm, global_asm};
use core::cell::Cell;

use super::openmp::AccessTeam;
use super::synchronisation::OnceCall;
use crate::writer::owner::StreamOwner;

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl longpole_access_words",
    ".hidden longpole_access_words",
    ".type longpole_access_words, @object",
    ".size longpole_access_words, 40",
    "longpole_access_words:",
    ".zero 40",
    ".popsection",
);

/// What a thread keeps.
#[repr(C)]
pub struct AccessThreadWords {
    /// The thread's stream.
    pub owner: StreamOwner,
    /// The thread has ended, or is not recorded.
    pub is_off: Cell<u64>,
    /// The OpenMP team in which the thread works; null outside of regions.
    pub team: Cell<*const AccessTeam>,
    /// The innermost initialisation (`pthread_once`) that the thread is in, or is about to begin.
    pub once: Cell<*const OnceCall>,
}

const _: () = assert!(size_of::<AccessThreadWords>() == 40);

/// The calling thread's words.
#[inline(always)]
pub fn words() -> &'static AccessThreadWords {
    let words: *const AccessThreadWords;
    // SAFETY: the variable is defined above, of this type, and zeroes are a valid value.
    unsafe {
        asm!(
            "mov {words}, qword ptr [rip + longpole_access_words@GOTTPOFF]",
            "add {words}, qword ptr fs:[0]",
            words = out(reg) words,
            options(pure, readonly, nostack)
        );
        &*words
    }
}
