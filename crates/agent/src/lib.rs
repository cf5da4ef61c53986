//! The agent: a library that is preloaded into a program and tells the recorder what the program's threads do to
//! each other.
//!
//! It stands in for the functions of libc that lock, wait, create and end ([`hooks`]), calls the real ones, and
//! writes what it saw into memory that the recorder shares ([`memory`]). It never changes what a function
//! does or returns, never allocates, never takes a lock, and uses no thread-local storage with destructors. Where
//! something is not as it should be it calls the real functions only, and the recorder counts what it missed.
//!
//! Without the feature `preload` nothing is exported under a C name: so the crate can be checked and tested as any other.
//!
//! # Rules for hooks
//! * `extern "C-unwind"`, with the call of the real function in the hook's own body: cancellation and
//!   `pthread_exit` unwind through it. No value with a destructor may live across that call.
//! * Everything that touches the thread's [`longpole_ring::Area`] goes through [`thread::CurrentThread`], which leaves signal
//!   handlers out while it works.
#![cfg_attr(not(test), no_std)]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod clock;
mod heights;
pub mod hooks;
pub mod interface;
pub mod lifecycle;
pub mod memory;
mod monitors;
pub mod mpi;
pub mod openmp;
pub mod real;
pub mod stack;
pub mod system;
pub mod thread;
pub mod tls;

#[cfg(all(feature = "preload", not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    system::abort()
}

// The core library's tables of unwinding name this procedure. No frame of the agent does anything when it is unwound
// (cancellation and `pthread_exit` pass through): 8 is `_URC_CONTINUE_UNWIND`. Hidden, so that a Rust program's own
// stays its own.
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
