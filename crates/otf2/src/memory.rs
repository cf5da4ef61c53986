//! A trace in memory, whose files lie in one piece of bytes: what tests and fuzzing read.
//!
//! ```text
//!   kind (1 byte: 0 anchor, 1 definitions, 2 definitions of a location, 3 its events)   location (1)   length (4, little-endian)   content
//! ```

use std::io;

use rustc_hash::FxHashMap;

use crate::files::{TraceFile, TraceFiles};

/// The files of a trace in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedTrace {
    files: FxHashMap<TraceFile, Vec<u8>>,
}

impl PackedTrace {
    /// The files that are packed in these bytes. A length beyond the end is one to the end.
    #[must_use]
    pub fn unpack(mut bytes: &[u8]) -> PackedTrace {
        let mut trace = PackedTrace::default();
        while let Some((&[kind, location, a, b, c, d], rest)) = bytes.split_first_chunk::<6>() {
            let file = match kind {
                0 => TraceFile::Anchor,
                1 => TraceFile::Definitions,
                2 => TraceFile::LocalDefinitions(location.into()),
                _ => TraceFile::Events(location.into()),
            };
            let length = (u32::from_le_bytes([a, b, c, d]) as usize).min(rest.len());
            trace.put(file, rest[..length].to_vec());
            bytes = &rest[length..];
        }
        trace
    }

    /// Puts a file into the trace.
    pub fn put(&mut self, file: TraceFile, content: Vec<u8>) {
        self.files.insert(file, content);
    }
}

impl TraceFiles for PackedTrace {
    fn length(&mut self, file: TraceFile) -> io::Result<Option<u64>> {
        Ok(self.files.get(&file).map(|content| content.len() as u64))
    }

    fn read_at(&mut self, file: TraceFile, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let content = self.files.get(&file).map_or(&[][..], Vec::as_slice);
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let read = into.len().min(content.len() - from);
        into[..read].copy_from_slice(&content[from..from + read]);
        Ok(read)
    }
}
