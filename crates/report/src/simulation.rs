//! What was simulated from recorded accesses, in numbers: the head of the views of communication, as JSON has it.

use longpole_communication::RecordedCommunication;
use serde::Serialize;

use crate::input::ReportTables;
use crate::quantity::seconds;
use crate::views::{communication_doubts, sample_remark, thread_name};

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
    /// What was followed, where not all units were: counts of all units are estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleNumbers>,
}

/// Which units were followed, and the ranges that hold the counts of all for 9 of 10 choices of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleNumbers {
    /// What was followed and what that says, in sentences.
    pub text: String,
    /// One unit in so many.
    pub one_of: u32,
    /// Bytes of these units.
    pub unit_bytes: u64,
    /// Those of them that the program touches.
    pub followed_units: u64,
    /// Accesses to them.
    pub followed_accesses: u64,
    /// Requests of all units, at least.
    pub requests_at_least: u64,
    /// At most; absent where nothing bounds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_at_most: Option<u64>,
    /// Transfers of all units, at least.
    pub transfers_at_least: u64,
    /// At most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers_at_most: Option<u64>,
    /// Transfers of units that were not followed, at most, in every case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfollowed_transfers_at_most: Option<u64>,
    /// Units that were not followed and can have the most transfers.
    pub unfollowed: Vec<UnfollowedNumbers>,
}

/// A unit that was not followed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnfollowedNumbers {
    /// The object there when the run ends.
    pub object: String,
    /// First address; other units may be meant with it.
    pub address: String,
    /// Its transfers, at most.
    pub transfers_at_most: u64,
}

impl SampleNumbers {
    fn of(answer: &RecordedCommunication) -> Option<SampleNumbers> {
        let sample = answer.sample.as_ref()?;
        let finite = |most: f64| most.is_finite().then_some(most.round() as u64);
        let (requests, transfers) = (sample.requests(&sample.followed), sample.transfers(&sample.followed));
        let unfollowed = sample.highest.iter().map(|one| UnfollowedNumbers {
            object: answer.objects[one.object].name.clone(),
            address: format!("{:#x}", one.address),
            transfers_at_most: one.transfers_at_most,
        });
        Some(SampleNumbers {
            text: sample_remark(answer).unwrap_or_default(),
            one_of: sample.one_of,
            unit_bytes: sample.unit,
            followed_units: sample.followed_units,
            followed_accesses: sample.followed_accesses,
            requests_at_least: requests.at_least.round() as u64,
            requests_at_most: finite(requests.at_most),
            transfers_at_least: transfers.at_least.round() as u64,
            transfers_at_most: finite(transfers.at_most),
            unfollowed_transfers_at_most: sample.unfollowed_at_most().and_then(finite),
            unfollowed: unfollowed.collect(),
        })
    }
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
            sample: SampleNumbers::of(answer),
        }
    }
}
