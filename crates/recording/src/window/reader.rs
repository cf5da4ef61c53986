//! Reads the segments of a window as one log.
//!
//! The window begins with the first segment whose checkpoint is whole and after which none is missing. What names a
//! definition that was lost with a damaged chunk is left out and counted.

use std::collections::VecDeque;
use std::path::PathBuf;

use longpole_event::{Decoder, EventKind, IdKind, Record, ThreadId, WordDefinition};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};
use crate::id::RecordingId;
use crate::log::{Defects, LogReader, SegmentPart};

/// Reads a log of which only the last part was kept.
#[derive(Debug)]
pub struct WindowLog {
    reader: LogReader,
    /// The segments after it.
    rest: VecDeque<PathBuf>,
    id: Option<RecordingId>,
    is_first: bool,
    is_cut: bool,
    numbering: SegmentNumbering,
    /// Of the segments before, and of what they hold.
    defects: Defects,
    /// Bytes of the segments before.
    bytes_before: u64,
}

impl WindowLog {
    /// Opens segments, by their numbers; `None` where none can be read from its beginning.
    pub(crate) fn open(segments: Vec<(u32, PathBuf)>, id: Option<RecordingId>) -> Result<Option<WindowLog>> {
        let mut defects = Defects::default();
        let mut rest = without_gap(segments, &mut defects);
        while let Some((number, path)) = rest.pop_front() {
            if has_whole_checkpoint(&path)? {
                let reader = open_segment(&path, id)?;
                let numbering = SegmentNumbering::default();
                return Ok(Some(WindowLog {
                    reader,
                    rest: rest.into_iter().map(|(_, path)| path).collect(),
                    id,
                    is_first: true,
                    is_cut: number > 0,
                    numbering,
                    defects,
                    bytes_before: 0,
                }));
            }
            // The last one may just have begun.
            defects.damaged_chunks += u64::from(!rest.is_empty());
        }
        Ok(None)
    }

    /// The records of the next whole chunk that are to be kept, under dense ids; `None` at the end.
    ///
    /// # Errors
    /// As of [`LogReader::next_chunk`], and where a segment is another recording's.
    pub fn next_records(&mut self, keep: fn(&Record) -> bool) -> Result<Option<Vec<Record>>> {
        loop {
            if let Some(chunk) = self.reader.next_chunk()? {
                let part = SegmentPart::of(chunk.before);
                let is_repeated = !self.is_first && part != SegmentPart::Events;
                let mut records = Vec::new();
                let mut decoder = Decoder::new(chunk.bytes);
                let mut is_intact = true;
                self.numbering.pending = None;
                for record in decoder.by_ref() {
                    let Ok(record) = record else {
                        is_intact = false;
                        continue;
                    };
                    records.extend(self.numbering.take(record, is_repeated).filter(keep));
                }
                if !is_intact || decoder.unknown() > 0 {
                    self.defects.undecodable_chunks += 1;
                }
                return Ok(Some(records));
            }
            let Some(path) = self.rest.pop_front() else { return Ok(None) };
            let next = match open_segment(&path, self.id) {
                // The recorder was killed before it wrote the header.
                Err(Error::NotARecording { .. }) if self.rest.is_empty() => return Ok(None),
                next => next?,
            };
            let before = std::mem::replace(&mut self.reader, next);
            self.bytes_before += before.length();
            self.defects = sum(self.defects, before.defects());
            self.is_first = false;
        }
    }

    /// Whether segments before the first were dropped.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Refuses more definitions than the segments so far can hold.
    ///
    /// # Errors
    /// [`Error::NotARecording`].
    pub fn allow_definitions(&self, definitions: u64) -> Result<()> {
        self.reader.allow_definitions_in(definitions, self.bytes_before)
    }

    /// What was found wrong so far.
    #[must_use]
    pub fn defects(&self) -> Defects {
        let orphans = Defects { orphans: self.numbering.orphans, ..Defects::default() };
        sum(sum(self.defects, self.reader.defects()), orphans)
    }

