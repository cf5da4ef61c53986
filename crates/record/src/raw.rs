//! What a collector or importer hands over: events by pid and tid, with stacks as found.
//!
//! The collectors (`bpf`, `perf`) and the importer produce these in time order; the assembler turns them
//! into the records of a log. Nothing before this point knows about ids, and nothing after it knows
//! which collector ran.

use crate::agent::AgentEvent;
use crate::python::PythonStack;
use longpole_event::{Blocking, CallDefinition, EventKind, LossKind, PrimitiveKind, Time};

/// One raw event.
#[derive(Clone, Debug, PartialEq)]
pub struct RawEvent {
    /// `CLOCK_MONOTONIC`.
    pub time: Time,
    /// Processor.
    pub cpu: u16,
    /// What happened.
    pub kind: RawKind,
}

/// A thread as the kernel names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelTask {
    /// Process (thread group) id; 0 where the collector does not know it.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
}

/// Kinds of [`RawEvent`].
#[derive(Clone, Debug, PartialEq)]
pub enum RawKind {
    /// `parent` made `child`: a thread where the pids are equal, else a process.
    Fork {
        /// The creating thread.
        parent: KernelTask,
        /// The new thread.
        child: KernelTask,
        /// Where the parent was.
        stack: RawStack,
    },
    /// The process became another program; its mappings are gone.
    Exec {
        /// The thread that remains (its tid is the pid from now on).
        task: KernelTask,
        /// Path or name of the program.
        program: String,
        /// What a person would call the run, where its arguments are known.
        title: Option<String>,
    },
    /// A thread got a name.
    Name {
        /// The thread.
        task: KernelTask,
        /// The name.
        name: String,
    },
    /// A thread ended.
    Exit {
        /// The thread.
        task: KernelTask,
    },
    /// Executable memory was mapped.
    Map {
        /// The process.
        pid: u32,
        /// The mapping.
        mapping: longpole_symbols::Mapping,
    },
    /// A processor went from one task to another. `None` is a task that is not recorded, or idle.
    Switch {
        /// The task that left the processor.
        previous: Option<KernelTask>,
        /// Why it left.
        blocking: Blocking,
        /// The system call it was in, where the collector sees it.
        call: Option<CallDefinition>,
        /// Where it was.
        stack: RawStack,
        /// The task that got the processor.
        next: Option<KernelTask>,
    },
    /// A task was made runnable.
    Wake {
        /// The task.
        wakee: KernelTask,
        /// Who did it.
        waker: RawWaker,
        /// The system call the waker was in, where the collector sees it.
        call: Option<CallDefinition>,
        /// Where the waker was.
        stack: RawStack,
    },
    /// A timer found a thread running.
    Sample {
        /// The thread.
        task: KernelTask,
        /// In the kernel.
        kernel: bool,
        /// Where.
        stack: RawStack,
        /// For how long it stands, nanoseconds: half the timer's interval before it and half of that after it, or all of that before it;
        /// 0 where that is not known.
        gap: u64,
    },
    /// A number stands for this file in calls from now on.
    File {
        /// The number.
        number: u64,
        /// The file's name, without folders.
        name: String,
    },
    /// A thread said something about itself, through the agent.
    Inside {
        /// The thread.
        task: KernelTask,
        /// What.
        mark: RawMark,
    },
    /// The program gave a synchronisation primitive a name.
    NamePrimitive {
        /// The process.
        pid: u32,
        /// Address of the primitive.
        address: u64,
        /// Its size: its first futex word lies in these bytes.
        bytes: u64,
        /// The name.
        name: String,
    },
    /// A stack of this process, named by its key from now on.
    Stack {
        /// The process.
        pid: u32,
        /// The stack, with a key.
        taken: Box<TakenStack>,
    },
    /// A thread told something through the agent. Only before the interpreter, which stands behind the sorter.
    Told {
        /// The thread.
        task: KernelTask,
        /// What.
        told: Box<AgentEvent>,
    },
    /// Something was lost.
    Lost {
        /// What.
        kind: LossKind,
        /// How many.
        count: u64,
    },
}

