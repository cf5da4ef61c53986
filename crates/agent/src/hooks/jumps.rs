//! Jumps out of procedures, which leave those of instrumented programs without their own word.

use core::arch::asm;
use core::ffi::{c_int, c_void};

use super::instrumentation;
use crate::thread::CurrentThread;
use crate::{hooks, system};

/// The status of a program whose C library has no jumps: the shell's for a command that is not there.
const NO_JUMPS: c_int = 127;

/// The stack pointer that a jump there restores. glibc keeps it scrambled by a secret of the process (its
/// `PTR_MANGLE`); of another library's buffer this makes a number that is no address of the thread's stack.
#[inline(always)]
unsafe fn stack_pointer_there(buffer: *const c_void) -> u64 {
    const STACK_POINTER: usize = 6;
    const ROTATION: u32 = 17;
    let secret: u64;
    // SAFETY: the caller gives a buffer that `setjmp` has filled; the word of the thread's own block is always there.
    unsafe {
        asm!("mov {}, fs:[0x30]", out(reg) secret, options(nostack, preserves_flags, readonly));
        (*buffer.cast::<u64>().add(STACK_POINTER)).rotate_right(ROTATION) ^ secret
    }
}

/// Tells which procedures the jump leaves.
macro_rules! jump {
    ($buffer:expr, $value:expr, $real:expr) => {{
        if let Some(me) = CurrentThread::get() {
            instrumentation::leave_to(me, unsafe { stack_pointer_there($buffer) });
        }
        unsafe { $real($buffer, $value) }
    }};
}

hooks! {
    /// Goes on where `setjmp` was called.
    fn longjmp(buffer: *mut c_void, value: c_int), else system::exit(NO_JUMPS), |real| {
        jump!(buffer, value, real)
    }

    /// The same by the name that never changes signal masks.
    fn _longjmp(buffer: *mut c_void, value: c_int), else system::exit(NO_JUMPS), |real| {
        jump!(buffer, value, real)
    }

    /// The same, which also puts the signal mask back.
    fn siglongjmp(buffer: *mut c_void, value: c_int), else system::exit(NO_JUMPS), |real| {
        jump!(buffer, value, real)
    }

    /// The same in programs that are compiled with checks.
    fn __longjmp_chk(buffer: *mut c_void, value: c_int), else system::exit(NO_JUMPS), |real| {
        jump!(buffer, value, real)
    }
}
