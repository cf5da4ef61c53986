//! One log file: a header, then chunks that are each compressed and checksummed.
//!
//! ```text
//! file   "LONGPOLE" version:u32 0:u32
//! chunk  "LPCK" stored:u32 raw:u32 crc32:u32 counts:[u32; 9] payload[stored]   (little endian)
//! ```
//! The checksum covers the counts and the payload. `counts` are the definitions of each kind before the
//! chunk, so that a lost chunk does not shift the ids after it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use longpole_event::{Encoder, Record};

use crate::error::{Error, Result};
use crate::manifest::FORMAT_VERSION;

const FILE_MAGIC: &[u8; 8] = b"LONGPOLE";
const CHUNK_MAGIC: &[u8; 4] = b"LPCK";
const HEADER_BYTES: usize = 52;
/// Encoded bytes after which a chunk is closed.
const CHUNK_BYTES: usize = 256 * 1024;
/// No writer makes a larger chunk; a header that claims one is damaged.
const LARGEST_CHUNK_BYTES: u32 = 64 * 1024 * 1024;
const COMPRESSION_LEVEL: i32 = 1;

/// Numbers of definitions, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
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

impl Counts {
    fn count(&mut self, record: &Record) {
        match record {
            Record::Text(_) => self.texts += 1,
            Record::Module(_) => self.modules += 1,
            Record::Frame(_) => self.frames += 1,
            Record::Stack(_) => self.stacks += 1,
            Record::Call(_) => self.calls += 1,
            Record::Process(_) => self.processes += 1,
            Record::Thread(_) => self.threads += 1,
            Record::Series(_) => self.series += 1,
            Record::Primitive(_) => self.primitives += 1,
            Record::Symbol(_)
            | Record::Word(_)
            | Record::Variable(_)
            | Record::File(_)
            | Record::Callee(_)
            | Record::Event(_) => {}
        }
    }

    fn to_array(self) -> [u32; 9] {
        let Counts { texts, modules, frames, stacks, calls, processes, threads, series, primitives } = self;
        [texts, modules, frames, stacks, calls, processes, threads, series, primitives]
    }

    fn from_array(counts: [u32; 9]) -> Self {
        let [texts, modules, frames, stacks, calls, processes, threads, series, primitives] = counts;
        Counts { texts, modules, frames, stacks, calls, processes, threads, series, primitives }
    }
}

/// What was wrong with a log; everything else in it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defects {
    /// Bytes after the last whole chunk: the writer was stopped while it wrote.
    pub torn_bytes: u64,
    /// Chunks whose checksum or compression is wrong, or stretches between chunks that are no chunk.
    pub damaged_chunks: u64,
    /// Chunks with a right checksum that hold a record this build cannot decode.
    pub undecodable_chunks: u64,
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
    before_chunk: Counts,
    counts: Counts,
    compressed: Vec<u8>,
    written_bytes: u64,
}

impl LogWriter {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path) -> Result<Self> {
        let mut file = File::create(path).map_err(Error::io("create", path))?;
        let mut header = Vec::with_capacity(16);
        header.extend_from_slice(FILE_MAGIC);
        header.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        header.extend_from_slice(&0_u32.to_le_bytes());
        file.write_all(&header).map_err(Error::io("write", path))?;
        Ok(LogWriter {
            file,
            path: path.to_owned(),
            encoder: Encoder::default(),
            before_chunk: Counts::default(),
            counts: Counts::default(),
            compressed: Vec::new(),
            written_bytes: header.len() as u64,
        })
    }

    /// Appends a record; it reaches the file when its chunk is full or at [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn push(&mut self, record: &Record) -> Result<()> {
        self.encoder.push(record);
        self.counts.count(record);
        if self.encoder.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    /// Definitions pushed so far: the id of the next definition of each kind.
    #[must_use]
    pub fn counts(&self) -> Counts {
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
        let counts = std::mem::replace(&mut self.before_chunk, self.counts);
        let failed = |path: &Path| Error::io("write", path);
        let payload = zstd::bulk::compress(&raw, COMPRESSION_LEVEL).map_err(failed(&self.path))?;
        self.compressed.clear();
        self.compressed.extend_from_slice(CHUNK_MAGIC);
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("a chunk is far below 4 GiB");
        self.compressed.extend_from_slice(&length(&payload).to_le_bytes());
        self.compressed.extend_from_slice(&length(&raw).to_le_bytes());
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

/// One chunk of a log, decompressed.
#[derive(Debug)]
pub struct Chunk<'a> {
    /// Definitions in the log before this chunk.
    pub before: Counts,
    /// The records, for a [`longpole_event::Decoder`].
    pub bytes: &'a [u8],
}

