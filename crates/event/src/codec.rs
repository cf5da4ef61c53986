//! Byte encoding of records: a tag byte, then variable-length integers.
//!
//! Integers are LEB128. Times are zigzag differences from the event before in the same block, so a
//! block decodes on its own. Optional ids are stored plus one, 0 for none. An event's tag byte carries
//! its kind in the low five bits and small flags above. Decoding never panics: every damaged byte ends
//! in a [`DecodeError`] that names the offset.

use std::fmt;

use crate::id::{CallId, FrameId, ModuleId, ProcessId, SeriesId, StackId, TextId, ThreadId};
use crate::record::{
    Blocking, Call, Callee, Event, EventKind, File, FileKind, Frame, LossKind, Module, ModuleKind, Process,
    Record, Series, Stack, Symbol, SymbolPlace, Thread, Variable, Waker, Word,
};
use crate::time::Time;

mod tag {
    pub const TEXT: u8 = 0;
    pub const MODULE: u8 = 1;
    pub const FRAME: u8 = 2;
    pub const STACK: u8 = 3;
    pub const CALL: u8 = 4;
    pub const PROCESS: u8 = 5;
    pub const THREAD: u8 = 6;
    pub const SERIES: u8 = 7;
    pub const SYMBOL: u8 = 8;
    pub const START: u8 = 9;
    pub const NAME: u8 = 10;
    pub const EXEC: u8 = 11;
    pub const EXIT: u8 = 12;
    pub const IN: u8 = 13;
    pub const OUT: u8 = 14;
    pub const WAKE: u8 = 15;
    pub const SAMPLE: u8 = 16;
    pub const SEND: u8 = 17;
    pub const RECEIVE: u8 = 18;
    pub const VALUE: u8 = 19;
    pub const LOST: u8 = 20;
    pub const WORD: u8 = 21;
    pub const VARIABLE: u8 = 22;
    pub const FILE: u8 = 23;
    pub const CALLEE: u8 = 24;
    /// Bits of the tag byte that hold the kind; the three above are the kind's own.
    pub const KIND_BITS: u8 = 5;
    pub const KIND_MASK: u8 = (1 << KIND_BITS) - 1;
}

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
                self.tag(tag::SERIES, 0);
                self.number(series.name.0.into());
                self.number(series.unit.0.into());
                self.optional(series.thread.map(|id| id.0));
                self.optional(series.process.map(|id| id.0));
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
            Record::Event(event) => self.event(event),
        }
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
        self.tag(tag::SYMBOL, u8::from(symbol.spins));
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
            EventKind::Sample { stack, kernel } => {
                self.head(tag::SAMPLE, u8::from(kernel), event);
                self.optional(stack.map(|id| id.0));
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
        }
    }

    fn head(&mut self, kind: u8, flags: u8, event: &Event) {
        self.tag(kind, flags);
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
}

type Result<T> = std::result::Result<T, DecodeError>;

