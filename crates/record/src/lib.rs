//! Makes recordings: starts a program and runs a collector on it, or imports what `perf record` wrote.

pub mod raw;
