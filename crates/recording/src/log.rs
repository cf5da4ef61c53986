//! One log file: a header, then chunks that are each compressed and checksummed.
//!
//! ```text
//! file   header (see `log_header`)
//! chunk  "LPCK" stored:u32 raw:u32 crc32:u32 counts:[u32; 9] payload[stored]   (little endian)
//! ```
//! The checksum covers the counts and the payload. `counts` are the definitions of each kind before the
//! chunk, so that a lost chunk does not shift the ids after it. In a segment of a window, whose definitions have their
//! numbers beside them, they say which part of the segment the chunk is of (see [`SegmentPart`]).

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use longpole_event::{Encoder, IdKind, Record};

use crate::error::{Error, Result};
use crate::id::RecordingId;
use crate::log_header::{LogHeader, word};
use crate::regular::open_regular;

const CHUNK_MAGIC: &[u8; 4] = b"LPCK";
const HEADER_BYTES: usize = 52;
/// Encoded bytes after which a chunk is closed.
const CHUNK_BYTES: usize = 256 * 1024;
/// No writer makes a larger chunk, even when its last record holds the longest of texts; a header that claims one is
/// damaged.
const LARGEST_CHUNK_BYTES: u32 = 4 << 20;
/// A log unpacks to at most so many bytes for each of its own, and so many more. Recorded events take 2 to 20.
const UNPACKED_PER_BYTE: u64 = 256;
const UNPACKED_MORE: u64 = 16 << 20;
/// A log has at most so many definitions for each of its bytes, and so many more. A recorded one takes several bytes.
const DEFINITIONS_PER_BYTE: u64 = 4;
const DEFINITIONS_MORE: u64 = 1 << 20;
const COMPRESSION_LEVEL: i32 = 1;

/// Numbers of definitions, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefinitionCounts {
    /// Texts.
    pub texts: u32,
    /// Modules.
    pub modules: u32,
    /// Frames.
    pub frames: u32,
    /// Stacks.
    pub stacks: u32,
    /// System calls.
    pub calls: u32,
    /// Processes.
    pub processes: u32,
    /// Threads.
    pub threads: u32,
    /// Series.
    pub series: u32,
    /// Synchronisation primitives.
    pub primitives: u32,
}

impl DefinitionCounts {
    pub(crate) fn count(&mut self, record: &Record) {
        let Some(kind) = IdKind::defined_by(record) else { return };
        *match kind {
            IdKind::Text => &mut self.texts,
            IdKind::Module => &mut self.modules,
            IdKind::Frame => &mut self.frames,
            IdKind::Stack => &mut self.stacks,
            IdKind::Call => &mut self.calls,
            IdKind::Process => &mut self.processes,
            IdKind::Thread => &mut self.threads,
            IdKind::Series => &mut self.series,
            IdKind::Primitive => &mut self.primitives,
        } += 1;
    }

    /// Definitions of all kinds.
    #[must_use]
    pub fn sum(self) -> u64 {
        self.to_array().into_iter().map(u64::from).sum()
    }

    /// How many definitions of a kind there are.
    pub(crate) fn of(self, kind: longpole_event::IdKind) -> u32 {
        self.to_array()[kind as usize]
    }

    fn to_array(self) -> [u32; 9] {
        let DefinitionCounts {
            texts,
            modules,
            frames,
            stacks,
            calls,
            processes,
            threads,
            series,
            primitives,
        } = self;
        [texts, modules, frames, stacks, calls, processes, threads, series, primitives]
    }

    fn from_array(counts: [u32; 9]) -> Self {
        let [texts, modules, frames, stacks, calls, processes, threads, series, primitives] = counts;
        DefinitionCounts { texts, modules, frames, stacks, calls, processes, threads, series, primitives }
    }
}

/// What was wrong with a log; everything else in it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defects {
    /// Bytes after the last whole chunk: the writer was stopped while it wrote.
    pub torn_bytes: u64,
    /// Chunks whose checksum or compression is wrong, stretches between chunks that are no chunk, and a header whose id
    /// is damaged.
    pub damaged_chunks: u64,
    /// Chunks with a right checksum that hold a record this build cannot decode.
    pub undecodable_chunks: u64,
    /// Records of a window that name what was lost with another chunk; they are left out.
    pub orphans: u64,
}

/// Which part of a segment of a window a chunk is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentPart {
    /// How things are at the beginning of the segment.
    Checkpoint,
    /// The last chunk of that.
    LastOfCheckpoint,
    /// What happened then.
    Events,
}

