//! Writes segments and drops the oldest.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use longpole_event::{Event, IdKind, ProcessId, Record, Time};

use super::WindowLimits;
use super::checkpoint::ThreadsNow;
use super::shelves::{ShelfLookup, Shelves};
use crate::error::{Error, Result};
use crate::folder::LogName;
use crate::id::RecordingId;
use crate::log::{DefinitionCounts, LogWriter};

/// Segments that the window is divided into: so much more than asked for is kept, and so often a checkpoint is written.
const SEGMENTS: u64 = 8;
/// Chunks that a segment has at least where bytes are bounded.
const CHUNKS: u64 = 4;
/// No segment is shorter, nanoseconds.
const SHORTEST: u64 = 20_000_000;
/// Definitions from which on those that are not needed are forgotten.
const MANY_DEFINITIONS: usize = 1 << 15;
/// Threads from which on a segment ends: those of older ones are forgotten when they have ended.
const THREADS_OF_SEGMENT: u32 = 1 << 14;

/// Where segments are written.
#[derive(Clone, Debug)]
pub(crate) struct SegmentPlace {
    pub(crate) folder: PathBuf,
    pub(crate) log: LogName,
    pub(crate) id: Option<RecordingId>,
}

impl SegmentPlace {
    fn path(&self, number: u32) -> PathBuf {
        self.folder.join(self.log.segment(number))
    }
}

#[derive(Debug)]
struct WindowSegment {
    number: u32,
    begin: Time,
    bytes: u64,
}

/// Writes a log of which only the last part is kept.
#[derive(Debug)]
pub(crate) struct WindowWriter {
    place: SegmentPlace,
    limits: WindowLimits,
    /// From the oldest to the one that is written.
    segments: VecDeque<WindowSegment>,
    log: LogWriter,
    /// Bytes of the present segment's checkpoint.
    checkpoint_bytes: u64,
    /// Threads of the segments before.
    earlier_threads: u32,
    shelves: Shelves,
    threads: ThreadsNow,
    /// Definitions in the whole run.
    counts: DefinitionCounts,
    /// Processes whose words the present segment lacks.
    without_words: Vec<ProcessId>,
    last: Time,
    forget_above: usize,
}

impl WindowWriter {
    pub(crate) fn create(place: SegmentPlace, limits: WindowLimits) -> Result<Self> {
        let log = LogWriter::create_in(&place.path(0), place.id)?;
        let mut writer = WindowWriter {
            place,
            limits,
            segments: VecDeque::new(),
            log,
            checkpoint_bytes: 0,
            earlier_threads: 0,
            shelves: Shelves::default(),
            threads: ThreadsNow::default(),
            counts: DefinitionCounts::default(),
            without_words: Vec::new(),
            last: Time::ZERO,
            forget_above: MANY_DEFINITIONS,
        };
        writer.begin_segment(0)?;
        Ok(writer)
    }

    pub(crate) fn push(&mut self, record: &Record) -> Result<()> {
        if let Some(kind) = IdKind::defined_by(record) {
            self.shelves.add(kind, self.counts.of(kind), record.clone());
            self.counts.count(record);
            return Ok(());
        }
        match record {
            Record::Event(event) => self.event(event),
            Record::Word(word) => {
                self.shelves.add_word(*word);
                let is_due = self.shelves.is_written(IdKind::Process, word.process.0);
                if is_due { self.write(record) } else { Ok(()) }
            }
            Record::File(file) => {
                self.shelves.add_file(*file);
                self.file(file.number)
            }
            _ => self.write(record),
        }
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.log.flush()
    }

    pub(crate) fn counts(&self) -> DefinitionCounts {
        self.counts
    }

    /// Bytes of the segments that are kept.
    pub(crate) fn bytes(&self) -> u64 {
        let closed: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        closed + self.log.written_bytes()
    }

    /// Whether definitions that nothing needs take much memory.
    pub(crate) fn should_forget(&self) -> bool {
        self.shelves.len() > self.forget_above
    }

    /// Forgets definitions that the kept segments do not hold and that are not pinned.
    pub(crate) fn forget(&mut self, pinned: impl IntoIterator<Item = (IdKind, u32)>) {
        let oldest = self.segments.front().map_or(0, |segment| segment.number);
        self.shelves.forget(oldest, pinned);
        self.forget_above = MANY_DEFINITIONS.max(2 * self.shelves.len());
    }

    pub(crate) fn knows(&self, kind: IdKind, number: u32) -> bool {
        self.shelves.has(kind, number)
    }

    /// Ends the present segment and begins the next one.
    pub(crate) fn next_segment(&mut self) -> Result<()> {
        self.flush()?;
        let number = self.segments.back().map_or(0, |segment| segment.number) + 1;
        let log = LogWriter::create_in(&self.place.path(number), self.place.id)?;
        let closed = std::mem::replace(&mut self.log, log);
        if let Some(segment) = self.segments.back_mut() {
            segment.bytes = closed.written_bytes();
        }
        self.begin_segment(number)?;
        self.drop_old()
    }

