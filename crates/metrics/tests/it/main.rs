//! The metrics against oracles: slow ones, closed forms, programs executed anew. One program, as each takes ten seconds to build.

mod charging;
mod contention;
mod laws;
mod phases;
mod programs;
mod recordings;
mod shared_queues;
mod unknown_spins;
mod windows;
mod worked_answers;
