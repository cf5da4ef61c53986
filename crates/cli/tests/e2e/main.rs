//! End to end: real programs are recorded, and longpole's answer is compared with the known one.
// Tests build paths and numbers from what they know; a failure is a failed test.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod demo;
mod export;
mod failures;
mod guidance;
mod instrumented;
mod killed;
mod known;
mod objects;
mod openmp;
mod outside;
mod own_metrics;
mod process;
mod questions;
mod real;
mod runtime;
mod series;
mod support;
mod view;
mod waits;
