//! The records that the kernel programs write, by the readers that the build makes of `bpf/records.h`.
//!
//! In: the bytes of one record. Out: a [`RawEvent`], or a stack that a later record names by its key. A
//! record of a wrong length is refused, not guessed at.

use std::net::{IpAddr, SocketAddr};

use longpole_event::{Blocking, CallDefinition, FileKind, Time};
use longpole_symbols::Registers;

use super::arrivals::{Accounts, TaskAccount};
use crate::process_title::{arguments_of, process_title};
use crate::raw::{
    KernelTask, RawEvent, RawJoined, RawKind, RawMark, RawStack, RawTransfer, RawWaker, TakenStack,
};

/// One record.
#[derive(Debug, PartialEq)]
pub(crate) enum Wire {
    /// An event, with what the kernel's accounts say of its tasks. A stack it names is [`RawStack::Known`]; the gap of a sample is
    /// how long ago the timer looked before.
    Event(RawEvent, Accounts),
    /// A thread or process was created; `handle` is what joins of the thread name it by, 0 where that is not known.
    Fork { event: RawEvent, handle: u64 },
    /// A stack that is named by `key` from now on.
    Stack { key: u64, stack: Box<TakenStack> },
    /// The timer looked at the processor and found no recorded task.
    Look(TimerLook),
    /// The registers of the thread that the next sample of this processor found.
    Registers(ThreadRegisters),
    /// A thread wrote a word that is watched.
    Store(WatchedStore),
    /// What a thread executes of Python, before the stack or sample that it belongs to.
    Python(ReadPython),
    /// A function of Python.
    Function(SentFunction),
}

/// What a thread executes of Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadPython {
    /// The key of the stack; `None` for the sample of the same time and processor.
    pub(crate) key: Option<u64>,
    pub(crate) time: Time,
    pub(crate) cpu: u16,
    /// Innermost first.
    pub(crate) frames: Vec<ReadPythonFrame>,
    /// There are more frames.
    pub(crate) is_cut: bool,
}

/// A frame of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadPythonFrame {
    /// That of its function; `None` where it could not be read.
    pub(crate) number: Option<u64>,
    /// It is the interpreter's loop's, of no function.
    pub(crate) is_own: bool,
    /// The loop was entered with it.
    pub(crate) begins_loop: bool,
}

/// A function of Python, with its texts as they are in the interpreter's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentFunction {
    pub(crate) number: u64,
    pub(crate) line: u32,
    /// That by which its texts are read.
    pub(crate) layout: u32,
    pub(crate) name: Vec<u8>,
    pub(crate) file: Vec<u8>,
}

/// The registers of a thread in its own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadRegisters {
    pub(crate) time: Time,
    pub(crate) task: KernelTask,
    pub(crate) ip: u64,
    /// By their numbers in the processor's instructions.
    pub(crate) general: [u64; 16],
}

/// The stack pointer's number among the general registers.
pub(super) const STACK_POINTER: usize = 4;

/// A store into a watched word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchedStore {
    pub(crate) time: Time,
    pub(crate) cpu: u16,
    pub(crate) task: KernelTask,
    /// The word's address, as it was asked for.
    pub(crate) address: u64,
    pub(crate) stack: Box<TakenStack>,
}

/// A look of a processor's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerLook {
    pub(crate) cpu: u16,
    pub(crate) time: Time,
    /// How long ago it looked before, nanoseconds; 0 where that is not known.
    pub(crate) before: u64,
}

/// The layouts of `bpf/records.h`.
mod layout {
    include!(concat!(env!("OUT_DIR"), "/record_layouts.rs"));

    fn array<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
        bytes.get(offset..offset + N)?.try_into().ok()
    }

    fn words<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u64; N]> {
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(bytes.get(offset..offset + 8 * N)?.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
        }
        Some(words)
    }
}

