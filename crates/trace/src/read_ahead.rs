//! Blocks of a log, decoded by a thread of its own while those before are worked on.
//!
//! ```text
//!   this thread     | decode 1 | decode 2 | decode 3 | …
//!   the reader                 |  use 1   |  use 2   | …        at most two decoded blocks wait
//! ```
//! The thread ends with the log, or when nobody wants its blocks any more.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use longpole_event::{Decoder, Record};
use longpole_recording::{Defects, DefinitionCounts, LogReader, Result};

/// Blocks that may wait.
const WAITING: usize = 2;

/// A decoded block.
#[derive(Debug)]
pub(crate) struct RecordBlock {
    /// Definitions before it.
    pub before: DefinitionCounts,
    pub records: Vec<Record>,
}

/// The next block of a log, those of its records that `keep` holds for; `None` at the end. `room`: as many records as are
/// expected.
pub(crate) fn next_block(
    reader: &mut LogReader,
    keep: fn(&Record) -> bool,
    room: usize,
) -> Result<Option<RecordBlock>> {
    let Some(chunk) = reader.next_chunk()? else { return Ok(None) };
    let before = chunk.before;
    let mut records = Vec::with_capacity(room);
    let mut intact = true;
    let mut decoder = Decoder::new(chunk.bytes);
    for record in decoder.by_ref() {
        match record {
            Ok(record) if keep(&record) => records.push(record),
            Ok(_) => {}
            Err(_) => intact = false,
        }
    }
    if !intact || decoder.unknown() > 0 {
        reader.count_undecodable();
    }
    Ok(Some(RecordBlock { before, records }))
}

/// The blocks of a log that is read ahead.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    /// What was found wrong comes with each block; after the last block comes `None`.
    blocks: Receiver<(Result<Option<RecordBlock>>, Defects)>,
    /// Found wrong up to the last block that was taken; after the end, in all.
    pub defects: Defects,
    is_over: bool,
}

impl ReadAhead {
    /// Begins to read.
    pub(crate) fn new(mut reader: LogReader, keep: fn(&Record) -> bool) -> ReadAhead {
        let (to, blocks) = sync_channel(WAITING);
        let defects = reader.defects();
        thread::spawn(move || {
            let mut room = 0;
            loop {
                let block = next_block(&mut reader, keep, room);
                let is_last = !matches!(block, Ok(Some(_)));
                if let Ok(Some(block)) = &block {
                    room = room.max(block.records.len());
                }
                if to.send((block, reader.defects())).is_err() || is_last {
                    return;
                }
            }
        });
        ReadAhead { blocks, defects, is_over: false }
    }

    /// The next block; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBlock>> {
        if self.is_over {
            return Ok(None);
        }
        let (block, defects) = self.blocks.recv().expect("a thread that goes has said that it is at the end");
        self.defects = defects;
        self.is_over = !matches!(block, Ok(Some(_)));
        block
    }
}
