//! A `perf.data` file: its header, the events it was recorded with, and its records in the file's order.
//!
//! ```text
//! header   104 bytes: magic, sizes, where attributes and data are, a bit per feature section
//! attrs    a perf_event_attr and the place of its ids, per event
//! data     records: size-prefixed; COMPRESSED ones hold a zstd stream of further records
//! features one (offset, size) per bit, after the data: host, command line, tracepoint formats, …
//! ```
//! Every length in the file is held against the file before memory is taken for it, and a record that
//! cannot be read ends the data and is counted: what came before stays.

use std::collections::VecDeque;
use std::io::{Read, Seek, SeekFrom};

use rustc_hash::FxHashMap;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::error::{ImportError, ImportResult};
use crate::perf::layout::Layout;

const MAGIC: &[u8; 8] = b"PERFILE2";
const MAGIC_BIG_ENDIAN: &[u8; 8] = b"2ELIFREP";
const HEADER_BYTES: usize = 104;
const RECORD_HEADER_BYTES: usize = 8;
/// Smallest `perf_event_attr` that ever was.
const SMALLEST_ATTRIBUTE: u64 = 64;

const FINISHED_ROUND: u32 = 68;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;
/// Record types from here on are `perf record`'s own.
const FIRST_USER_KIND: u32 = 64;
/// A COMPRESSED record (at most 64 KiB) that unpacks to more is damaged.
const LARGEST_UNPACKED_BYTES: usize = 64 * 1024 * 1024;

/// Feature sections by their bit.
pub mod feature {
    #![allow(missing_docs)]
    pub const TRACING_DATA: u32 = 1;
    pub const BUILD_ID: u32 = 2;
    pub const HOST_NAME: u32 = 3;
    pub const OS_RELEASE: u32 = 4;
    pub const ARCHITECTURE: u32 = 6;
    pub const CPU_COUNT: u32 = 7;
    pub const COMMAND_LINE: u32 = 11;
    pub const USED: [u32; 7] =
        [TRACING_DATA, BUILD_ID, HOST_NAME, OS_RELEASE, ARCHITECTURE, CPU_COUNT, COMMAND_LINE];
}

/// An event that was recorded.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// `perf_event_attr.type`.
    pub kind: u32,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// `perf_event_attr.sample_period` or `sample_freq`.
    pub rate: u64,
    /// Whether `rate` is a frequency.
    pub is_frequency: bool,
    /// What its records hold.
    pub layout: Layout,
}

/// One record, undecoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRecord {
    /// Its type.
    pub kind: u32,
    /// Its `misc` bits.
    pub misc: u16,
    /// What follows the header.
    pub body: Vec<u8>,
}

/// What the reader of the data meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PerfDataEntry {
    /// A record of the kernel.
    Record(RawRecord),
    /// `perf record` had read all rings once: nothing later is older than what was read the time before.
    Round,
}

/// An open `perf.data` file.
pub struct Container<R> {
    reader: R,
    attributes: Vec<Attribute>,
    by_id: FxHashMap<u64, usize>,
    features: FxHashMap<u32, Vec<u8>>,
    remaining: u64,
    unpacked: VecDeque<u8>,
    decoder: Option<Decoder<'static>>,
    /// Records of `perf record`'s own that this importer has no use for.
    pub ignored: u64,
    /// The data ended within a record, or in bytes that are no record.
    pub is_torn: bool,
}

impl<R> std::fmt::Debug for Container<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Container").field("attributes", &self.attributes).finish_non_exhaustive()
    }
}

/// Whether a file begins as `perf record` begins its files, whatever the byte order.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(MAGIC_BIG_ENDIAN)
}

impl<R: Read + Seek> Container<R> {
    /// Reads everything but the data.
    ///
    /// # Errors
    /// [`ImportError::NotPerfData`], [`ImportError::BigEndian`], [`ImportError::Read`].
    pub fn open(mut reader: R) -> ImportResult<Self> {
        let length = reader.seek(SeekFrom::End(0)).map_err(ImportError::Read)?;
        let header = section(&mut reader, length, 0, HEADER_BYTES as u64)
            .map_err(ImportError::Read)?
            .ok_or(ImportError::NotPerfData { reason: "it is shorter than a header" })?;
        match header.first_chunk() {
            Some(MAGIC) => {}
            Some(MAGIC_BIG_ENDIAN) => return Err(ImportError::BigEndian),
            _ => return Err(ImportError::NotPerfData { reason: "it does not begin with PERFILE2" }),
        }
        if word(&header, 8) == 16 {
            return Err(ImportError::Pipe);
        }
        let (data_offset, data_size) = (word(&header, 40), word(&header, 48));
        let (attributes, by_id) = attributes(&mut reader, length, &header)?;
        // A recorder that was killed leaves 0 here: the data then goes to the end of the file.
        let end = match data_size {
            0 => length,
            size => data_offset.saturating_add(size).min(length),
        };
        let mut is_torn = data_size == 0 || data_offset.saturating_add(data_size) > length;
        let mut features = FxHashMap::default();
        if !is_torn {
            is_torn = !read_features(&mut reader, length, &header, end, &mut features)?;
        }
        reader.seek(SeekFrom::Start(data_offset.min(length))).map_err(ImportError::Read)?;
        Ok(Container {
            reader,
            attributes,
            by_id,
            features,
            remaining: end.saturating_sub(data_offset),
            unpacked: VecDeque::new(),
            decoder: None,
            ignored: 0,
            is_torn,
        })
    }

