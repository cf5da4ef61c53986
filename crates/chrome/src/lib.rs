//! Reads traces in Chrome's JSON format (the Trace Event Format), as Chrome, Node, PyTorch, clang and many others write them: slices of threads,
//! and of the streams of a GPU.
//!
//! ```text
//!   {"traceEvents": [{"ph": "X", "pid": 1, "tid": 2, "ts": 10.5, "dur": 3, "name": "load"}, …]}   or the list alone
//!   lane    a thread, or a stream of a GPU: its slices in the order of their begins, callers before those that they call
//! ```
//! Events are in no order, so all slices are held in memory, 32 bytes each, with their names, and no other part of the file. Nothing of a file is trusted: what
//! cannot be read is counted, and a file that ends early is read up to there.

mod bounded_texts;
mod document;
mod error;
mod event;
mod lane;
mod names;
mod scalar;
mod trace;

pub use error::{ChromeError, ChromeResult};
pub use lane::{ChromeLane, ChromeSlice};
pub use trace::{ChromeContents, ChromeDamage, ChromeTrace, Collective};