impl SegmentPart {
    fn counts(self) -> DefinitionCounts {
        let is_checkpoint = u32::from(self != SegmentPart::Events);
        let is_last = u32::from(self == SegmentPart::LastOfCheckpoint);
        DefinitionCounts { texts: is_checkpoint, modules: is_last, ..DefinitionCounts::default() }
    }

    /// What the counts of a segment's chunk say.
    pub(crate) fn of(counts: DefinitionCounts) -> SegmentPart {
        match (counts.texts, counts.modules) {
            (0, _) => SegmentPart::Events,
            (_, 0) => SegmentPart::Checkpoint,
            _ => SegmentPart::LastOfCheckpoint,
        }
    }
}

impl Defects {
    /// Whether the log is whole.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Defects::default()
    }
}

/// Appends records to a log file.
#[derive(Debug)]
pub struct LogWriter {
    file: File,
    path: PathBuf,
    encoder: Encoder,
    before_chunk: DefinitionCounts,
    counts: DefinitionCounts,
    compressed: Vec<u8>,
    written_bytes: u64,
    chunk_bytes: usize,
    /// Of a segment of a window: what is being written.
    part: Option<SegmentPart>,
}

impl LogWriter {
    /// Creates a log that belongs to no recording, or empties it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path) -> Result<Self> {
        LogWriter::create_in(path, None)
    }

    /// Creates a log of the recording with this id, or empties it.
    pub(crate) fn create_in(path: &Path, id: Option<RecordingId>) -> Result<Self> {
        let mut file = File::create(path).map_err(Error::io("create", path))?;
        let header = LogHeader::encode(id);
        file.write_all(&header).map_err(Error::io("write", path))?;
        Ok(LogWriter {
            file,
            path: path.to_owned(),
            encoder: Encoder::default(),
            before_chunk: DefinitionCounts::default(),
            counts: DefinitionCounts::default(),
            compressed: Vec::new(),
            written_bytes: header.len() as u64,
            chunk_bytes: CHUNK_BYTES,
            part: None,
        })
    }

    /// Makes this log a segment whose chunks hold at most so many encoded bytes.
    pub(crate) fn begin_segment(&mut self, chunk_bytes: usize) {
        self.chunk_bytes = chunk_bytes.min(CHUNK_BYTES);
        self.part = Some(SegmentPart::Checkpoint);
    }

    /// Ends the checkpoint of a segment; gives the bytes it took.
    pub(crate) fn end_checkpoint(&mut self) -> Result<u64> {
        // A chunk without any record would not be written, and without its last chunk a checkpoint is not whole.
        self.append(&Record::Number(0));
        self.part = Some(SegmentPart::LastOfCheckpoint);
        self.flush()?;
        self.part = Some(SegmentPart::Events);
        Ok(self.written_bytes)
    }

    /// Appends a record to the chunk of the one that comes next.
    pub(crate) fn append(&mut self, record: &Record) {
        self.encoder.push(record);
        self.counts.count(record);
    }

    /// Appends a record; it reaches the file when its chunk is full or at [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn push(&mut self, record: &Record) -> Result<()> {
        self.append(record);
        if self.encoder.len() >= self.chunk_bytes { self.flush() } else { Ok(()) }
    }

    /// Definitions pushed so far: the id of the next definition of each kind.
    #[must_use]
    pub fn counts(&self) -> DefinitionCounts {
        self.counts
    }

    /// Bytes in the file.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Writes what was pushed as a chunk of its own. When the file cannot take it, the chunk is dropped
    /// and the file ends where it ended before.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn flush(&mut self) -> Result<()> {
        if self.encoder.is_empty() {
            return Ok(());
        }
        let raw = self.encoder.take();
        let before = std::mem::replace(&mut self.before_chunk, self.counts);
        let counts = self.part.map_or(before, SegmentPart::counts);
        self.write_chunk(&raw, counts)
    }

    /// Writes bytes that are no records as a chunk of its own, of at most 4 MiB: a log has either these or records.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn push_block(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_chunk(bytes, DefinitionCounts::default())
    }

    fn write_chunk(&mut self, raw: &[u8], counts: DefinitionCounts) -> Result<()> {
        let failed = |path: &Path| Error::io("write", path);
        let payload = zstd::bulk::compress(raw, COMPRESSION_LEVEL).map_err(failed(&self.path))?;
        self.compressed.clear();
        self.compressed.extend_from_slice(CHUNK_MAGIC);
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("a chunk is far below 4 GiB");
        self.compressed.extend_from_slice(&length(&payload).to_le_bytes());
        self.compressed.extend_from_slice(&length(raw).to_le_bytes());
        self.compressed.extend_from_slice(&[0; 4]);
        for count in counts.to_array() {
            self.compressed.extend_from_slice(&count.to_le_bytes());
        }
        self.compressed.extend_from_slice(&payload);
        let checksum = crc32fast::hash(&self.compressed[16..]);
        self.compressed[12..16].copy_from_slice(&checksum.to_le_bytes());
        match self.file.write_all(&self.compressed) {
            Ok(()) => {
                self.written_bytes += self.compressed.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Leave no torn chunk behind: what is on disk stays whole.
                let _ = self.file.set_len(self.written_bytes);
                let _ = self.file.seek(SeekFrom::Start(self.written_bytes));
                Err(failed(&self.path)(error))
            }
        }
    }
}

