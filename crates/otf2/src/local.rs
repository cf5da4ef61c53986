//! What a location has of its own: what its numbers of definitions are in the trace, and offsets of its clock.

use rustc_hash::FxHashMap;

use crate::bytes::ContentBytes;
use crate::clock::{ClockOffset, LocationClock};
use crate::error::{TraceError, TraceResult};
use crate::files::{TraceFile, TraceFiles};
use crate::records::RecordReader;

/// Numbers of one kind that a location can have.
const MOST_NUMBERS: usize = 1 << 24;
/// Kinds of records that are read.
const MAPPING_TABLE: u8 = 5;
const CLOCK_OFFSET: u8 = 6;
/// Bytes of the file in memory.
const WINDOW: usize = 64 << 10;

/// What numbers of one kind are in the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberMap {
    dense: Vec<u64>,
    sparse: FxHashMap<u64, u64>,
}

impl NumberMap {
    /// The number in the trace; numbers that are in no table are the same there.
    #[inline]
    pub(crate) fn global(&self, local: u32) -> u32 {
        if let Some(&global) = self.dense.get(local as usize) {
            return global as u32;
        }
        if self.sparse.is_empty() {
            return local;
        }
        self.sparse.get(&local.into()).map_or(local, |&global| global as u32)
    }
}

/// The file of a location.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LocationNumbers {
    pub(crate) strings: NumberMap,
    pub(crate) regions: NumberMap,
    pub(crate) communicators: NumberMap,
    pub(crate) calling_contexts: NumberMap,
}

/// What a location has of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalDefinitions {
    pub(crate) numbers: LocationNumbers,
    /// Its clock.
    pub clock: LocationClock,
    /// Chunks, records and ends that could not be read.
    pub damaged: u64,
}

impl LocalDefinitions {
    /// Reads them; a location without a file has nothing of its own.
    ///
    /// # Errors
    /// [`TraceError::Read`].
    pub fn read(files: &mut impl TraceFiles, location: u64, chunk: u64) -> TraceResult<LocalDefinitions> {
        let file = TraceFile::LocalDefinitions(location);
        let failed = |error| TraceError::Read { file, error };
        let Some(mut reader) = RecordReader::open(files, file, (chunk, WINDOW)).map_err(failed)? else {
            return Ok(LocalDefinitions::default());
        };
        let (mut found, mut offsets) = (LocalDefinitions::default(), Vec::new());
        while let Some(record) = reader.next(files).map_err(failed)? {
            let mut content = reader.content(record);
            let taken = match record.kind {
                MAPPING_TABLE => found.numbers.take(&mut content),
                CLOCK_OFFSET => offset(&mut content).map(|offset| offsets.push(offset)),
                _ => Some(()),
            };
            found.damaged += u64::from(taken.is_none());
        }
        found.damaged += reader.damage.chunks + u64::from(reader.damage.is_cut);
        found.clock = LocationClock::new(offsets);
        Ok(found)
    }
}

impl LocationNumbers {
    /// Takes a table: its kind, how many numbers it has, whether each stands at its place, and the numbers.
    fn take(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        let kind = content.u8()?;
        let count = usize::try_from(content.u64()?).ok()?;
        let is_sparse = content.u8()? != 0;
        // Each number is a byte at least.
        if count > content.left() || count > MOST_NUMBERS {
            return None;
        }
        let mut map = NumberMap::default();
        for _ in 0..count {
            if is_sparse {
                let local = content.u64()?;
                map.sparse.insert(local, content.u64()?);
            } else {
                map.dense.push(content.u64()?);
            }
        }
        let table = match kind {
            0 => &mut self.strings,
            3 => &mut self.regions,
            6 => &mut self.communicators,
            10 => &mut self.calling_contexts,
            _ => return Some(()),
        };
        *table = map;
        Some(())
    }
}

fn offset(content: &mut ContentBytes<'_>) -> Option<ClockOffset> {
    let (time, offset) = (content.full_u64()?, content.u64()?.cast_signed());
    Some(ClockOffset { time, offset, deviation: f64::from_bits(content.full_u64()?) })
}