    /// The events; never empty.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The bytes of a feature section.
    #[must_use]
    pub fn feature(&self, feature: u32) -> Option<&[u8]> {
        self.features.get(&feature).map(Vec::as_slice)
    }

    /// A feature section that holds one string.
    #[must_use]
    pub fn feature_text(&self, feature: u32) -> Option<String> {
        text(&mut self.feature(feature)?)
    }

    /// A feature section that holds a list of strings.
    #[must_use]
    pub fn feature_texts(&self, feature: u32) -> Option<Vec<String>> {
        let mut bytes = self.feature(feature)?;
        let (count, rest) = bytes.split_first_chunk()?;
        bytes = rest;
        let mut texts = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            texts.push(text(&mut bytes)?);
        }
        Some(texts)
    }

    /// Index of the event that made a record; records without id belong to the first.
    #[must_use]
    pub fn attribute_of(&self, record: &RawRecord) -> usize {
        let id = self.attributes[0].layout.identifier(record.kind, &record.body);
        id.and_then(|id| self.by_id.get(&id)).copied().unwrap_or(0)
    }

    /// The next record or round; `None` at the end of the data.
    ///
    /// # Errors
    /// [`ImportError::Read`] when the system cannot read the file.
    pub fn next_entry(&mut self) -> ImportResult<Option<PerfDataEntry>> {
        loop {
            if let Some(record) = self.next_unpacked() {
                if let Some(entry) = self.entry(record) {
                    return Ok(Some(entry));
                }
                continue;
            }
            let Some(record) = self.next_stored().map_err(ImportError::Read)? else {
                self.is_torn |= !self.unpacked.is_empty();
                return Ok(None);
            };
            let unpacked = match record.kind {
                COMPRESSED => self.unpack(&record.body),
                COMPRESSED2 => match packed2(&record.body) {
                    Some(packed) => self.unpack(packed),
                    None => None,
                },
                _ => match self.entry(record) {
                    Some(entry) => return Ok(Some(entry)),
                    None => Some(()),
                },
            };
            if unpacked.is_none() {
                // The stream is lost from here on, for each packed record needs the one before.
                self.is_torn = true;
                self.remaining = 0;
            }
        }
    }

    fn entry(&mut self, record: RawRecord) -> Option<PerfDataEntry> {
        match record.kind {
            FINISHED_ROUND => Some(PerfDataEntry::Round),
            FIRST_USER_KIND.. => {
                self.ignored += 1;
                None
            }
            _ => Some(PerfDataEntry::Record(record)),
        }
    }

    /// The next record as it lies in the file.
    fn next_stored(&mut self) -> std::io::Result<Option<RawRecord>> {
        if self.remaining < RECORD_HEADER_BYTES as u64 {
            self.is_torn |= self.remaining > 0;
            return Ok(None);
        }
        let mut header = [0; RECORD_HEADER_BYTES];
        self.reader.read_exact(&mut header)?;
        let (kind, misc, size) = record_header(&header);
        self.remaining -= RECORD_HEADER_BYTES as u64;
        let body_size = size.saturating_sub(RECORD_HEADER_BYTES);
        if size < RECORD_HEADER_BYTES || body_size as u64 > self.remaining {
            self.is_torn = true;
            self.remaining = 0;
            return Ok(None);
        }
        let mut body = vec![0; body_size];
        self.reader.read_exact(&mut body)?;
        self.remaining -= body_size as u64;
        Ok(Some(RawRecord { kind, misc, body }))
    }

    /// The next whole record of those that were unpacked.
    fn next_unpacked(&mut self) -> Option<RawRecord> {
        if self.unpacked.len() < RECORD_HEADER_BYTES {
            return None;
        }
        let header: Vec<u8> = self.unpacked.range(..RECORD_HEADER_BYTES).copied().collect();
        let (kind, misc, size) = record_header(header.first_chunk()?);
        if size < RECORD_HEADER_BYTES {
            self.is_torn = true;
            self.unpacked.clear();
            self.remaining = 0;
            return None;
        }
        if self.unpacked.len() < size {
            return None;
        }
        let body = self.unpacked.drain(..size).skip(RECORD_HEADER_BYTES).collect();
        Some(RawRecord { kind, misc, body })
    }

    /// Unpacks the body of a COMPRESSED record; `None` when it is damaged.
    fn unpack(&mut self, packed: &[u8]) -> Option<()> {
        if self.decoder.is_none() {
            self.decoder = Some(Decoder::new().ok()?);
        }
        let decoder = self.decoder.as_mut()?;
        let mut input = InBuffer::around(packed);
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let mut output = OutBuffer::around(&mut buffer[..]);
            decoder.run(&mut input, &mut output).ok()?;
            let written = output.pos();
            self.unpacked.extend(&buffer[..written]);
            if self.unpacked.len() > LARGEST_UNPACKED_BYTES {
                return None;
            }
            if written < buffer.len() && input.pos() == packed.len() {
                return Some(());
            }
            if written == 0 && input.pos() < packed.len() {
                // Nothing goes in and nothing comes out: no stream of zstd behaves so.
                return None;
            }
        }
    }
}