/// How many definitions a log of its size can hold.
#[derive(Clone, Debug)]
pub struct DefinitionLimit {
    path: PathBuf,
    length: u64,
}

impl DefinitionLimit {
    /// Refuses more: memory is taken for each of them.
    ///
    /// # Errors
    /// [`Error::NotARecording`].
    pub fn allow(&self, definitions: u64) -> Result<()> {
        self.allow_in(definitions, 0)
    }

    fn allow_in(&self, definitions: u64, others: u64) -> Result<()> {
        let most = self.length.saturating_add(others).saturating_mul(DEFINITIONS_PER_BYTE);
        if definitions <= most.saturating_add(DEFINITIONS_MORE) {
            return Ok(());
        }
        let length = self.length;
        let reason = format!("{definitions} definitions are more than its {length} bytes can hold");
        Err(Error::NotARecording { path: self.path.clone(), reason })
    }
}

/// One chunk of a log, decompressed.
#[derive(Debug)]
pub struct Chunk<'a> {
    /// Definitions in the log before this chunk.
    pub before: DefinitionCounts,
    /// The records, for a [`longpole_event::Decoder`].
    pub bytes: &'a [u8],
}

/// Reads a log file chunk by chunk.
#[derive(Debug)]
pub struct LogReader {
    file: BufReader<File>,
    path: PathBuf,
    header: LogHeader,
    length: u64,
    offset: u64,
    /// Where the chunk begins that was read last.
    here: u64,
    stored: Vec<u8>,
    raw: Vec<u8>,
    /// Bytes that chunks were unpacked to.
    unpacked: u64,
    defects: Defects,
}

