//! How a value stands in a record: its bits among the flags of the record's first byte, and its bytes.
//!
//! Each type has one form, [`Plain`]; where a field has another, the table of records names it.

use super::decode::{Decoder, Result};
use super::encode::Encoder;
use crate::id::{CallId, FrameId, ModuleId, PrimitiveId, ProcessId, SeriesId, StackId, TextId, ThreadId};
use crate::kinds::{BusyWaiting, SeriesNode, SymbolPlace, Waker};
use crate::message::{CollectiveMeeting, CollectiveOrder, MessageEnvelope};
use crate::references::{IdKind, NewNumbers};

/// A way in which values of a type stand in a record.
pub(crate) trait Form<T> {
    /// What stands there, for the document of the format.
    const TEXT: &'static str;

    /// The value's bits of the flags.
    #[inline]
    fn flags(_: &T) -> u8 {
        0
    }

    /// What it adds to the first number of an extended event.
    #[inline]
    fn lead(_: &T) -> u64 {
        0
    }

    /// Appends the value's bytes.
    fn write(value: &T, out: &mut Encoder);

    /// The value with these flags, whose bytes come next.
    fn read(flags: u8, bytes: &mut Decoder<'_>) -> Result<T>;

    /// Gives the ids in it other numbers; false where it means nothing without them.
    #[inline]
    fn renumber(_: &mut T, _: &mut NewNumbers<'_>) -> bool {
        true
    }

    /// Values that show what it can be.
    fn examples() -> Vec<T>;
}

/// The form of a type.
pub(crate) struct Plain;

/// A call path as the first number of an extended event. That number is 0 in events without one.
pub(crate) struct Lead;

/// A system call's number.
pub(crate) struct CallNumber;

/// Left out where it is 0. Recordings before format version 6 have no gaps.
pub(crate) struct Gap;

macro_rules! ids {
    ($($id:ident $kind:ident),*) => {$(
        impl Form<$id> for Plain {
            const TEXT: &'static str = concat!("`", stringify!($id), "`");

            #[inline]
            fn write(value: &$id, out: &mut Encoder) {
                out.number(value.0.into());
            }

            #[inline]
            fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<$id> {
                bytes.id().map($id)
            }

            #[inline]
            fn renumber(value: &mut $id, numbers: &mut NewNumbers<'_>) -> bool {
                numbers(IdKind::$kind, value.0).map(|number| value.0 = number).is_some()
            }

            fn examples() -> Vec<$id> {
                vec![$id(0), $id(u32::MAX), $id(300)]
            }
        }

        impl Form<Option<$id>> for Plain {
            const TEXT: &'static str = concat!("`", stringify!($id), "` + 1, or 0");

            #[inline]
            fn write(value: &Option<$id>, out: &mut Encoder) {
                out.number(value.map_or(0, |id| u64::from(id.0) + 1));
            }

            #[inline]
            fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<Option<$id>> {
                Ok(bytes.optional()?.map($id))
            }

            /// What is not known any more is left out.
            #[inline]
            fn renumber(value: &mut Option<$id>, numbers: &mut NewNumbers<'_>) -> bool {
                *value = value.and_then(|id| numbers(IdKind::$kind, id.0)).map($id);
                true
            }

            fn examples() -> Vec<Option<$id>> {
                vec![Some($id(u32::MAX - 1)), None, Some($id(0))]
            }
        }
    )*};
}

ids! {
    TextId Text, ModuleId Module, FrameId Frame, StackId Stack, CallId Call, ProcessId Process, ThreadId Thread, SeriesId Series,
    PrimitiveId Primitive
}

impl Form<Option<StackId>> for Lead {
    const TEXT: &'static str = "the event's first number: `StackId` + 1, or 0";

    #[inline]
    fn lead(value: &Option<StackId>) -> u64 {
        value.map_or(0, |id| u64::from(id.0) + 1)
    }

