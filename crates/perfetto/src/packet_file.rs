//! The packets of a file, one after the other and by their place.
//!
//! A packet that is longer than any real one is passed over and counted; bytes that are no packet end the file, for nothing says where the next
//! one begins.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// Longer packets are not read.
const LARGEST_PACKET: u64 = 16 << 20;
/// Field 1 of the message Trace, with a length.
const PACKET: u64 = 0x0a;

/// Where a packet lies in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketPlace {
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// A file of packets.
#[derive(Debug)]
pub(crate) struct PacketFile<R> {
    reader: BufReader<R>,
    offset: u64,
    length: u64,
    /// Packets that are too long, and fields that are no packets.
    pub(crate) passed_over: u64,
    /// The file ends within a packet, or in bytes that are none.
    pub(crate) is_cut: bool,
}

impl<R: Read + Seek> PacketFile<R> {
    pub(crate) fn open(mut reader: R) -> io::Result<Self> {
        let length = reader.seek(SeekFrom::End(0))?;
        reader.rewind()?;
        let reader = BufReader::with_capacity(1 << 18, reader);
        Ok(PacketFile { reader, offset: 0, length, passed_over: 0, is_cut: false })
    }

    /// Reads the next packet; `None` at the end.
    pub(crate) fn next(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<PacketPlace>> {
        while !self.is_cut && self.offset < self.length {
            let (Some(key), Some(length)) = (self.varint()?, self.varint()?) else { return Ok(self.cut()) };
            if key & 7 != 2 || length > self.length - self.offset {
                return Ok(self.cut());
            }
            let place = PacketPlace { offset: self.offset, length: length as u32 };
            self.offset += length;
            if key != PACKET || length > LARGEST_PACKET {
                self.passed_over += 1;
                self.reader.seek_relative(length as i64)?;
                continue;
            }
            packet.resize(length as usize, 0);
            self.reader.read_exact(packet)?;
            return Ok(Some(place));
        }
        Ok(None)
    }

    /// Reads the packet that lies there.
    pub(crate) fn read(&mut self, place: PacketPlace, packet: &mut Vec<u8>) -> io::Result<()> {
        self.reader.seek_relative(place.offset as i64 - self.offset as i64)?;
        self.offset = place.offset + u64::from(place.length);
        packet.resize(place.length as usize, 0);
        self.reader.read_exact(packet)
    }

    fn varint(&mut self) -> io::Result<Option<u64>> {
        let mut number = 0;
        for place in 0..10 {
            let Some(&byte) = self.reader.fill_buf()?.first() else { return Ok(None) };
            self.reader.consume(1);
            self.offset += 1;
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn cut(&mut self) -> Option<PacketPlace> {
        self.is_cut = true;
        None
    }
}
