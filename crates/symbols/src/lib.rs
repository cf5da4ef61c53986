//! Unwinding of stacks and naming of addresses.

mod mapping;

pub use mapping::{Mapping, Registers};
