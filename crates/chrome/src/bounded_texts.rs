//! JSON whose texts are not too long: a reader of JSON holds a text in memory, and a compressed file of a megabyte can hold one of a gigabyte.

use std::io::{self, Read};

/// Bytes of the longest text.
const LONGEST: u64 = 1 << 24;

/// Passes JSON on, and fails where a text is too long.
pub(crate) struct BoundedTexts<R> {
    reader: R,
    is_text: bool,
    is_escaped: bool,
    /// Bytes of the text so far.
    length: u64,
}

impl<R> BoundedTexts<R> {
    pub(crate) fn new(reader: R) -> BoundedTexts<R> {
        BoundedTexts { reader, is_text: false, is_escaped: false, length: 0 }
    }

    fn see(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.is_text => self.is_escaped = true,
            b'"' => (self.is_text, self.length) = (!self.is_text, 0),
            _ => {}
        }
        self.length += u64::from(self.is_text);
    }
}

impl<R: Read> Read for BoundedTexts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        for &byte in &buffer[..count] {
            self.see(byte);
        }
        if self.length > LONGEST {
            let reason = "one of its texts has more than 16 MiB";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&[u8]]) -> io::Result<usize> {
        let whole = parts.concat();
        let mut bytes = Vec::new();
        BoundedTexts::new(&whole[..]).read_to_end(&mut bytes)
    }

    #[test]
    fn long_texts_fail_and_long_files_do_not() {
        let long = vec![b'a'; 1 << 25];
        assert!(read(&[b"{\"x\": \"", &long, b"\"}"]).is_err());
        // An escaped quote does not end a text.
        assert!(read(&[b"[\"\\\"", &long, b"\"]"]).is_err());
        assert!(read(&[b"[1, ", &vec![b' '; 1 << 25], b"2]"]).is_ok());
        assert!(read(&[b"[\"a\\\\\"", &long, b"]"]).is_ok());
    }
}
