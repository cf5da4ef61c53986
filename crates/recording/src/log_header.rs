//! The header of a log file: its format version and the recording that it belongs to.
//!
//! ```text
//! version 3   "LONGPOLE" version:u32 0:u32
//! version 4   "LONGPOLE" version:u32 crc32:u32 id:[u8; 16]      (little endian)
//! ```
//! The checksum covers the id: an id that was damaged is not mistaken for that of another recording.

use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, Result};
use crate::id::RecordingId;
use crate::manifest::FORMAT_VERSION;

const MAGIC: &[u8; 8] = b"LONGPOLE";
/// The oldest format version whose logs are read.
const OLDEST_VERSION: u32 = 3;
/// The first format version whose logs carry an id.
const FIRST_WITH_ID: u32 = 4;
/// Bytes before the id.
const START: usize = 16;

/// Bytes before the first chunk of a log that this build writes.
pub const LOG_HEADER_BYTES: usize = START + 16;

/// What the header of a log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogHeader {
    /// The recording that the log belongs to; `None` for logs without an id.
    pub id: Option<RecordingId>,
    /// The id does not match its checksum.
    pub is_damaged: bool,
    /// Bytes of the header.
    pub bytes: usize,
}

impl LogHeader {
    /// The header of a new log.
    pub fn encode(id: Option<RecordingId>) -> [u8; LOG_HEADER_BYTES] {
        let id = RecordingId::to_bytes(id);
        let mut header = [0; LOG_HEADER_BYTES];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[12..START].copy_from_slice(&crc32fast::hash(&id).to_le_bytes());
        header[START..].copy_from_slice(&id);
        header
    }

    /// Reads the header at the start of a file.
    pub fn read(file: &mut impl Read, path: &Path) -> Result<LogHeader> {
        let start: [u8; START] = exactly(file, path)?;
        let not = |reason: &str| Error::NotARecording { path: path.to_owned(), reason: reason.into() };
        if &start[..8] != MAGIC {
            return Err(not("it does not begin as a log does"));
        }
        let version = word(&start, 8);
        if version > FORMAT_VERSION {
            return Err(Error::NewerVersion {
                path: path.to_owned(),
                found: version,
                supported: FORMAT_VERSION,
            });
        }
        if version < OLDEST_VERSION {
            return Err(not("it was written by an older longpole, in a layout that is no longer read"));
        }
        if version < FIRST_WITH_ID {
            return Ok(LogHeader { id: None, is_damaged: false, bytes: START });
        }
        let id: [u8; 16] = exactly(file, path)?;
        let is_damaged = crc32fast::hash(&id) != word(&start, 12);
        Ok(LogHeader { id: RecordingId::from_bytes(id), is_damaged, bytes: LOG_HEADER_BYTES })
    }
}

fn exactly<const N: usize>(file: &mut impl Read, path: &Path) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    match file.read_exact(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Error::NotARecording {
            path: path.to_owned(),
            reason: "the file is shorter than a log's header".into(),
        }),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// The number at this place of a header.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8]) -> Result<LogHeader> {
        LogHeader::read(&mut bytes, Path::new("log"))
    }

    #[test]
    fn the_id_comes_back_and_damage_to_it_is_seen() {
        let id = Some(RecordingId::random().unwrap());
        let whole = LogHeader::encode(id);
        assert_eq!(read(&whole).unwrap(), LogHeader { id, is_damaged: false, bytes: LOG_HEADER_BYTES });
        for position in 12..whole.len() {
            let mut damaged = whole;
            damaged[position] ^= 0x10;
            assert!(read(&damaged).unwrap().is_damaged, "byte {position}");
        }
    }

    #[test]
    fn logs_of_version_3_have_no_id() {
        let mut older = b"LONGPOLE".to_vec();
        older.extend(3_u32.to_le_bytes());
        older.extend([0; 4]);
        assert_eq!(read(&older).unwrap(), LogHeader { id: None, is_damaged: false, bytes: 16 });
    }

    #[test]
    fn other_versions_are_refused() {
        let mut header = LogHeader::encode(None);
        header[8] = 2;
        assert!(matches!(read(&header), Err(Error::NotARecording { .. })));
        header[8] = 200;
        assert!(matches!(read(&header), Err(Error::NewerVersion { found: 200, .. })));
        assert!(matches!(read(&LogHeader::encode(None)[..20]), Err(Error::NotARecording { .. })));
    }
}
