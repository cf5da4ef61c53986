//! The library in an instrumented program.
//!
//! Each thread has a [`stream::ThreadStream`] in memory of its own: a buffer of records and a table of places. A full buffer
//! is one message to the recorder's socket, which keeps the thread waiting where the recorder is slower: memory is bounded,
//! and no access is left out but those to units that are not followed, where the recorder asks for a sample ([`crate::writer::followed`]). Nothing here allocates by `malloc`, and nothing changes what a function of the program does.

// Each function has the promises of its callers: compilers, and the callers of the C library's functions.
#![allow(
    clippy::macro_metavars_in_unsafe,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    missing_docs
)]

pub mod allocations;
pub mod atomics;
pub mod emulation;
pub mod entry;
pub mod lifecycle;
pub mod modules;
pub mod next;
pub mod openmp;
pub mod stream;
pub mod synchronisation;
pub mod thread_local;

use crate::writer::{followed, versions};
