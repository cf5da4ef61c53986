//! The decoder of a thread's accesses: the input's first byte says how many of its words are places, the rest are records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_access::StreamDecoder;
use longpole_access::format::{HEADER_BYTES, MessageHeader};

fuzz_target!(|input: &[u8]| {
    let _ = MessageHeader::decode(input);
    let Some((&places, rest)) = input.split_first() else { return };
    let places = usize::from(places).min(rest.len() / 8);
    let bytes = rest.len() - 8 * places;
    let header =
        MessageHeader { bytes: bytes as u32, places: places as u32, ..MessageHeader::default() };
    let message = [&header.encode()[..], rest].concat();
    let header = MessageHeader::decode(&message).expect("its lengths are its own");
    assert_eq!(message.len(), HEADER_BYTES + rest.len());
    let mut decoder = Box::<StreamDecoder>::default();
    let mut records = 0;
    // The second time with the places that the first one left.
    for _ in 0..2 {
        decoder.begin_block();
        while let Ok(Some(_)) = decoder.next(&header, &message) {
            records += 1;
        }
    }
    assert!(records <= bytes);
});
