//! What a collector or importer hands over: events by pid and tid, with stacks as found.
//!
//! The collectors (`bpf`, `perf`) and the importer produce these in time order; the assembler turns them
//! into the records of a log. Nothing before this point knows about ids, and nothing after it knows
//! which collector ran.

use crate::agent::Told;
use longpole_event::{Blocking, Call, LossKind, PrimitiveKind, Time};

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
pub struct Task {
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
        parent: Task,
        /// The new thread.
        child: Task,
        /// Where the parent was.
        stack: RawStack,
    },
    /// The process became another program; its mappings are gone.
    Exec {
        /// The thread that remains (its tid is the pid from now on).
        task: Task,
        /// Path or name of the program.
        program: String,
    },
    /// A thread got a name.
    Name {
        /// The thread.
        task: Task,
        /// The name.
        name: String,
    },
    /// A thread ended.
    Exit {
        /// The thread.
        task: Task,
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
        previous: Option<Task>,
        /// Why it left.
        blocking: Blocking,
        /// The system call it was in, where the collector sees it.
        call: Option<Call>,
        /// Where it was.
        stack: RawStack,
        /// The task that got the processor.
        next: Option<Task>,
    },
    /// A task was made runnable.
    Wake {
        /// The task.
        wakee: Task,
        /// Who did it.
        waker: RawWaker,
        /// The system call the waker was in, where the collector sees it.
        call: Option<Call>,
        /// Where the waker was.
        stack: RawStack,
    },
    /// A timer found a thread running.
    Sample {
        /// The thread.
        task: Task,
        /// In the kernel.
        kernel: bool,
        /// Where.
        stack: RawStack,
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
        task: Task,
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
        task: Task,
        /// What.
        told: Box<Told>,
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
    pub(crate) fn switch(previous: Option<Task>, blocking: Blocking, next: Option<Task>) -> RawKind {
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
        place: RawPlace,
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
}

/// A synchronisation primitive of the process whose thread names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawPrimitive {
    /// What it is.
    pub kind: PrimitiveKind,
    /// Address of its first futex word.
    pub address: u64,
}

/// What a thread can enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawPlace {
    /// A region or task, by its name.
    Region(String),
    /// An instrumented procedure, by its address.
    Procedure(u64),
}

/// Who made a task runnable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawWaker {
    /// A task; whether it is a recorded one the assembler finds out.
    Task(Task, String),
    /// A hard interrupt.
    Interrupt,
    /// A soft interrupt on this task's processor time.
    SoftInterrupt(Task),
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
    /// User memory from the stack pointer upwards.
    pub memory: Vec<u8>,
    /// User addresses by frame pointers, innermost first (the first one is the instruction pointer).
    pub chain: Vec<u64>,
    /// First addresses of the procedures that the thread is in, innermost first, where it published these only.
    pub procedures: Vec<u64>,
}
