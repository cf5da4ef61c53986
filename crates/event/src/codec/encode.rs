//! Records to bytes.

use super::tag::{self, MOST_NUMBERS, extended};
use crate::id::StackId;
use crate::message::{CollectiveMeeting, MessageEnvelope};
use crate::record::{Event, EventKind, Record, SeriesNode, Symbol, Waker};

/// Turns records into bytes.
#[derive(Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    previous: u64,
}

impl Encoder {
    /// Appends one record.
    pub fn push(&mut self, record: &Record) {
        match record {
            Record::Text(text) => {
                self.tag(tag::TEXT, 0);
                self.bytes(text.as_bytes());
            }
            Record::Module(module) => {
                self.tag(tag::MODULE, module.kind as u8);
                self.number(module.path.0.into());
                self.bytes(&module.build_id);
                self.optional(module.process.map(|id| id.0));
            }
            Record::Frame(frame) => {
                self.tag(tag::FRAME, 0);
                self.number(frame.module.0.into());
                self.number(frame.address);
            }
            Record::Stack(stack) => {
                self.tag(tag::STACK, 0);
                self.optional(stack.caller.map(|id| id.0));
                self.number(stack.frame.0.into());
            }
            Record::Call(call) => {
                self.tag(tag::CALL, call.file as u8);
                self.number((i64::from(call.number) + 1).cast_unsigned());
                for argument in call.arguments {
                    self.number(argument);
                }
            }
            Record::Process(process) => {
                self.tag(tag::PROCESS, 0);
                self.number(process.pid.into());
                self.optional(process.parent.map(|id| id.0));
            }
            Record::Thread(thread) => {
                self.tag(tag::THREAD, 0);
                self.number(thread.process.0.into());
                self.number(thread.tid.into());
            }
            Record::Series(series) => {
                let (node, id) = match series.node {
                    SeriesNode::Program => (0, 0),
                    SeriesNode::Machine => (1, 0),
                    SeriesNode::Process { pid } => (2, pid),
                    SeriesNode::Thread { tid } => (3, tid),
                };
                self.tag(tag::SERIES, series.samples as u8);
                self.number(series.name.0.into());
                self.number(series.unit.0.into());
                self.number(node);
                self.number(id.into());
                self.number(series.label.0.into());
                self.number(series.collector.0.into());
            }
            Record::Symbol(symbol) => self.symbol(symbol),
            Record::Word(word) => {
                self.tag(tag::WORD, 0);
                self.number(word.process.0.into());
                self.number(word.address);
                self.number(word.module.0.into());
                self.number(word.file_address);
            }
            Record::Variable(variable) => {
                self.tag(tag::VARIABLE, 0);
                self.number(variable.module.0.into());
                self.number(variable.file_address);
                self.number(variable.name.0.into());
                self.number(variable.offset);
            }
            Record::Callee(callee) => {
                self.tag(tag::CALLEE, 0);
                self.number(callee.frame.0.into());
                self.number(callee.procedure.0.into());
            }
            Record::File(file) => {
                self.tag(tag::FILE, 0);
                self.number(file.number);
                self.number(file.name.0.into());
            }
            Record::Primitive(primitive) => {
                self.tag(tag::PRIMITIVE, primitive.kind as u8);
                self.number(primitive.process.0.into());
                self.number(primitive.address);
                self.optional(primitive.name.map(|id| id.0));
            }
            Record::Number(number) => self.definition_number(*number),
            Record::Event(event) => self.event(event),
        }
    }

    /// Has the form of an extended event, so that a version that does not know it passes it over.
    fn definition_number(&mut self, number: u32) {
        self.tag(tag::EXTENDED, 0);
        // No time has passed since the event before, on processor 0, for thread 0.
        self.bytes.extend([extended::NUMBER, 0, 0, 0]);
        let length_at = self.bytes.len();
        self.bytes.push(0);
        self.number(number.into());
        let length = self.bytes.len() - length_at - 1;
        self.bytes[length_at] = u8::try_from(length).expect("a number of at most five bytes");
    }