/// Reads a log file chunk by chunk.
#[derive(Debug)]
pub struct LogReader {
    file: BufReader<File>,
    path: PathBuf,
    length: u64,
    offset: u64,
    stored: Vec<u8>,
    raw: Vec<u8>,
    defects: Defects,
}

impl LogReader {
    /// Opens a log file.
    ///
    /// # Errors
    /// [`Error::NotARecording`], [`Error::NewerVersion`], [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        let length = file.metadata().map_err(Error::io("open", path))?.len();
        let mut file = BufReader::with_capacity(CHUNK_BYTES, file);
        let mut header = [0; 16];
        let not = |reason: &str| Error::NotARecording { path: path.to_owned(), reason: reason.into() };
        match file.read_exact(&mut header) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(not("the file is shorter than a log's header"));
            }
            Err(error) => return Err(Error::io("read", path)(error)),
        }
        if &header[..8] != FILE_MAGIC {
            return Err(not("it does not begin as a log does"));
        }
        let version = word(&header, 8);
        if version > FORMAT_VERSION {
            return Err(Error::NewerVersion {
                path: path.to_owned(),
                found: version,
                supported: FORMAT_VERSION,
            });
        }
        if version < FORMAT_VERSION {
            return Err(not("it was written by an older longpole, in a layout that is no longer read"));
        }
        Ok(LogReader {
            file,
            path: path.to_owned(),
            length,
            offset: header.len() as u64,
            stored: Vec::new(),
            raw: Vec::new(),
            defects: Defects::default(),
        })
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
    /// [`Error::Io`] when the system cannot read the file.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk<'_>>> {
        let mut in_damage = false;
        let before = loop {
            if self.length.saturating_sub(self.offset) < HEADER_BYTES as u64 {
                self.defects.torn_bytes += self.length.saturating_sub(self.offset);
                self.offset = self.length;
                return Ok(None);
            }
            match self.chunk_here().map_err(Error::io("read", &self.path))? {
                Found::Whole(before) => break before,
                Found::Torn => {
                    self.defects.torn_bytes += self.length - self.offset;
                    self.offset = self.length;
                    return Ok(None);
                }
                Found::Damaged => {
                    if !in_damage {
                        self.defects.damaged_chunks += 1;
                        in_damage = true;
                    }
                    self.skip_to_next_magic().map_err(Error::io("read", &self.path))?;
                }
            }
        };
        Ok(Some(Chunk { before, bytes: &self.raw }))
    }

    fn chunk_here(&mut self) -> io::Result<Found> {
        let mut header = [0; HEADER_BYTES];
        self.file.read_exact(&mut header)?;
        let (stored, raw, checksum) = (word(&header, 4), word(&header, 8), word(&header, 12));
        if &header[..4] != CHUNK_MAGIC || stored > LARGEST_CHUNK_BYTES || raw > LARGEST_CHUNK_BYTES {
            return Ok(Found::Damaged);
        }
        let end = self.offset + HEADER_BYTES as u64 + u64::from(stored);
        if end > self.length {
            // A torn tail, unless another chunk follows: then the length in this header is damaged.
            let here = self.offset;
            self.skip_to_next_magic()?;
            let follows = self.offset < self.length;
            self.offset = here;
            self.file.seek(SeekFrom::Start(here))?;
            return Ok(if follows { Found::Damaged } else { Found::Torn });
        }
        self.stored.resize(stored as usize, 0);
        self.file.read_exact(&mut self.stored)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&header[16..]);
        hasher.update(&self.stored);
        if hasher.finalize() != checksum {
            return Ok(Found::Damaged);
        }
        self.raw.resize(raw as usize, 0);
        match zstd::bulk::decompress_to_buffer(&self.stored, &mut self.raw[..]) {
            Ok(length) if length == raw as usize => {}
            _ => return Ok(Found::Damaged),
        }
        self.offset = end;
        let counts = std::array::from_fn(|index| word(&header, 16 + 4 * index));
        Ok(Found::Whole(Counts::from_array(counts)))
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

enum Found {
    Whole(Counts),
    Torn,
    Damaged,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use longpole_event::{Decoder, Event, EventKind, ThreadId, Time};

    use super::*;

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
        for end in 16..bytes.len() {
            let (found, defects) = read(&bytes[..end]).unwrap();
            assert!(found.iter().map(|&(event, _)| event).eq(0..found.len() as u64));
            assert_eq!(defects.damaged_chunks, 0);
            assert_eq!(defects.torn_bytes == 0, end % ((bytes.len() - 16) / 3) == 16 || end == 16);
        }
    }

    #[test]
    fn a_changed_byte_costs_one_chunk_and_shifts_no_id() {
        let bytes = log(3);
        for position in 16..bytes.len() {
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
