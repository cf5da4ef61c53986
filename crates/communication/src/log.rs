//! The log of accesses: where each thread's blocks are, and what addresses mean.

use std::collections::BTreeMap;

use longpole_access::format::{BLOCK, HEADER_BYTES, MessageHeader, NAMES, SAMPLE};
use longpole_event::MachineId;
use longpole_recording::{
    AccessNames, AccessPlaceName, AccessVariable, LogName, LogReader, RecordingFolder, Result,
};
use rustc_hash::FxHashMap;

use crate::sample::LoggedLimits;

/// What a process of the log has.
#[derive(Debug, Default)]
pub(crate) struct LoggedProcess {
    /// Offsets of blocks by thread, in their order.
    pub(crate) threads: BTreeMap<u32, LoggedThread>,
    /// Names by return address.
    pub(crate) places: FxHashMap<u64, AccessPlaceName>,
    pub(crate) variables: Vec<AccessVariable>,
    /// Limits of groups of units, where not all are followed.
    pub(crate) limits: LoggedLimits,
    /// Bytes of records.
    pub(crate) bytes: u64,
}

/// The blocks of a thread.
#[derive(Debug, Default)]
pub(crate) struct LoggedThread {
    pub(crate) tid: u32,
    /// Number and offset.
    pub(crate) blocks: Vec<(u32, u64)>,
}

/// The processes of a log, and blocks that could not be read.
fn processes(reader: &mut LogReader) -> Result<(BTreeMap<u32, LoggedProcess>, u64)> {
    let mut processes: BTreeMap<u32, LoggedProcess> = BTreeMap::new();
    let mut undecodable = 0;
    while let Some((offset, message)) = reader.next_block()? {
        let Some(header) = MessageHeader::decode(message) else {
            undecodable += 1;
            continue;
        };
        let process = processes.entry(header.pid).or_default();
        match header.kind {
            BLOCK => {
                let thread = process.threads.entry(header.thread).or_default();
                thread.tid = header.tid;
                thread.blocks.push((header.number, offset));
                process.bytes += u64::from(header.bytes);
            }
            NAMES => match serde_json::from_slice::<AccessNames>(&message[HEADER_BYTES..]) {
                Ok(names) => {
                    process.places.extend(names.places.into_iter().map(|place| (place.address, place)));
                    process.variables.extend(names.variables);
                }
                Err(_) => undecodable += 1,
            },
            SAMPLE => process.limits.take(header.number, &message[HEADER_BYTES..]),
            _ => undecodable += 1,
        }
    }
    let defects = reader.defects();
    let torn = u64::from(defects.torn_bytes > 0);
    for thread in processes.values_mut().flat_map(|process| process.threads.values_mut()) {
        thread.blocks.sort_unstable();
    }
    Ok((processes, undecodable + defects.damaged_chunks + torn))
}

/// The process of a recording with most records of accesses.
pub(crate) struct LargestProcess {
    pub(crate) reader: LogReader,
    pub(crate) pid: u32,
    pub(crate) process: LoggedProcess,
    /// Other processes with records.
    pub(crate) others: usize,
    /// Blocks of the log that could not be read.
    pub(crate) lost_blocks: u64,
}

/// That process; `None` where no accesses were recorded.
pub(crate) fn largest_process(folder: &RecordingFolder) -> Result<Option<LargestProcess>> {
    let Some(mut reader) = folder.open_log(MachineId(0), LogName::Accesses)? else { return Ok(None) };
    let (mut found, lost_blocks) = processes(&mut reader)?;
    let largest = found.iter().max_by_key(|(_, process)| process.bytes).map(|(&pid, _)| pid);
    let Some((pid, process)) = largest.and_then(|pid| found.remove_entry(&pid)) else { return Ok(None) };
    let others = found.values().filter(|process| process.bytes > 0).count();
    Ok(Some(LargestProcess { reader, pid, process, others, lost_blocks }))
}
