//! The records of a log: definitions and events, each declared once.
//!
//! The table makes their types, their bytes, the ids in them, examples, and their document (`docs/format.md`).

use crate::codec::{Decoder, Encoder, Form, NUMBER, Plain, Result, TEXT, form, records};
use crate::format::{FieldForm, RecordClass, RecordForm};
use crate::id::{CallId, FrameId, ModuleId, PrimitiveId, ProcessId, SeriesId, StackId, TextId, ThreadId};
use crate::kinds::{
    Blocking, BusyWaiting, FileKind, LossKind, ModuleKind, PrimitiveKind, SeriesKind, SeriesNode,
    SymbolPlace, Waker,
};
use crate::message::{CollectiveMeeting, MessageEnvelope};
use crate::references::{IdKind, NewNumbers};
use crate::time::Time;

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

impl EventKind {
    /// Losses and values are of no thread: their event's thread means nothing.
    fn is_of_no_thread(&self) -> bool {
        matches!(self, EventKind::Lost { .. } | EventKind::Value { .. })
    }
}

/// The one of these whose turn it is.
fn turn<T>(mut examples: Vec<T>, turn: usize) -> T {
    let at = turn % examples.len();
    examples.swap_remove(at)
}

const fn first_of(flags: &[u8]) -> Option<u8> {
    match flags {
        [first, ..] => Some(*first),
        [] => None,
    }
}

