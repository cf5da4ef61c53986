//! The functions that the agent stands in for, by what they are about.
//!
//! Each hook passes the caller's arguments to the real function, under the caller's own promises about them: that is why
//! its calls are safe.
#![allow(clippy::undocumented_unsafe_blocks)]

pub mod barrier;
pub mod condition;
pub mod instrumentation;
pub mod mutex;
pub mod threads;
