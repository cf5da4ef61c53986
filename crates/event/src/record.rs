//! The records of a log: definitions and events.

use crate::id::{CallId, FrameId, ModuleId, PrimitiveId, ProcessId, SeriesId, StackId, TextId, ThreadId};
use crate::message::{CollectiveMeeting, MessageEnvelope};
use crate::time::Time;

/// One record of a log. Definitions of one kind appear in the order of their ids.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Defines the next [`TextId`].
    Text(String),
    /// Defines the next [`ModuleId`].
    Module(ModuleDefinition),
    /// Defines the next [`FrameId`].
    Frame(FrameDefinition),
    /// Defines the next [`StackId`].
    Stack(StackDefinition),
    /// Defines the next [`CallId`].
    Call(CallDefinition),
    /// Defines the next [`ProcessId`].
    Process(ProcessDefinition),
    /// Defines the next [`ThreadId`].
    Thread(ThreadDefinition),
    /// Defines the next [`SeriesId`].
    Series(SeriesDefinition),
    /// What a frame's address means; stands in the symbol log, written when the run has ended.
    Symbol(Symbol),
    /// A word of a file's data on which a thread waited.
    Word(WordDefinition),
    /// What a word of a file's data belongs to; stands in the symbol log, written when the run has ended.
    Variable(VariableDefinition),
    /// The name of a file that a thread waited for.
    File(FileDefinition),
    /// Which procedure a frame's call is for; stands in the symbol log.
    Callee(Callee),
    /// Defines the next [`PrimitiveId`].
    Primitive(Primitive),
    /// The number in the whole run of the definition that follows, where a log holds only those definitions that its
    /// events need: ids in that log are these numbers.
    Number(u32),
    /// Something that happened.
    Event(Event),
}

/// A source of code: a mapped file, the kernel, code made at run time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModuleDefinition {
    /// Path of the file as mapped, or a name in brackets (`[kernel]`, `[vdso]`, `[jit]`).
    pub path: TextId,
    /// GNU build id; empty where there is none.
    pub build_id: Vec<u8>,
    /// What kind of code this is.
    pub kind: ModuleKind,
    /// The process whose code this is, for kinds that belong to one process (`Jit`).
    pub process: Option<ProcessId>,
}

/// Kinds of [`ModuleDefinition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModuleKind {
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
}

/// One code address.
///
/// For return addresses this is the address of the call's last byte (return address − 1), so that it
/// lies within the calling line and, for inlined code, within the calling block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameDefinition {
    /// The module that holds the address.
    pub module: ModuleId,
    /// The address as the module's own file states it (its ELF virtual address), or an absolute
    /// address where [`ModuleKind`] says so.
    pub address: u64,
}

/// One call path, as the node of a tree: `frame` was called from `caller`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackDefinition {
    /// The path without its innermost frame; `None` at the outermost frame.
    pub caller: Option<StackId>,
    /// The innermost frame.
    pub frame: FrameId,
}

/// One system call with the arguments that tell what a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallDefinition {
    /// x86-64 system call number; −1 where the thread entered the kernel by an exception (a page fault)
    /// or an interrupt. In a simulated run, of which the first argument is the address of a [`Primitive`] with a name:
    /// [`PAGE_REQUEST`], [`LINE_REQUEST`] or [`EXCHANGE`].
    pub number: i32,
    /// The first three arguments. Of a call on a descriptor the third is a number that stands for the file
    /// behind it on this machine, the same for both ends of a pipe; 0 where it is not known.
    pub arguments: [u64; 3],
    /// Kind of the file behind the descriptor in the first argument, where the call has one.
    pub file: FileKind,
}

/// A page of memory is fetched from other nodes. No system call has this number.
pub const PAGE_REQUEST: i32 = 1 << 24;

/// A line of memory is fetched from other caches.
pub const LINE_REQUEST: i32 = PAGE_REQUEST + 1;

/// An operation waits for messages between nodes or caches.
pub const EXCHANGE: i32 = PAGE_REQUEST + 2;

/// What a file descriptor refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
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
    /// An anonymous inode: eventfd, timerfd, signalfd, epoll.
    Anonymous,
}

/// A process of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessDefinition {
    /// Its pid in the machine's first pid namespace.
    pub pid: u32,
    /// The process that created it, where that one is recorded too.
    pub parent: Option<ProcessId>,
}