    #[inline]
    fn write(_: &Option<StackId>, _: &mut Encoder) {}

    #[inline]
    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<Option<StackId>> {
        Ok(bytes.lead().map(StackId))
    }

    #[inline]
    fn renumber(value: &mut Option<StackId>, numbers: &mut NewNumbers<'_>) -> bool {
        Plain::renumber(value, numbers)
    }

    fn examples() -> Vec<Option<StackId>> {
        Plain::examples()
    }
}

impl Form<u64> for Plain {
    const TEXT: &'static str = "number";

    #[inline]
    fn write(value: &u64, out: &mut Encoder) {
        out.number(*value);
    }

    #[inline]
    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<u64> {
        bytes.number()
    }

    fn examples() -> Vec<u64> {
        vec![u64::MAX, 0, 300]
    }
}

impl Form<u32> for Plain {
    const TEXT: &'static str = "number below 2^32";

    #[inline]
    fn write(value: &u32, out: &mut Encoder) {
        out.number((*value).into());
    }

    #[inline]
    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<u32> {
        bytes.id()
    }

    fn examples() -> Vec<u32> {
        vec![u32::MAX, 0, 7]
    }
}

impl Form<Option<u32>> for Plain {
    const TEXT: &'static str = "number below 2^32, + 1, or 0";

    #[inline]
    fn write(value: &Option<u32>, out: &mut Encoder) {
        out.number(value.map_or(0, |number| u64::from(number) + 1));
    }

    #[inline]
    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<Option<u32>> {
        bytes.optional()
    }

    fn examples() -> Vec<Option<u32>> {
        vec![Some(0), None, Some(u32::MAX)]
    }
}

const HAS_NUMBER: u8 = 2;

impl Form<Option<u64>> for Plain {
    const TEXT: &'static str = "flag 2, and with it a number";

    #[inline]
    fn flags(value: &Option<u64>) -> u8 {
        if value.is_some() { HAS_NUMBER } else { 0 }
    }

    #[inline]
    fn write(value: &Option<u64>, out: &mut Encoder) {
        if let Some(number) = value {
            out.number(*number);
        }
    }

    #[inline]
    fn read(flags: u8, bytes: &mut Decoder<'_>) -> Result<Option<u64>> {
        (flags & HAS_NUMBER != 0).then(|| bytes.number()).transpose()
    }

    fn examples() -> Vec<Option<u64>> {
        vec![Some(u64::MAX), None, Some(0)]
    }
}

impl Form<u32> for Gap {
    const TEXT: &'static str = "flag 2, and with it a number from 1 to 2^32 - 1; without it 0";

    #[inline]
    fn flags(value: &u32) -> u8 {
        if *value == 0 { 0 } else { HAS_NUMBER }
    }

    #[inline]
    fn write(value: &u32, out: &mut Encoder) {
        if *value != 0 {
            out.number((*value).into());
        }
    }

    #[inline]
    fn read(flags: u8, bytes: &mut Decoder<'_>) -> Result<u32> {
        if flags & HAS_NUMBER == 0 { Ok(0) } else { bytes.id() }
    }

    fn examples() -> Vec<u32> {
        vec![0, 1, u32::MAX]
    }
}

impl Form<i32> for CallNumber {
    const TEXT: &'static str = "number, + 1";

    #[inline]
    fn write(value: &i32, out: &mut Encoder) {
        out.number((i64::from(*value) + 1).cast_unsigned());
    }

    #[inline]
    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<i32> {
        Ok((i64::from(bytes.id()?) - 1) as i32)
    }

    fn examples() -> Vec<i32> {
        vec![-1, 0, 202]
    }
}

impl Form<bool> for Plain {
    const TEXT: &'static str = "flag 1";

    #[inline]
    fn flags(value: &bool) -> u8 {
        (*value).into()
    }

    #[inline]
    fn write(_: &bool, _: &mut Encoder) {}