use layout::{
    CONTEXT_HARD_INTERRUPT, CONTEXT_INTERRUPT, CONTEXT_SOFT_INTERRUPT, CONTEXT_TASK, FILE_ANONYMOUS,
    FILE_BLOCK, FILE_CHARACTER, FILE_NONE, FILE_PIPE, FILE_REGULAR, FILE_SOCKET, FILE_TIMER,
    FRAME_BEGINS_LOOP, FUNCTION_NONE, FUNCTION_UNREADABLE, HAS_CALL, IN_KERNEL, IS_WRITE, JOIN_CHILD,
    JOIN_WAITS, LEFT_DEAD, LEFT_DEVICE, LEFT_INTERRUPTIBLE, LEFT_RUNNABLE, LEFT_STOPPED,
    LEFT_UNINTERRUPTIBLE, NEXT_TRACKED, PREVIOUS_TRACKED, RECORD_ALLOWED, RECORD_EXEC, RECORD_FILE,
    RECORD_FORK, RECORD_FUNCTION, RECORD_JOIN, RECORD_LOOK, RECORD_NAME, RECORD_PEER, RECORD_PYTHON,
    RECORD_REGISTERS, RECORD_SAMPLE, RECORD_STACK, RECORD_STORE, RECORD_SWITCH, RECORD_TRANSFER, RECORD_WAKE,
    WAKER_TRACKED,
};

struct RecordHead {
    time: Time,
    kind: u8,
    flags: u8,
    cpu: u16,
    pid: u32,
}

