//! What the library writes is what the decoder reads, for drawn streams.

use crate::format::{
    ABSOLUTE, FAR, HEADER_BYTES, MIDDLE, MessageHeader, NEAR, NEW_PLACE, OPERATION, Operation, SAME, slot_of,
};
use crate::{AccessRecord, StreamDecoder};

/// An encoder that is written independently of the library's: it keeps all places in a list.
#[derive(Default)]
struct SlowEncoder {
    slots: Vec<(usize, u64, u64)>,
    bytes: Vec<u8>,
    places: Vec<u64>,
}

impl SlowEncoder {
    fn place(&mut self, place: u64, address: u64) {
        let slot = slot_of(place);
        let known = self.slots.iter().position(|&(of, ..)| of == slot);
        let same = known.filter(|&at| self.slots[at].1 == place);
        let mut head = |code: u16| self.bytes.extend((slot as u16 | code << 12).to_le_bytes());
        match same.map(|at| address.wrapping_sub(self.slots[at].2) as i64) {
            None => {
                head(NEW_PLACE);
                self.bytes.extend(address.to_le_bytes());
                self.places.push(place);
            }
            Some(0) => head(SAME),
            Some(distance) => {
                match (i8::try_from(distance), i16::try_from(distance), i32::try_from(distance)) {
                    (Ok(near), ..) => {
                        head(NEAR);
                        self.bytes.extend(near.to_le_bytes());
                    }
                    (_, Ok(middle), _) => {
                        head(MIDDLE);
                        self.bytes.extend(middle.to_le_bytes());
                    }
                    (.., Ok(far)) => {
                        head(FAR);
                        self.bytes.extend(far.to_le_bytes());
                    }
                    _ => {
                        head(ABSOLUTE);
                        self.bytes.extend(address.to_le_bytes());
                    }
                }
            }
        }
        self.slots.retain(|&(of, ..)| of != slot);
        self.slots.push((slot, place, address));
    }

    /// The message of what was written since the last one.
    fn message(&mut self) -> Vec<u8> {
        let (bytes, places) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.places));
        let header = MessageHeader {
            bytes: bytes.len() as u32,
            places: places.len() as u32,
            ..MessageHeader::default()
        };
        let places = places.into_iter().flat_map(u64::to_le_bytes);
        header.encode().into_iter().chain(bytes).chain(places).collect()
    }
}

fn draw(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// An address at a distance of any of the widths.
fn address(seed: &mut u64, last: u64) -> u64 {
    let distance = draw(seed) >> (draw(seed) % 64);
    if draw(seed).is_multiple_of(2) { last.wrapping_add(distance) } else { last.wrapping_sub(distance) }
}

#[test]
fn records_come_back_across_blocks_and_slots_that_change_their_places() {
    let mut seed = 42;
    // More places than slots, so that some share one.
    let places: Vec<u64> = (0..6000)
        .map(|_| crate::format::place(draw(&mut seed), draw(&mut seed) % 5, draw(&mut seed) % 5))
        .collect();
    let mut encoder = SlowEncoder::default();
    let mut decoder = Box::<StreamDecoder>::default();
    let mut last = 0x7fff_0000_0000;
    for _ in 0..20 {
        let mut expected = Vec::new();
        for _ in 0..500 {
            if draw(&mut seed).is_multiple_of(10) {
                let words = [draw(&mut seed), draw(&mut seed), 0, 0];
                encoder.bytes.extend((OPERATION << 12 | 2 << 8 | Operation::Lock as u16).to_le_bytes());
                encoder.bytes.extend(words[..2].iter().flat_map(|word| word.to_le_bytes()));
                expected.push(AccessRecord::Operation { operation: Operation::Lock, words });
                continue;
            }
            let place = places[draw(&mut seed) as usize % places.len()];
            last = address(&mut seed, last);
            encoder.place(place, last);
            expected.push(AccessRecord::Place {
                code: place & ((1 << 48) - 1),
                kind: (place >> 48 & 15) as u8,
                size: 1 << (place >> 52),
                address: last,
            });
        }
        let message = encoder.message();
        let header = MessageHeader::decode(&message).unwrap();
        decoder.begin_block();
        let found: Vec<_> = std::iter::from_fn(|| decoder.next(&header, &message).unwrap()).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn bytes_of_any_kind_are_records_or_a_defect() {
    let mut seed = 7;
    for length in 0..2000 {
        let mut message = MessageHeader { bytes: length, ..MessageHeader::default() }.encode().to_vec();
        message.extend((0..length).map(|_| draw(&mut seed) as u8));
        let header = MessageHeader::decode(&message).unwrap();
        let mut decoder = Box::<StreamDecoder>::default();
        decoder.begin_block();
        let mut records = 0;
        while let Ok(Some(_)) = decoder.next(&header, &message) {
            records += 1;
        }
        assert!(records <= length);
    }
    let whole = MessageHeader { bytes: 8, places: 1, ..MessageHeader::default() }.encode();
    assert_eq!(MessageHeader::decode(&whole), None);
    assert_eq!(MessageHeader::decode(&whole[..HEADER_BYTES - 1]), None);
}
