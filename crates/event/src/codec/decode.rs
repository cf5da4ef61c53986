//! Bytes to records.

use std::fmt;

use super::tag::{self, MOST_NUMBERS, extended};
use crate::id::{CallId, FrameId, ModuleId, PrimitiveId, ProcessId, SeriesId, StackId, TextId, ThreadId};
use crate::message::{CollectiveMeeting, CollectiveOrder, MessageEnvelope};
use crate::record::{
    Blocking, CallDefinition, Callee, Event, EventKind, FileDefinition, FileKind, FrameDefinition, LossKind,
    ModuleDefinition, ModuleKind, Primitive, PrimitiveKind, ProcessDefinition, Record, SeriesDefinition,
    SeriesKind, SeriesNode, StackDefinition, Symbol, SymbolPlace, ThreadDefinition, VariableDefinition,
    Waker, WordDefinition,
};
use crate::time::Time;

/// A block that cannot be decoded further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The block ends within the record that begins at `offset`.
    Ends {
        /// Byte offset of the record in the block.
        offset: usize,
    },
    /// The record at `offset` holds a tag or a value that no record has.
    Invalid {
        /// Byte offset of the record in the block.
        offset: usize,
        /// What is invalid.
        what: &'static str,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Ends { offset } => write!(f, "block ends within the record at byte {offset}"),
            DecodeError::Invalid { offset, what } => {
                write!(f, "invalid {what} in the record at byte {offset}")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// Turns one block of bytes back into records. After an error it ends.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    offset: usize,
    start: usize,
    previous: u64,
    unknown: u64,
}

type Result<T> = std::result::Result<T, DecodeError>;

impl<'a> Decoder<'a> {
    /// A decoder at the start of a block.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder { bytes, offset: 0, start: 0, previous: 0, unknown: 0 }
    }

    /// Events so far of kinds that a later version writes; they are passed over.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    fn record(&mut self) -> Result<Option<Record>> {
        let byte = self.byte()?;
        let flags = byte >> tag::KIND_BITS;
        match byte & tag::KIND_MASK {
            tag::EXTENDED => self.extended(flags),
            kind => self.plain(kind, flags).map(Some),
        }
    }

    fn plain(&mut self, kind: u8, flags: u8) -> Result<Record> {
        Ok(match kind {
            tag::TEXT => Record::Text(self.text()?),
            tag::MODULE => Record::Module(ModuleDefinition {
                kind: self.choose(MODULE_KINDS, flags, "module kind")?,
                path: TextId(self.id()?),
                build_id: self.slice()?.to_vec(),
                process: self.optional()?.map(ProcessId),
            }),
            tag::FRAME => {
                Record::Frame(FrameDefinition { module: ModuleId(self.id()?), address: self.number()? })
            }
            tag::STACK => Record::Stack(StackDefinition {
                caller: self.optional()?.map(StackId),
                frame: FrameId(self.id()?),
            }),
            tag::CALL => Record::Call(CallDefinition {
                file: self.choose(FILE_KINDS, flags, "file kind")?,
                number: (i64::from(self.id()?) - 1) as i32,
                arguments: [self.number()?, self.number()?, self.number()?],
            }),
            tag::PROCESS => Record::Process(ProcessDefinition {
                pid: self.id()?,
                parent: self.optional()?.map(ProcessId),
            }),
            tag::THREAD => {
                Record::Thread(ThreadDefinition { process: ProcessId(self.id()?), tid: self.id()? })
            }
            tag::SERIES => {
                let samples = self.choose(SAMPLES, flags, "way to read values")?;
                let (name, unit) = (TextId(self.id()?), TextId(self.id()?));
                let node = match (self.number()?, self.id()?) {
                    (0, _) => SeriesNode::Program,
                    (1, _) => SeriesNode::Machine,
                    (2, pid) => SeriesNode::Process { pid },
                    (_, tid) => SeriesNode::Thread { tid },
                };
                let (label, collector) = (TextId(self.id()?), TextId(self.id()?));
                Record::Series(SeriesDefinition { name, unit, samples, node, label, collector })
            }
            tag::SYMBOL => Record::Symbol(self.symbol(flags)?),
            tag::WORD => Record::Word(WordDefinition {
                process: ProcessId(self.id()?),
                address: self.number()?,
                module: ModuleId(self.id()?),
                file_address: self.number()?,
            }),
            tag::VARIABLE => Record::Variable(VariableDefinition {
                module: ModuleId(self.id()?),
                file_address: self.number()?,
                name: TextId(self.id()?),
                offset: self.number()?,
            }),
            tag::CALLEE => {
                Record::Callee(Callee { frame: FrameId(self.id()?), procedure: TextId(self.id()?) })
            }
            tag::FILE => Record::File(FileDefinition { number: self.number()?, name: TextId(self.id()?) }),
            tag::PRIMITIVE => Record::Primitive(Primitive {
                kind: self.choose(PRIMITIVE_KINDS, flags, "kind of a primitive")?,
                process: ProcessId(self.id()?),
                address: self.number()?,
                name: self.optional()?.map(TextId),
            }),
            kind => Record::Event(self.event(kind, flags)?),
        })
    }

    fn symbol(&mut self, flags: u8) -> Result<Symbol> {
        let frame = FrameId(self.id()?);
        let count = self.number()?;
        // Each place takes at least three bytes: a longer count is damage, not a reason to allocate.
        if count > (self.bytes.len() - self.offset) as u64 / 3 {
            return Err(DecodeError::Ends { offset: self.start });
        }
        let places = (0..count)
            .map(|_| {
                Ok(SymbolPlace {
                    procedure: TextId(self.id()?),
                    file: self.optional()?.map(TextId),
                    line: self.id()?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Symbol { frame, places, waiting: tag::waiting_of(flags) })
    }

    /// An event whose kind has a byte of its own; `None` where this version does not know the kind.
    fn extended(&mut self, flags: u8) -> Result<Option<Record>> {
        let kind = self.byte()?;
        let (time, cpu, thread) = self.moment()?;
        let length = usize::from(self.byte()?);
        let end = self.offset + length;
        if end > self.bytes.len() {
            return Err(DecodeError::Ends { offset: self.start });
        }
        let mut rest = Decoder { bytes: &self.bytes[..end], ..self.clone() };
        self.offset = end;
        if kind == extended::NUMBER {
            return Ok(Some(Record::Number(rest.id()?)));
        }
        let kind = rest.extended_kind(kind, flags)?;
        self.unknown += u64::from(kind.is_none());
        Ok(kind.map(|kind| Record::Event(Event { time, cpu, thread, kind })))
    }

    fn extended_kind(&mut self, kind: u8, flags: u8) -> Result<Option<EventKind>> {
        if kind > extended::LAST || kind == extended::NUMBER {
            return Ok(None);
        }
        let stack = self.optional()?.map(StackId);
        let mut numbers = [0; MOST_NUMBERS];
        for number in &mut numbers {
            if self.offset < self.bytes.len() {
                *number = self.number()?;
            }
        }
        let [first, second, third, ..] = numbers;
        let id = |number: u64| u32::try_from(number).map_err(|_| self.invalid("id"));
        let primitive = |number| id(number).map(PrimitiveId);
        Ok(Some(match kind {
            extended::JOINED => EventKind::Joined { ended: ThreadId(id(first)?) },
            extended::POST => EventKind::Post { primitive: primitive(first)?, count: second },
            extended::TAKE => EventKind::Take { primitive: primitive(first)? },
            extended::LOCK => EventKind::Lock { mutex: primitive(first)?, stack },
            extended::UNLOCK => EventKind::Unlock { mutex: primitive(first)? },
            extended::WAITED => EventKind::Waited {
                condition: primitive(first)?,
                mutex: primitive(second)?,
                granted: flags & 1 != 0,
                stack,
            },
            extended::SIGNAL => {
                EventKind::Signal { condition: primitive(first)?, broadcast: flags & 1 != 0, stack }
            }
            extended::WRITE => EventKind::Write { channel: first, position: second, bytes: third },
            extended::READ => EventKind::Read { channel: first, position: second, bytes: third },
            extended::ARRIVE => EventKind::Arrive { primitive: primitive(first)? },
            extended::DEPART => EventKind::Depart { primitive: primitive(first)? },
            extended::INITIALISE => EventKind::Initialise { primitive: primitive(first)?, count: second },
            extended::TITLE => EventKind::Title { title: TextId(id(first)?) },
            extended::OWNER => EventKind::Owner { owner: ThreadId(id(first)?) },
            extended::WRITTEN => EventKind::Written { writer: ThreadId(id(first)?), stack },
            extended::FREED => {
                EventKind::Freed { by: ThreadId(id(first)?), primitive: primitive(second)?, stack }
            }
            extended::COMMUNICATE => EventKind::Communicate {
                communicator: first,
                peer: second.checked_sub(1).map(id).transpose()?,
                stack,
            },
            extended::COMMUNICATED => EventKind::Communicated,
            extended::MESSAGE_SEND => EventKind::MessageSend(self.envelope(numbers)?),
            extended::MESSAGE_SENT => EventKind::MessageSent { channel: first, posted: second },
            extended::MESSAGE_RECEIVE => {
                EventKind::MessageReceive { message: self.envelope(numbers)?, posted: numbers[5] }
            }
            extended::MEET => EventKind::Meet(CollectiveMeeting {
                communicator: first,
                round: second,
                rank: id(third)?,
                size: id(numbers[3])?,
                order: self.choose(
                    COLLECTIVE_ORDERS,
                    flags & !tag::IS_BEGUN,
                    "order of a collective operation",
                )?,
                root: id(numbers[4])?,
                is_begun: flags & tag::IS_BEGUN != 0,
            }),
            extended::MESSAGE_PROBE => EventKind::MessageProbe(self.envelope(numbers)?),
            extended::MEETING_COMPLETE => EventKind::MeetingComplete { communicator: first, round: second },
            extended::RANK => EventKind::Rank { rank: id(first)? },
            extended::COMMUNICATOR_NAME => {
                EventKind::CommunicatorName { communicator: first, name: TextId(id(second)?) }
            }
            _ => EventKind::Continue {
                creator: first.checked_sub(1).map(id).transpose()?.map(ThreadId),
                stack,
                is_alive: flags & 1 != 0,
            },
        }))
    }

    /// A message out of its numbers.
    fn envelope(&self, numbers: [u64; MOST_NUMBERS]) -> Result<MessageEnvelope> {
        let [channel, communicator, peer, tag, bytes, _] = numbers;
        let tag = (tag >> 1).cast_signed() ^ -((tag & 1).cast_signed());
        Ok(MessageEnvelope {
            channel,
            communicator,
            peer: u32::try_from(peer).map_err(|_| self.invalid("rank"))?,
            tag: i32::try_from(tag).map_err(|_| self.invalid("tag"))?,
            bytes,
        })
    }

    fn moment(&mut self) -> Result<(Time, u16, ThreadId)> {
        let difference = self.number()?;
        let difference = (difference >> 1) ^ (difference & 1).wrapping_neg();
        self.previous = self.previous.wrapping_add(difference);
        let time = Time::from_nanoseconds(self.previous);
        let cpu = u16::try_from(self.number()?).map_err(|_| self.invalid("processor number"))?;
        Ok((time, cpu, ThreadId(self.id()?)))
    }

    fn event(&mut self, kind: u8, flags: u8) -> Result<Event> {
        let (time, cpu, thread) = self.moment()?;
        let kind = match kind {
            tag::START => EventKind::Start {
                creator: self.optional()?.map(ThreadId),
                stack: self.optional()?.map(StackId),
            },
            tag::NAME => EventKind::Name { name: TextId(self.id()?) },
            tag::EXEC => EventKind::Exec { program: TextId(self.id()?) },
            tag::EXIT => EventKind::Exit,
            tag::IN => EventKind::In,
            tag::OUT => EventKind::Out {
                blocking: self.choose(BLOCKINGS, flags, "reason of a switch")?,
                call: self.optional()?.map(CallId),
                stack: self.optional()?.map(StackId),
            },
            tag::WAKE => {
                let id = self.id()?;
                let waker = match flags {
                    0 => Waker::Unknown,
                    1 => Waker::Thread(ThreadId(id)),
                    2 => Waker::Interrupt,
                    3 => Waker::SoftInterrupt(ThreadId(id)),
                    4 => Waker::Outside(TextId(id)),
                    _ => return Err(self.invalid("waker")),
                };
                EventKind::Wake {
                    waker,
                    call: self.optional()?.map(CallId),
                    stack: self.optional()?.map(StackId),
                }
            }
            tag::SAMPLE => EventKind::Sample {
                stack: self.optional()?.map(StackId),
                kernel: flags & tag::IN_KERNEL != 0,
                gap: if flags & tag::HAS_GAP == 0 { 0 } else { self.id()? },
            },
            tag::SEND => EventKind::Send { key: self.number()? },
            tag::RECEIVE => EventKind::Receive { key: self.number()? },
            tag::VALUE => EventKind::Value { series: SeriesId(self.id()?), value: self.float()? },
            tag::LOST => EventKind::Lost {
                kind: self.choose(LOSS_KINDS, flags, "kind of loss")?,
                count: self.number()?,
            },
            tag::AWAIT if flags == tag::ENDS => EventKind::Proceed,
            tag::AWAIT => EventKind::Await {
                primitive: self.optional()?.map(PrimitiveId),
                stack: self.optional()?.map(StackId),
            },
            tag::HELD => EventKind::Held {
                primitive: PrimitiveId(self.id()?),
                stack: self.optional()?.map(StackId),
                outer: self.optional()?.map(PrimitiveId),
                acquisitions: self.number()?,
                contended: self.number()?,
                nanoseconds: self.number()?,
                longest: self.number()?,
            },
            tag::ENTER if flags == tag::ENDS => EventKind::Leave,
            tag::ENTER => EventKind::Enter {
                frame: FrameId(self.id()?),
                stack: self.optional()?.map(StackId),
                task: if flags & 2 == 0 { None } else { Some(self.number()?) },
            },
            tag::SPAWN => EventKind::Spawn { task: self.number()?, stack: self.optional()?.map(StackId) },
            tag::OVERHEAD => EventKind::Overhead { nanoseconds: self.number()? },
            _ => return Err(self.invalid("record tag")),
        };
        Ok(Event { time, cpu, thread, kind })
    }

    fn choose<T: Copy>(&self, values: &[T], index: u8, what: &'static str) -> Result<T> {
        values.get(usize::from(index)).copied().ok_or_else(|| self.invalid(what))
    }

    fn invalid(&self, what: &'static str) -> DecodeError {
        DecodeError::Invalid { offset: self.start, what }
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.offset).ok_or(DecodeError::Ends { offset: self.start })?;
        self.offset += 1;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.invalid("number"))
    }

    fn id(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| self.invalid("id"))
    }

    fn optional(&mut self) -> Result<Option<u32>> {
        let value = self.number()?;
        match value.checked_sub(1) {
            None => Ok(None),
            Some(id) => u32::try_from(id).map(Some).map_err(|_| self.invalid("id")),
        }
    }

    fn slice(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number()?).map_err(|_| self.invalid("length"))?;
        let end = self.offset.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(DecodeError::Ends { offset: self.start })?;
        let slice = &self.bytes[self.offset..end];
        self.offset = end;
        Ok(slice)
    }

    fn text(&mut self) -> Result<String> {
        let slice = self.slice()?;
        std::str::from_utf8(slice).map(str::to_owned).map_err(|_| self.invalid("text"))
    }

    fn float(&mut self) -> Result<f64> {
        let end = self.offset + 8;
        let bytes = self.bytes.get(self.offset..end).ok_or(DecodeError::Ends { offset: self.start })?;
        self.offset = end;
        Ok(f64::from_le_bytes(bytes.try_into().expect("a slice of eight bytes")))
    }
}