records! {
    definitions {
        /// A source of code: a mapped file, the kernel, code made at run time.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        1 Module(ModuleDefinition) defines Module {
            /// What kind of code this is.
            kind: ModuleKind,
            /// Path of the file as mapped, or a name in brackets (`[kernel]`, `[vdso]`, `[jit]`).
            path: TextId,
            /// GNU build id; empty where there is none. Of a function of Python its name.
            build_id: Vec<u8>,
            /// The process whose code this is, for kinds that belong to one process (`Jit`).
            process: Option<ProcessId>,
        }
        /// One code address.
        ///
        /// For return addresses this is the address of the call's last byte (return address − 1), so that it
        /// lies within the calling line and, for inlined code, within the calling block.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        2 Frame(FrameDefinition) defines Frame {
            /// The module that holds the address.
            module: ModuleId,
            /// The address as the module's own file states it (its ELF virtual address), or an absolute
            /// address where [`ModuleKind`] says so.
            address: u64,
        }
        /// One call path, as the node of a tree: `frame` was called from `caller`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        3 Stack(StackDefinition) defines Stack {
            /// The path without its innermost frame; `None` at the outermost frame.
            caller: Option<StackId>,
            /// The innermost frame.
            frame: FrameId,
        }
        /// One system call with the arguments that tell what a thread waits for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        4 Call(CallDefinition) defines Call {
            /// Kind of the file behind the descriptor in the first argument, where the call has one; of the file that a
            /// futex lies in, where processes share it.
            file: FileKind,
            /// x86-64 system call number; −1 where the thread entered the kernel by an exception (a page fault)
            /// or an interrupt. In a simulated run, of which the first argument is the address of a [`Primitive`] with a name:
            /// [`PAGE_REQUEST`], [`LINE_REQUEST`] or [`EXCHANGE`].
            number: i32 as CallNumber,
            /// The first three arguments. Of a call on a descriptor the third is a number that stands for the file
            /// behind it on this machine, the same for both ends of a pipe; 0 where it is not known. Of a futex that processes share
            /// it stands for the word, the same in all of them; of `semop` the second is the number of the semaphore in its set.
            arguments: [u64; 3],
        }
        /// A process of the machine.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        5 Process(ProcessDefinition) defines Process {
            /// Its pid in the machine's first pid namespace.
            pid: u32,
            /// The process that created it, where that one is recorded too.
            parent: Option<ProcessId>,
        }
        /// A thread of a process.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        6 Thread(ThreadDefinition) defines Thread {
            /// Its process.
            process: ProcessId,
            /// Its tid in the machine's first pid namespace.
            tid: u32,
        }
        /// A series of numbers about a node of the program's tree, from outside or from the program.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        7 Series(SeriesDefinition) defines Series {
            /// How its values are to be read.
            samples: SeriesKind,
            /// The metric's name.
            name: TextId,
            /// Its unit, empty where it has none.
            unit: TextId,
            /// What it is about.
            node: SeriesNode,
            /// The part of the node it is about (`cpu0`, `vda`), empty for all of it.
            label: TextId,
            /// Which collector it comes from.
            collector: TextId,
        }
        /// What one frame's address means.
        #[derive(Clone, Debug, PartialEq, Eq)]
        8 Symbol(Symbol) {
            /// The frame that is explained.
            frame: FrameId,
            /// The procedures at that address, innermost inlined one first; empty where no name was found.
            places: Vec<SymbolPlace>,
            /// Whether a thread found there waits.
            waiting: BusyWaiting,
        }
        /// A word of memory on which a thread waited and which a module's file lays out: a part of a variable that is
        /// there all the time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        21 Word(WordDefinition) {
            /// The process.
            process: ProcessId,
            /// The address in the process, from now on.
            address: u64,
            /// The module that lays it out.
            module: ModuleId,
            /// The address as the module's own file states it.
            file_address: u64,
        }
        /// The variable that holds a word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        22 Variable(VariableDefinition) {
            /// The word's module, by its id in the event log.
            module: ModuleId,
            /// The word's address as the module's own file states it.
            file_address: u64,
            /// Demangled name of the variable.
            name: TextId,
            /// Where in the variable the word is, bytes.
            offset: u64,
        }
        /// A file behind descriptors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        23 File(FileDefinition) {
            /// The number that stands for it in the third argument of a [`CallDefinition`] on a descriptor.
            number: u64,
            /// Its name, without folders.
            name: TextId,
        }
        /// The procedure that is called at a frame, where it hides behind inner ones that have no names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        24 Callee(Callee) {
            /// The frame.
            frame: FrameId,
            /// The procedure's name.
            procedure: TextId,
        }
        /// A synchronisation primitive in a process's memory, as the agent in that process sees it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        25 Primitive(Primitive) defines Primitive {
            /// What it is.
            kind: PrimitiveKind,
            /// The process.
            process: ProcessId,
            /// Address of its first futex word in the process: what a [`CallDefinition`] that waits for it names.
            address: u64,
            /// The name that the program gave it.
            name: Option<TextId>,
        }
    }
    events {
        /// The thread exists from now on. `creator` is the recorded thread that created it, and `stack` where.
        /// A thread that ran before the recording began has no creator.
        9 Start {
            /// The creating thread.
            creator: Option<ThreadId>,
            /// The creator's stack.
            stack: Option<StackId>,
        }
        /// The thread has got a name.
        10 Name {
            /// The name (`comm`, at most 15 bytes).
            name: TextId,
        }
        /// The thread's process has become another program.
        11 Exec {
            /// Path of the program, or its name where the path is not known.
            program: TextId,
        }
        /// The thread has ended.
        12 Exit
        /// The thread got the processor.
        13 In
        /// The thread left the processor.
        14 Out {
            /// Why.
            blocking: Blocking,
            /// The system call it was in.
            call: Option<CallId>,
            /// Where it was.
            stack: Option<StackId>,
        }
        /// The thread was made runnable.
        15 Wake {
            /// By whom.
            waker: Waker,
            /// The system call the waker was in.
            call: Option<CallId>,
            /// Where the waker was.
            stack: Option<StackId>,
        }
        /// The thread was running when a timer looked.
        16 Sample {
            /// Where it was.
            stack: Option<StackId>,
            /// It was in the kernel.
            kernel: bool,
            /// Half the timer's interval before the sample and half of that after it, microseconds; 0: not recorded.
            gap: u32 as Gap,
        }
        /// The thread sent the message `key`; [`EventKind::Receive`] with the same key, on any machine of the
        /// recording, is its arrival.
        17 Send {
            /// Identifies the message within the recording.
            key: u64,
        }
        /// The thread got the message `key`.
        18 Receive {
            /// Identifies the message within the recording.
            key: u64,
        }
        /// A series has a new value (the event's thread is of no meaning).
        19 Value {
            /// Which series.
            series: SeriesId,
            /// Its value from now on.
            value: f64,
        }
        /// The collector lost something before this time (the event's thread is of no meaning).
        20 Lost {
            /// What was lost.
            kind: LossKind,
            /// How many.
            count: u64,
        }
        /// The wait that the thread's last [`EventKind::Await`] told of is over.
        26 / 1 Proceed
        /// From now on the thread waits, whether or not it is on a processor: on one it spins. The agent's word, from
        /// inside the program.
        26 Await {
            /// For what, where it is a primitive.
            primitive: Option<PrimitiveId>,
            /// Where the thread was.
            stack: Option<StackId>,
        }
        /// What the thread's holds of a primitive at one place came to, since the last such event of the same three.
        /// Stands at the end of the last of these holds.
        27 Held {
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
        }
        /// The thread left what it entered last.
        28 / 1 Leave
        /// The thread entered a region, a task or an instrumented procedure.
        28 Enter {
            /// Which; of a region or task its module is of [`ModuleKind::Region`].
            frame: FrameId,
            /// Where it was entered, where that is not the frame that was entered last.
            stack: Option<StackId>,
            /// The task that begins, by the key of the [`EventKind::Spawn`] that made it.
            task: Option<u64>,
        }
        /// The thread made a task, which some thread may run.
        29 Spawn {
            /// Identifies the task within the recording.
            task: u64,
            /// Where it was made.
            stack: Option<StackId>,
        }
        /// Time that the collector itself took of the thread since the last such event, nanoseconds.
        30 Overhead {
            /// How much.
            nanoseconds: u64,
        }
    }
    extended {
        /// A join of a thread, or a wait for a child: what the thread does from now on comes after the end of the other,
        /// which may have been long ago, or be still to come.
        0 Joined {
            /// The thread that is joined, or the first thread of the process.
            ended: ThreadId,
        }
        /// The thread added to the count of a semaphore.
        1 Post {
            /// The semaphore.
            primitive: PrimitiveId,
            /// How much it added.
            count: u64,
        }
        /// The thread took one from the count of a semaphore, whether or not it had to wait for it.
        2 Take {
            /// The semaphore.
            primitive: PrimitiveId,
        }
        /// The thread acquired a mutex with which some thread waits for a condition: a critical section begins. A wait for
        /// the condition, which releases the mutex and acquires it again, is part of the section.
        3 Lock {
            /// The mutex.
            mutex: PrimitiveId,
            /// Where it was acquired: the site of the section.
            stack: Option<StackId> as Lead,
        }
        /// The thread released such a mutex: its critical section ends.
        4 Unlock {
            /// The mutex.
            mutex: PrimitiveId,
        }
        /// A wait for a condition has returned; the thread holds the mutex again.
        5 Waited {
            /// The condition.
            condition: PrimitiveId,
            /// The mutex of the wait.
            mutex: PrimitiveId,
            /// It did not end by a time-out.
            granted: bool,
            /// Where it waited.
            stack: Option<StackId> as Lead,
        }
        /// The thread signalled a condition, whether or not any thread waited for it.
        6 Signal {
            /// The condition.
            condition: PrimitiveId,
            /// To all threads that wait.
            broadcast: bool,
            /// Where it was.
            stack: Option<StackId> as Lead,
        }
        /// The thread wrote to a stream of bytes: a pipe, a socket, a counter that grows by what is written.
        7 Write {
            /// Identifies the stream within the log: one direction of a connection. With its highest bit (2⁶³) set it is a connection
            /// between two addresses, and has this number in the logs of both machines. The upper half of a pipe's number is
            /// 0x7069_7065.
            channel: u64,
            /// How many bytes were written to it before.
            position: u64,
            /// How many were written now.
            bytes: u64,
        }
        /// The thread read from such a stream.
        8 Read {
            /// Identifies the stream within the log.
            channel: u64,
            /// How many bytes were read from it before.
            position: u64,
            /// How many were read now.
            bytes: u64,
        }
        /// The thread came to a barrier, whether or not it had to wait there.
        9 Arrive {
            /// The barrier.
            primitive: PrimitiveId,
        }
        /// The thread left the barrier that it came to last: all of its round had arrived.
        10 Depart {
            /// The barrier.
            primitive: PrimitiveId,
        }
        /// The thread gave a semaphore its first count; one that was at its place before is gone.
        11 Initialise {
            /// The semaphore.
            primitive: PrimitiveId,
            /// Its count.
            count: u64,
        }
        /// What a person would call the run of the program that the thread's process executes now: `cc1 f3.c`.
        12 Title {
            /// The title.
            title: TextId,
        }
        /// The lock that the thread waits for is held by `owner`: so says the lock's own memory, in which the recorder has
        /// looked. Only of locks that keep their owner there.
        13 Owner {
            /// Who holds it.
            owner: ThreadId,
        }
        /// The thread existed before the log begins, which knows no earlier time; `creator` and `stack` as of
        /// [`EventKind::Start`].
        14 Continue {
            /// The creating thread.
            creator: Option<ThreadId>,
            /// The creator's stack.
            stack: Option<StackId> as Lead,
            /// Whether it has not ended. One that has is named as the creator of others.
            is_alive: bool,
        }
        /// The thread enters a call that passes messages: what stands up to the next [`EventKind::Communicated`] is done in it.
        16 Communicate {
            /// Identifies the communicator within the recording; 0 where the call names none.
            communicator: u64,
            /// The other end or the root, by its rank in the job, where the call names one.
            peer: Option<u32>,
            /// Where the thread is.
            stack: Option<StackId> as Lead,
        }
        /// The thread leaves that call.
        17 Communicated
        /// The thread sends a message; at the time at which it enters the call.
        18 MessageSend(message: MessageEnvelope)
        /// What the thread sent on a channel is sent: the buffer can be used again.
        19 MessageSent {
            /// The channel.
            channel: u64,
            /// How long before this it began to send, nanoseconds.
            posted: u64,
        }
        /// The thread has received a message; at the time at which it leaves the call.
        20 MessageReceive {
            /// The message.
            message: MessageEnvelope,
            /// How long before this the receive was posted, nanoseconds.
            posted: u64,
        }
        /// The thread takes part in a collective operation; at the time at which it enters the call.
        21 Meet(meeting: CollectiveMeeting)
        /// A communicator has a name (the event's thread is of no meaning).
        22 CommunicatorName {
            /// The communicator.
            communicator: u64,
            /// The name.
            name: TextId,
        }
        /// The thread's process is this rank of a job of processes that pass messages.
        23 Rank {
            /// The rank, from 0.
            rank: u32,
        }
        /// The thread has found a message that it has not received; at the time at which it leaves the call.
        24 MessageProbe(message: MessageEnvelope)
        /// What the thread began of a collective operation is complete; at the time at which it leaves the call.
        25 MeetingComplete {
            /// Identifies the communicator within the recording.
            communicator: u64,
            /// How many operations there were on it before.
            round: u64,
        }
        /// What the thread's next wait is for was written by `writer`: that is why it has to be fetched. One such event for each
        /// writer.
        26 Written {
            /// Who wrote it.
            writer: ThreadId,
            /// Where.
            stack: Option<StackId> as Lead,
        }
        /// The thread spun until now, for a word that `by` has just written.
        27 Freed {
            /// Who wrote it.
            by: ThreadId,
            /// The word.
            primitive: PrimitiveId,
            /// Where.
            stack: Option<StackId> as Lead,
        }
        /// From now on the thread may run on these of the machine's processors (its affinity). A thread begins with those of its
        /// creator; of a thread of which none are told it is not known.
        28 Allowed {
            /// How many of those that were online.
            count: u64,
            /// A bit for each that has a number below 64.
            first: u64,
        }
    }
}
