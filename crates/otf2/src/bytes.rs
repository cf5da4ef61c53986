//! The content of a record: integers, texts, in the byte order of their chunk.

/// Byte order of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// By the byte that names it in a chunk's header.
    pub(crate) fn named(byte: u8) -> Option<ByteOrder> {
        match byte {
            0x42 => Some(ByteOrder::Little),
            0x23 => Some(ByteOrder::Big),
            _ => None,
        }
    }

    /// The number in these bytes, at most eight.
    pub(crate) fn number(self, bytes: &[u8]) -> u64 {
        let fold = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        match self {
            ByteOrder::Little => bytes.iter().rev().fold(0, fold),
            ByteOrder::Big => bytes.iter().fold(0, fold),
        }
    }
}

/// Reads a content from its begin; `None` where it ends too early or cannot be what it should.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentBytes<'a> {
    rest: &'a [u8],
    order: ByteOrder,
}

impl<'a> ContentBytes<'a> {
    pub(crate) fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        ContentBytes { rest: bytes, order }
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    /// An integer behind its length; all ones are written as the length 255.
    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        match self.u8()? {
            0 => Some(0),
            u8::MAX => Some(u64::MAX),
            length @ 1..=8 => {
                let bytes = self.take(length.into())?;
                Some(self.order.number(bytes))
            }
            _ => None,
        }
    }

    /// The same, of 32 bits.
    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        match self.u64()? {
            u64::MAX => Some(u32::MAX),
            number => u32::try_from(number).ok(),
        }
    }

    /// Eight bytes, as times have them.
    pub(crate) fn full_u64(&mut self) -> Option<u64> {
        let bytes = self.take(8)?;
        Some(self.order.number(bytes))
    }

    /// Four bytes.
    pub(crate) fn full_u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?;
        u32::try_from(self.order.number(bytes)).ok()
    }

    /// A text up to its zero byte. What is no UTF-8 in it is replaced.
    pub(crate) fn text(&mut self) -> Option<String> {
        let length = self.rest.iter().position(|&byte| byte == 0)?;
        let text = self.take(length)?;
        self.take(1)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_their_length_before_them_in_both_byte_orders() {
        let little = [0, 255, 1, 7, 3, 1, 2, 3, 8, 1, 0, 0, 0, 0, 0, 0, 0];
        let mut content = ContentBytes::new(&little, ByteOrder::Little);
        let read: Vec<u64> = std::iter::from_fn(|| content.u64()).collect();
        assert_eq!(read, [0, u64::MAX, 7, 0x03_02_01, 1]);
        let big = [3, 1, 2, 3, 255];
        let mut content = ContentBytes::new(&big, ByteOrder::Big);
        assert_eq!((content.u32(), content.u32(), content.u32()), (Some(0x01_02_03), Some(u32::MAX), None));
    }

    #[test]
    fn a_length_that_no_integer_has_and_a_cut_one_are_nothing() {
        assert_eq!(ContentBytes::new(&[9, 0, 0, 0, 0, 0, 0, 0, 0, 0], ByteOrder::Little).u64(), None);
        assert_eq!(ContentBytes::new(&[4, 1, 2, 3], ByteOrder::Little).u64(), None);
        assert_eq!(ContentBytes::new(&[5, 1, 1, 1, 1, 1], ByteOrder::Little).u32(), None);
        assert_eq!(ContentBytes::new(b"no end", ByteOrder::Little).text(), None);
    }
}
