//! The plugin by which `longpole record --access=emulate` sees the accesses of programs as they are: QEMU's user-mode emulator
//! loads it and calls it at each access.
//!
//! ```text
//!   recorder ──starts──► qemu-x86_64 ──loads──► this plugin
//!                           │ emulates               │ appends accesses and calls
//!                           ▼                        ▼
//!                        program ──has loaded──► liblongpole-access.so: a stream for each thread, synchronisation, allocations
//! ```
//! The plugin keeps no stream: it appends to those of the library, which the recorder has loaded into the program
//! (`longpole_access::writer::emulation` says how they meet). So accesses and synchronisation of a thread are in one order,
//! and recorder and analysis are those of instrumented programs.
//!
//! What is recorded is what a compiler would instrument, as far as the machine code has it: accesses by the code of the
//! program's file and of its own libraries ([`emulated_code`]), without those that only move registers and return addresses to
//! the stack ([`instruction`]). Which call led there is known from the calls and returns of that code ([`shadow_stack`]).
//!
//! This crate is under the GNU General Public License, version 2 or later, as QEMU's plugins have to be compatible with it
//! (see `LICENSE`). It is a library of its own, linked with no other part of longpole but `longpole-access`.
//!
//! Without the feature `plugin` nothing is exported under a C name, and QEMU is not needed: so the crate can be tested.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod emulated_code;
pub mod instruction;
pub mod shadow_stack;

#[cfg(feature = "plugin")]
mod accesses;
#[cfg(feature = "plugin")]
mod atomic_words;
#[cfg(feature = "plugin")]
mod install;
#[cfg(feature = "plugin")]
mod qemu;
#[cfg(feature = "plugin")]
mod system_calls;
#[cfg(feature = "plugin")]
mod threads;
#[cfg(feature = "plugin")]
mod translation;