/// A thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadDefinition {
    /// Its process.
    pub process: ProcessId,
    /// Its tid in the machine's first pid namespace.
    pub tid: u32,
}

/// A series of numbers about a node of the program's tree, from outside or from the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesDefinition {
    /// The metric's name.
    pub name: TextId,
    /// Its unit, empty where it has none.
    pub unit: TextId,
    /// How its values are to be read.
    pub samples: SeriesKind,
    /// What it is about.
    pub node: SeriesNode,
    /// The part of the node it is about (`cpu0`, `vda`), empty for all of it.
    pub label: TextId,
    /// Which collector it comes from.
    pub collector: TextId,
}

/// How the values of a series are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SeriesKind {
    /// The value from now on, until the next.
    Gauge,
    /// A total that only grows; one that falls has begun anew.
    Counter,
    /// What came since the value before.
    Amount,
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

/// What one frame's address means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The frame that is explained.
    pub frame: FrameId,
    /// The procedures at that address, innermost inlined one first; empty where no name was found.
    pub places: Vec<SymbolPlace>,
    /// Whether a thread found there waits.
    pub waiting: BusyWaiting,
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

/// A word of memory on which a thread waited and which a module's file lays out: a part of a variable that is
/// there all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordDefinition {
    /// The process.
    pub process: ProcessId,
    /// The address in the process, from now on.
    pub address: u64,
    /// The module that lays it out.
    pub module: ModuleId,
    /// The address as the module's own file states it.
    pub file_address: u64,
}

/// The variable that holds a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableDefinition {
    /// The word's module, by its id in the event log.
    pub module: ModuleId,
    /// The word's address as the module's own file states it.
    pub file_address: u64,
    /// Demangled name of the variable.
    pub name: TextId,
    /// Where in the variable the word is, bytes.
    pub offset: u64,
}

/// The procedure that is called at a frame, where it hides behind inner ones that have no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callee {
    /// The frame.
    pub frame: FrameId,
    /// The procedure's name.
    pub procedure: TextId,
}

/// A synchronisation primitive in a process's memory, as the agent in that process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Primitive {
    /// The process.
    pub process: ProcessId,
    /// What it is.
    pub kind: PrimitiveKind,
    /// Address of its first futex word in the process: what a [`CallDefinition`] that waits for it names.
    pub address: u64,
    /// The name that the program gave it.
    pub name: Option<TextId>,
}

/// Kinds of [`Primitive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PrimitiveKind {
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

/// A file behind descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileDefinition {
    /// The number that stands for it in the third argument of a [`CallDefinition`] on a descriptor.
    pub number: u64,
    /// Its name, without folders.
    pub name: TextId,
}

/// Something that happened on a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub time: Time,
    /// On which processor.
    pub cpu: u16,
    /// To which thread.
    pub thread: ThreadId,
    /// What.
    pub kind: EventKind,
}

