//! What was simulated from recorded accesses, in numbers: the head of the views of communication, as JSON has it.

use longpole_communication::RecordedCommunication;
use serde::Serialize;

use crate::input::ReportTables;
use crate::quantity::seconds;
use crate::views::{communication_doubts, thread_name};

/// A simulated run, in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulationNumbers {
    /// `lines`, `lrc` or `sc`.
    pub protocol: &'static str,
    /// Bytes of a unit of transfer.
    pub unit_bytes: u64,
    /// Accesses to memory.
    pub accesses: u64,
    /// Accesses without a valid copy.
    pub requests: u64,
    /// Requests that are not the thread's first reference to the unit.
    pub transfers: u64,
    /// The fewest transfers over all orders of the threads that the program permits.
    pub transfers_low: u64,
    /// The most.
    pub transfers_high: u64,
    /// Writes that took a copy from others and fetched nothing.
    pub upgrades: u64,
    /// Virtual time until the last thread ended.
    pub virtual_seconds: f64,
    /// The threads, in the order of their numbers.
    pub threads: Vec<ThreadAccesses>,
    /// What makes the answer less than whole.
    pub doubts: Vec<String>,
}

/// A thread of a simulated run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadAccesses {
    /// Its name and number, as rows have it.
    pub thread: String,
    /// Its accesses.
    pub accesses: u64,
}

impl SimulationNumbers {
    pub(crate) fn of(input: &ReportTables<'_>, answer: &RecordedCommunication) -> SimulationNumbers {
        let threads = answer.threads.iter().enumerate().map(|(number, one)| ThreadAccesses {
            thread: thread_name(input, answer, number),
            accesses: one.accesses,
        });
        SimulationNumbers {
            protocol: answer.protocol,
            unit_bytes: answer.unit,
            accesses: answer.accesses(),
            requests: answer.requests,
            transfers: answer.transfers,
            transfers_low: answer.low,
            transfers_high: answer.high,
            upgrades: answer.upgrades,
            virtual_seconds: seconds(answer.elapsed),
            threads: threads.collect(),
            doubts: communication_doubts(answer),
        }
    }
}
