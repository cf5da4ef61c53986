//! The wire format of protocol buffers: a message as a sequence of numbered fields.
//!
//! In: the bytes of a message. Out: its fields in order. Reading ends at the first byte that is no field, which [`WireFields::is_damaged`] says.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireValue<'a> {
    /// A number of any type.
    Number(u64),
    /// A text, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> WireValue<'a> {
    /// The number; 0 where it is none.
    pub(crate) fn number(self) -> u64 {
        match self {
            WireValue::Number(number) => number,
            WireValue::Bytes(_) => 0,
        }
    }

    /// The number as a thread's or process's id.
    pub(crate) fn id(self) -> u32 {
        self.number() as u32
    }

    /// The bytes; none where it is a number.
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            WireValue::Number(_) => &[],
            WireValue::Bytes(bytes) => bytes,
        }
    }

    /// The text, with replacements for what is none.
    pub(crate) fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

/// The fields of a message.
#[derive(Clone, Debug)]
pub(crate) struct WireFields<'a> {
    bytes: &'a [u8],
    is_damaged: bool,
}

impl<'a> WireFields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> WireFields<'a> {
        WireFields { bytes, is_damaged: false }
    }

    /// Whether bytes were left that are no field.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    fn field(&mut self) -> Option<(u32, WireValue<'a>)> {
        let key = varint(&mut self.bytes)?;
        let value = match key & 7 {
            0 => WireValue::Number(varint(&mut self.bytes)?),
            1 => WireValue::Number(u64::from_le_bytes(*take(&mut self.bytes, 8)?.first_chunk()?)),
            2 => {
                let length = varint(&mut self.bytes)?;
                WireValue::Bytes(take(&mut self.bytes, length)?)
            }
            5 => WireValue::Number(u32::from_le_bytes(*take(&mut self.bytes, 4)?.first_chunk()?).into()),
            _ => return None,
        };
        Some((u32::try_from(key >> 3).ok().filter(|&number| number > 0)?, value))
    }
}

impl<'a> Iterator for WireFields<'a> {
    type Item = (u32, WireValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let found = self.field();
        if found.is_none() {
            (self.is_damaged, self.bytes) = (true, &[]);
        }
        found
    }
}

/// The numbers of a repeated field, packed or not, appended.
pub(crate) fn repeated(value: WireValue<'_>, numbers: &mut Vec<u64>) {
    match value {
        WireValue::Number(number) => numbers.push(number),
        WireValue::Bytes(mut bytes) => {
            while let Some(number) = varint(&mut bytes) {
                numbers.push(number);
            }
        }
    }
}

/// Takes a number of variable length; `None` where none is.
pub(crate) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Some(number);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(usize::try_from(count).ok()?)?;
    *bytes = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type_are_read_in_order() {
        let bytes =
            [&[0x08, 0x96, 0x01, 0x11][..], &7_u64.to_le_bytes(), b"\x1a\x02hi\x25", &9_u32.to_le_bytes()]
                .concat();
        let mut fields = WireFields::of(&bytes);
        let found: Vec<_> = fields.by_ref().collect();
        let number = WireValue::Number;
        assert_eq!(found, [(1, number(150)), (2, number(7)), (3, WireValue::Bytes(b"hi")), (4, number(9))]);
        assert!(!fields.is_damaged());
    }

    #[test]
    fn a_message_that_is_cut_within_a_field_is_damaged() {
        let bytes = [0x08, 0x01, 0x1a, 0x05, b'h'];
        let mut fields = WireFields::of(&bytes);
        assert_eq!(fields.by_ref().count(), 1);
        assert!(fields.is_damaged());
        // A number longer than ten bytes is none.
        let mut endless = WireFields::of(&[0xff; 20]);
        assert_eq!(endless.by_ref().count(), 0);
        assert!(endless.is_damaged());
    }
}
