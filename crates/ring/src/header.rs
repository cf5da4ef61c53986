//! The beginning of the shared memory: what the recorder asks for, and what all threads share.

use crate::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::pool::AreaPool;

/// Marks the memory as ours.
pub const MAGIC: u64 = u64::from_le_bytes(*b"LPagent\0");
/// Version of the layout; agent and recorder are built together and must agree.
pub const VERSION: u32 = 1;
/// Counters of waiting threads, found by the address of what is waited for.
pub const WAITER_COUNTERS: usize = 4096;

/// Which clock events are timed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClock {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    Monotonic,
    /// The processor's time-stamp counter; the recorder converts.
    TimeStampCounter,
}

/// What the agent is to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// The waits that the kernel does not see, or not why: all of them, with their stacks (the collectors `process` and `agent`).
    pub waits: bool,
    /// Every entry and exit of instrumented procedures as an event.
    pub calls: bool,
    /// The program passes messages by MPI, of which every call is an event or several.
    pub messages: bool,
    /// Stacks by frame pointers.
    pub frame_pointers: bool,
    /// Bytes of memory that go with a stack, a multiple of 8.
    pub stack_bytes: u32,
}

const WAITS: u32 = 1;
const CALLS: u32 = 2;
const FRAME_POINTERS: u32 = 4;
const MESSAGES: u32 = 8;

/// The header.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct AgentHeader {
    magic: AtomicU64,
    version: AtomicU32,
    /// 1 while the recorder records.
    recording: AtomicU32,
    mode: AtomicU32,
    stack_bytes: AtomicU32,
    clock: AtomicU32,
    /// Ticks after which a row of holds is handed over.
    row_age: AtomicU64,
    /// The time when the recorder looked last, in ticks.
    coarse_time: AtomicU64,
    /// Keys of threads, processes and tasks.
    keys: AtomicU64,
    /// Processes that mapped the memory.
    processes: AtomicU32,
    /// Threads that found no area, or could not map it.
    threads_without_area: AtomicU32,
    /// The areas.
    pub pool: AreaPool,
    waiters: [AtomicU32; WAITER_COUNTERS],
}

impl AgentHeader {
    /// A header that nobody has opened; the all-zero memory is one too.
    #[must_use]
    pub fn new() -> Self {
        let zero = |_| AtomicU32::new(0);
        AgentHeader {
            magic: AtomicU64::new(0),
            version: AtomicU32::new(0),
            recording: AtomicU32::new(0),
            mode: AtomicU32::new(0),
            stack_bytes: AtomicU32::new(0),
            clock: AtomicU32::new(0),
            row_age: AtomicU64::new(0),
            coarse_time: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            processes: AtomicU32::new(0),
            threads_without_area: AtomicU32::new(0),
            pool: AreaPool::new(),
            waiters: core::array::from_fn(zero),
        }
    }

    /// The recorder opens the memory for agents.
    pub fn open(&self, mode: Mode, clock: EventClock, row_age: u64) {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        let flags = flag(mode.waits, WAITS)
            | flag(mode.calls, CALLS)
            | flag(mode.frame_pointers, FRAME_POINTERS)
            | flag(mode.messages, MESSAGES);
        self.mode.store(flags, Ordering::Relaxed);
        self.stack_bytes.store(mode.stack_bytes, Ordering::Relaxed);
        self.clock.store(u32::from(clock == EventClock::TimeStampCounter), Ordering::Relaxed);
        self.row_age.store(row_age, Ordering::Relaxed);
        self.version.store(VERSION, Ordering::Relaxed);
        self.recording.store(1, Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Whether an agent of this build can use the memory.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.magic.load(Ordering::Acquire) == MAGIC && self.version.load(Ordering::Relaxed) == VERSION
    }

    /// The recorder records no more: agents fall silent.
    pub fn close(&self) {
        self.recording.store(0, Ordering::Release);
    }

    /// Whether the recorder records.
    #[must_use]
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Relaxed) != 0
    }

    /// What the agent is to tell.
    #[must_use]
    pub fn mode(&self) -> Mode {
        let flags = self.mode.load(Ordering::Relaxed);
        Mode {
            waits: flags & WAITS != 0,
            calls: flags & CALLS != 0,
            messages: flags & MESSAGES != 0,
            frame_pointers: flags & FRAME_POINTERS != 0,
            stack_bytes: self.stack_bytes.load(Ordering::Relaxed),
        }
    }

    /// Whether waits, and who ends them, are the agent's to tell.
    #[must_use]
    #[inline]
    pub fn tells_waits(&self) -> bool {
        self.mode.load(Ordering::Relaxed) & WAITS != 0
    }

    /// Whether every call of an instrumented procedure is to be told.
    #[must_use]
    #[inline]
    pub fn tells_calls(&self) -> bool {
        self.mode.load(Ordering::Relaxed) & CALLS != 0
    }

    /// Which clock to use.
    #[must_use]
    pub fn clock(&self) -> EventClock {
        match self.clock.load(Ordering::Relaxed) {
            0 => EventClock::Monotonic,
            _ => EventClock::TimeStampCounter,
        }
    }

    /// Ticks after which a row of holds is handed over.
    #[must_use]
    #[inline]
    pub fn row_age(&self) -> u64 {
        self.row_age.load(Ordering::Relaxed)
    }

    /// The recorder's time, which it sets whenever it looks: some milliseconds late, and free.
    #[must_use]
    #[inline]
    pub fn coarse_time(&self) -> u64 {
        self.coarse_time.load(Ordering::Relaxed)
    }

    /// Sets the coarse time.
    pub fn set_coarse_time(&self, ticks: u64) {
        self.coarse_time.store(ticks, Ordering::Relaxed);
    }

    /// A key that no thread, process or task of the recording has; never 0.
    pub fn key(&self) -> u64 {
        self.keys.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A process has mapped the memory.
    pub fn count_process(&self) {
        self.processes.fetch_add(1, Ordering::Relaxed);
    }

    /// Processes (executed programs and forked children) that mapped the memory.
    #[must_use]
    pub fn processes(&self) -> u32 {
        self.processes.load(Ordering::Relaxed)
    }

    /// A thread goes unrecorded.
    pub fn count_thread_without_area(&self) {
        self.threads_without_area.fetch_add(1, Ordering::Relaxed);
    }

    /// Threads that went unrecorded.
    #[must_use]
    pub fn threads_without_area(&self) -> u32 {
        self.threads_without_area.load(Ordering::Relaxed)
    }

    /// How many threads wait for what lies at this address of this process. Two addresses may share a counter:
    /// then a release is told that nobody waits for.
    #[must_use]
    #[inline]
    pub fn waiters(&self, pid: u32, subject: u64) -> &AtomicU32 {
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        let hash =
            (subject ^ u64::from(pid) << 40).wrapping_mul(MIX) >> (64 - WAITER_COUNTERS.trailing_zeros());
        &self.waiters[hash as usize]
    }
}

impl Default for AgentHeader {
    fn default() -> Self {
        Self::new()
    }
}
