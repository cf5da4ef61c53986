//! Tags of records: the low bits of a record's first byte; and what flags mean that several files read.

use crate::record::BusyWaiting;

pub(super) const TEXT: u8 = 0;
pub(super) const MODULE: u8 = 1;
pub(super) const FRAME: u8 = 2;
pub(super) const STACK: u8 = 3;
pub(super) const CALL: u8 = 4;
pub(super) const PROCESS: u8 = 5;
pub(super) const THREAD: u8 = 6;
pub(super) const SERIES: u8 = 7;
pub(super) const SYMBOL: u8 = 8;
pub(super) const START: u8 = 9;
pub(super) const NAME: u8 = 10;
pub(super) const EXEC: u8 = 11;
pub(super) const EXIT: u8 = 12;
pub(super) const IN: u8 = 13;
pub(super) const OUT: u8 = 14;
pub(super) const WAKE: u8 = 15;
pub(super) const SAMPLE: u8 = 16;
pub(super) const SEND: u8 = 17;
pub(super) const RECEIVE: u8 = 18;
pub(super) const VALUE: u8 = 19;
pub(super) const LOST: u8 = 20;
pub(super) const WORD: u8 = 21;
pub(super) const VARIABLE: u8 = 22;
pub(super) const FILE: u8 = 23;
pub(super) const CALLEE: u8 = 24;
pub(super) const PRIMITIVE: u8 = 25;
pub(super) const AWAIT: u8 = 26;
pub(super) const HELD: u8 = 27;
pub(super) const ENTER: u8 = 28;
pub(super) const SPAWN: u8 = 29;
pub(super) const OVERHEAD: u8 = 30;
/// An event whose kind is the next byte; see [`extended`].
pub(super) const EXTENDED: u8 = 31;
/// Flags of what begins and ends under one tag.
pub(super) const BEGINS: u8 = 0;
pub(super) const ENDS: u8 = 1;
/// Flags of a sample: it is in the kernel; its gap follows.
pub(super) const IN_KERNEL: u8 = 1;
pub(super) const HAS_GAP: u8 = 2;
/// Bits of the tag byte that hold the kind; the three above are the kind's own.
pub(super) const KIND_BITS: u8 = 5;
pub(super) const KIND_MASK: u8 = (1 << KIND_BITS) - 1;

/// Kinds of [`EXTENDED`] events: the byte after the tag. The length of the rest follows the event's head, so that a kind
/// that a later version wrote can be passed over.
pub(super) mod extended {
    pub(in super::super) const JOINED: u8 = 0;
    pub(in super::super) const POST: u8 = 1;
    pub(in super::super) const TAKE: u8 = 2;
    pub(in super::super) const LOCK: u8 = 3;
    pub(in super::super) const UNLOCK: u8 = 4;
    pub(in super::super) const WAITED: u8 = 5;
    pub(in super::super) const SIGNAL: u8 = 6;
    pub(in super::super) const WRITE: u8 = 7;
    pub(in super::super) const READ: u8 = 8;
    pub(in super::super) const ARRIVE: u8 = 9;
    pub(in super::super) const DEPART: u8 = 10;
    pub(in super::super) const INITIALISE: u8 = 11;
    pub(in super::super) const TITLE: u8 = 12;
    pub(in super::super) const OWNER: u8 = 13;
    pub(in super::super) const CONTINUE: u8 = 14;
    /// Of the next definition; no event.
    pub(in super::super) const NUMBER: u8 = 15;
    pub(in super::super) const COMMUNICATE: u8 = 16;
    pub(in super::super) const COMMUNICATED: u8 = 17;
    pub(in super::super) const MESSAGE_SEND: u8 = 18;
    pub(in super::super) const MESSAGE_SENT: u8 = 19;
    pub(in super::super) const MESSAGE_RECEIVE: u8 = 20;
    pub(in super::super) const MEET: u8 = 21;
    pub(in super::super) const COMMUNICATOR_NAME: u8 = 22;
    pub(in super::super) const RANK: u8 = 23;
    pub(in super::super) const MESSAGE_PROBE: u8 = 24;
    pub(in super::super) const MEETING_COMPLETE: u8 = 25;
    pub(in super::super) const WRITTEN: u8 = 26;
    pub(in super::super) const FREED: u8 = 27;
    /// The highest.
    pub(in super::super) const LAST: u8 = FREED;
}

/// Flag of a collective operation that is begun, above the order.
pub(super) const IS_BEGUN: u8 = 4;

/// Numbers of the longest of these events.
pub(super) const MOST_NUMBERS: usize = 6;

/// The flags of a sample. Recordings before format version 6 have no gaps.
pub(super) fn sample_flags(is_in_kernel: bool, gap: u32) -> u8 {
    let kernel = if is_in_kernel { IN_KERNEL } else { 0 };
    if gap == 0 { kernel } else { kernel | HAS_GAP }
}

const SPINS: u8 = 1;
const MAY_WAIT: u8 = 2;
const POLLS: u8 = 4;

/// The flag of a symbol. Recordings of old have no other than that of spinning.
pub(super) fn waiting_flag(waiting: BusyWaiting) -> u8 {
    match waiting {
        BusyWaiting::Work => 0,
        BusyWaiting::Polls => POLLS,
        BusyWaiting::MayWait => MAY_WAIT,
        BusyWaiting::Spins => SPINS,
    }
}

/// What a symbol's flags say.
pub(super) fn waiting_of(flags: u8) -> BusyWaiting {
    match flags {
        flags if flags & SPINS != 0 => BusyWaiting::Spins,
        flags if flags & MAY_WAIT != 0 => BusyWaiting::MayWait,
        flags if flags & POLLS != 0 => BusyWaiting::Polls,
        _ => BusyWaiting::Work,
    }
}
