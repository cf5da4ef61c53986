//! Bytes to records; what stands where is in the table of records.

use std::fmt;

use super::encode::TAG_BITS;
use super::{EXTENDED, Form, NUMBER, Plain};
use crate::id::ThreadId;
use crate::record::{Event, Record};
use crate::time::Time;

/// A block that cannot be decoded further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The block ends within the record that begins at `offset`.
    Ends {
        /// Byte offset of the record in the block.
        offset: usize,
    },
    /// The record at `offset` holds a tag or a value that no record has.
    Invalid {
        /// Byte offset of the record in the block.
        offset: usize,
        /// What is invalid.
        what: &'static str,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Ends { offset } => write!(f, "block ends within the record at byte {offset}"),
            DecodeError::Invalid { offset, what } => {
                write!(f, "invalid {what} in the record at byte {offset}")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// Turns one block of bytes back into records. After an error it ends.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    offset: usize,
    start: usize,
    previous: u64,
    unknown: u64,
    /// The first number of an extended event, where it is not 0, less 1.
    lead: Option<u32>,
    /// What is not there is 0: the rest of an extended event.
    is_padded: bool,
}

pub(crate) type Result<T> = std::result::Result<T, DecodeError>;

impl<'a> Decoder<'a> {
    /// A decoder at the start of a block.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder { bytes, offset: 0, start: 0, previous: 0, unknown: 0, lead: None, is_padded: false }
    }

    /// Events so far of kinds that a later version writes; they are passed over.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    fn record(&mut self) -> Result<Option<Record>> {
        let byte = self.byte()?;
        let flags = byte >> TAG_BITS;
        match byte & ((1 << TAG_BITS) - 1) {
            EXTENDED => self.extended(flags),
            tag => self.plain(tag, flags).map(Some),
        }
    }

    fn extended(&mut self, flags: u8) -> Result<Option<Record>> {
        let kind = self.byte()?;
        let (time, cpu, thread) = self.moment()?;
        let length = usize::from(self.byte()?);
        let end = self.offset + length;
        if end > self.bytes.len() {
            return Err(self.ends());
        }
        let mut rest = Decoder { bytes: &self.bytes[..end], is_padded: true, ..self.clone() };
        self.offset = end;
        if kind == NUMBER {
            return Ok(Some(Record::Number(Plain::read(flags, &mut rest)?)));
        }
        rest.lead = rest.optional()?;
        let kind = rest.extended_kind(kind, flags)?;
        self.unknown += u64::from(kind.is_none());
        Ok(kind.map(|kind| Record::Event(Event { time, cpu, thread, kind })))
    }

    #[inline]
    pub(crate) fn moment(&mut self) -> Result<(Time, u16, ThreadId)> {
        let difference = self.number()?;
        let difference = (difference >> 1) ^ (difference & 1).wrapping_neg();
        self.previous = self.previous.wrapping_add(difference);
        let time = Time::from_nanoseconds(self.previous);
        let cpu = u16::try_from(self.number()?).map_err(|_| self.invalid("processor number"))?;
        Ok((time, cpu, ThreadId(self.id()?)))
    }

    #[inline]
    pub(crate) fn invalid(&self, what: &'static str) -> DecodeError {
        DecodeError::Invalid { offset: self.start, what }
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.offset).ok_or_else(|| self.ends())?;
        self.offset += 1;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64> {
        if self.is_padded && self.offset == self.bytes.len() {
            return Ok(0);
        }
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.invalid("number"))
    }

    #[inline]
    pub(crate) fn id(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| self.invalid("id"))
    }

    #[inline]
    pub(crate) fn optional(&mut self) -> Result<Option<u32>> {
        let value = self.number()?;
        match value.checked_sub(1) {
            None => Ok(None),
            Some(id) => u32::try_from(id).map(Some).map_err(|_| self.invalid("id")),
        }
    }

    #[inline]
    pub(crate) fn slice(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number()?).map_err(|_| self.invalid("length"))?;
        let end = self.offset.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| self.ends())?;
        let slice = &self.bytes[self.offset..end];
        self.offset = end;
        Ok(slice)
    }

    #[inline]
    pub(crate) fn float(&mut self) -> Result<f64> {
        let end = self.offset + 8;
        let bytes = self.bytes.get(self.offset..end).ok_or_else(|| self.ends())?;
        self.offset = end;
        Ok(f64::from_le_bytes(bytes.try_into().expect("a slice of eight bytes")))
    }

    pub(crate) fn ends(&self) -> DecodeError {
        DecodeError::Ends { offset: self.start }
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    #[inline]
    pub(crate) fn lead(&self) -> Option<u32> {
        self.lead
    }
}

impl Iterator for Decoder<'_> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.offset < self.bytes.len() {
            self.start = self.offset;
            let record = self.record();
            if record.is_err() {
                self.offset = self.bytes.len();
            }
            if let Some(record) = record.transpose() {
                return Some(record);
            }
        }
        None
    }
}
