//! The process collector: what the kernel tells everybody of a process of their own.
//!
//! `perf_event_paranoid` up to 2 lets a user without capabilities watch the user code of their own processes, and see
//! when their threads get and leave processors. It tells neither why a thread waits nor who wakes it.

mod collector;
mod refusal;

pub(crate) use collector::{ProcessCollector, ProcessCollectorError};
pub(crate) use refusal::{Circumstances, remedy};
