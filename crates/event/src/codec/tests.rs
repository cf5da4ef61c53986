use super::decode::{BLOCKINGS, FILE_KINDS, LOSS_KINDS, MODULE_KINDS, PRIMITIVE_KINDS, SAMPLES};
use super::{Decoder, Encoder};
use crate::id::*;
use crate::message::*;
use crate::record::*;
use crate::time::Time;

fn all_kinds() -> Vec<Record> {
    let event = |time, kind| {
        Record::Event(Event { time: Time::from_nanoseconds(time), cpu: 3, thread: ThreadId(9), kind })
    };
    let mut records = vec![
        Record::Text("naïve\n".into()),
        Record::Frame(FrameDefinition { module: ModuleId(1), address: u64::MAX }),
        Record::Stack(StackDefinition { caller: None, frame: FrameId(0) }),
        Record::Stack(StackDefinition { caller: Some(StackId(0)), frame: FrameId(u32::MAX) }),
        Record::Process(ProcessDefinition { pid: 1, parent: None }),
        Record::Process(ProcessDefinition { pid: 2, parent: Some(ProcessId(0)) }),
        Record::Thread(ThreadDefinition { process: ProcessId(1), tid: 77 }),
        Record::Symbol(Symbol {
            frame: FrameId(4),
            places: vec![
                SymbolPlace { procedure: TextId(1), file: Some(TextId(0)), line: 12 },
                SymbolPlace { procedure: TextId(2), file: None, line: 0 },
            ],
            waiting: BusyWaiting::Spins,
        }),
        Record::Word(WordDefinition {
            process: ProcessId(1),
            address: u64::MAX,
            module: ModuleId(2),
            file_address: 0x4040,
        }),
        Record::Variable(VariableDefinition {
            module: ModuleId(2),
            file_address: 0x4040,
            name: TextId(1),
            offset: 40,
        }),
        Record::File(FileDefinition { number: u64::MAX, name: TextId(0) }),
        Record::Callee(Callee { frame: FrameId(7), procedure: TextId(1) }),
        Record::Number(0),
        Record::Number(u32::MAX),
        event(5_000_000_000, EventKind::Start { creator: Some(ThreadId(0)), stack: None }),
        event(4_999_999_999, EventKind::Name { name: TextId(0) }),
        event(u64::MAX, EventKind::Exec { program: TextId(1) }),
        event(0, EventKind::Exit),
        event(1, EventKind::In),
        event(2, EventKind::Sample { stack: Some(StackId(1)), kernel: true, gap: 0 }),
        event(2, EventKind::Sample { stack: None, kernel: false, gap: 1 }),
        event(2, EventKind::Sample { stack: Some(StackId(1)), kernel: true, gap: u32::MAX }),
        event(3, EventKind::Send { key: u64::MAX }),
        event(3, EventKind::Receive { key: 0 }),
        event(4, EventKind::Value { series: SeriesId(0), value: -0.5 }),
        event(5, EventKind::Await { primitive: Some(PrimitiveId(0)), stack: None }),
        event(5, EventKind::Await { primitive: None, stack: Some(StackId(1)) }),
        event(6, EventKind::Proceed),
        event(
            7,
            EventKind::Held {
                primitive: PrimitiveId(1),
                stack: Some(StackId(0)),
                outer: Some(PrimitiveId(0)),
                acquisitions: 5,
                contended: 2,
                nanoseconds: u64::MAX,
                longest: 300,
            },
        ),
        event(8, EventKind::Enter { frame: FrameId(3), stack: None, task: Some(u64::MAX) }),
        event(8, EventKind::Enter { frame: FrameId(3), stack: Some(StackId(1)), task: None }),
        event(9, EventKind::Leave),
        event(9, EventKind::Spawn { task: 7, stack: None }),
        event(9, EventKind::Overhead { nanoseconds: 40 }),
    ];
    records.extend(extended_kinds().into_iter().map(|kind| event(10, kind)));
    records.extend(MODULE_KINDS.iter().map(|&kind| {
        Record::Module(ModuleDefinition { path: TextId(0), build_id: vec![1, 2, 255], kind, process: None })
    }));
    records.extend(PRIMITIVE_KINDS.iter().map(|&kind| {
        let name = (kind == PrimitiveKind::Mutex).then_some(TextId(1));
        Record::Primitive(Primitive { process: ProcessId(1), kind, address: 0x7fff_0000_1000, name })
    }));
    let (pid, tid) = (u32::MAX, 7);
    let nodes =
        [SeriesNode::Program, SeriesNode::Machine, SeriesNode::Process { pid }, SeriesNode::Thread { tid }];
    records.extend(SAMPLES.iter().cycle().zip(nodes).map(|(&samples, node)| {
        let (name, unit, label, collector) = (TextId(0), TextId(1), TextId(2), TextId(3));
        Record::Series(SeriesDefinition { name, unit, samples, node, label, collector })
    }));
    records.extend(
        FILE_KINDS
            .iter()
            .map(|&file| Record::Call(CallDefinition { number: -1, arguments: [u64::MAX, 0, 7], file })),
    );
    records.extend(BLOCKINGS.iter().map(|&blocking| {
        event(9, EventKind::Out { blocking, call: Some(CallId(0)), stack: Some(StackId(0)) })
    }));
    records.extend(LOSS_KINDS.iter().map(|&kind| event(9, EventKind::Lost { kind, count: 300 })));
    let wakers = [
        Waker::Unknown,
        Waker::Thread(ThreadId(1)),
        Waker::Interrupt,
        Waker::SoftInterrupt(ThreadId(300)),
        Waker::Outside(TextId(1)),
    ];
    records.extend(
        wakers.iter().map(|&waker| event(9, EventKind::Wake { waker, call: None, stack: Some(StackId(1)) })),
    );
    records
}