    /// Bytes encoded since the last [`take`](Self::take).
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was encoded since the last [`take`](Self::take).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Ends the block: returns its bytes; the next record starts a block that decodes on its own.
    pub fn take(&mut self) -> Vec<u8> {
        self.previous = 0;
        let capacity = self.bytes.len();
        std::mem::replace(&mut self.bytes, Vec::with_capacity(capacity))
    }

    fn symbol(&mut self, symbol: &Symbol) {
        self.tag(tag::SYMBOL, tag::waiting_flag(symbol.waiting));
        self.number(symbol.frame.0.into());
        self.number(symbol.places.len() as u64);
        for place in &symbol.places {
            self.number(place.procedure.0.into());
            self.optional(place.file.map(|id| id.0));
            self.number(place.line.into());
        }
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Start { creator, stack } => {
                self.head(tag::START, 0, event);
                self.optional(creator.map(|id| id.0));
                self.optional(stack.map(|id| id.0));
            }
            EventKind::Name { name } => {
                self.head(tag::NAME, 0, event);
                self.number(name.0.into());
            }
            EventKind::Exec { program } => {
                self.head(tag::EXEC, 0, event);
                self.number(program.0.into());
            }
            EventKind::Exit => self.head(tag::EXIT, 0, event),
            EventKind::In => self.head(tag::IN, 0, event),
            EventKind::Out { blocking, call, stack } => {
                self.head(tag::OUT, blocking as u8, event);
                self.optional(call.map(|id| id.0));
                self.optional(stack.map(|id| id.0));
            }
            EventKind::Wake { waker, call, stack } => {
                let (flags, id) = match waker {
                    Waker::Unknown => (0, 0),
                    Waker::Thread(id) => (1, id.0),
                    Waker::Interrupt => (2, 0),
                    Waker::SoftInterrupt(id) => (3, id.0),
                    Waker::Outside(id) => (4, id.0),
                };
                self.head(tag::WAKE, flags, event);
                self.number(id.into());
                self.optional(call.map(|id| id.0));
                self.optional(stack.map(|id| id.0));
            }
            EventKind::Sample { stack, kernel, gap } => {
                let flags = tag::sample_flags(kernel, gap);
                self.head(tag::SAMPLE, flags, event);
                self.optional(stack.map(|id| id.0));
                if flags & tag::HAS_GAP != 0 {
                    self.number(gap.into());
                }
            }
            EventKind::Send { key } => {
                self.head(tag::SEND, 0, event);
                self.number(key);
            }
            EventKind::Receive { key } => {
                self.head(tag::RECEIVE, 0, event);
                self.number(key);
            }
            EventKind::Value { series, value } => {
                self.head(tag::VALUE, 0, event);
                self.number(series.0.into());
                self.bytes.extend_from_slice(&value.to_le_bytes());
            }
            EventKind::Lost { kind, count } => {
                self.head(tag::LOST, kind as u8, event);
                self.number(count);
            }
            EventKind::Await { primitive, stack } => {
                self.head(tag::AWAIT, tag::BEGINS, event);
                self.optional(primitive.map(|id| id.0));
                self.optional(stack.map(|id| id.0));
            }
            EventKind::Proceed => self.head(tag::AWAIT, tag::ENDS, event),
            EventKind::Held { primitive, stack, outer, acquisitions, contended, nanoseconds, longest } => {
                self.head(tag::HELD, 0, event);
                self.number(primitive.0.into());
                self.optional(stack.map(|id| id.0));
                self.optional(outer.map(|id| id.0));
                for number in [acquisitions, contended, nanoseconds, longest] {
                    self.number(number);
                }
            }
            EventKind::Enter { frame, stack, task } => {
                self.head(tag::ENTER, tag::BEGINS | u8::from(task.is_some()) << 1, event);
                self.number(frame.0.into());
                self.optional(stack.map(|id| id.0));
                task.into_iter().for_each(|task| self.number(task));
            }
            EventKind::Leave => self.head(tag::ENTER, tag::ENDS, event),
            EventKind::Spawn { task, stack } => {
                self.head(tag::SPAWN, 0, event);
                self.number(task);
                self.optional(stack.map(|id| id.0));
            }
            EventKind::Overhead { nanoseconds } => {
                self.head(tag::OVERHEAD, 0, event);
                self.number(nanoseconds);
            }
            EventKind::Joined { .. }
            | EventKind::Post { .. }
            | EventKind::Initialise { .. }
            | EventKind::Take { .. }
            | EventKind::Lock { .. }
            | EventKind::Unlock { .. }
            | EventKind::Waited { .. }
            | EventKind::Signal { .. }
            | EventKind::Write { .. }
            | EventKind::Read { .. }
            | EventKind::Arrive { .. }
            | EventKind::Depart { .. }
            | EventKind::Title { .. }
            | EventKind::Owner { .. }
            | EventKind::Written { .. }
            | EventKind::Freed { .. }
            | EventKind::Continue { .. }
            | EventKind::Communicate { .. }
            | EventKind::Communicated
            | EventKind::MessageSend(_)
            | EventKind::MessageSent { .. }
            | EventKind::MessageReceive { .. }
            | EventKind::MessageProbe(_)
            | EventKind::Meet(_)
            | EventKind::MeetingComplete { .. }
            | EventKind::Rank { .. }
            | EventKind::CommunicatorName { .. } => self.extended(event),
        }
    }

    /// An event whose kind has a byte of its own.
    fn extended(&mut self, event: &Event) {
        let none = None::<StackId>;
        let (kind, flags, numbers, stack) = match event.kind {
            EventKind::Joined { ended } => (extended::JOINED, 0, padded([ended.0.into()]), none),
            EventKind::Post { primitive, count } => {
                (extended::POST, 0, padded([primitive.0.into(), count]), none)
            }
            EventKind::Initialise { primitive, count } => {
                (extended::INITIALISE, 0, padded([primitive.0.into(), count]), none)
            }
            EventKind::Take { primitive } => (extended::TAKE, 0, padded([primitive.0.into()]), none),
            EventKind::Lock { mutex, stack } => (extended::LOCK, 0, padded([mutex.0.into()]), stack),
            EventKind::Unlock { mutex } => (extended::UNLOCK, 0, padded([mutex.0.into()]), none),
            EventKind::Waited { condition, mutex, granted, stack } => {
                (extended::WAITED, granted.into(), padded([condition.0.into(), mutex.0.into()]), stack)
            }
            EventKind::Signal { condition, broadcast, stack } => {
                (extended::SIGNAL, broadcast.into(), padded([condition.0.into()]), stack)
            }
            EventKind::Write { channel, position, bytes } => {
                (extended::WRITE, 0, padded([channel, position, bytes]), none)
            }
            EventKind::Read { channel, position, bytes } => {
                (extended::READ, 0, padded([channel, position, bytes]), none)
            }
            EventKind::Arrive { primitive } => (extended::ARRIVE, 0, padded([primitive.0.into()]), none),
            EventKind::Depart { primitive } => (extended::DEPART, 0, padded([primitive.0.into()]), none),
            EventKind::Title { title } => (extended::TITLE, 0, padded([title.0.into()]), none),
            EventKind::Owner { owner } => (extended::OWNER, 0, padded([owner.0.into()]), none),
            EventKind::Written { writer, stack } => (extended::WRITTEN, 0, padded([writer.0.into()]), stack),
            EventKind::Freed { by, primitive, stack } => {
                (extended::FREED, 0, padded([by.0.into(), primitive.0.into()]), stack)
            }
            EventKind::Continue { creator, stack, is_alive } => {
                let creator = creator.map_or(0, |id| u64::from(id.0) + 1);
                (extended::CONTINUE, is_alive.into(), padded([creator]), stack)
            }
            EventKind::Communicate { communicator, peer, stack } => (
                extended::COMMUNICATE,
                0,
                padded([communicator, peer.map_or(0, |peer| u64::from(peer) + 1)]),
                stack,
            ),
            EventKind::Communicated => (extended::COMMUNICATED, 0, padded([]), none),
            EventKind::MessageSend(message) => (extended::MESSAGE_SEND, 0, padded(envelope(message)), none),
            EventKind::MessageSent { channel, posted } => {
                (extended::MESSAGE_SENT, 0, padded([channel, posted]), none)
            }
            EventKind::MessageReceive { message, posted } => {
                let [channel, communicator, peer, tag, bytes] = envelope(message);
                (
                    extended::MESSAGE_RECEIVE,
                    0,
                    padded([channel, communicator, peer, tag, bytes, posted]),
                    none,
                )
            }
            EventKind::MessageProbe(message) => (extended::MESSAGE_PROBE, 0, padded(envelope(message)), none),
            EventKind::Meet(CollectiveMeeting { communicator, round, rank, size, order, root, is_begun }) => {
                let numbers = [communicator, round, rank.into(), size.into(), root.into()];
                let flags = order as u8 | if is_begun { tag::IS_BEGUN } else { 0 };
                (extended::MEET, flags, padded(numbers), none)
            }
            EventKind::MeetingComplete { communicator, round } => {
                (extended::MEETING_COMPLETE, 0, padded([communicator, round]), none)
            }
            EventKind::Rank { rank } => (extended::RANK, 0, padded([rank.into()]), none),
            EventKind::CommunicatorName { communicator, name } => {
                (extended::COMMUNICATOR_NAME, 0, padded([communicator, name.0.into()]), none)
            }
            _ => return,
        };
        self.tag(tag::EXTENDED, flags);
        self.bytes.push(kind);
        self.moment(event);
        let length_at = self.bytes.len();
        self.bytes.push(0);
        // What is 0 at the end need not be written: it is read as 0.
        let numbers = &numbers[..numbers.iter().rposition(|&number| number != 0).map_or(0, |last| last + 1)];
        self.optional(stack.map(|id| id.0));
        numbers.iter().for_each(|&number| self.number(number));
        let length = self.bytes.len() - length_at - 1;
        self.bytes[length_at] = u8::try_from(length).expect("seven numbers of at most ten bytes");
    }

    fn head(&mut self, kind: u8, flags: u8, event: &Event) {
        self.tag(kind, flags);
        self.moment(event);
    }

    fn moment(&mut self, event: &Event) {
        let time = event.time.nanoseconds();
        let difference = time.wrapping_sub(self.previous).cast_signed();
        self.number(((difference << 1) ^ (difference >> 63)).cast_unsigned());
        self.previous = time;
        self.number(event.cpu.into());
        self.number(event.thread.0.into());
    }

    fn tag(&mut self, kind: u8, flags: u8) {
        self.bytes.push(kind | (flags << tag::KIND_BITS));
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn optional(&mut self, value: Option<u32>) {
        self.number(value.map_or(0, |id| u64::from(id) + 1));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }
}

/// A message as numbers.
fn envelope(message: MessageEnvelope) -> [u64; 5] {
    let MessageEnvelope { channel, communicator, peer, tag, bytes } = message;
    let tag = i64::from(tag);
    [channel, communicator, peer.into(), ((tag << 1) ^ (tag >> 63)).cast_unsigned(), bytes]
}

/// Numbers with zeroes behind them.
fn padded<const LENGTH: usize>(numbers: [u64; LENGTH]) -> [u64; MOST_NUMBERS] {
    std::array::from_fn(|index| numbers.get(index).copied().unwrap_or(0))
}
