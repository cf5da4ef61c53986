//! Records to bytes; what stands where is in the table of records.

use crate::record::Event;

/// Bits of the first byte that hold the tag; the three above are the record's flags.
pub(crate) const TAG_BITS: u8 = 5;

/// Turns records into bytes.
#[derive(Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    previous: u64,
}

impl Encoder {
    /// Bytes encoded since the last [`take`](Self::take).
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was encoded since the last [`take`](Self::take).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Ends the block: returns its bytes; the next record starts a block that decodes on its own.
    pub fn take(&mut self) -> Vec<u8> {
        self.previous = 0;
        let capacity = self.bytes.len();
        std::mem::replace(&mut self.bytes, Vec::with_capacity(capacity))
    }

    /// An event, or what has the form of one so that a version that does not know it passes it over, whose kind has a byte of its own.
    /// The length of the rest follows the event's head.
    pub(crate) fn extended(
        &mut self,
        kind: u8,
        flags: u8,
        lead: Option<u64>,
        event: Option<&Event>,
        write: impl FnOnce(&mut Encoder),
    ) {
        self.tag(super::EXTENDED, flags);
        self.bytes.push(kind);
        match event {
            Some(event) => self.moment(event),
            // No time has passed since the event before, on processor 0, for thread 0.
            None => self.bytes.extend([0, 0, 0]),
        }
        let length_at = self.bytes.len();
        self.bytes.push(0);
        if let Some(lead) = lead {
            self.number(lead);
        }
        let least = self.bytes.len();
        write(self);
        // What is 0 at the end need not be written: it is read as 0. The last byte of other numbers is not 0.
        if event.is_some() {
            let kept = self.bytes[least..].iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            self.bytes.truncate(least + kept);
        }
        let length = self.bytes.len() - length_at - 1;
        self.bytes[length_at] = u8::try_from(length).expect("seven numbers of at most ten bytes");
    }

    pub(crate) fn moment(&mut self, event: &Event) {
        let time = event.time.nanoseconds();
        let difference = time.wrapping_sub(self.previous).cast_signed();
        self.number(((difference << 1) ^ (difference >> 63)).cast_unsigned());
        self.previous = time;
        self.number(event.cpu.into());
        self.number(event.thread.0.into());
    }

    pub(crate) fn tag(&mut self, tag: u8, flags: u8) {
        self.bytes.push(tag | (flags << TAG_BITS));
    }

    #[inline]
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn slice(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.extend(bytes);
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}