impl LogReader {
    /// Opens a log file.
    ///
    /// # Errors
    /// [`Error::NotARecording`], [`Error::NewerVersion`], [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        let file = open_regular(path).map_err(Error::unreadable(path))?;
        let metadata = file.metadata().map_err(Error::io("open", path))?;
        let mut file = BufReader::with_capacity(CHUNK_BYTES, file);
        let header = LogHeader::read(&mut file, path)?;
        let defects = Defects { damaged_chunks: u64::from(header.is_damaged), ..Defects::default() };
        Ok(LogReader {
            file,
            path: path.to_owned(),
            header,
            length: metadata.len(),
            offset: header.bytes as u64,
            here: 0,
            stored: Vec::new(),
            raw: Vec::new(),
            unpacked: 0,
            defects,
        })
    }

    /// Refuses more definitions than a log of this size can hold: memory is taken for each of them.
    ///
    /// # Errors
    /// [`Error::NotARecording`].
    pub fn allow_definitions(&self, definitions: u64) -> Result<()> {
        self.allow_definitions_in(definitions, 0)
    }

    /// The same for this log and others before it, of so many bytes.
    pub(crate) fn allow_definitions_in(&self, definitions: u64, others: u64) -> Result<()> {
        self.definition_limit().allow_in(definitions, others)
    }

    fn allow_unpacked(&self) -> Result<()> {
        let most = self.length.saturating_mul(UNPACKED_PER_BYTE).saturating_add(UNPACKED_MORE);
        if self.unpacked <= most {
            return Ok(());
        }
        let length = self.length;
        Err(self.refused(format!("its {length} bytes unpack to more than {most}, which no recorder writes")))
    }

    fn refused(&self, reason: String) -> Error {
        Error::NotARecording { path: self.path.clone(), reason }
    }

    /// Whether the log belongs to the recording with this id. Of a log whose id was damaged nothing is known against it:
    /// the damage is counted.
    pub(crate) fn is_of(&self, id: Option<RecordingId>) -> bool {
        self.header.is_damaged || self.header.id == id
    }

    /// How many definitions it may have, for who reads it elsewhere.
    #[must_use]
    pub fn definition_limit(&self) -> DefinitionLimit {
        DefinitionLimit { path: self.path.clone(), length: self.length }
    }

    /// Bytes of the file.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// What was found wrong so far.
    #[must_use]
    pub fn defects(&self) -> Defects {
        self.defects
    }

    /// Notes that a chunk with a right checksum could not be decoded.
    pub fn count_undecodable(&mut self) {
        self.defects.undecodable_chunks += 1;
    }

    /// The next whole chunk; `None` at the end. Damaged stretches are counted and skipped.
    ///
    /// # Errors
    /// [`Error::Io`] when the system cannot read the file, [`Error::NotARecording`] where it claims more than a file of
    /// its size can hold.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk<'_>>> {
        let Some(before) = self.find_chunk()? else { return Ok(None) };
        self.unpacked += self.raw.len() as u64;
        self.allow_unpacked()?;
        self.allow_definitions(before.sum())?;
        Ok(Some(Chunk { before, bytes: &self.raw }))
    }

    /// The next whole block of a log of blocks, with where it is in the file; `None` at the end. Blocks may be as regular as
    /// a loop, so a file may unpack to any number of them; each is small.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn next_block(&mut self) -> Result<Option<(u64, &[u8])>> {
        let Some(_) = self.find_chunk()? else { return Ok(None) };
        Ok(Some((self.here, &self.raw)))
    }

    /// The block that [`next_block`](Self::next_block) found there; `None` where the file has changed.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn block_at(&mut self, offset: u64) -> Result<Option<&[u8]>> {
        self.file.seek(SeekFrom::Start(offset)).map_err(Error::io("read", &self.path))?;
        self.offset = offset;
        match self.chunk_here().map_err(Error::io("read", &self.path))? {
            ChunkState::Whole(_) => Ok(Some(&self.raw)),
            ChunkState::Torn | ChunkState::Damaged => Ok(None),
        }
    }

    /// Reads the next whole chunk; gives the definitions before it.
    fn find_chunk(&mut self) -> Result<Option<DefinitionCounts>> {
        let mut in_damage = false;
        loop {
            if self.length.saturating_sub(self.offset) < HEADER_BYTES as u64 {
                self.defects.torn_bytes += self.length.saturating_sub(self.offset);
                self.offset = self.length;
                return Ok(None);
            }
            self.here = self.offset;
            match self.chunk_here().map_err(Error::io("read", &self.path))? {
                ChunkState::Whole(before) => return Ok(Some(before)),
                ChunkState::Torn => {
                    self.defects.torn_bytes += self.length - self.offset;
                    self.offset = self.length;
                    return Ok(None);
                }
                ChunkState::Damaged => {
                    if !in_damage {
                        self.defects.damaged_chunks += 1;
                        in_damage = true;
                    }
                    self.skip_to_next_magic().map_err(Error::io("read", &self.path))?;
                }
            }
        }
    }

    fn chunk_here(&mut self) -> io::Result<ChunkState> {
        let mut header = [0; HEADER_BYTES];
        self.file.read_exact(&mut header)?;
        let (stored, raw, checksum) = (word(&header, 4), word(&header, 8), word(&header, 12));
        if &header[..4] != CHUNK_MAGIC || stored > LARGEST_CHUNK_BYTES || raw > LARGEST_CHUNK_BYTES {
            return Ok(ChunkState::Damaged);
        }
        let end = self.offset + HEADER_BYTES as u64 + u64::from(stored);
        if end > self.length {
            // A torn tail, unless another chunk follows: then the length in this header is damaged.
            let here = self.offset;
            self.skip_to_next_magic()?;
            let follows = self.offset < self.length;
            self.offset = here;
            self.file.seek(SeekFrom::Start(here))?;
            return Ok(if follows { ChunkState::Damaged } else { ChunkState::Torn });
        }
        self.stored.resize(stored as usize, 0);
        self.file.read_exact(&mut self.stored)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&header[16..]);
        hasher.update(&self.stored);
        if hasher.finalize() != checksum {
            return Ok(ChunkState::Damaged);
        }
        self.raw.resize(raw as usize, 0);
        match zstd::bulk::decompress_to_buffer(&self.stored, &mut self.raw[..]) {
            Ok(length) if length == raw as usize => {}
            _ => return Ok(ChunkState::Damaged),
        }
        self.offset = end;
        let counts = std::array::from_fn(|index| word(&header, 16 + 4 * index));
        Ok(ChunkState::Whole(DefinitionCounts::from_array(counts)))
    }

    /// Moves to the next chunk magic after the current offset, or to the end of the file.
    fn skip_to_next_magic(&mut self) -> io::Result<()> {
        let mut position = self.offset + 1;
        let mut block = vec![0; 64 * 1024];
        while position < self.length {
            self.file.seek(SeekFrom::Start(position))?;
            let mut filled = 0;
            while filled < block.len() {
                match self.file.read(&mut block[filled..])? {
                    0 => break,
                    count => filled += count,
                }
            }
            let found = block[..filled].windows(CHUNK_MAGIC.len()).position(|window| window == CHUNK_MAGIC);
            if let Some(index) = found {
                self.offset = position + index as u64;
                self.file.seek(SeekFrom::Start(self.offset))?;
                return Ok(());
            }
            if filled < CHUNK_MAGIC.len() {
                break;
            }
            // The magic may lie across two blocks.
            position += (filled - (CHUNK_MAGIC.len() - 1)) as u64;
        }
        self.offset = self.length;
        Ok(())
    }
}