impl RecordHead {
    fn of(bytes: &[u8]) -> Option<RecordHead> {
        let head = layout::Head(bytes);
        Some(RecordHead {
            time: Time::from_nanoseconds(head.time()?),
            kind: head.kind()?,
            flags: head.flags()?,
            cpu: head.cpu()?,
            pid: head.pid()?,
        })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// A task of the process that the record is about.
    fn task(&self, tid: u32) -> KernelTask {
        KernelTask { pid: self.pid, tid }
    }

    fn event(&self, kind: RawKind) -> RawEvent {
        RawEvent { time: self.time, cpu: self.cpu, kind }
    }
}

/// Decodes one record; `None` if it is none.
pub(crate) fn decode(bytes: &[u8]) -> Option<Wire> {
    let head = RecordHead::of(bytes)?;
    let mut accounts = Accounts::default();
    let kind = match head.kind {
        RECORD_SWITCH => switch(&head, layout::SwitchRecord(bytes), &mut accounts)?,
        RECORD_WAKE => wake(&head, layout::WakeRecord(bytes))?,
        RECORD_FORK => return fork(&head, layout::ForkRecord(bytes)),
        RECORD_EXEC => execution(&head, layout::ExecRecord(bytes))?,
        RECORD_NAME => {
            let record = layout::NameRecord(bytes);
            RawKind::Name { task: head.task(record.tid()?), name: text(record.comm()?) }
        }
        RECORD_FILE => {
            let record = layout::FileRecord(bytes);
            RawKind::File { number: record.number()?, name: text(record.name()?) }
        }
        RECORD_ALLOWED => {
            let record = layout::AllowedRecord(bytes);
            let mark = RawMark::Allowed { count: record.count()?, first: record.first()? };
            RawKind::Inside { task: head.task(record.tid()?), mark }
        }
        RECORD_PEER => {
            let record = layout::PeerRecord(bytes);
            RawKind::File { number: record.number()?, name: peer(record)? }
        }
        RECORD_JOIN => join(&head, layout::JoinRecord(bytes))?,
        RECORD_TRANSFER => transfer(&head, layout::TransferRecord(bytes))?,
        RECORD_SAMPLE => {
            let record = layout::StackRecord(bytes);
            accounts.on = account(record.account()?)?;
            let (task, gap) = (head.task(record.tid()?), record.before()?);
            let stack = RawStack::Taken(stack(record)?);
            RawKind::Sample { task, kernel: head.has(IN_KERNEL), stack, gap }
        }
        RECORD_STACK => {
            let stack = stack(layout::StackRecord(bytes))?;
            return Some(Wire::Stack { key: stack.key?, stack });
        }
        RECORD_STORE => return store(&head, layout::StackRecord(bytes)).map(Wire::Store),
        RECORD_LOOK => {
            let before = layout::LookRecord(bytes).before()?;
            return Some(Wire::Look(TimerLook { cpu: head.cpu, time: head.time, before }));
        }
        RECORD_PYTHON => return python(&head, layout::PythonRecord(bytes)).map(Wire::Python),
        RECORD_FUNCTION => return function(layout::FunctionRecord(bytes)).map(Wire::Function),
        RECORD_REGISTERS => return registers(&head, layout::RegistersRecord(bytes)).map(Wire::Registers),
        _ => return None,
    };
    Some(Wire::Event(head.event(kind), accounts))
}

fn switch(head: &RecordHead, record: layout::SwitchRecord<'_>, accounts: &mut Accounts) -> Option<RawKind> {
    let previous = head.task(record.previous_tid()?);
    let next = KernelTask { pid: record.next_pid()?, tid: record.next_tid()? };
    let blocking = match record.left()? {
        LEFT_RUNNABLE => Blocking::Runnable,
        LEFT_INTERRUPTIBLE => Blocking::Interruptible,
        LEFT_UNINTERRUPTIBLE => Blocking::Uninterruptible,
        LEFT_DEVICE => Blocking::Device,
        LEFT_STOPPED => Blocking::Stopped,
        LEFT_DEAD => Blocking::Dead,
        _ => return None,
    };
    *accounts = Accounts { on: account(record.account()?)?, next_waited: record.next_waited()? };
    let part = (record.file()?, record.number()?, record.call());
    let (call, stack) = call(head, part)?;
    Some(RawKind::Switch {
        previous: head.has(PREVIOUS_TRACKED).then_some(previous),
        blocking,
        call,
        stack,
        next: head.has(NEXT_TRACKED).then_some(next),
    })
}

fn wake(head: &RecordHead, record: layout::WakeRecord<'_>) -> Option<RawKind> {
    let wakee = KernelTask { pid: record.wakee_pid()?, tid: record.wakee_tid()? };
    let waker = head.task(record.waker_tid()?);
    let (call, stack) = call(head, (record.file()?, record.number()?, record.call()))?;
    let waker = match record.context()? {
        CONTEXT_TASK if head.has(WAKER_TRACKED) => RawWaker::Task(waker, String::new()),
        CONTEXT_TASK => RawWaker::Task(waker, text(record.comm()?)),
        CONTEXT_INTERRUPT => RawWaker::Interrupt,
        CONTEXT_HARD_INTERRUPT => RawWaker::HardInterrupt,
        CONTEXT_SOFT_INTERRUPT => RawWaker::SoftInterrupt(waker),
        _ => return None,
    };
    Some(RawKind::Wake { wakee, waker, call, stack })
}

fn fork(head: &RecordHead, record: layout::ForkRecord<'_>) -> Option<Wire> {
    let parent = head.task(record.parent_tid()?);
    let child = KernelTask { pid: record.child_pid()?, tid: record.child_tid()? };
    let event = head.event(RawKind::Fork { parent, child, stack: named(record.key()?) });
    Some(Wire::Fork { event, handle: record.handle()? })
}

fn execution(head: &RecordHead, record: layout::ExecRecord<'_>) -> Option<RawKind> {
    let program = text(record.path()?);
    let length = usize::try_from(record.argument_bytes()?).ok()?;
    let arguments = record.arguments()?.get(..length)?;
    let title = process_title(&program, &arguments_of(arguments));
    Some(RawKind::Exec { task: head.task(record.tid()?), program, title })
}

fn registers(head: &RecordHead, record: layout::RegistersRecord<'_>) -> Option<ThreadRegisters> {
    let (task, ip) = (head.task(record.tid()?), record.ip()?);
    Some(ThreadRegisters { time: head.time, task, ip, general: record.general()? })
}

fn python(head: &RecordHead, record: layout::PythonRecord<'_>) -> Option<ReadPython> {
    let mut rest = record.frames()?;
    let frame = |word: u64| {
        let number = word & !(1 << FRAME_BEGINS_LOOP);
        let is_known = number != FUNCTION_NONE as u64 && number != FUNCTION_UNREADABLE as u64;
        ReadPythonFrame {
            number: is_known.then_some(number),
            is_own: number == FUNCTION_NONE as u64,
            begins_loop: word >> FRAME_BEGINS_LOOP != 0,
        }
    };
    let frames = addresses(&mut rest, record.count()?)?.into_iter().map(frame).collect();
    let key = record.key()?;
    let key = (key != 0).then_some(key);
    Some(ReadPython { key, time: head.time, cpu: head.cpu, frames, is_cut: record.is_cut()? != 0 })
}

fn function(record: layout::FunctionRecord<'_>) -> Option<SentFunction> {
    let bytes = |all: &[u8], count: u32| Some(all.get(..usize::try_from(count).ok()?)?.to_vec());
    Some(SentFunction {
        number: record.number()?,
        line: record.line()?,
        layout: record.layout()?,
        name: bytes(record.name()?, record.name_bytes()?)?,
        file: bytes(record.file()?, record.file_bytes()?)?,
    })
}

fn store(head: &RecordHead, record: layout::StackRecord<'_>) -> Option<WatchedStore> {
    let task = head.task(record.tid()?);
    let mut stack = stack(record)?;
    let address = stack.key.take()?;
    Some(WatchedStore { time: head.time, cpu: head.cpu, task, address, stack })
}

fn join(head: &RecordHead, record: layout::JoinRecord<'_>) -> Option<RawKind> {
    let ended = if head.has(JOIN_CHILD) {
        RawJoined::Child(record.child()?)
    } else {
        RawJoined::Handle(record.handle()?)
    };
    let mark = RawMark::Joined { ended, waits: head.has(JOIN_WAITS) };
    Some(RawKind::Inside { task: head.task(record.tid()?), mark })
}

fn transfer(head: &RecordHead, record: layout::TransferRecord<'_>) -> Option<RawKind> {
    let what =
        RawTransfer { channel: record.channel()?, position: record.position()?, bytes: record.bytes()? };
    let mark = if head.has(IS_WRITE) { RawMark::Write(what) } else { RawMark::Read(what) };
    Some(RawKind::Inside { task: head.task(record.tid()?), mark })
}

fn file(kind: u8) -> Option<FileKind> {
    Some(match kind {
        FILE_NONE => FileKind::None,
        FILE_REGULAR => FileKind::Regular,
        FILE_PIPE => FileKind::Pipe,
        FILE_SOCKET => FileKind::Socket,
        FILE_CHARACTER => FileKind::Character,
        FILE_BLOCK => FileKind::Block,
        FILE_ANONYMOUS => FileKind::Anonymous,
        FILE_TIMER => FileKind::Timer,
        _ => return None,
    })
}

/// The other end of a connection: `192.0.2.7:5432`, `[2001:db8::7]:80`, `/run/service`.
fn peer(record: layout::PeerRecord<'_>) -> Option<String> {
    let (port, address) = (record.port()?, record.address()?);
    let four = |bytes: &[u8]| Some(<[u8; 4]>::try_from(bytes.get(..4)?).ok()?.into());
    let ip = match record.family()? {
        INTERNET => IpAddr::V4(four(address)?),
        INTERNET_6 => IpAddr::V6(<[u8; 16]>::try_from(address.get(..16)?).ok()?.into()).to_canonical(),
        _ => return Some(text(address)),
    };
    Some(SocketAddr::new(ip, port).to_string())
}

const INTERNET: u16 = 2;
const INTERNET_6: u16 = 10;

/// A text that ends at the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn account(account: layout::Account<'_>) -> Option<TaskAccount> {
    let arrived = account.arrived()?;
    let arrived = (arrived != 0).then(|| Time::from_nanoseconds(arrived));
    Some(TaskAccount { arrived, waited: account.waited()? })
}