impl RawKind {
    /// A switch of which only the tasks are known.
    pub(crate) fn switch(
        previous: Option<KernelTask>,
        blocking: Blocking,
        next: Option<KernelTask>,
    ) -> RawKind {
        RawKind::Switch { previous, blocking, call: None, stack: RawStack::None, next }
    }
}

/// What a thread says of itself; see the events of the same names in [`longpole_event::EventKind`].
#[derive(Clone, Debug, PartialEq)]
pub enum RawMark {
    /// It waits from now on, by spinning where it is on a processor.
    Await {
        /// For what.
        primitive: Option<RawPrimitive>,
        /// Where it is.
        stack: RawStack,
    },
    /// Its wait is over.
    Proceed,
    /// It spun until now, for a word that another thread has just written.
    Freed {
        /// Who wrote it.
        by: KernelTask,
        /// The word.
        flag: RawPrimitive,
        /// Where.
        stack: RawStack,
    },
    /// What its holds of a primitive at one place came to.
    Held {
        /// What it held.
        primitive: RawPrimitive,
        /// Where it acquired it.
        stack: RawStack,
        /// What it held already, the one it had acquired last.
        outer: Option<RawPrimitive>,
        /// How often.
        acquisitions: u64,
        /// How many of these found it taken.
        contended: u64,
        /// How long in all.
        nanoseconds: u64,
        /// The longest hold.
        longest: u64,
    },
    /// It entered something.
    Enter {
        /// What.
        place: RawScope,
        /// Where, where that is not what it entered last.
        stack: RawStack,
        /// The task that begins, by the key it was made with.
        task: Option<u64>,
    },
    /// It left what it entered last.
    Leave,
    /// It made a task.
    Spawn {
        /// The task's key.
        task: u64,
        /// Where it is.
        stack: RawStack,
    },
    /// The collector took this much of its time, nanoseconds.
    Overhead(u64),
    /// It may run on these processors from now on, as the kernel has them: online or not.
    Allowed {
        /// How many.
        count: u32,
        /// A bit for each that has a number below 64.
        first: u64,
    },
    /// What it does from now on comes after the end of a thread, or of a child process.
    Joined {
        /// The thread, or the first thread of the process.
        ended: RawJoined,
        /// It waits until then; else it may be that the join fails, unless the thread has ended already.
        waits: bool,
    },
    /// Its handle, by which joins name it.
    Handle(u64),
    /// It added to the count of a semaphore.
    Post {
        /// The semaphore.
        primitive: RawPrimitive,
        /// How much.
        count: u64,
    },
    /// It gave a semaphore its first count.
    Initialise {
        /// The semaphore.
        primitive: RawPrimitive,
        /// The count.
        count: u64,
    },
    /// It took one from the count of a semaphore.
    Take(RawPrimitive),
    /// It acquired a mutex that is used with a condition.
    Lock {
        /// The mutex.
        mutex: RawPrimitive,
        /// Where.
        stack: RawStack,
    },
    /// It released such a mutex.
    Unlock(RawPrimitive),
    /// Its wait for a condition returned.
    Waited {
        /// The condition.
        condition: RawPrimitive,
        /// The mutex, which it holds again.
        mutex: RawPrimitive,
        /// Not by a time-out.
        granted: bool,
        /// Where.
        stack: RawStack,
    },
    /// It signalled a condition.
    Signal {
        /// The condition.
        condition: RawPrimitive,
        /// To all that wait.
        broadcast: bool,
        /// Where.
        stack: RawStack,
    },
    /// It wrote to a stream of bytes.
    Write(RawTransfer),
    /// It read from a stream of bytes.
    Read(RawTransfer),
    /// It enters a call that passes messages.
    Communicate {
        /// Identifies the communicator, 0 for none.
        communicator: u64,
        /// The other end or the root.
        peer: Option<u32>,
        /// Where.
        stack: RawStack,
    },
    /// A communicator has a name.
    CommunicatorName {
        /// The communicator.
        communicator: u64,
        /// The name.
        name: String,
    },
    /// What it says of messages, in words of which none is an id of the log.
    Message(EventKind),
    /// It came to a barrier.
    Arrive(RawPrimitive),
    /// It left a barrier.
    Depart(RawPrimitive),
}

