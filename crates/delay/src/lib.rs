//! The library that `longpole zero` preloads into a program: a thread that is sampled in a procedure works longer (`--slow`), or all others
//! pause in its place (`--virtual`).
//!
//! ```text
//!   thread   ===solve======|======solve=====|====write=====|===…      | a sample, each period of the thread's CPU time
//!   slowed   ===solve======|dd|======solve=====|dd|====write=====|===…     d = factor × CPU time since the last sample
//! ```
//! A perf event counts the running time of each thread and raises SIGTRAP in it, always on its way back to the program's code: no system
//! call is interrupted, and no thread that waits is woken. The handler looks whether the interrupted call path holds the procedure, and if
//! so keeps the processor for the factor times the thread's CPU time since its last sample. What the handler itself takes is not part of
//! that time. Nothing of the program is changed.
//!
//! Each process writes what it did into memory that it shares with `longpole zero` ([`DelayMemory`]). Where something is not as it should
//! be, the program runs as it is, and the memory says why.
//!
//! Without the feature `preload` nothing is exported under a C name: so the crate can be checked and tested as any other.
#![cfg_attr(not(test), no_std)]

mod layout;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod preloaded;

pub use layout::{
    DELAY_MAGIC, DELAY_MEMORY_BYTES, DELAY_VARIABLE, DelayMemory, DelayScope, LONGEST_MODULE_PATH,
    MOST_RANGES,
};

#[cfg(all(feature = "preload", not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process after a fault of the library's own.
    unsafe { libc::abort() }
}

// The core library's tables of unwinding name this procedure; no frame of this library does anything when it is unwound: 8 is
// `_URC_CONTINUE_UNWIND`. Hidden, so that a Rust program's own stays its own.
#[cfg(all(feature = "preload", not(test)))]
core::arch::global_asm!(
    ".pushsection .text.rust_eh_personality,\"ax\",@progbits",
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    ".type rust_eh_personality, @function",
    "rust_eh_personality:",
    "mov eax, 8",
    "ret",
    ".size rust_eh_personality, . - rust_eh_personality",
    ".popsection",
);
