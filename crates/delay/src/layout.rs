//! What the library and `longpole zero` share: one page-aligned piece of memory, a file that both map.

use core::ffi::CStr;
use core::sync::atomic::AtomicU64;

/// Name of the variable that holds the path of the shared memory.
pub const DELAY_VARIABLE: &CStr = c"LONGPOLE_DELAY";
/// The first word of the memory: another layout has another one.
pub const DELAY_MAGIC: u64 = 0x3230_7961_6c65_64fe;
/// Most ranges of code of a procedure.
pub const MOST_RANGES: usize = 512;
/// Longest path of a module, its final zero included.
pub const LONGEST_MODULE_PATH: usize = 1024;

/// What of a procedure is slowed, or of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayScope {
    /// Its own code alone.
    Exact,
    /// Its own code, with what it calls of other modules.
    Folded,
    /// With all that it calls, and all threads that it starts.
    Inclusive,
    /// Not a procedure's code: what threads do while they hold a lock in the memory that the ranges are of.
    Holding,
}

impl DelayScope {
    /// [`DelayScope::Exact`] in the shared memory.
    pub const EXACT: u64 = 0;
    /// [`DelayScope::Folded`].
    pub const FOLDED: u64 = 1;
    /// [`DelayScope::Inclusive`].
    pub const INCLUSIVE: u64 = 2;
    /// [`DelayScope::Holding`].
    pub const HOLDING: u64 = 3;

    /// As the shared memory has it.
    #[must_use]
    pub fn word(self) -> u64 {
        match self {
            DelayScope::Exact => DelayScope::EXACT,
            DelayScope::Folded => DelayScope::FOLDED,
            DelayScope::Inclusive => DelayScope::INCLUSIVE,
            DelayScope::Holding => DelayScope::HOLDING,
        }
    }
}

/// The shared memory. The first part is written before the program starts, the second by the program's processes.
#[repr(C)]
#[derive(Debug)]
pub struct DelayMemory {
    /// [`DELAY_MAGIC`].
    pub magic: u64,
    /// Millionths by which the procedure gets longer, or virtually shorter; 0 samples only.
    pub factor: u64,
    /// 0: the procedure takes longer; 1: all others are delayed in its place.
    pub mode: u64,
    /// CPU time of a thread between two samples, nanoseconds.
    pub period: u64,
    /// [`DelayScope::word`].
    pub scope: u64,
    /// Ranges in use.
    pub ranges: u64,
    /// Path of the module that has the procedure or the lock, ended by a zero; all zeroes are no procedure: threads are sampled only.
    pub module: [u8; LONGEST_MODULE_PATH],
    /// Begins and ends of code, or of a lock's memory, as the module's file has their addresses, in order.
    pub code: [[u64; 2]; MOST_RANGES],
    /// Processes that loaded the library.
    pub processes: AtomicU64,
    /// Processes that hold the module, and are sampled.
    pub sampled_processes: AtomicU64,
    /// Error number with which the system refused to sample a process; 0 where it did not.
    pub refusal: AtomicU64,
    /// 1 where the system lets only the program's own code be sampled, not the kernel's on its behalf.
    pub is_user_only: AtomicU64,
    /// Processes that replaced the handler of SIGTRAP.
    pub replaced: AtomicU64,
    /// Samples.
    pub samples: AtomicU64,
    /// Samples in the procedure.
    pub hits: AtomicU64,
    /// CPU time that all samples cover, nanoseconds.
    pub sampled: AtomicU64,
    /// CPU time that samples in the procedure cover, nanoseconds.
    pub hit: AtomicU64,
    /// CPU time that was added, nanoseconds.
    pub added: AtomicU64,
    /// Delay that each thread has to have behind it, by a pause or by a wait for one that has: nanoseconds.
    pub inserted: AtomicU64,
    /// The same as the last process that ended by itself had it behind it, plus 1; 0 where none did.
    pub ended: AtomicU64,
    /// Time that all threads paused, nanoseconds.
    pub paused: AtomicU64,
}

impl DelayMemory {
    /// Whether the procedure is virtually faster: all others are delayed.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.mode == 1
    }
}

/// Bytes of the file.
pub const DELAY_MEMORY_BYTES: usize = size_of::<DelayMemory>().next_multiple_of(4096);