    /// The id that a definition of the whole run has here; `None` where it was not read so far.
    #[must_use]
    pub fn id(&self, kind: IdKind, number: u32) -> Option<u32> {
        self.numbering.known[kind as usize].get(&number).copied()
    }
}

/// Gives definitions dense ids, and drops what is said again.
#[derive(Debug, Default)]
struct SegmentNumbering {
    /// By kind: the dense id of each number.
    known: [FxHashMap<u32, u32>; IdKind::COUNT],
    /// Threads whose beginning was read, by their dense ids.
    begun: FxHashSet<ThreadId>,
    words: FxHashSet<(u32, u64)>,
    /// The number of the next definition.
    pending: Option<u32>,
    orphans: u64,
}

impl SegmentNumbering {
    /// The record as it is to be read; `None` where nothing is to be read of it. `is_repeated`: it is of a checkpoint
    /// that says how a part that was read has ended.
    fn take(&mut self, mut record: Record, is_repeated: bool) -> Option<Record> {
        if let Record::Number(number) = record {
            self.pending = Some(number);
            return None;
        }
        let kind = IdKind::defined_by(&record);
        let number = kind.and_then(|_| self.pending.take());
        if kind.zip(number).is_some_and(|(kind, number)| self.known[kind as usize].contains_key(&number)) {
            return None;
        }
        let known = &self.known;
        let is_whole = record.renumber(&mut |kind, number| known[kind as usize].get(&number).copied());
        if !is_whole || (kind.is_some() && number.is_none()) {
            self.orphans += 1;
            return None;
        }
        if let Some((kind, number)) = kind.zip(number) {
            let ids = &mut self.known[kind as usize];
            let next = u32::try_from(ids.len()).ok()?;
            ids.insert(number, next);
            return Some(record);
        }
        self.is_new(&record, is_repeated).then_some(record)
    }

    fn is_new(&mut self, record: &Record, is_repeated: bool) -> bool {
        match record {
            &Record::Word(WordDefinition { process, address, .. }) => self.words.insert((process.0, address)),
            Record::Event(event) => match event.kind {
                EventKind::Lost { .. } | EventKind::Value { .. } => !is_repeated,
                EventKind::Start { .. } | EventKind::Continue { .. } => self.begun.insert(event.thread),
                // Its end lies before the window.
                EventKind::Joined { ended } if !self.begun.contains(&ended) => false,
                _ => !is_repeated && self.begun.contains(&event.thread),
            },
            _ => true,
        }
    }
}

/// The segments after the last one that is missing, the oldest first.
fn without_gap(mut segments: Vec<(u32, PathBuf)>, defects: &mut Defects) -> VecDeque<(u32, PathBuf)> {
    segments.sort();
    let gap = segments.windows(2).rposition(|pair| pair[1].0 - pair[0].0 != 1);
    let first = gap.map_or(0, |at| at + 1);
    defects.damaged_chunks += first as u64;
    segments.drain(first..).collect()
}

fn has_whole_checkpoint(path: &std::path::Path) -> Result<bool> {
    let mut reader = match LogReader::open(path) {
        Ok(reader) => reader,
        // A recorder that is killed leaves a file without its header.
        Err(Error::NotARecording { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    while let Some(chunk) = reader.next_chunk()? {
        let part = SegmentPart::of(chunk.before);
        if part != SegmentPart::Checkpoint {
            return Ok(part == SegmentPart::LastOfCheckpoint && reader.defects().is_none());
        }
    }
    Ok(false)
}

fn open_segment(path: &std::path::Path, id: Option<RecordingId>) -> Result<LogReader> {
    let reader = LogReader::open(path)?;
    if reader.is_of(id) { Ok(reader) } else { Err(Error::OtherRecording { path: path.to_owned() }) }
}

fn sum(one: Defects, other: Defects) -> Defects {
    Defects {
        torn_bytes: one.torn_bytes + other.torn_bytes,
        damaged_chunks: one.damaged_chunks + other.damaged_chunks,
        undecodable_chunks: one.undecodable_chunks + other.undecodable_chunks,
        orphans: one.orphans + other.orphans,
    }
}