/// A synchronisation primitive of the process whose thread names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawPrimitive {
    /// What it is.
    pub kind: PrimitiveKind,
    /// Address of its first futex word.
    pub address: u64,
}

/// Whom a join names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RawJoined {
    /// A thread, by its tid.
    Tid(u32),
    /// A child process that has ended: the one of this pid, or any where it is 0 or that of no child.
    Child(u32),
    /// A thread of the same process, by its handle.
    Handle(u64),
}

/// Bytes that went into a stream or out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawTransfer {
    /// Identifies the stream.
    pub channel: u64,
    /// How many bytes went the same way before.
    pub position: u64,
    /// How many went now.
    pub bytes: u64,
}

/// What a thread can enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawScope {
    /// A region or task, by its name.
    Region(String),
    /// An instrumented procedure, by its address.
    Procedure(u64),
}

/// Who made a task runnable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawWaker {
    /// A task; whether it is a recorded one the assembler finds out.
    Task(KernelTask, String),
    /// An interrupt: nobody's work.
    Interrupt,
    /// The same, and a hard interrupt.
    HardInterrupt,
    /// A soft interrupt on this task's processor time.
    SoftInterrupt(KernelTask),
    /// Not known.
    Unknown,
}

/// A stack as a collector found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RawStack {
    /// Not taken.
    #[default]
    None,
    /// The stack that was sent before under this key (by [`RawStack::Taken`] with the same key and pid).
    Known(u64),
    /// A stack.
    Taken(Box<TakenStack>),
}

/// Registers, memory and chains of one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenStack {
    /// Key under which the stack is named later; `None` for a stack that is used once.
    pub key: Option<u64>,
    /// Kernel addresses, innermost first.
    pub kernel: Vec<u64>,
    /// User registers, where the collector has them.
    pub registers: Option<longpole_symbols::Registers>,
    /// Instruction and stack pointer of a thread in a system call, where no other register is known.
    pub at_call: Option<(u64, u64)>,
    /// User memory from the stack pointer upwards.
    pub memory: Vec<u8>,
    /// User addresses by frame pointers, innermost first (the first one is the instruction pointer).
    pub chain: Vec<u64>,
    /// First addresses of the procedures that the thread is in, innermost first, where it published these only.
    pub procedures: Vec<u64>,
    /// What the thread executes of Python.
    pub python: Option<Box<PythonStack>>,
}

impl RawEvent {
    /// Memory that it takes beside its own, bytes, about.
    pub(crate) fn stack_bytes(&self) -> usize {
        match &self.kind {
            RawKind::Fork { stack, .. }
            | RawKind::Switch { stack, .. }
            | RawKind::Wake { stack, .. }
            | RawKind::Sample { stack, .. } => match stack {
                RawStack::Taken(taken) => taken.bytes(),
                RawStack::None | RawStack::Known(_) => 0,
            },
            RawKind::Stack { taken, .. } => taken.bytes(),
            RawKind::Told { .. } => size_of::<crate::agent::AgentEvent>(),
            _ => 0,
        }
    }
}

impl TakenStack {
    fn bytes(&self) -> usize {
        let addresses = self.kernel.len() + self.chain.len() + self.procedures.len();
        let python = self.python.as_ref().map_or(0, |python| size_of_val(&*python.frames));
        size_of::<TakenStack>() + python + self.memory.len() + size_of::<u64>() * addresses
    }

    /// The place of a call alone, by its return address.
    pub(crate) fn calling(return_address: u64) -> Self {
        TakenStack { chain: vec![return_address.wrapping_sub(1)], ..TakenStack::default() }
    }
}
