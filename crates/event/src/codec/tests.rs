use super::{Decoder, Encoder};
use crate::format::{RecordClass, RecordForm};
use crate::id::*;
use crate::kinds::*;
use crate::record::*;
use crate::time::Time;

fn encode(records: &[Record]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    records.iter().for_each(|record| encoder.push(record));
    encoder.take()
}

#[test]
fn every_kind_of_record_survives_the_round_trip() {
    let records = Record::examples();
    let decoded: Vec<_> = Decoder::new(&encode(&records)).map(|r| r.expect("intact bytes")).collect();
    assert_eq!(decoded, records);
}

/// A tag twice would make two kinds of records one.
#[test]
fn no_two_kinds_have_the_same_tag() {
    let is_extended = |form: &RecordForm| form.class == RecordClass::Extended;
    let tags = RECORD_FORMS.iter().map(|form| (is_extended(form), form.number, form.flag));
    let tags = tags.chain([(false, super::TEXT, None), (true, super::NUMBER, None)]);
    let all: Vec<_> = tags.collect();
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    assert!(all.iter().all(|(is_extended, number, _)| *is_extended || *number < super::EXTENDED));
}

#[test]
fn recordings_of_this_format_keep_their_meaning() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/codec/format.txt");
    let bytes = |record: &Record| encode(std::slice::from_ref(record));
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        let lines = Record::examples()
            .into_iter()
            .map(|record| format!("{} {record:?}\n", hexadecimal(&bytes(&record))));
        std::fs::write(path, lines.collect::<String>()).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    let mut lines = 0;
    for line in kept.lines() {
        let (block, said) = line.split_once(' ').unwrap();
        let block: Vec<u8> = (0..block.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&block[at..at + 2], 16).unwrap())
            .collect();
        let record = Decoder::new(&block).next().unwrap().unwrap();
        assert_eq!(format!("{record:?}"), said);
        assert_eq!(bytes(&record), block, "{said}");
        lines += 1;
    }
    assert_eq!(lines, Record::examples().len(), "UPDATE=1 cargo test -p longpole-event adds new kinds");
}

#[test]
fn times_may_go_back_and_be_any() {
    let times = [5_000_000_000, 4_999_999_999, u64::MAX, 0, 1, 1 << 63];
    let event = |&time| Event {
        time: Time::from_nanoseconds(time),
        cpu: u16::MAX,
        thread: ThreadId(9),
        kind: EventKind::In,
    };
    let records: Vec<Record> = times.iter().map(event).map(Record::Event).collect();
    assert_eq!(Decoder::new(&encode(&records)).collect::<Result<Vec<_>, _>>(), Ok(records));
}

#[test]
fn blocks_decode_on_their_own() {
    let mut encoder = Encoder::default();
    let records = Record::examples();
    for record in &records {
        encoder.push(record);
        let block = encoder.take();
        assert_eq!(Decoder::new(&block).next(), Some(Ok(record.clone())));
    }
}

#[test]
fn a_block_cut_anywhere_yields_a_prefix_and_at_most_one_error() {
    let records = Record::examples();
    let bytes = encode(&records);
    for end in 0..bytes.len() {
        let decoded: Vec<_> = Decoder::new(&bytes[..end]).collect();
        let intact = decoded.iter().take_while(|record| record.is_ok()).count();
        assert!(decoded.len() <= intact + 1);
        assert!(decoded[..intact].iter().flatten().eq(&records[..intact]));
    }
}

#[test]
fn any_changed_byte_decodes_or_fails_without_panic() {
    let bytes = encode(&Record::examples());
    for position in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, bytes[position] ^ 0x20] {
            let mut damaged = bytes.clone();
            damaged[position] = value;
            for record in Decoder::new(&damaged) {
                drop(record);
            }
        }
    }
}

#[test]
fn an_event_of_a_later_version_is_passed_over_and_counted() {
    let kind = EventKind::Take { primitive: PrimitiveId(300) };
    let event =
        |time| Record::Event(Event { time: Time::from_nanoseconds(time), cpu: 1, thread: ThreadId(2), kind });
    let records = [event(5), event(1_000), event(1_001)];
    let mut bytes = encode(&records);
    let second = encode(&records[..1]).len();
    assert_eq!(bytes[second..][..2], [31, 2], "an extended event and its kind");
    bytes[second + 1] = 200;
    let mut decoder = Decoder::new(&bytes);
    let decoded: Vec<_> = decoder.by_ref().map(|record| record.expect("nothing is damaged")).collect();
    assert_eq!(decoded, [records[0].clone(), records[2].clone()], "times go on after it");
    assert_eq!(decoder.unknown(), 1);
}

#[test]
fn what_a_symbol_says_of_waiting_is_kept() {
    for waiting in [BusyWaiting::Work, BusyWaiting::Polls, BusyWaiting::MayWait, BusyWaiting::Spins] {
        let symbol = Record::Symbol(Symbol { frame: FrameId(1), places: vec![], waiting });
        let mut encoder = Encoder::default();
        encoder.push(&symbol);
        let records: Vec<Record> = Decoder::new(&encoder.take()).collect::<Result<_, _>>().unwrap();
        assert_eq!(records, [symbol]);
    }
}

#[test]
fn symbols_of_the_first_format_spin_or_work() {
    // The tag of a symbol is 8; its lowest flag said that it spins. Frame 3 has no places.
    for (tag, waiting) in [(8, BusyWaiting::Work), (8 | 1 << 5, BusyWaiting::Spins)] {
        let records: Vec<Record> = Decoder::new(&[tag, 3, 0]).collect::<Result<_, _>>().unwrap();
        assert_eq!(records, [Record::Symbol(Symbol { frame: FrameId(3), places: vec![], waiting })]);
    }
}
