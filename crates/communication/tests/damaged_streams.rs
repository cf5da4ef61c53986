//! Damaged streams of accesses, from the log to the answer: what cannot be read is counted, and nothing panics.

use std::time::Duration;

use longpole_access::format::{
    BLOCK, ENTER, MENTION, MessageHeader, NEAR, NEW_PLACE, OPERATION, Operation, PROTOCOL, READ, SAME,
    UPDATE, WRITE, place, slot_of,
};
use longpole_access::{AccessRecord, StreamDecoder};
use longpole_communication::{
    CommunicationDemand, CommunicationOptions, RecordedCommunication, SimulationOptions, UnitProtocol,
    write_simulated_recording,
};
use longpole_event::MachineId;
use longpole_recording::{Destination, LogName, Manifest, RecordingFolder};
use longpole_testkit::Mutations;

/// A stream as the library writes it, as bytes that are damaged.
#[derive(Default)]
struct DrawnStream {
    records: Vec<u8>,
    places: Vec<u64>,
}

impl DrawnStream {
    fn place(mut self, kind: u64, power: u64, address: u64) -> Self {
        let place = place(0x1000 + self.places.len() as u64, kind, power);
        self.records.extend((slot_of(place) as u16 | NEW_PLACE << 12).to_le_bytes());
        self.records.extend(address.to_le_bytes());
        self.records.extend((slot_of(place) as u16 | SAME << 12).to_le_bytes());
        self.records.extend((slot_of(place) as u16 | NEAR << 12).to_le_bytes());
        self.records.push(8);
        self.places.push(place);
        self
    }

    fn operation(mut self, operation: Operation, words: &[u64]) -> Self {
        self.records.extend((OPERATION << 12 | (words.len() as u16) << 8 | operation as u16).to_le_bytes());
        self.records.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self
    }

    fn bytes(self) -> Vec<u8> {
        let places = self.places.iter().flat_map(|place| place.to_le_bytes());
        std::iter::once(self.places.len() as u8).chain(self.records).chain(places).collect()
    }
}

/// A message of damaged bytes, whose lengths are its own.
fn message(thread: u32, input: &[u8]) -> Vec<u8> {
    let (&places, rest) = input.split_first().unwrap_or((&0, &[]));
    let places = usize::from(places).min(rest.len() / 8);
    let header = MessageHeader {
        protocol: PROTOCOL,
        kind: BLOCK,
        pid: 7,
        thread,
        bytes: (rest.len() - 8 * places) as u32,
        places: places as u32,
        ..MessageHeader::default()
    };
    [&header.encode()[..], rest].concat()
}

/// Ranges of gigabytes are no defect, but take their time.
fn is_small(message: &[u8]) -> bool {
    let Some(header) = MessageHeader::decode(message) else { return true };
    let mut decoder = Box::<StreamDecoder>::default();
    let mut is_small = true;
    while let Ok(Some(record)) = decoder.next(&header, message) {
        if let AccessRecord::Operation { operation: Operation::Range, words: [_, size, ..] } = record {
            is_small &= size < 1 << 16;
        }
    }
    is_small
}

fn answer(messages: &[Vec<u8>], protocol: UnitProtocol) -> RecordedCommunication {
    let place = tempfile::tempdir().expect("a folder");
    let folder = RecordingFolder::create(&place.path().join("x.longpole"), &Manifest::default());
    let folder = folder.expect("a recording");
    let mut log = folder.create_log(MachineId(0), LogName::Accesses).expect("a log");
    messages.iter().for_each(|message| log.push_block(message).expect("room"));
    log.flush().expect("room");
    let options = CommunicationOptions { protocol: Some(protocol), ..CommunicationOptions::default() };
    let demand = CommunicationDemand { words: true, graphs: true, chains: true };
    let answer = RecordedCommunication::of(&folder, options, demand).expect("a log that can be read");
    let answer = answer.expect("there are blocks");
    let output = Destination::New(place.path().join("simulated.longpole"));
    let simulation = SimulationOptions { communication: options, nodes: None };
    let written = write_simulated_recording((&folder, &Manifest::default()), simulation, &output);
    let written = written.expect("what can be answered can be written");
    assert_eq!((written.elapsed, written.requests), (answer.elapsed, answer.requests), "it is the same run");
    answer
}

fn streams() -> [Vec<u8>; 2] {
    let first = DrawnStream::default()
        .operation(Operation::Stack, &[0x7000_0000, 0x1000])
        .operation(Operation::Allocate, &[0x10_0000, 256, 0x1234])
        .place(ENTER, 0, 0)
        .place(MENTION, 0, 0)
        .place(WRITE, 3, 0x10_0000)
        .operation(Operation::Publish, &[0x20_0000, 1 << 3 | 3, 0x1234])
        .operation(Operation::Fork, &[1, 0x1234])
        .operation(Operation::Lock, &[0x30_0000, 0x1234])
        .place(UPDATE, 2, 0x10_0040)
        .operation(Operation::Unlock, &[0x30_0000, 0x1234])
        .operation(Operation::Barrier, &[0x40_0000, 2, 0x1234])
        .operation(Operation::Post, &[0x50_0000, 0x1234])
        .operation(Operation::Exit, &[])
        .operation(Operation::Join, &[1, 0x1234])
        .operation(Operation::Free, &[0x10_0000]);
    let second = DrawnStream::default()
        .operation(Operation::Observe, &[0x20_0000, 1 << 3 | 1, 0x1234])
        .place(READ, 3, 0x10_0000)
        .operation(Operation::Range, &[0x10_0020, 100, WRITE, 0x1234])
        .operation(Operation::Lock, &[0x30_0000, 0x1234])
        .place(UPDATE, 2, 0x10_0040)
        .operation(Operation::Unlock, &[0x30_0000, 0x1234])
        .operation(Operation::Barrier, &[0x40_0000, 2, 0x1234])
        .operation(Operation::Await, &[0x50_0000, 0x1234])
        .operation(Operation::End, &[]);
    [first.bytes(), second.bytes()]
}

#[test]
fn whole_streams_have_no_defect() {
    let [first, second] = streams();
    let found = answer(&[message(0, &first), message(1, &second)], UnitProtocol::Lines);
    assert_eq!((found.lost_blocks, found.ignored, found.unfollowed), (0, 0, 0));
    assert_eq!((found.threads.len(), found.accesses()), (2, 13));
}

#[test]
fn damaged_streams_are_answered_as_far_as_they_go() {
    let protocols = UnitProtocol::ALL.map(|(protocol, _)| protocol);
    let mut number = 0;
    let damaged = Mutations::new(streams().to_vec(), 23).run_for(Duration::from_secs(3), |input| {
        number += 1;
        let [first, second] = streams();
        let messages = match number % 2 {
            0 => [message(0, input), message(1, &second)],
            _ => [message(0, &first), message(1, input)],
        };
        if messages.iter().all(|message| is_small(message)) {
            let found = answer(&messages, protocols[number % protocols.len()]);
            assert!(found.transfers <= found.requests);
        }
    });
    assert!(damaged > 20, "{damaged} inputs");
}

#[test]
fn a_thread_of_any_number_costs_no_memory_of_its_own() {
    let [first, second] = streams();
    let found = answer(&[message(0, &first), message(2000, &second)], UnitProtocol::Lines);
    assert_eq!((found.threads.len(), found.accesses(), found.lost_blocks), (2001, 13, 0));
}