impl<'a> Decoder<'a> {
    /// A decoder at the start of a block.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder { bytes, offset: 0, start: 0, previous: 0 }
    }

    fn record(&mut self) -> Result<Record> {
        let byte = self.byte()?;
        let flags = byte >> tag::KIND_BITS;
        Ok(match byte & tag::KIND_MASK {
            tag::TEXT => Record::Text(self.text()?),
            tag::MODULE => Record::Module(Module {
                kind: self.choose(MODULE_KINDS, flags, "module kind")?,
                path: TextId(self.id()?),
                build_id: self.slice()?.to_vec(),
                process: self.optional()?.map(ProcessId),
            }),
            tag::FRAME => Record::Frame(Frame { module: ModuleId(self.id()?), address: self.number()? }),
            tag::STACK => {
                Record::Stack(Stack { caller: self.optional()?.map(StackId), frame: FrameId(self.id()?) })
            }
            tag::CALL => Record::Call(Call {
                file: self.choose(FILE_KINDS, flags, "file kind")?,
                number: (i64::from(self.id()?) - 1) as i32,
                arguments: [self.number()?, self.number()?, self.number()?],
            }),
            tag::PROCESS => {
                Record::Process(Process { pid: self.id()?, parent: self.optional()?.map(ProcessId) })
            }
            tag::THREAD => Record::Thread(Thread { process: ProcessId(self.id()?), tid: self.id()? }),
            tag::SERIES => Record::Series(Series {
                name: TextId(self.id()?),
                unit: TextId(self.id()?),
                thread: self.optional()?.map(ThreadId),
                process: self.optional()?.map(ProcessId),
            }),
            tag::SYMBOL => Record::Symbol(self.symbol(flags)?),
            tag::WORD => Record::Word(Word {
                process: ProcessId(self.id()?),
                address: self.number()?,
                module: ModuleId(self.id()?),
                file_address: self.number()?,
            }),
            tag::VARIABLE => Record::Variable(Variable {
                module: ModuleId(self.id()?),
                file_address: self.number()?,
                name: TextId(self.id()?),
                offset: self.number()?,
            }),
            tag::CALLEE => {
                Record::Callee(Callee { frame: FrameId(self.id()?), procedure: TextId(self.id()?) })
            }
            tag::FILE => Record::File(File { number: self.number()?, name: TextId(self.id()?) }),
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
        Ok(Symbol { frame, places, spins: flags & 1 != 0 })
    }

    fn event(&mut self, kind: u8, flags: u8) -> Result<Event> {
        let difference = self.number()?;
        let difference = (difference >> 1) ^ (difference & 1).wrapping_neg();
        self.previous = self.previous.wrapping_add(difference);
        let time = Time::from_nanoseconds(self.previous);
        let cpu = u16::try_from(self.number()?).map_err(|_| self.invalid("processor number"))?;
        let thread = ThreadId(self.id()?);
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
            tag::SAMPLE => EventKind::Sample { stack: self.optional()?.map(StackId), kernel: flags & 1 != 0 },
            tag::SEND => EventKind::Send { key: self.number()? },
            tag::RECEIVE => EventKind::Receive { key: self.number()? },
            tag::VALUE => EventKind::Value { series: SeriesId(self.id()?), value: self.float()? },
            tag::LOST => EventKind::Lost {
                kind: self.choose(LOSS_KINDS, flags, "kind of loss")?,
                count: self.number()?,
            },
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
        if self.offset >= self.bytes.len() {
            return None;
        }
        self.start = self.offset;
        let record = self.record();
        if record.is_err() {
            self.offset = self.bytes.len();
        }
        Some(record)
    }
}

const MODULE_KINDS: &[ModuleKind] =
    &[ModuleKind::File, ModuleKind::Kernel, ModuleKind::Vdso, ModuleKind::Jit, ModuleKind::Unknown];
const FILE_KINDS: &[FileKind] = &[
    FileKind::None,
    FileKind::Regular,
    FileKind::Pipe,
    FileKind::Socket,
    FileKind::Character,
    FileKind::Block,
    FileKind::Anonymous,
];
const BLOCKINGS: &[Blocking] = &[
    Blocking::Runnable,
    Blocking::Interruptible,
    Blocking::Uninterruptible,
    Blocking::Device,
    Blocking::Stopped,
    Blocking::Dead,
];
const LOSS_KINDS: &[LossKind] = &[LossKind::Events, LossKind::Samples, LossKind::Stacks, LossKind::Threads];

#[cfg(test)]
mod tests {
    use super::*;

    fn all_kinds() -> Vec<Record> {
        let event = |time, kind| {
            Record::Event(Event { time: Time::from_nanoseconds(time), cpu: 3, thread: ThreadId(9), kind })
        };
        let mut records = vec![
            Record::Text("naïve\n".into()),
            Record::Frame(Frame { module: ModuleId(1), address: u64::MAX }),
            Record::Stack(Stack { caller: None, frame: FrameId(0) }),
            Record::Stack(Stack { caller: Some(StackId(0)), frame: FrameId(u32::MAX) }),
            Record::Process(Process { pid: 1, parent: None }),
            Record::Process(Process { pid: 2, parent: Some(ProcessId(0)) }),
            Record::Thread(Thread { process: ProcessId(1), tid: 77 }),
            Record::Series(Series {
                name: TextId(0),
                unit: TextId(1),
                thread: Some(ThreadId(2)),
                process: None,
            }),
            Record::Symbol(Symbol {
                frame: FrameId(4),
                places: vec![
                    SymbolPlace { procedure: TextId(1), file: Some(TextId(0)), line: 12 },
                    SymbolPlace { procedure: TextId(2), file: None, line: 0 },
                ],
                spins: true,
            }),
            Record::Word(Word {
                process: ProcessId(1),
                address: u64::MAX,
                module: ModuleId(2),
                file_address: 0x4040,
            }),
            Record::Variable(Variable {
                module: ModuleId(2),
                file_address: 0x4040,
                name: TextId(1),
                offset: 40,
            }),
            Record::File(File { number: u64::MAX, name: TextId(0) }),
            Record::Callee(Callee { frame: FrameId(7), procedure: TextId(1) }),
            event(5_000_000_000, EventKind::Start { creator: Some(ThreadId(0)), stack: None }),
            event(4_999_999_999, EventKind::Name { name: TextId(0) }),
            event(u64::MAX, EventKind::Exec { program: TextId(1) }),
            event(0, EventKind::Exit),
            event(1, EventKind::In),
            event(2, EventKind::Sample { stack: Some(StackId(1)), kernel: true }),
            event(3, EventKind::Send { key: u64::MAX }),
            event(3, EventKind::Receive { key: 0 }),
            event(4, EventKind::Value { series: SeriesId(0), value: -0.5 }),
        ];
        records.extend(MODULE_KINDS.iter().map(|&kind| {
            Record::Module(Module { path: TextId(0), build_id: vec![1, 2, 255], kind, process: None })
        }));
        records.extend(
            FILE_KINDS
                .iter()
                .map(|&file| Record::Call(Call { number: -1, arguments: [u64::MAX, 0, 7], file })),
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
            wakers
                .iter()
                .map(|&waker| event(9, EventKind::Wake { waker, call: None, stack: Some(StackId(1)) })),
        );
        records
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
}