fn extended_kinds() -> Vec<EventKind> {
    let (primitive, condition, mutex) = (PrimitiveId(4), PrimitiveId(0), PrimitiveId(u32::MAX));
    let (none, stack) = (None, Some(StackId(u32::MAX - 1)));
    let (channel, position, bytes) = (u64::MAX, 1 << 40, u64::MAX);
    let message = MessageEnvelope { channel, communicator: channel, peer: u32::MAX, tag: i32::MIN, bytes };
    let meeting = CollectiveMeeting {
        communicator: u64::MAX,
        round: u64::MAX,
        rank: u32::MAX,
        size: u32::MAX,
        order: CollectiveOrder::FromRoot,
        root: u32::MAX,
        is_begun: true,
    };
    vec![
        EventKind::Title { title: TextId(3) },
        EventKind::Communicate { communicator: u64::MAX, peer: Some(0), stack },
        EventKind::Communicate { communicator: 0, peer: None, stack: none },
        EventKind::Communicated,
        EventKind::MessageSend(message),
        EventKind::MessageSent { channel, posted: u64::MAX },
        EventKind::MessageReceive { message: MessageEnvelope { tag: i32::MAX, ..message }, posted: u64::MAX },
        EventKind::Meet(meeting),
        EventKind::MessageProbe(message),
        EventKind::MeetingComplete { communicator: u64::MAX, round: 3 },
        EventKind::Meet(CollectiveMeeting { order: CollectiveOrder::Prefix, is_begun: false, ..meeting }),
        EventKind::Rank { rank: u32::MAX },
        EventKind::CommunicatorName { communicator: 7, name: TextId(3) },
        EventKind::Owner { owner: ThreadId(9) },
        EventKind::Written { writer: ThreadId(u32::MAX), stack },
        EventKind::Written { writer: ThreadId(0), stack: none },
        EventKind::Freed { by: ThreadId(u32::MAX), primitive: PrimitiveId(2), stack },
        EventKind::Freed { by: ThreadId(0), primitive: PrimitiveId(u32::MAX), stack: none },
        EventKind::Continue { creator: Some(ThreadId(0)), stack, is_alive: true },
        EventKind::Continue { creator: None, stack: none, is_alive: false },
        EventKind::Joined { ended: ThreadId(0) },
        EventKind::Joined { ended: ThreadId(7) },
        EventKind::Post { primitive, count: u64::MAX },
        EventKind::Initialise { primitive, count: 3 },
        EventKind::Take { primitive },
        EventKind::Lock { mutex, stack },
        EventKind::Unlock { mutex },
        EventKind::Waited { condition, mutex, granted: true, stack },
        EventKind::Waited { condition, mutex: condition, granted: false, stack: none },
        EventKind::Signal { condition, broadcast: true, stack },
        EventKind::Signal { condition, broadcast: false, stack: none },
        EventKind::Write { channel, position, bytes },
        EventKind::Read { channel: 0, position: 0, bytes: 0 },
        EventKind::Arrive { primitive },
        EventKind::Depart { primitive },
    ]
}

fn encode(records: &[Record]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    records.iter().for_each(|record| encoder.push(record));
    encoder.take()
}

#[test]
fn every_kind_of_record_survives_the_round_trip() {
    let records = all_kinds();
    let decoded: Vec<_> = Decoder::new(&encode(&records)).map(|r| r.expect("intact bytes")).collect();
    assert_eq!(decoded, records);
}

#[test]
fn blocks_decode_on_their_own() {
    let mut encoder = Encoder::default();
    let records = all_kinds();
    for record in &records {
        encoder.push(record);
        let block = encoder.take();
        assert_eq!(Decoder::new(&block).next(), Some(Ok(record.clone())));
    }
}

#[test]
fn a_block_cut_anywhere_yields_a_prefix_and_at_most_one_error() {
    let records = all_kinds();
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
    let bytes = encode(&all_kinds());
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