/// A COMPRESSED2 record states the length of its payload, for it is padded.
fn packed2(body: &[u8]) -> Option<&[u8]> {
    let (size, packed) = body.split_first_chunk()?;
    packed.get(..usize::try_from(u64::from_le_bytes(*size)).ok()?)
}

type Attributes = (Vec<Attribute>, FxHashMap<u64, usize>);

fn attributes<R: Read + Seek>(reader: &mut R, length: u64, header: &[u8]) -> ImportResult<Attributes> {
    let damaged = || ImportError::NotPerfData { reason: "its list of events is damaged" };
    let (entry_size, offset, size) = (word(header, 16), word(header, 24), word(header, 32));
    if !(SMALLEST_ATTRIBUTE + 16..=64 * 1024).contains(&entry_size) {
        return Err(damaged());
    }
    let table = section(reader, length, offset, size).map_err(ImportError::Read)?.ok_or_else(damaged)?;
    let (mut attributes, mut by_id) = (Vec::new(), FxHashMap::default());
    for entry in table.chunks_exact(usize::try_from(entry_size).map_err(|_| damaged())?) {
        let (attribute, ids) = entry.split_at(entry.len() - 16);
        let layout = Layout::from_attribute_bytes(attribute).ok_or_else(damaged)?;
        let flags = word(attribute, 40);
        let ids = section(reader, length, word(ids, 0), word(ids, 8))
            .map_err(ImportError::Read)?
            .ok_or_else(damaged)?;
        for id in ids.as_chunks::<8>().0 {
            by_id.insert(u64::from_le_bytes(*id), attributes.len());
        }
        attributes.push(Attribute {
            kind: u32::from_le_bytes(*attribute.first_chunk().ok_or_else(damaged)?),
            config: word(attribute, 8),
            rate: word(attribute, 16),
            is_frequency: flags & (1 << 10) != 0,
            layout,
        });
    }
    if attributes.is_empty() {
        return Err(ImportError::NotPerfData { reason: "it names no event" });
    }
    Ok((attributes, by_id))
}

/// Reads the feature sections that are used; the table of their places follows the data. Returns whether
/// all lie within the file.
fn read_features<R: Read + Seek>(
    reader: &mut R,
    length: u64,
    header: &[u8],
    table_offset: u64,
    into: &mut FxHashMap<u32, Vec<u8>>,
) -> ImportResult<bool> {
    let has = |bit: &u32| word(header, 72 + (*bit as usize / 64) * 8) >> (bit % 64) & 1 != 0;
    let bits: Vec<u32> = (0..256).filter(has).collect();
    let table = section(reader, length, table_offset, bits.len() as u64 * 16).map_err(ImportError::Read)?;
    let Some(table) = table else { return Ok(false) };
    let mut is_whole = true;
    for (bit, place) in bits.iter().zip(table.chunks_exact(16)) {
        let (offset, size) = (word(place, 0), word(place, 8));
        is_whole &= offset.checked_add(size).is_some_and(|end| end <= length);
        if feature::USED.contains(bit)
            && let Some(bytes) = section(reader, length, offset, size).map_err(ImportError::Read)?
        {
            into.insert(*bit, bytes);
        }
    }
    Ok(is_whole)
}

/// The bytes of a section; `None` when it does not lie within the file.
fn section<R: Read + Seek>(
    reader: &mut R,
    length: u64,
    offset: u64,
    size: u64,
) -> std::io::Result<Option<Vec<u8>>> {
    if offset.checked_add(size).is_none_or(|end| end > length) {
        return Ok(None);
    }
    let Ok(size) = usize::try_from(size) else { return Ok(None) };
    let mut bytes = vec![0; size];
    reader.seek(SeekFrom::Start(offset))?;
    reader.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

fn record_header(bytes: &[u8; RECORD_HEADER_BYTES]) -> (u32, u16, usize) {
    let [a, b, c, d, e, f, g, h] = *bytes;
    (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h]).into())
}

/// A length-prefixed string, zero-padded.
fn text(bytes: &mut &[u8]) -> Option<String> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*size) as usize)?;
    *bytes = rest;
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    Some(String::from_utf8_lossy(&text[..end]).into_owned())
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("eight bytes of a fixed structure"))
}
