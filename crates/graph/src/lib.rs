//! The program activity graph as time-ordered sweeps over the timelines (metrics.md §1).
//!
//! The graph is never built: its nodes pass by in the order of time, with state kept only for the threads.
//! A metric is a [`Sweep`]; [`sweep`] shows it
//!
//! * every **arc** inside a thread: a stretch of time in one state, cut at each node of the thread,
//! * every **dependence**, with the arcs of both threads cut at its ends,
//! * every **token** that a thread releases or acquires: dependences for which nobody need have waited,
//! * every **observation** of a call path, after the arc that it ends,
//! * how many threads were busy (**U**) and runnable (**N**) while time went by.
//!
//! Several sweeps run in one pass as a tuple.

mod sweep;

pub use sweep::{Arc, Dependence, ParallelismLevel, Sweep, sweep};