impl Iterator for Decoder<'_> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.offset < self.bytes.len() {
            self.start = self.offset;
            let record = self.record();
            if record.is_err() {
                self.offset = self.bytes.len();
            }
            if let Some(record) = record.transpose() {
                return Some(record);
            }
        }
        None
    }
}

pub(super) const COLLECTIVE_ORDERS: &[CollectiveOrder] =
    &[CollectiveOrder::AllToAll, CollectiveOrder::FromRoot, CollectiveOrder::ToRoot, CollectiveOrder::Prefix];
pub(super) const MODULE_KINDS: &[ModuleKind] = &[
    ModuleKind::File,
    ModuleKind::Kernel,
    ModuleKind::Vdso,
    ModuleKind::Jit,
    ModuleKind::Unknown,
    ModuleKind::Region,
];
pub(super) const PRIMITIVE_KINDS: &[PrimitiveKind] = &[
    PrimitiveKind::Mutex,
    PrimitiveKind::ReadWriteLock,
    PrimitiveKind::SpinLock,
    PrimitiveKind::Condition,
    PrimitiveKind::Barrier,
    PrimitiveKind::Semaphore,
    PrimitiveKind::Once,
    PrimitiveKind::Futex,
];
pub(super) const SAMPLES: &[SeriesKind] = &[SeriesKind::Gauge, SeriesKind::Counter, SeriesKind::Amount];
pub(super) const FILE_KINDS: &[FileKind] = &[
    FileKind::None,
    FileKind::Regular,
    FileKind::Pipe,
    FileKind::Socket,
    FileKind::Character,
    FileKind::Block,
    FileKind::Anonymous,
];
pub(super) const BLOCKINGS: &[Blocking] = &[
    Blocking::Runnable,
    Blocking::Interruptible,
    Blocking::Uninterruptible,
    Blocking::Device,
    Blocking::Stopped,
    Blocking::Dead,
];
pub(super) const LOSS_KINDS: &[LossKind] =
    &[LossKind::Events, LossKind::Samples, LossKind::Stacks, LossKind::Threads, LossKind::Calls];
