//! Calls of MPI: who sends what to whom, and when.
//!
//! One library stands in for the functions of every implementation. It is made without `mpi.h`: handles are words that are
//! passed on as they came ([`abi`] says how to read them), and one table ([`functions`]) makes the hooks, which are small ([`hook`]). Nothing is sent that
//! the program did not send: only functions that answer without other processes are called ([`communicators`]).
//!
//! ```text
//!   MPI_Recv    Communicates(receive, from whom, stack)  ── the real function ──  Communicated(source, tag, bytes)
//!   MPI_Wait    Communicates(complete)                   ── the real function ──  Completes(request …) Communicated
//! ```
//! Calls that an implementation makes within a call are part of that one.

mod abi;
mod call;
mod communicators;
pub mod functions;
mod hook;
mod language;
mod polls;
mod room;
mod shapes;
mod topologies;
mod windows;

/// An argument as it comes in a register or on the stack: a handle, a pointer, or a number in its low half.
pub type Word = usize;
