//! The writing of streams, without anything that a program would call by its name: for the library in instrumented programs
//! ([`crate::runtime`]), and for what emulates programs that are not instrumented.

// Each function has the promises of its callers, which are the library's.
#![allow(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc, missing_docs)]

pub mod emulation;
pub mod followed;
pub mod owner;
pub mod stream;
pub mod versions;
