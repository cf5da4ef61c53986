//! Kinds of things that records tell of.

use crate::codec::flags;
use crate::id::{TextId, ThreadId};

flags! {
    /// Kinds of [`ModuleDefinition`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    "module kind" enum ModuleKind {
        /// An ELF file.
        File,
        /// The kernel and its loaded modules; addresses are absolute.
        Kernel,
        /// The kernel's code mapped into each process.
        Vdso,
        /// Anonymous executable memory; addresses are absolute in the process.
        Jit,
        /// An address outside every known mapping; addresses are absolute.
        Unknown,
        /// A part of the program that the program itself marked (a region or a task); the module's path is the
        /// name it gave, and the only address is 0.
        Region,
        /// A function of Python; the module's path is that of its source file, its build id the function's name, and the only address its
        /// first line.
        Python,
    }
}

/// A page of memory is fetched from other nodes. No system call has this number.
pub const PAGE_REQUEST: i32 = 1 << 24;

/// A line of memory is fetched from other caches.
pub const LINE_REQUEST: i32 = PAGE_REQUEST + 1;

/// An operation waits for messages between nodes or caches.
pub const EXCHANGE: i32 = PAGE_REQUEST + 2;

flags! {
    /// What a file descriptor refers to.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    "file kind" enum FileKind {
        /// Not a call on a descriptor, or not looked up.
        #[default]
        None,
        /// A regular file or directory.
        Regular,
        /// A pipe or FIFO.
        Pipe,
        /// A socket of any family.
        Socket,
        /// A terminal or another character device.
        Character,
        /// A block device.
        Block,
        /// An anonymous inode: eventfd, signalfd, epoll.
        Anonymous,
        /// A timer: timerfd.
        Timer,
    }
}

flags! {
    /// How the values of a series are to be read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    "way to read values" enum SeriesKind {
        /// The value from now on, until the next.
        Gauge,
        /// A total that only grows; one that falls has begun anew.
        Counter,
        /// What came since the value before.
        Amount,
    }
}

impl SeriesKind {
    /// Its name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SeriesKind::Gauge => "gauge",
            SeriesKind::Counter => "counter",
            SeriesKind::Amount => "amount",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<SeriesKind> {
        [SeriesKind::Gauge, SeriesKind::Counter, SeriesKind::Amount]
            .into_iter()
            .find(|samples| samples.name() == name)
    }
}

/// What a series is about, as its collector knew it: processes and threads by the numbers of the machine's first pid
/// namespace, which the kernel can give to several in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SeriesNode {
    /// The program, on all its machines.
    Program,
    /// The machine.
    Machine,
    /// A process.
    Process {
        /// Its pid.
        pid: u32,
    },
    /// A thread.
    Thread {
        /// Its tid.
        tid: u32,
    },
}

/// Whether a thread that is on a processor, at an address, only waits for other threads.
///
/// Ordered by how much says that it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BusyWaiting {
    /// It works.
    #[default]
    Work,
    /// It is in a procedure that only looks something up: it waits if its caller waits.
    Polls,
    /// It is in a loop that may be one that waits: the code does not decide it.
    MayWait,
    /// It is in a loop that only waits for memory, or the time, to change.
    Spins,
}

/// One procedure at an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolPlace {
    /// Demangled name.
    pub procedure: TextId,
    /// Source file; `None` without line information.
    pub file: Option<TextId>,
    /// Line in that file; 0 where it is not known.
    pub line: u32,
}

flags! {
    /// Kinds of [`Primitive`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    "kind of a primitive" enum PrimitiveKind {
        /// A mutex.
        Mutex,
        /// A lock with many readers or one writer.
        ReadWriteLock,
        /// A lock that is waited for by spinning.
        SpinLock,
        /// A condition variable.
        Condition,
        /// A barrier.
        Barrier,
        /// A semaphore.
        Semaphore,
        /// An initialisation that happens once.
        Once,
        /// A futex whose use is not known.
        Futex,
    }
}

flags! {
    /// Why a thread left its processor.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    "reason of a switch" enum Blocking {
        /// It could have run on: pre-empted, or it yielded.
        Runnable,
        /// It waits and a signal would wake it (`TASK_INTERRUPTIBLE`).
        Interruptible,
        /// It waits and a signal would not wake it (`TASK_UNINTERRUPTIBLE`).
        Uninterruptible,
        /// It waits for a device (`in_iowait`).
        Device,
        /// It was stopped by a signal or a debugger.
        Stopped,
        /// It has ended.
        Dead,
    }
}

/// Who made a thread runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waker {
    /// A recorded thread, in its own system call, exception or end.
    Thread(ThreadId),
    /// A device's or timer's interrupt. Nobody's work enabled the thread.
    Interrupt,
    /// The same, and a hard interrupt: of a thread that polls descriptors, that of a timer. Packets arrive by soft ones.
    HardInterrupt,
    /// A soft interrupt that ran on the processor of this recorded thread. The work may be this thread's
    /// (a packet it sent over loopback) or not (a packet that arrived).
    SoftInterrupt(ThreadId),
    /// A task that is not recorded, by name.
    Outside(TextId),
    /// The collector could not tell.
    Unknown,
}

impl Waker {
    /// Whether an interrupt woke the thread, for nobody's work.
    #[must_use]
    pub fn is_interrupt(self) -> bool {
        matches!(self, Waker::Interrupt | Waker::HardInterrupt)
    }
}

flags! {
    /// What a collector can lose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    "kind of loss" enum LossKind {
        /// Events: switches, wakes, starts, ends.
        Events,
        /// Samples.
        Samples,
        /// Stacks of events that are there.
        Stacks,
        /// Threads that did not fit the collector's table.
        Threads,
        /// Entries and exits of instrumented procedures.
        Calls,
        /// Calls of MPI, of which the events are counted too.
        Communications,
    }
}
