//! Files of the kernel that are read again and again: they stay open.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a read asks for at least.
const PIECE_BYTES: usize = 16 * 1024;

/// A file that is open.
#[derive(Debug)]
pub(crate) struct KeptFile {
    file: File,
}

impl KeptFile {
    /// Opens it.
    ///
    /// # Errors
    /// As for [`PressureFile::open`].
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<KeptFile> {
        Ok(KeptFile { file: File::open(path)? })
    }

    /// Its whole text as it is now. The kernel gives long texts in pieces of whole lines.
    ///
    /// # Errors
    /// As for reading; `ESRCH` where it is the file of a task that has ended.
    pub(crate) fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let mut length = 0;
        loop {
            let piece = self.read_at(buffer, length)?;
            length += piece;
            if piece == 0 {
                return Ok(&buffer[..length]);
            }
        }
    }

    /// Its text as it is now, where the kernel gives it in one piece: a single record.
    ///
    /// # Errors
    /// As for [`KeptFile::read`].
    pub(crate) fn read_record<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let length = self.read_at(buffer, 0)?;
        Ok(&buffer[..length])
    }

    fn read_at(&self, buffer: &mut Vec<u8>, offset: usize) -> io::Result<usize> {
        if buffer.len() < offset + PIECE_BYTES {
            buffer.resize(offset + PIECE_BYTES, 0);
        }
        self.file.read_at(&mut buffer[offset..], offset as u64)
    }
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

/// The lines of a text.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// A whole number; `None` where it is none.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let next = |value: u64, byte: &u8| Some(value.wrapping_mul(10).wrapping_add(digit(*byte)?));
    if word.is_empty() { None } else { word.iter().try_fold(0, next) }
}

/// The whole numbers of a line; ends at what is none.
pub(crate) fn numbers(line: &[u8]) -> impl Iterator<Item = u64> {
    words(line).map_while(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_longer_than_a_piece_is_read_whole_and_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let long = "a line of words\n".repeat(5000);
        std::fs::write(&path, &long).unwrap();
        let file = KeptFile::open(&path).unwrap();
        let mut buffer = Vec::new();
        assert_eq!(file.read(&mut buffer).unwrap(), long.as_bytes());
        std::fs::write(&path, "short\n").unwrap();
        assert_eq!(file.read(&mut buffer).unwrap(), b"short\n");
    }

    #[test]
    fn numbers_end_at_what_is_none() {
        assert_eq!(numbers(b"12 0 7 x 9").collect::<Vec<_>>(), [12, 0, 7]);
        assert_eq!(number(b""), None);
        assert_eq!(number(b"-1"), None);
    }
}
