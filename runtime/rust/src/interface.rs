//! The table of functions that the agent hands to programs: the same as `struct longpole_agent` in
//! `runtime/c/longpole.h`.
//!
//! A program asks for it by the symbol [`SYMBOL`]. It is only ever added to at its end: [`Agent::size`] says how much
//! of it an agent has. All functions may be called from any thread, in signal handlers, before `main`, and after
//! `fork`; none changes `errno`, allocates or blocks.
//!
//! Metrics need no agent: [`series`] is the memory that they are written to.

pub mod series;

use core::ffi::{CStr, c_char, c_void};

/// The symbol of the function that gives the table: [`AskAgent`].
pub const SYMBOL: &CStr = c"longpole_agent_v1";

/// The layout that this crate knows.
pub const VERSION: u32 = 1;

/// The type of the function behind [`SYMBOL`]. It gives null where the agent has nothing to offer.
pub type AskAgent = unsafe extern "C" fn() -> *const Agent;

/// The functions of the agent.
///
/// Names of regions and tasks must live for ever: they are told apart by their addresses. All other names are copied.
/// Of every name at most 63 bytes are kept.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// [`VERSION`].
    pub version: u32,
    /// Size of the table, bytes.
    pub size: u32,
    /// The calling thread enters a region.
    pub region_enter: unsafe extern "C" fn(name: *const c_char),
    /// It leaves the region or task that it entered last.
    pub region_leave: unsafe extern "C" fn(),
    /// It makes a task, whose key this gives: never 0.
    pub task_spawn: unsafe extern "C" fn() -> u64,
    /// It begins to run a task, or goes on with it.
    pub task_begin: unsafe extern "C" fn(task: u64, name: *const c_char),
    /// It leaves off the task, for now or for good.
    pub task_end: unsafe extern "C" fn(),
    /// Names the calling thread.
    pub thread_name: unsafe extern "C" fn(name: *const c_char),
    /// Names the lock or other object in these bytes of memory.
    pub object_name: unsafe extern "C" fn(object: *const c_void, size: usize, name: *const c_char),
    /// The calling thread waits for an object from now on, by spinning where it runs.
    pub wait_begin: unsafe extern "C" fn(object: *const c_void, kind: u32),
    /// Its wait is over.
    pub wait_end: unsafe extern "C" fn(),
    /// It has acquired an object.
    pub acquired: unsafe extern "C" fn(object: *const c_void, kind: u32),
    /// It gives an object back that it acquired.
    pub released: unsafe extern "C" fn(object: *const c_void),
}

/// What an object of the program is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramObjectKind {
    /// A mutex.
    Mutex = 0,
    /// A lock with many readers or one writer.
    ReadWriteLock = 1,
    /// A lock that is waited for by spinning.
    SpinLock = 2,
    /// A condition variable.
    Condition = 3,
    /// A barrier.
    Barrier = 4,
    /// A semaphore.
    Semaphore = 5,
    /// An initialisation that happens once.
    Once = 6,
    /// Anything else that threads wait for.
    Other = 7,
}