    #[inline]
    fn read(flags: u8, _: &mut Decoder<'_>) -> Result<bool> {
        Ok(flags & 1 != 0)
    }

    fn examples() -> Vec<bool> {
        vec![true, false]
    }
}

impl Form<f64> for Plain {
    const TEXT: &'static str = "8 bytes, IEEE 754, little-endian";

    #[inline]
    fn write(value: &f64, out: &mut Encoder) {
        out.extend(&value.to_le_bytes());
    }

    #[inline]
    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<f64> {
        bytes.float()
    }

    fn examples() -> Vec<f64> {
        vec![-0.5, 0.0, 1e300]
    }
}

impl Form<String> for Plain {
    const TEXT: &'static str = "its length in bytes, UTF-8";

    fn write(value: &String, out: &mut Encoder) {
        out.slice(value.as_bytes());
    }

    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<String> {
        let slice = bytes.slice()?;
        std::str::from_utf8(slice).map(str::to_owned).map_err(|_| bytes.invalid("text"))
    }

    fn examples() -> Vec<String> {
        vec!["naïve\n".to_owned(), String::new()]
    }
}

impl Form<Vec<u8>> for Plain {
    const TEXT: &'static str = "its length, bytes";

    fn write(value: &Vec<u8>, out: &mut Encoder) {
        out.slice(value);
    }

    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<Vec<u8>> {
        bytes.slice().map(<[u8]>::to_vec)
    }

    fn examples() -> Vec<Vec<u8>> {
        vec![vec![1, 2, 255], Vec::new()]
    }
}

impl Form<[u64; 3]> for Plain {
    const TEXT: &'static str = "3 numbers";

    #[inline]
    fn write(value: &[u64; 3], out: &mut Encoder) {
        value.iter().for_each(|&number| out.number(number));
    }

    #[inline]
    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<[u64; 3]> {
        Ok([bytes.number()?, bytes.number()?, bytes.number()?])
    }

    fn examples() -> Vec<[u64; 3]> {
        vec![[u64::MAX, 0, 7], [0; 3]]
    }
}

impl Form<Vec<SymbolPlace>> for Plain {
    const TEXT: &'static str =
        "how many, and of each: procedure (`TextId`), file (`TextId` + 1, or 0), line (number below 2^32)";

    fn write(value: &Vec<SymbolPlace>, out: &mut Encoder) {
        out.number(value.len() as u64);
        for place in value {
            Plain::write(&place.procedure, out);
            Plain::write(&place.file, out);
            Plain::write(&place.line, out);
        }
    }

    fn read(flags: u8, bytes: &mut Decoder<'_>) -> Result<Vec<SymbolPlace>> {
        // Each place takes at least three bytes: a longer count is damage, not a reason to allocate.
        let count = bytes.number()?;
        if count > bytes.left() as u64 / 3 {
            return Err(bytes.ends());
        }
        let place = |_| {
            Ok(SymbolPlace {
                procedure: Plain::read(flags, bytes)?,
                file: Plain::read(flags, bytes)?,
                line: Plain::read(flags, bytes)?,
            })
        };
        (0..count).map(place).collect()
    }

    fn renumber(value: &mut Vec<SymbolPlace>, numbers: &mut NewNumbers<'_>) -> bool {
        value.iter_mut().all(|place| {
            Plain::renumber(&mut place.file, numbers) && Plain::renumber(&mut place.procedure, numbers)
        })
    }

    fn examples() -> Vec<Vec<SymbolPlace>> {
        let place = |procedure, file, line| SymbolPlace { procedure: TextId(procedure), file, line };
        vec![vec![place(1, Some(TextId(0)), 12), place(2, None, 0)], Vec::new()]
    }
}

const SPINS: u8 = 1;
const MAY_WAIT: u8 = 2;
const POLLS: u8 = 4;

/// Recordings before format version 4 have no other flag than that of spinning.
impl Form<BusyWaiting> for Plain {
    const TEXT: &'static str = "flag 1: `Spins`, 2: `MayWait`, 4: `Polls`; without them `Work`";