    fn event(&mut self, event: &Event) -> Result<()> {
        self.last = self.last.max(event.time);
        if self.is_segment_full(event.time) {
            self.next_segment()?;
        }
        let segment = self.segments.back().map_or(0, |segment| segment.number);
        if let Some(before) = self.threads.stream_before(event, segment) {
            self.write(&Record::Event(before))?;
        }
        self.threads.follow(event);
        self.write(&Record::Event(*event))
    }

    fn is_segment_full(&mut self, time: Time) -> bool {
        let Some(segment) = self.segments.back_mut() else { return false };
        if segment.begin == Time::ZERO {
            segment.begin = time;
        }
        let is_long = self
            .limits
            .nanoseconds
            .is_some_and(|kept| time.since(segment.begin) >= (kept / SEGMENTS).max(SHORTEST));
        let events = self.log.written_bytes().saturating_sub(self.checkpoint_bytes);
        let is_large = self.segment_bytes().is_some_and(|most| events >= most.max(self.checkpoint_bytes));
        is_long || is_large || self.counts.of(IdKind::Thread) - self.earlier_threads >= THREADS_OF_SEGMENT
    }

    /// Bytes that the present segment takes at most beyond its checkpoint.
    fn growth(&self) -> u64 {
        let most = self.segment_bytes().unwrap_or(0);
        most.max(self.checkpoint_bytes) + most / CHUNKS
    }

    /// Bytes after which a segment ends.
    fn segment_bytes(&self) -> Option<u64> {
        self.limits.bytes.map(|bytes| bytes / SEGMENTS)
    }

    fn begin_segment(&mut self, number: u32) -> Result<()> {
        self.segments.push_back(WindowSegment { number, begin: self.last, bytes: 0 });
        self.shelves.begin_segment(number);
        self.earlier_threads = self.counts.of(IdKind::Thread);
        let chunk_bytes = self.segment_bytes().map_or(usize::MAX, |bytes| (bytes / CHUNKS) as usize);
        self.log.begin_segment(chunk_bytes);
        for event in self.threads.checkpoint(self.last) {
            self.write(&Record::Event(event))?;
        }
        self.checkpoint_bytes = self.log.end_checkpoint()?;
        Ok(())
    }

    fn drop_old(&mut self) -> Result<()> {
        let is_out_of_time = |writer: &Self| {
            let Some(kept) = writer.limits.nanoseconds else { return false };
            writer.segments.get(1).is_some_and(|next| writer.last.since(next.begin) >= kept)
        };
        let is_too_large = |writer: &Self| {
            let Some(most) = writer.limits.bytes else { return false };
            writer.bytes() + writer.growth() > most
        };
        while self.segments.len() > 1 && (is_out_of_time(self) || is_too_large(self)) {
            if let Some(segment) = self.segments.pop_front() {
                remove(&self.place.path(segment.number))?;
            }
        }
        Ok(())
    }

    /// Writes a record behind the definitions that it needs; not at all where one of them is forgotten.
    fn write(&mut self, record: &Record) -> Result<()> {
        if self.define_ids_of(record)? {
            self.log.push(record)?;
        }
        while let Some(process) = self.without_words.pop() {
            for word in self.shelves.words_of(process) {
                let word = Record::Word(word);
                if self.define_ids_of(&word)? {
                    self.log.push(&word)?;
                }
            }
        }
        Ok(())
    }

    /// Has everything defined that a record names; false where the record means nothing without what is forgotten.
    fn define_ids_of(&mut self, record: &Record) -> Result<bool> {
        let mut failure = None;
        let is_whole = record.clone().renumber(&mut |kind, number| match self.define(kind, number) {
            Ok(is_known) => is_known.then_some(number),
            Err(error) => {
                failure = Some(error);
                None
            }
        });
        failure.map_or(Ok(is_whole), Err)
    }

    fn define(&mut self, kind: IdKind, number: u32) -> Result<bool> {
        let record = match self.shelves.look_up(kind, number) {
            ShelfLookup::Written => return Ok(true),
            ShelfLookup::Unknown => return Ok(false),
            ShelfLookup::Unwritten(record) => record,
        };
        self.define_ids_of(&record)?;
        self.log.append(&Record::Number(number));
        self.log.push(&record)?;
        match record {
            Record::Process(_) => self.without_words.push(ProcessId(number)),
            Record::Call(call) => self.file(call.arguments[2])?,
            _ => {}
        }
        Ok(true)
    }

    /// Writes the name of a file, where it has one that the segment lacks.
    fn file(&mut self, number: u64) -> Result<()> {
        match self.shelves.unwritten_file(number) {
            Some(file) => self.write(&Record::File(file)),
            None => Ok(()),
        }
    }
}

fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(Error::io("remove", path))
}
