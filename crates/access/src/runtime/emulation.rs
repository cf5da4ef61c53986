//! The library in a program that is not instrumented and runs in an emulator, which has a plugin that sees the accesses.

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use super::lifecycle::variable;
use super::thread_local::words;
use super::{modules, versions};
use crate::writer::emulation::{ANSWER, CALL, EMULATION_VARIABLE, EmulationGreeting, GREETING, THREAD};

/// 1 where the plugin has answered.
static IS_EMULATED: AtomicU32 = AtomicU32::new(0);

/// Whether the recorder wants the accesses of emulated programs only: the library is loaded into others too, as the programs
/// that an emulated one executes are not emulated.
pub fn is_wanted() -> bool {
    !variable(EMULATION_VARIABLE).is_null()
}

/// Makes itself known to the plugin; false where there is none of this build.
pub fn greet(socket: i32) -> bool {
    let mut greeting = EmulationGreeting {
        mark: GREETING,
        answer: 0,
        socket: u64::from(socket.cast_unsigned()),
        modules: ptr::from_ref(&modules::INSTRUMENTED),
        versions: ptr::from_ref(versions::table()),
    };
    call(GREETING, (&raw mut greeting) as u64);
    let is_answered = unsafe { (&raw const greeting.answer).read_volatile() } == ANSWER;
    IS_EMULATED.store(is_answered.into(), Ordering::Relaxed);
    is_answered
}

/// The calling thread has a stream.
pub fn begin_thread() {
    if IS_EMULATED.load(Ordering::Relaxed) != 0 {
        call(THREAD, ptr::from_ref(&words().owner) as u64);
    }
}

/// The calling thread has none any more, and its words are about to be gone.
pub fn end_thread() {
    if IS_EMULATED.load(Ordering::Relaxed) != 0 {
        call(THREAD, 0);
    }
}

fn call(what: u64, argument: u64) {
    unsafe {
        let errno = *libc::__errno_location();
        libc::syscall(CALL, what, argument);
        *libc::__errno_location() = errno;
    }
}
