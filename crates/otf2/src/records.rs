//! Records of a file of definitions or events, one after the other, chunk by chunk.
//!
//! A chunk that is damaged is left at the place of the damage: the next one begins at a known offset, and says its byte order
//! itself. So damage costs the rest of a chunk, and is counted.

use std::io;

use crate::anchor::CHUNK_HEADER;
use crate::bytes::{ByteOrder, ContentBytes};
use crate::files::{TraceFile, TraceFiles};

/// Kind, byte order, and the numbers of the first and last event.
const HEADER_BYTES: usize = 18;
/// What ends a chunk; the rest of it is filled with this.
const END_OF_CHUNK: u8 = 0;
/// What ends the file.
const ENDS_OF_FILE: [u8; 2] = [1, 2];
/// In files of events: the time of what follows.
const TIMESTAMP: u8 = 5;
/// Kinds of events that are one integer, which stands behind the kind: they have no length of their own.
const SINGLE_INTEGERS: [u8; 10] = [12, 13, 16, 17, 20, 21, 24, 28, 29, 30];
/// A length of 255 and more stands in eight bytes behind this one.
const LONG: u8 = u8::MAX;

/// What could not be read of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileDamage {
    /// Chunks of which the rest, or all, could not be read.
    pub(crate) chunks: u64,
    /// The file ends without its mark.
    pub(crate) is_cut: bool,
}

/// A record: its kind, and where its content is in the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Otf2RecordHead {
    pub(crate) kind: u8,
    begin: usize,
    end: usize,
}

/// Reads a file from its begin to its end.
#[derive(Debug)]
pub(crate) struct RecordReader {
    file: TraceFile,
    has_times: bool,
    chunk: u64,
    length: u64,
    /// Where in the file the window begins.
    offset: u64,
    window: Vec<u8>,
    /// The next byte of the window.
    at: usize,
    capacity: usize,
    order: ByteOrder,
    /// The last time that was read.
    pub(crate) time: u64,
    pub(crate) damage: FileDamage,
    has_ended: bool,
}

impl RecordReader {
    /// At the begin of a file; `None` where there is none. `capacity` bytes of it are in memory, and more where a record is longer.
    pub(crate) fn open(
        files: &mut impl TraceFiles,
        file: TraceFile,
        (chunk, capacity): (u64, usize),
    ) -> io::Result<Option<RecordReader>> {
        let Some(length) = files.length(file)? else { return Ok(None) };
        Ok(Some(RecordReader {
            file,
            has_times: matches!(file, TraceFile::Events(_)),
            chunk,
            length,
            offset: 0,
            window: Vec::new(),
            at: 0,
            capacity,
            order: ByteOrder::Little,
            time: 0,
            damage: FileDamage::default(),
            has_ended: false,
        }))
    }

    fn position(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Whether so many bytes from the next on are in the window, which is filled where they are in the file.
    fn has(&mut self, files: &mut impl TraceFiles, bytes: u64) -> io::Result<bool> {
        if (self.window.len() - self.at) as u64 >= bytes {
            return Ok(true);
        }
        if self.length.saturating_sub(self.position()) < bytes {
            return Ok(false);
        }
        self.window.drain(..self.at);
        self.offset += self.at as u64;
        self.at = 0;
        let kept = self.window.len();
        let wanted = self.capacity.max(bytes as usize).min((self.length - self.offset) as usize);
        self.window.resize(wanted.max(kept), 0);
        let read = files.read_at(self.file, self.offset + kept as u64, &mut self.window[kept..])?;
        self.window.truncate(kept + read);
        Ok(self.window.len() as u64 >= bytes)
    }

    fn take(&mut self, bytes: usize) -> &[u8] {
        self.at += bytes;
        &self.window[self.at - bytes..self.at]
    }

    /// Goes to the begin of the next chunk.
    fn skip_chunk(&mut self) {
        let next = (self.position() / self.chunk + 1).saturating_mul(self.chunk).min(self.length);
        let ahead = next - self.position();
        if ahead <= (self.window.len() - self.at) as u64 {
            self.at += ahead as usize;
        } else {
            self.window.clear();
            (self.offset, self.at) = (next, 0);
        }
    }

    fn damaged(&mut self) {
        self.damage.chunks += 1;
        self.skip_chunk();
    }

    fn cut(&mut self) {
        self.damage.is_cut = true;
        self.has_ended = true;
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self, files: &mut impl TraceFiles) -> io::Result<Option<Otf2RecordHead>> {
        while !self.has_ended {
            let position = self.position();
            let in_chunk = position % self.chunk;
            if in_chunk == 0 {
                self.begin_chunk(files)?;
                continue;
            }
            if !self.has(files, 1)? {
                self.cut();
                break;
            }
            let kind = self.window[self.at];
            if kind == END_OF_CHUNK {
                self.skip_chunk();
            } else if ENDS_OF_FILE.contains(&kind) {
                self.has_ended = true;
            } else if kind == TIMESTAMP && self.has_times {
                if !self.has(files, 9)? {
                    self.cut();
                    break;
                }
                let order = self.order;
                self.time = order.number(&self.take(9)[1..]);
            } else if let Some(record) = self.record(files, kind, self.chunk - in_chunk)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn begin_chunk(&mut self, files: &mut impl TraceFiles) -> io::Result<()> {
        if !self.has(files, HEADER_BYTES as u64)? {
            self.cut();
            return Ok(());
        }
        let header = self.take(HEADER_BYTES);
        let order = ByteOrder::named(header[1]).filter(|_| header[0] == CHUNK_HEADER);
        match order {
            Some(order) => self.order = order,
            None => self.damaged(),
        }
        Ok(())
    }

    /// The record of this kind, of which so many bytes can be in the chunk; `None` where it cannot be.
    fn record(
        &mut self,
        files: &mut impl TraceFiles,
        kind: u8,
        room: u64,
    ) -> io::Result<Option<Otf2RecordHead>> {
        if !self.has(files, 2)? {
            self.cut();
            return Ok(None);
        }
        let short = self.window[self.at + 1];
        let (head, length) = if self.has_times && SINGLE_INTEGERS.contains(&kind) {
            // All ones have no bytes behind their length.
            (1, 1 + if short == u8::MAX { 0 } else { u64::from(short) })
        } else if short == LONG {
            if !self.has(files, 10)? {
                self.cut();
                return Ok(None);
            }
            (10, self.order.number(&self.window[self.at + 2..self.at + 10]))
        } else {
            (2, short.into())
        };
        let bytes = length.saturating_add(head);
        if bytes > room {
            self.damaged();
            return Ok(None);
        }
        if !self.has(files, bytes)? {
            self.cut();
            return Ok(None);
        }
        let begin = self.at + head as usize;
        let end = self.at + bytes as usize;
        self.at = end;
        Ok(Some(Otf2RecordHead { kind, begin, end }))
    }

    /// The content of the record that was read last.
    #[inline]
    pub(crate) fn content(&self, record: Otf2RecordHead) -> ContentBytes<'_> {
        ContentBytes::new(&self.window[record.begin..record.end], self.order)
    }
}
