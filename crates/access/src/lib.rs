//! Accesses to memory, from the instrumented program to the analysis: the compact stream of one thread ([`format`]), the
//! decoder of it, and the library that writes it ([`runtime`]).
//!
//! The library implements the interface of compilers' `-fsanitize=thread` (gcc, clang): they call a function at each
//! access, procedure and atomic operation. It is linked in place of theirs by `longpole cc` and `longpole cargo`, and used by
//! `longpole record --access`. Without a recorder it performs the atomic operations and records nothing.
//!
//! Without the feature `runtime` nothing is exported under a C name; the feature `writer` has what writes streams ([`writer`]).
#![cfg_attr(not(test), no_std)]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod decoder;
pub mod format;
#[cfg(test)]
mod round_trip;
#[cfg(feature = "runtime")]
pub mod runtime;
pub mod unit_sample;
#[cfg(any(feature = "runtime", feature = "writer"))]
pub mod writer;

pub use decoder::{AccessRecord, BlockDefect, StreamDecoder};

#[cfg(all(feature = "runtime", not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process, after a fault of the library's own.
    unsafe { libc::_exit(134) }
}

// The core library's tables of unwinding name this procedure. No frame of the library does anything when it is unwound:
// 8 is `_URC_CONTINUE_UNWIND`. Hidden, so that a Rust program's own stays its own.
#[cfg(all(feature = "runtime", not(test)))]
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