enum ChunkState {
    Whole(DefinitionCounts),
    Torn,
    Damaged,
}

#[cfg(test)]
mod tests {
    use longpole_event::{Decoder, Event, EventKind, ThreadId, Time};

    use super::*;
    use crate::log_header::LOG_HEADER_BYTES as HEADER;

    fn event(number: u64) -> Record {
        let time = Time::from_nanoseconds(number);
        Record::Event(Event { time, cpu: 0, thread: ThreadId(number as u32), kind: EventKind::In })
    }

    /// A log of `chunks` chunks; chunk `n` holds the event `n` and one text.
    fn log(chunks: u64) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut writer = LogWriter::create(&path).unwrap();
        for number in 0..chunks {
            writer.push(&event(number)).unwrap();
            writer.push(&Record::Text(format!("text {number}"))).unwrap();
            writer.flush().unwrap();
        }
        std::fs::read(path).unwrap()
    }

    /// Event numbers and text counts of the chunks that can be read, and the defects.
    fn read(bytes: &[u8]) -> Result<(Vec<(u64, u32)>, Defects)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, bytes).unwrap();
        let mut reader = LogReader::open(&path)?;
        let mut found = Vec::new();
        while let Some(chunk) = reader.next_chunk()? {
            for record in Decoder::new(chunk.bytes).flatten() {
                if let Record::Event(event) = record {
                    found.push((event.time.nanoseconds(), chunk.before.texts));
                }
            }
        }
        Ok((found, reader.defects()))
    }

    #[test]
    fn a_whole_log_has_no_defects() {
        let (found, defects) = read(&log(3)).unwrap();
        assert_eq!(found, [(0, 0), (1, 1), (2, 2)]);
        assert!(defects.is_none());
    }

    #[test]
    fn a_log_cut_anywhere_keeps_every_whole_chunk() {
        let bytes = log(3);
        for end in HEADER..bytes.len() {
            let (found, defects) = read(&bytes[..end]).unwrap();
            assert!(found.iter().map(|&(event, _)| event).eq(0..found.len() as u64));
            assert_eq!(defects.damaged_chunks, 0);
            assert_eq!(defects.torn_bytes == 0, (end - HEADER).is_multiple_of((bytes.len() - HEADER) / 3));
        }
    }

    #[test]
    fn a_changed_byte_costs_one_chunk_and_shifts_no_id() {
        let bytes = log(3);
        for position in HEADER..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x55;
            let (found, defects) = read(&damaged).unwrap();
            assert_eq!(found.len(), 2, "byte {position}");
            assert!(!defects.is_none(), "byte {position}");
            assert!(found.iter().all(|&(event, texts)| u64::from(texts) == event));
        }
    }

    #[test]
    fn other_files_are_named_as_such() {
        assert!(matches!(read(b"short"), Err(Error::NotARecording { .. })));
        assert!(matches!(read(b"PERFILE2 and more bytes"), Err(Error::NotARecording { .. })));
        let mut newer = log(1);
        newer[8] = 200;
        assert!(matches!(read(&newer), Err(Error::NewerVersion { found: 200, .. })));
    }
}
