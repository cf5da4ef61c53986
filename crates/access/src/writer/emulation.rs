//! How the library in an emulated program and the emulator's plugin find each other.
//!
//! ```text
//!   library, in the program        plugin, in the emulator
//!   greeting  ── system call ──►   fills in the answer; knows the socket and the tables
//!   thread    ── system call ──►   appends the thread's accesses to the stream that the library has for it
//! ```
//! Program and emulator are one process, and an address means the same to both. The calls have a number that no kernel has:
//! without the plugin they fail, and the library stays off. So both write one stream for each thread, in the order in
//! which the thread does things: the plugin while it executes the program's own code, the library in its hooks.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::versions::VersionTable;

/// The variable that says that the program is emulated.
pub const EMULATION_VARIABLE: &str = "LONGPOLE_ACCESS_EMULATED";

/// The number of the calls, which no kernel has.
pub const CALL: i64 = 0x6c70;

/// The call's first argument: the second one is the address of an [`EmulationGreeting`].
pub const GREETING: u64 = 0x6c6f_6e67_706f_6c65;

/// The call's first argument: the second one is the address of the calling thread's [`super::owner::StreamOwner`]; 0 when
/// the thread ends.
pub const THREAD: u64 = GREETING + 1;

/// What the plugin answers: it has the same layout of all that is shared.
pub const ANSWER: u64 = 1;

/// What the library says of itself.
#[repr(C)]
pub struct EmulationGreeting {
    /// [`GREETING`]: by it the plugin knows that it reads what the library has.
    pub mark: u64,
    /// [`ANSWER`], from the plugin.
    pub answer: u64,
    /// The recorder's socket.
    pub socket: u64,
    /// Code whose accesses are recorded: the plugin adds what the process maps.
    pub modules: *const ModuleTable,
    /// Versions of what carries an order.
    pub versions: *const VersionTable,
}

const MOST: usize = 256;

/// Ranges of code. They are only added, one at a time.
pub struct ModuleTable {
    begins: [AtomicU64; MOST],
    ends: [AtomicU64; MOST],
    count: AtomicUsize,
}

impl ModuleTable {
    /// No code.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "constant")]
    pub const fn new() -> ModuleTable {
        ModuleTable {
            begins: [const { AtomicU64::new(0) }; MOST],
            ends: [const { AtomicU64::new(0) }; MOST],
            count: AtomicUsize::new(0),
        }
    }

    /// Adds code; what is beyond the table's end is left out.
    pub fn add(&self, begin: u64, end: u64) {
        let at = self.count.load(Ordering::Relaxed);
        if end > begin && at < MOST {
            self.begins[at].store(begin, Ordering::Relaxed);
            self.ends[at].store(end, Ordering::Relaxed);
            self.count.store(at + 1, Ordering::Release);
        }
    }

    /// Whether this code was added.
    #[inline]
    pub fn holds(&self, code: u64) -> bool {
        let count = self.count.load(Ordering::Acquire);
        (0..count).any(|at| {
            self.begins[at].load(Ordering::Relaxed) <= code && code < self.ends[at].load(Ordering::Relaxed)
        })
    }
}