    fn flags(value: &BusyWaiting) -> u8 {
        match value {
            BusyWaiting::Work => 0,
            BusyWaiting::Polls => POLLS,
            BusyWaiting::MayWait => MAY_WAIT,
            BusyWaiting::Spins => SPINS,
        }
    }

    fn write(_: &BusyWaiting, _: &mut Encoder) {}

    fn read(flags: u8, _: &mut Decoder<'_>) -> Result<BusyWaiting> {
        Ok(match flags {
            flags if flags & SPINS != 0 => BusyWaiting::Spins,
            flags if flags & MAY_WAIT != 0 => BusyWaiting::MayWait,
            flags if flags & POLLS != 0 => BusyWaiting::Polls,
            _ => BusyWaiting::Work,
        })
    }

    fn examples() -> Vec<BusyWaiting> {
        vec![BusyWaiting::Work, BusyWaiting::Polls, BusyWaiting::MayWait, BusyWaiting::Spins]
    }
}

impl Form<SeriesNode> for Plain {
    const TEXT: &'static str =
        "2 numbers: 0 the program, 1 the machine, 2 a process, 3 a thread; and its pid or tid, or 0";

    fn write(value: &SeriesNode, out: &mut Encoder) {
        let (node, id) = match *value {
            SeriesNode::Program => (0, 0),
            SeriesNode::Machine => (1, 0),
            SeriesNode::Process { pid } => (2, pid),
            SeriesNode::Thread { tid } => (3, tid),
        };
        out.number(node);
        out.number(id.into());
    }

    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<SeriesNode> {
        Ok(match (bytes.number()?, bytes.id()?) {
            (0, _) => SeriesNode::Program,
            (1, _) => SeriesNode::Machine,
            (2, pid) => SeriesNode::Process { pid },
            (_, tid) => SeriesNode::Thread { tid },
        })
    }

    fn examples() -> Vec<SeriesNode> {
        let (pid, tid) = (u32::MAX, 7);
        vec![
            SeriesNode::Program,
            SeriesNode::Machine,
            SeriesNode::Process { pid },
            SeriesNode::Thread { tid },
        ]
    }
}

impl Form<Waker> for Plain {
    const TEXT: &'static str = "flags 0: `Unknown`, 1: `Thread`, 2: `Interrupt`, 3: `SoftInterrupt`, 4: `Outside`, 5: `HardInterrupt`; `ThreadId` or `TextId`, or 0";

    #[inline]
    fn flags(value: &Waker) -> u8 {
        match value {
            Waker::Unknown => 0,
            Waker::Thread(_) => 1,
            Waker::Interrupt => 2,
            Waker::SoftInterrupt(_) => 3,
            Waker::Outside(_) => 4,
            Waker::HardInterrupt => 5,
        }
    }

    #[inline]
    fn write(value: &Waker, out: &mut Encoder) {
        let id = match value {
            Waker::Unknown | Waker::Interrupt | Waker::HardInterrupt => 0,
            Waker::Thread(id) | Waker::SoftInterrupt(id) => id.0,
            Waker::Outside(id) => id.0,
        };
        out.number(id.into());
    }

    #[inline]
    fn read(flags: u8, bytes: &mut Decoder<'_>) -> Result<Waker> {
        let id = bytes.id()?;
        Ok(match flags {
            0 => Waker::Unknown,
            1 => Waker::Thread(ThreadId(id)),
            2 => Waker::Interrupt,
            3 => Waker::SoftInterrupt(ThreadId(id)),
            4 => Waker::Outside(TextId(id)),
            5 => Waker::HardInterrupt,
            _ => return Err(bytes.invalid("waker")),
        })
    }

