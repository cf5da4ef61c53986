//! The memory through which programs and collectors give their metrics to the recorder: the same as in
//! `runtime/c/longpole_series.h`.
//!
//! ```text
//! Header │ SLOTS × Slot: a series each, its value    │ ENTRIES × Entry: values with times of their own
//!        │ taken in order, never given back          │ a ring, emptied by the recorder
//! ```
//! The recorder makes a file of this size, which can neither shrink nor grow, and names it in [`VARIABLE`]. Everything
//! in it is written by programs, which may be killed at any time or write nonsense: the recorder believes none of it.
//! All words are atomic. A byte that is not said to mean anything is zero.

use core::ffi::CStr;
use core::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64};

/// The variable that says where the file is: `PATH:DOOR:SECRET`. The path is `/proc/PID/fd/NUMBER` of the recorder. Who may
/// not open it (another user's program, or one that has not all the rights that the recorder has) connects to the
/// stream socket of the abstract name DOOR, sends all of the variable's text, and gets a byte with the descriptor.
pub const VARIABLE: &CStr = c"LONGPOLE_SERIES";
/// The name of the file. What else may be found behind such a path, of a recorder that is gone, is not opened.
pub const FILE: &CStr = c"longpole-series";
/// How the system names an open file of that name.
pub const LINK: &[u8] = b"/memfd:longpole-series (deleted)";
/// The first word of the memory.
pub const MAGIC: u64 = u64::from_le_bytes(*b"lpseries");
/// The layout that this crate knows.
pub const VERSION: u32 = 1;
/// Series that there is room for.
pub const SLOTS: usize = 4096;
/// Values with times of their own that wait for the recorder.
pub const ENTRIES: usize = 8192;
/// Bytes of a metric's name and of a label, with the zero at the end.
pub const NAME_BYTES: usize = 64;
/// Bytes of a unit, with the zero at the end.
pub const UNIT_BYTES: usize = 32;

/// [`SeriesSlot::state`]: nobody has it, nor any after it.
pub const FREE: u32 = 0;
/// [`SeriesSlot::state`]: somebody writes what it is. One who is killed then leaves it so for ever.
pub const MAKING: u32 = 1;
/// [`SeriesSlot::state`]: it is a series; what it is does not change any more.
pub const READY: u32 = 2;

/// [`SeriesSlot::value`]: never set. A number that is no number.
pub const UNSET: u64 = 0x7ff8_6c6f_6e67_706f;

/// All of the memory.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct SeriesMemory {
    /// What it is.
    pub header: SeriesHeader,
    /// The series, in the order in which they were made.
    pub slots: [SeriesSlot; SLOTS],
    /// Values with times: ticket `t` is in entry `t % ENTRIES`.
    pub entries: [TimedValue; ENTRIES],
}

/// The first part of the memory.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct SeriesHeader {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// Bytes of [`SeriesMemory`].
    pub size: AtomicU32,
    /// Pid of the recorder: collectors end when it does.
    pub recorder: AtomicU32,
    /// 1 when the recorder takes nothing any more.
    pub stopped: AtomicU32,
    /// Series for which there was no room.
    pub refused_series: AtomicU64,
    /// Values with times for which there was no room.
    pub refused_values: AtomicU64,
    /// Tickets that were given to writers of values with times.
    pub tickets: CacheLine<AtomicU64>,
    /// Tickets whose values the recorder has taken: a ticket is only given while it is less than `ENTRIES` ahead.
    pub taken: CacheLine<AtomicU64>,
}

/// Something in a cache line of its own.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct CacheLine<T>(pub T);

/// A series. Its value is `value + count`, just `count` where `value` is [`UNSET`]: adding is one atomic addition.
///
/// To set it to `v` is to load `count` and to store `v - count` with release; whoever reads loads `value` first, with
/// acquire, and so never sees a new `value` with an older `count` than the one that it was made with.
#[repr(C, align(256))]
#[derive(Debug)]
pub struct SeriesSlot {
    /// What was added.
    pub count: AtomicI64,
    /// What was set, less what had been added by then: an `f64`.
    pub value: AtomicU64,
    /// The rest stands in other cache lines: it is written once.
    pub unused: [AtomicU64; 6],
    /// [`FREE`], [`MAKING`], [`READY`]; stored last, with release.
    pub state: AtomicU32,
    /// [`Samples`](crate::Samples).
    pub samples: AtomicU32,
    /// 0 the program, 1 the machine, 2 a process, 3 a thread.
    pub node: AtomicU32,
    /// The process's pid, the thread's tid.
    pub id: AtomicU32,
    /// When it was made, nanoseconds of `CLOCK_MONOTONIC`.
    pub created: AtomicU64,
    /// The metric's name, UTF-8, ended by a zero.
    pub name: [AtomicU8; NAME_BYTES],
    /// Its unit, likewise, empty where it has none.
    pub unit: [AtomicU8; UNIT_BYTES],
    /// The part of the node, likewise, empty for all of it.
    pub label: [AtomicU8; NAME_BYTES],
}

/// A value with a time of its own.
#[repr(C, align(32))]
#[derive(Debug)]
pub struct TimedValue {
    /// The ticket and 1; stored last, with release.
    pub sequence: AtomicU64,
    /// Which slot.
    pub slot: AtomicU64,
    /// An `f64`.
    pub value: AtomicU64,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub time: AtomicU64,
}

const _: () = assert!(
    size_of::<SeriesHeader>() == 4096 && size_of::<SeriesSlot>() == 256 && size_of::<TimedValue>() == 32
);
