//! From the bytes of a thread's blocks to its accesses and operations.

use crate::format::{
    ABSOLUTE, FAR, HEADER_BYTES, MIDDLE, MessageHeader, NEAR, NEW_PLACE, OPERATION, Operation, SAME, SKIPPED,
    SLOTS,
};

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessRecord {
    /// Something at a place: an access, or the begin of a procedure.
    Place {
        /// Return address.
        code: u64,
        /// [`crate::format::READ`] and the like.
        kind: u8,
        /// Bytes.
        size: u32,
        /// First byte.
        address: u64,
    },
    /// So many accesses to units that are not followed.
    Skipped(u32),
    /// Synchronisation and the like.
    Operation {
        /// What.
        operation: Operation,
        /// Its words; those that it has not are 0.
        words: [u64; 4],
    },
}

/// Bytes that no library writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDefect {
    /// Offset in the block.
    pub at: usize,
}

#[derive(Clone, Copy)]
struct DecodedSlot {
    place: u64,
    last: u64,
}

/// Decodes the blocks of one thread, in their order.
pub struct StreamDecoder {
    slots: [DecodedSlot; SLOTS],
    at: usize,
    next_place: usize,
}

impl Default for StreamDecoder {
    fn default() -> Self {
        Self { slots: [DecodedSlot { place: 0, last: 0 }; SLOTS], at: 0, next_place: 0 }
    }
}

impl StreamDecoder {
    /// Begins a block.
    pub fn begin_block(&mut self) {
        (self.at, self.next_place) = (0, 0);
    }

    /// The next record of the block that the message is; `None` at its end.
    ///
    /// # Errors
    /// [`BlockDefect`].
    #[inline]
    pub fn next(
        &mut self,
        header: &MessageHeader,
        message: &[u8],
    ) -> Result<Option<AccessRecord>, BlockDefect> {
        let defect = BlockDefect { at: self.at };
        let records = message.get(HEADER_BYTES..HEADER_BYTES + header.bytes as usize).ok_or(defect)?;
        if self.at >= records.len() {
            return Ok(None);
        }
        let mut rest = &records[self.at..];
        let head = u16::from_le_bytes(take(&mut rest).ok_or(defect)?);
        let code = head >> 12;
        if code == OPERATION {
            let operation = Operation::of(head as u8).ok_or(defect)?;
            let count = usize::from(head >> 8 & 15);
            let mut words = [0; 4];
            for word in words.get_mut(..count).ok_or(defect)? {
                *word = u64::from_le_bytes(take(&mut rest).ok_or(defect)?);
            }
            self.at = records.len() - rest.len();
            return Ok(Some(AccessRecord::Operation { operation, words }));
        }
        if code == SKIPPED {
            self.at = records.len() - rest.len();
            return Ok(Some(AccessRecord::Skipped(u32::from(head & 0xfff))));
        }
        let slot = &mut self.slots[usize::from(head & 0xfff)];
        let distance = match code {
            SAME => 0,
            NEAR => i64::from(i8::from_le_bytes(take(&mut rest).ok_or(defect)?)),
            MIDDLE => i64::from(i16::from_le_bytes(take(&mut rest).ok_or(defect)?)),
            FAR => i64::from(i32::from_le_bytes(take(&mut rest).ok_or(defect)?)),
            ABSOLUTE | NEW_PLACE => {
                slot.last = u64::from_le_bytes(take(&mut rest).ok_or(defect)?);
                0
            }
            _ => return Err(defect),
        };
        if code == NEW_PLACE {
            let begin = HEADER_BYTES + header.bytes as usize + 8 * self.next_place;
            let bytes =
                message.get(begin..begin + 8).and_then(|bytes| bytes.try_into().ok()).ok_or(defect)?;
            slot.place = u64::from_le_bytes(bytes);
            self.next_place += 1;
        }
        slot.last = slot.last.wrapping_add_signed(distance);
        self.at = records.len() - rest.len();
        Ok(Some(AccessRecord::Place {
            code: slot.place & ((1 << 48) - 1),
            kind: (slot.place >> 48 & 15) as u8,
            size: 1 << (slot.place >> 52 & 15),
            address: slot.last,
        }))
    }
}

#[inline(always)]
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}
