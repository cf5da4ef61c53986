//! The anchor file: how the trace is stored, and who wrote it.

use crate::bytes::{ByteOrder, ContentBytes};
use crate::error::{TraceError, TraceResult};
use crate::files::{TraceFile, TraceFiles};

/// Bytes of an anchor file that are read.
const LARGEST: u64 = 1 << 20;
/// Chunks that the format allows.
const CHUNK_SIZES: std::ops::RangeInclusive<u64> = 256 << 10..=16 << 20;
/// What every chunk begins with.
pub(crate) const CHUNK_HEADER: u8 = 3;

/// What an anchor file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceAnchor {
    /// Version of the library that wrote the trace.
    pub version: (u8, u8, u8),
    /// Bytes of a chunk of events.
    pub event_chunk: u64,
    /// Bytes of a chunk of definitions.
    pub definition_chunk: u64,
    /// Locations, as its writer counted them.
    pub locations: u64,
    /// The machine's name.
    pub machine: String,
    /// Who wrote it.
    pub creator: String,
    /// Names and values of what else its writer says of it.
    pub properties: Vec<(String, String)>,
}

impl TraceAnchor {
    /// Whether these are the first bytes of an anchor file.
    #[must_use]
    pub fn begins(bytes: &[u8]) -> bool {
        bytes.len() >= 7
            && bytes[0] == CHUNK_HEADER
            && ByteOrder::named(bytes[1]).is_some()
            && &bytes[2..7] == b"OTF2\0"
    }

    /// Reads the anchor file.
    ///
    /// # Errors
    /// [`TraceError::Read`], [`TraceError::NotTrace`], [`TraceError::NotSupported`].
    pub fn read(files: &mut impl TraceFiles) -> TraceResult<TraceAnchor> {
        let file = TraceFile::Anchor;
        let length = files.length(file).map_err(|error| TraceError::Read { file, error })?;
        let mut bytes = vec![0; length.unwrap_or(0).min(LARGEST) as usize];
        let read = files.read_at(file, 0, &mut bytes).map_err(|error| TraceError::Read { file, error })?;
        TraceAnchor::decode(&bytes[..read])
    }

    fn decode(bytes: &[u8]) -> TraceResult<TraceAnchor> {
        if !TraceAnchor::begins(bytes) {
            return Err(TraceError::NotTrace {
                reason: "it does not begin as an anchor file (traces.otf2) does",
            });
        }
        let order = ByteOrder::named(bytes[1]).unwrap_or(ByteOrder::Little);
        let mut content = ContentBytes::new(&bytes[7..], order);
        let cut = TraceError::NotTrace { reason: "the anchor file ends early" };
        let (anchor, substrate, compression) = TraceAnchor::fields(&mut content).ok_or(cut)?;
        match (substrate, compression) {
            (1, 0 | 1) => {}
            (2, _) => return Err(TraceError::NotSupported { what: "SIONlib" }),
            (1, 2) => return Err(TraceError::NotSupported { what: "zlib" }),
            _ => return Err(TraceError::NotSupported { what: "a way that is not known" }),
        }
        if !CHUNK_SIZES.contains(&anchor.event_chunk) || !CHUNK_SIZES.contains(&anchor.definition_chunk) {
            return Err(TraceError::NotTrace {
                reason: "its chunks have a size that the format does not allow",
            });
        }
        Ok(anchor)
    }

    fn fields(content: &mut ContentBytes<'_>) -> Option<(TraceAnchor, u8, u8)> {
        let format = content.u8()?;
        let _trace_format = content.u8()?;
        let version = (content.u8()?, content.u8()?, content.u8()?);
        let (event_chunk, definition_chunk) = (content.full_u64()?, content.full_u64()?);
        let (substrate, compression) = (content.u8()?, content.u8()?);
        let locations = content.full_u64()?;
        let _definitions = content.full_u64()?;
        let (machine, creator) = (content.text()?, content.text()?);
        let _description = content.text()?;
        let mut properties = Vec::new();
        if format > 1 {
            // Each has two zero bytes at least, so that a false number ends with the file.
            for _ in 0..content.full_u32()? {
                properties.push((content.text()?, content.text()?));
            }
        }
        let anchor =
            TraceAnchor { version, event_chunk, definition_chunk, locations, machine, creator, properties };
        Some((anchor, substrate, compression))
    }
}