    /// A waker of which nothing is known any more is unknown.
    fn renumber(value: &mut Waker, numbers: &mut NewNumbers<'_>) -> bool {
        let is_known = match value {
            Waker::Thread(id) | Waker::SoftInterrupt(id) => Plain::renumber(id, numbers),
            Waker::Outside(name) => Plain::renumber(name, numbers),
            Waker::Interrupt | Waker::HardInterrupt | Waker::Unknown => true,
        };
        if !is_known {
            *value = Waker::Unknown;
        }
        true
    }

    fn examples() -> Vec<Waker> {
        vec![
            Waker::Unknown,
            Waker::Thread(ThreadId(1)),
            Waker::Interrupt,
            Waker::HardInterrupt,
            Waker::SoftInterrupt(ThreadId(300)),
            Waker::Outside(TextId(1)),
        ]
    }
}

impl Form<MessageEnvelope> for Plain {
    const TEXT: &'static str =
        "channel, communicator (numbers), peer (number below 2^32), tag (zigzag), bytes (number)";

    fn write(value: &MessageEnvelope, out: &mut Encoder) {
        let MessageEnvelope { channel, communicator, peer, tag, bytes } = *value;
        let tag = i64::from(tag);
        for number in [channel, communicator, peer.into(), ((tag << 1) ^ (tag >> 63)).cast_unsigned(), bytes]
        {
            out.number(number);
        }
    }

    fn read(_: u8, bytes: &mut Decoder<'_>) -> Result<MessageEnvelope> {
        let (channel, communicator, peer) = (bytes.number()?, bytes.number()?, bytes.id()?);
        let tag = bytes.number()?;
        let tag = (tag >> 1).cast_signed() ^ -((tag & 1).cast_signed());
        let tag = i32::try_from(tag).map_err(|_| bytes.invalid("tag"))?;
        Ok(MessageEnvelope { channel, communicator, peer, tag, bytes: bytes.number()? })
    }

    fn examples() -> Vec<MessageEnvelope> {
        let (channel, bytes) = (u64::MAX, u64::MAX);
        let message =
            MessageEnvelope { channel, communicator: channel, peer: u32::MAX, tag: i32::MIN, bytes };
        vec![message, MessageEnvelope { tag: i32::MAX, bytes: 0, ..message }]
    }
}

/// Flag of a collective operation that is begun, above the order.
const IS_BEGUN: u8 = 4;

impl Form<CollectiveMeeting> for Plain {
    const TEXT: &'static str = "flags 0 to 3: the order; flag 4: begun; communicator, round (numbers), rank, size, root (numbers below 2^32)";

    fn flags(value: &CollectiveMeeting) -> u8 {
        Plain::flags(&value.order) | if value.is_begun { IS_BEGUN } else { 0 }
    }

    fn write(value: &CollectiveMeeting, out: &mut Encoder) {
        let CollectiveMeeting { communicator, round, rank, size, root, .. } = *value;
        for number in [communicator, round, rank.into(), size.into(), root.into()] {
            out.number(number);
        }
    }

    fn read(flags: u8, bytes: &mut Decoder<'_>) -> Result<CollectiveMeeting> {
        let order: CollectiveOrder = Plain::read(flags & !IS_BEGUN, bytes)?;
        let (communicator, round, rank) = (bytes.number()?, bytes.number()?, bytes.id()?);
        let (size, root) = (bytes.id()?, bytes.id()?);
        let is_begun = flags & IS_BEGUN != 0;
        Ok(CollectiveMeeting { communicator, round, rank, size, order, root, is_begun })
    }

    fn examples() -> Vec<CollectiveMeeting> {
        let most = CollectiveMeeting {
            communicator: u64::MAX,
            round: u64::MAX,
            rank: u32::MAX,
            size: u32::MAX,
            order: CollectiveOrder::FromRoot,
            root: u32::MAX,
            is_begun: true,
        };
        vec![most, CollectiveMeeting { order: CollectiveOrder::Prefix, root: 0, is_begun: false, ..most }]
    }
}