/// The system call and the stack, where the record has them.
fn call(
    head: &RecordHead,
    (kind, number, part): (u8, i16, Option<layout::Call<'_>>),
) -> Option<(Option<CallDefinition>, RawStack)> {
    let file = file(kind)?;
    if !head.has(HAS_CALL) {
        return Some((None, RawStack::None));
    }
    let part = part?;
    let call = CallDefinition { number: number.into(), arguments: part.arguments()?, file };
    Some((Some(call), named(part.key()?)))
}

fn named(key: u64) -> RawStack {
    if key == 0 { RawStack::None } else { RawStack::Known(key) }
}

fn stack(record: layout::StackRecord<'_>) -> Option<Box<TakenStack>> {
    let (key, ip) = (record.key()?, record.ip()?);
    let registers = Registers { ip, sp: record.sp()?, bp: record.bp()? };
    let mut rest = record.data()?;
    let kernel = addresses(&mut rest, record.kernel_frames()?)?;
    let chain = addresses(&mut rest, record.user_frames()?)?;
    let memory = rest.get(..usize::try_from(record.memory_bytes()?).ok()?)?.to_vec();
    Some(Box::new(TakenStack {
        key: (key != 0).then_some(key),
        kernel,
        registers: (ip != 0).then_some(registers),
        chain,
        memory,
        procedures: Vec::new(),
        at_call: None,
        python: None,
    }))
}

/// Takes `count` addresses off what is left of a record.
fn addresses(rest: &mut &[u8], count: u32) -> Option<Vec<u64>> {
    let (taken, left) = rest.split_at_checked(usize::try_from(count).ok()?.checked_mul(8)?)?;
    *rest = left;
    let address = |word: &[u8]| u64::from_ne_bytes(word.try_into().expect("8 bytes"));
    Some(taken.chunks_exact(8).map(address).collect())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// gcc lays the structures out as the build does.
    #[test]
    fn fields_are_where_c_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let rows = layout::OFFSETS.iter().map(|(structure, field, _)| {
            format!("  printf(\"%zu\\n\", __builtin_offsetof(struct {structure}, {field}));\n")
        });
        let headers = format!("{}/bpf", env!("CARGO_MANIFEST_DIR"));
        let integers = "typedef unsigned char u8; typedef unsigned short u16; typedef short s16; typedef unsigned u32; \
                        typedef unsigned long u64;";
        let header = std::fs::read_to_string(format!("{headers}/records.h")).unwrap();
        let header = header.replace("#include \"kernel.h\"", integers);
        let program =
            format!("#include <stdio.h>\n{header}\nint main(void) {{\n{}}}\n", rows.collect::<String>());
        let source = folder.path().join("offsets.c");
        std::fs::write(&source, program).unwrap();
        let built = folder.path().join("offsets");
        assert!(Command::new("gcc").arg(&source).arg("-o").arg(&built).status().unwrap().success());
        let printed = String::from_utf8(Command::new(&built).output().unwrap().stdout).unwrap();
        let offsets: Vec<usize> = printed.lines().map(|line| line.parse().unwrap()).collect();
        let expected: Vec<usize> = layout::OFFSETS.iter().map(|row| row.2).collect();
        assert_eq!(offsets, expected, "{:?}", layout::OFFSETS);
        assert!(offsets.len() > 50);
    }

    fn head(kind: u8, flags: u8, pid: u32) -> Vec<u8> {
        let mut bytes = 77_u64.to_ne_bytes().to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(1_u16.to_ne_bytes());
        bytes.extend(pid.to_ne_bytes());
        bytes
    }

    fn push32(bytes: &mut Vec<u8>, values: &[u32]) {
        values.iter().for_each(|value| bytes.extend(value.to_ne_bytes()));
    }

    fn push64(bytes: &mut Vec<u8>, values: &[u64]) {
        values.iter().for_each(|value| bytes.extend(value.to_ne_bytes()));
    }

    #[test]
    fn a_blocking_switch_has_its_call_and_names_its_stack() {
        let mut bytes = head(RECORD_SWITCH, PREVIOUS_TRACKED | HAS_CALL, 10);
        push32(&mut bytes, &[11, 12, 13]);
        bytes.extend([1, 2]);
        bytes.extend(202_i16.to_ne_bytes());
        push64(&mut bytes, &[70, 5, 6]);
        push64(&mut bytes, &[1, 2, 3, 99]);
        let expected = RawKind::Switch {
            previous: Some(KernelTask { pid: 10, tid: 11 }),
            blocking: Blocking::Interruptible,
            call: Some(CallDefinition { number: 202, arguments: [1, 2, 3], file: FileKind::Pipe }),
            stack: RawStack::Known(99),
            next: None,
        };
        let time = Time::from_nanoseconds(77);
        let on = TaskAccount { arrived: Some(Time::from_nanoseconds(70)), waited: 5 };
        let event = RawEvent { time, cpu: 1, kind: expected };
        assert_eq!(decode(&bytes), Some(Wire::Event(event, Accounts { on, next_waited: 6 })));
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), None, "cut at {end}");
        }
    }

    #[test]
    fn a_wake_from_outside_carries_the_wakers_name() {
        let mut bytes = head(RECORD_WAKE, 0, 20);
        push32(&mut bytes, &[11, 10, 21]);
        bytes.extend([0, 0]);
        bytes.extend((-1_i16).to_ne_bytes());
        bytes.extend(b"kworker/0:1\0\0\0\0\0");
        let Some(Wire::Event(event, _)) = decode(&bytes) else { panic!() };
        let waker = RawWaker::Task(KernelTask { pid: 20, tid: 21 }, "kworker/0:1".into());
        let wakee = KernelTask { pid: 10, tid: 11 };
        assert_eq!(event.kind, RawKind::Wake { wakee, waker, call: None, stack: RawStack::None });
    }

    #[test]
    fn a_join_names_a_thread_by_its_handle_and_a_child_by_its_number() {
        let joined = |tid: u32, handle: u64, flags: u8| {
            let mut bytes = head(RECORD_JOIN, flags, 10);
            push32(&mut bytes, &[11, tid]);
            push64(&mut bytes, &[handle]);
            let Some(Wire::Event(event, _)) = decode(&bytes) else { panic!() };
            event.kind
        };
        let inside = |ended, waits| RawKind::Inside {
            task: KernelTask { pid: 10, tid: 11 },
            mark: RawMark::Joined { ended, waits },
        };
        assert_eq!(joined(0, 0x7f00, 0), inside(RawJoined::Handle(0x7f00), false));
        assert_eq!(joined(77, 0, JOIN_CHILD), inside(RawJoined::Child(77), false));
    }

    #[test]
    fn bytes_go_into_a_stream_and_out_of_it() {
        let what = RawTransfer { channel: 5, position: u64::MAX, bytes: 7 };
        for (flags, mark) in [(IS_WRITE, RawMark::Write(what)), (0, RawMark::Read(what))] {
            let mut bytes = head(RECORD_TRANSFER, flags, 10);
            push32(&mut bytes, &[11, 0]);
            push64(&mut bytes, &[5, u64::MAX, 7]);
            let Some(Wire::Event(event, _)) = decode(&bytes) else { panic!() };
            assert_eq!(event.kind, RawKind::Inside { task: KernelTask { pid: 10, tid: 11 }, mark });
            assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn a_file_has_its_number_and_name() {
        let mut bytes = head(RECORD_FILE, 0, 0);
        push64(&mut bytes, &[u64::MAX]);
        let mut name = [0; 64];
        name[..11].copy_from_slice(b"journal.log");
        bytes.extend(name);
        let Some(Wire::Event(event, _)) = decode(&bytes) else { panic!() };
        assert_eq!(event.kind, RawKind::File { number: u64::MAX, name: "journal.log".into() });
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn the_other_end_of_a_connection_has_an_address_and_a_port() {
        let name = |family: u16, address: &[u8]| {
            let mut bytes = head(RECORD_PEER, 0, 0);
            push64(&mut bytes, &[7]);
            [family, 5432, 0, 0].iter().for_each(|value| bytes.extend(value.to_ne_bytes()));
            bytes.extend(address);
            bytes.resize(bytes.len() + 64 - address.len(), 0);
            let Some(Wire::Event(event, _)) = decode(&bytes) else { panic!() };
            assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
            let RawKind::File { number: 7, name } = event.kind else { panic!() };
            name
        };
        assert_eq!(name(2, &[192, 0, 2, 7]), "192.0.2.7:5432");
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 7];
        assert_eq!(name(10, &mapped), "192.0.2.7:5432");
        assert_eq!(name(10, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]), "[::1]:5432");
        assert_eq!(name(1, b"/run/service"), "/run/service");
    }

    #[test]
    fn a_thread_is_told_where_it_may_run() {
        let mut bytes = head(RECORD_ALLOWED, 0, 10);
        push32(&mut bytes, &[11, 1]);
        push64(&mut bytes, &[0b10]);
        let Some(Wire::Event(event, _)) = decode(&bytes) else { panic!() };
        let mark = RawMark::Allowed { count: 1, first: 0b10 };
        assert_eq!(event.kind, RawKind::Inside { task: KernelTask { pid: 10, tid: 11 }, mark });
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_sample_has_its_thread_s_account() {
        let mut bytes = head(RECORD_SAMPLE, IN_KERNEL, 10);
        push64(&mut bytes, &[0, 0x1000, 0x7000, 0x7010, 60, 5, 2_000_000]);
        push32(&mut bytes, &[11, 0, 0, 0]);
        let Some(Wire::Event(event, accounts)) = decode(&bytes) else { panic!() };
        assert!(matches!(
            event.kind,
            RawKind::Sample { task: KernelTask { pid: 10, tid: 11 }, kernel: true, gap: 2_000_000, .. }
        ));
        assert_eq!(accounts.on, TaskAccount { arrived: Some(Time::from_nanoseconds(60)), waited: 5 });
    }

    #[test]
    fn a_look_at_another_program_tells_when_the_one_before_was() {
        let mut bytes = head(RECORD_LOOK, 0, 0);
        push64(&mut bytes, &[2_000_000]);
        let look = TimerLook { cpu: 1, time: Time::from_nanoseconds(77), before: 2_000_000 };
        assert_eq!(decode(&bytes), Some(Wire::Look(look)));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn registers_are_read_by_their_numbers() {
        let mut bytes = head(RECORD_REGISTERS, 0, 10);
        push32(&mut bytes, &[11, 0]);
        push64(&mut bytes, &[0x1000]);
        push64(&mut bytes, &std::array::from_fn::<u64, 16, _>(|number| number as u64));
        let Some(Wire::Registers(found)) = decode(&bytes) else { panic!() };
        assert_eq!((found.task, found.ip), (KernelTask { pid: 10, tid: 11 }, 0x1000));
        assert_eq!(found.general[15], 15);
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_store_has_the_address_of_its_word() {
        let mut bytes = head(RECORD_STORE, 0, 10);
        push64(&mut bytes, &[0x4010, 0x1000, 0x7000, 0x7010, 0, 0, 0]);
        push32(&mut bytes, &[11, 0, 0, 0]);
        let Some(Wire::Store(store)) = decode(&bytes) else { panic!() };
        assert_eq!((store.task, store.address), (KernelTask { pid: 10, tid: 11 }, 0x4010));
        assert_eq!((store.stack.key, store.stack.registers.map(|it| it.ip)), (None, Some(0x1000)));
    }

    #[test]
    fn a_stack_is_taken_apart_and_a_longer_claim_than_the_record_is_refused() {
        let mut bytes = head(RECORD_STACK, 0, 10);
        push64(&mut bytes, &[5, 0x1000, 0x7000, 0x7010, 0, 0, 0]);
        push32(&mut bytes, &[11, 8, 1, 2]);
        push64(&mut bytes, &[0xffff_ffff_8100_0000, 0x1000, 0x2000, 0xabcd]);
        let Some(Wire::Stack { key: 5, stack }) = decode(&bytes) else { panic!() };
        assert_eq!(stack.kernel, [0xffff_ffff_8100_0000]);
        assert_eq!(stack.chain, [0x1000, 0x2000]);
        assert_eq!(stack.memory, 0xabcd_u64.to_ne_bytes());
        assert_eq!(stack.registers, Some(Registers { ip: 0x1000, sp: 0x7000, bp: 0x7010 }));
        let user_frames = bytes.len() - 32 - 4;
        bytes[user_frames..user_frames + 4].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(decode(&bytes), None);
    }
}
