//! The functions that the agent stands in for, by what they are about.

pub mod barrier;
pub mod condition;
pub mod mutex;
pub mod threads;
