//! What threads did, by the ids of the kernel.

use crate::interned::CallstackKey;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfettoEvent {
    /// By the clock since the machine's start, nanoseconds.
    pub time: u64,
    /// What happened.
    pub kind: PerfettoKind,
}

/// What woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfettoWaker {
    /// The task on the processor.
    Task,
    /// A hard interrupt.
    Interrupt,
    /// A soft interrupt on the task's time.
    SoftInterrupt,
}

/// Kinds of [`PerfettoEvent`]. Thread id 0 is the idle task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PerfettoKind {
    /// A processor went from one task to another.
    Switch {
        /// The processor.
        cpu: u32,
        /// The task that left it; `None` where the trace does not say.
        previous: Option<u32>,
        /// Its state by the bits of the kernel.
        state: u64,
        /// The task that got it.
        next: u32,
    },
    /// A task was made runnable.
    Wake {
        /// The processor of the waker.
        cpu: u32,
        /// The task on that processor, where it is known.
        waker: Option<u32>,
        /// The task that was woken.
        wakee: u32,
        /// Who did it.
        context: PerfettoWaker,
    },
    /// A task made another one.
    Fork {
        /// The creator.
        parent: u32,
        /// The new one.
        child: u32,
    },
    /// A thread has another name.
    Rename {
        /// The thread.
        tid: u32,
        /// Its name.
        name: String,
    },
    /// A thread became another program.
    Exec {
        /// The thread.
        tid: u32,
        /// The program's path.
        program: String,
    },
    /// A thread ends: it still runs to its last switch.
    Exit {
        /// The thread.
        tid: u32,
    },
    /// A thread was running.
    Sample {
        /// The thread.
        tid: u32,
        /// In the kernel.
        is_kernel: bool,
        /// Where.
        callstack: Option<CallstackKey>,
    },
    /// A slice of a thread begins.
    SliceBegin {
        /// The thread.
        tid: u32,
        /// Its name.
        name: String,
    },
    /// The innermost slice of a thread ends.
    SliceEnd {
        /// The thread.
        tid: u32,
    },
}