/// Kinds of [`Event`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// The thread exists from now on. `creator` is the recorded thread that created it, and `stack` where.
    /// A thread that ran before the recording began has no creator.
    Start {
        /// The creating thread.
        creator: Option<ThreadId>,
        /// The creator's stack.
        stack: Option<StackId>,
    },
    /// The thread existed before the log begins, which knows no earlier time; `creator` and `stack` as of
    /// [`EventKind::Start`].
    Continue {
        /// The creating thread.
        creator: Option<ThreadId>,
        /// The creator's stack.
        stack: Option<StackId>,
        /// Whether it has not ended. One that has is named as the creator of others.
        is_alive: bool,
    },
    /// The thread has got a name.
    Name {
        /// The name (`comm`, at most 15 bytes).
        name: TextId,
    },
    /// The thread's process has become another program.
    Exec {
        /// Path of the program, or its name where the path is not known.
        program: TextId,
    },
    /// What a person would call the run of the program that the thread's process executes now: `cc1 f3.c`.
    Title {
        /// The title.
        title: TextId,
    },
    /// The thread has ended.
    Exit,
    /// The thread got the processor.
    In,
    /// The thread left the processor.
    Out {
        /// Why.
        blocking: Blocking,
        /// The system call it was in.
        call: Option<CallId>,
        /// Where it was.
        stack: Option<StackId>,
    },
    /// The thread was made runnable.
    Wake {
        /// By whom.
        waker: Waker,
        /// The system call the waker was in.
        call: Option<CallId>,
        /// Where the waker was.
        stack: Option<StackId>,
    },
    /// The thread was running when a timer looked.
    Sample {
        /// Where it was.
        stack: Option<StackId>,
        /// It was in the kernel.
        kernel: bool,
        /// Half the timer's interval before the sample and half of that after it, microseconds; 0: not recorded.
        gap: u32,
    },
    /// From now on the thread waits, whether or not it is on a processor: on one it spins. The agent's word, from
    /// inside the program.
    Await {
        /// For what, where it is a primitive.
        primitive: Option<PrimitiveId>,
        /// Where the thread was.
        stack: Option<StackId>,
    },
    /// The wait that the thread's last [`EventKind::Await`] told of is over.
    Proceed,
    /// What the thread's holds of a primitive at one place came to, since the last such event of the same three.
    /// Stands at the end of the last of these holds.
    Held {
        /// What it held.
        primitive: PrimitiveId,
        /// Where it acquired it.
        stack: Option<StackId>,
        /// What it held already when it acquired it: of several the one it had acquired last.
        outer: Option<PrimitiveId>,
        /// How often it acquired it.
        acquisitions: u64,
        /// How many of these found it taken.
        contended: u64,
        /// How long it held it in all, nanoseconds.
        nanoseconds: u64,
        /// The longest hold, nanoseconds.
        longest: u64,
    },
    /// The thread entered a region, a task or an instrumented procedure.
    Enter {
        /// Which; of a region or task its module is of [`ModuleKind::Region`].
        frame: FrameId,
        /// Where it was entered, where that is not the frame that was entered last.
        stack: Option<StackId>,
        /// The task that begins, by the key of the [`EventKind::Spawn`] that made it.
        task: Option<u64>,
    },
    /// The thread left what it entered last.
    Leave,
    /// The thread made a task, which some thread may run.
    Spawn {
        /// Identifies the task within the recording.
        task: u64,
        /// Where it was made.
        stack: Option<StackId>,
    },
    /// Time that the collector itself took of the thread since the last such event, nanoseconds.
    Overhead {
        /// How much.
        nanoseconds: u64,
    },
    /// The thread sent the message `key`; [`EventKind::Receive`] with the same key, on any machine of the
    /// recording, is its arrival.
    Send {
        /// Identifies the message within the recording.
        key: u64,
    },
    /// The thread got the message `key`.
    Receive {
        /// Identifies the message within the recording.
        key: u64,
    },
    /// The lock that the thread waits for is held by `owner`: so says the lock's own memory, in which the recorder has
    /// looked. Only of locks that keep their owner there.
    Owner {
        /// Who holds it.
        owner: ThreadId,
    },
    /// What the thread's next wait is for was written by `writer`: that is why it has to be fetched. One such event for each
    /// writer.
    Written {
        /// Who wrote it.
        writer: ThreadId,
        /// Where.
        stack: Option<StackId>,
    },
    /// The thread spun until now, for a word that `by` has just written.
    Freed {
        /// Who wrote it.
        by: ThreadId,
        /// The word.
        primitive: PrimitiveId,
        /// Where.
        stack: Option<StackId>,
    },
    /// A join of a thread, or a wait for a child: what the thread does from now on comes after the end of the other,
    /// which may have been long ago, or be still to come.
    Joined {
        /// The thread that is joined, or the first thread of the process.
        ended: ThreadId,
    },
    /// The thread added to the count of a semaphore.
    Post {
        /// The semaphore.
        primitive: PrimitiveId,
        /// How much it added.
        count: u64,
    },
    /// The thread gave a semaphore its first count; one that was at its place before is gone.
    Initialise {
        /// The semaphore.
        primitive: PrimitiveId,
        /// Its count.
        count: u64,
    },
    /// The thread took one from the count of a semaphore, whether or not it had to wait for it.
    Take {
        /// The semaphore.
        primitive: PrimitiveId,
    },
    /// The thread acquired a mutex with which some thread waits for a condition: a critical section begins. A wait for
    /// the condition, which releases the mutex and acquires it again, is part of the section.
    Lock {
        /// The mutex.
        mutex: PrimitiveId,
        /// Where it was acquired: the site of the section.
        stack: Option<StackId>,
    },
    /// The thread released such a mutex: its critical section ends.
    Unlock {
        /// The mutex.
        mutex: PrimitiveId,
    },
    /// A wait for a condition has returned; the thread holds the mutex again.
    Waited {
        /// The condition.
        condition: PrimitiveId,
        /// The mutex of the wait.
        mutex: PrimitiveId,
        /// It did not end by a time-out.
        granted: bool,
        /// Where it waited.
        stack: Option<StackId>,
    },
    /// The thread signalled a condition, whether or not any thread waited for it.
    Signal {
        /// The condition.
        condition: PrimitiveId,
        /// To all threads that wait.
        broadcast: bool,
        /// Where it was.
        stack: Option<StackId>,
    },
    /// The thread wrote to a stream of bytes: a pipe, a socket, a counter that grows by what is written.
    Write {
        /// Identifies the stream within the log: one direction of a connection.
        channel: u64,
        /// How many bytes were written to it before.
        position: u64,
        /// How many were written now.
        bytes: u64,
    },
    /// The thread read from such a stream.
    Read {
        /// Identifies the stream within the log.
        channel: u64,
        /// How many bytes were read from it before.
        position: u64,
        /// How many were read now.
        bytes: u64,
    },
    /// The thread came to a barrier, whether or not it had to wait there.
    Arrive {
        /// The barrier.
        primitive: PrimitiveId,
    },
    /// The thread left the barrier that it came to last: all of its round had arrived.
    Depart {
        /// The barrier.
        primitive: PrimitiveId,
    },
    /// The thread enters a call that passes messages: what stands up to the next [`EventKind::Communicated`] is done in it.
    Communicate {
        /// Identifies the communicator within the recording; 0 where the call names none.
        communicator: u64,
        /// The other end or the root, by its rank in the job, where the call names one.
        peer: Option<u32>,
        /// Where the thread is.
        stack: Option<StackId>,
    },
    /// The thread leaves that call.
    Communicated,
    /// The thread sends a message; at the time at which it enters the call.
    MessageSend(MessageEnvelope),
    /// What the thread sent on a channel is sent: the buffer can be used again.
    MessageSent {
        /// The channel.
        channel: u64,
        /// How long before this it began to send, nanoseconds.
        posted: u64,
    },
    /// The thread has received a message; at the time at which it leaves the call.
    MessageReceive {
        /// The message.
        message: MessageEnvelope,
        /// How long before this the receive was posted, nanoseconds.
        posted: u64,
    },
    /// The thread has found a message that it has not received; at the time at which it leaves the call.
    MessageProbe(MessageEnvelope),
    /// The thread takes part in a collective operation; at the time at which it enters the call.
    Meet(CollectiveMeeting),
    /// What the thread began of a collective operation is complete; at the time at which it leaves the call.
    MeetingComplete {
        /// Identifies the communicator within the recording.
        communicator: u64,
        /// How many operations there were on it before.
        round: u64,
    },
    /// The thread's process is this rank of a job of processes that pass messages.
    Rank {
        /// The rank, from 0.
        rank: u32,
    },
    /// A communicator has a name (the event's thread is of no meaning).
    CommunicatorName {
        /// The communicator.
        communicator: u64,
        /// The name.
        name: TextId,
    },
    /// A series has a new value (the event's thread is of no meaning).
    Value {
        /// Which series.
        series: SeriesId,
        /// Its value from now on.
        value: f64,
    },
    /// The collector lost something before this time (the event's thread is of no meaning).
    Lost {
        /// What was lost.
        kind: LossKind,
        /// How many.
        count: u64,
    },
}

/// Why a thread left its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Blocking {
    /// It could have run on: pre-empted, or it yielded.
    Runnable,
    /// It waits and a signal would wake it (`TASK_INTERRUPTIBLE`).
    Interruptible,
    /// It waits and a signal would not wake it (`TASK_UNINTERRUPTIBLE`).
    Uninterruptible,
    /// It waits for a device (`TASK_UNINTERRUPTIBLE` with `in_iowait`).
    Device,
    /// It was stopped by a signal or a debugger.
    Stopped,
    /// It has ended.
    Dead,
}

/// Who made a thread runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waker {
    /// A recorded thread, in its own system call, exception or end.
    Thread(ThreadId),
    /// A device's or timer's interrupt. Nobody's work enabled the thread.
    Interrupt,
    /// A soft interrupt that ran on the processor of this recorded thread. The work may be this thread's
    /// (a packet it sent over loopback) or not (a packet that arrived).
    SoftInterrupt(ThreadId),
    /// A task that is not recorded, by name.
    Outside(TextId),
    /// The collector could not tell.
    Unknown,
}

/// What a collector can lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossKind {
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
}
