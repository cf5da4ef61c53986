//! Tags of records: the low bits of a record's first byte.

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
/// Flags of what begins and ends under one tag.
pub(super) const BEGINS: u8 = 0;
pub(super) const ENDS: u8 = 1;
/// Bits of the tag byte that hold the kind; the three above are the kind's own.
pub(super) const KIND_BITS: u8 = 5;
pub(super) const KIND_MASK: u8 = (1 << KIND_BITS) - 1;
