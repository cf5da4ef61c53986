//! The records that the kernel programs write, as `bpf/records.h` lays them out.
//!
//! In: the bytes of one record. Out: a [`RawEvent`], or a stack that a later record names by its key. A
//! record of a wrong length is refused, not guessed at.

use longpole_event::{Blocking, CallDefinition, FileKind, Time};
use longpole_symbols::Registers;

use super::arrivals::{Accounts, TaskAccount};
use crate::process_title::{arguments_of, process_title};
use crate::raw::{
    KernelTask, RawEvent, RawJoined, RawKind, RawMark, RawStack, RawTransfer, RawWaker, TakenStack,
};

const PREVIOUS_TRACKED: u8 = 1;
const NEXT_TRACKED: u8 = 2;
const HAS_CALL: u8 = 4;
const IN_KERNEL: u8 = 8;
const WAKER_TRACKED: u8 = 16;
const JOIN_WAITS: u8 = 1;
const JOIN_CHILD: u8 = 2;
const IS_WRITE: u8 = 1;

/// Most bytes of a program's arguments.
const ARGUMENT_BYTES: usize = 1024;

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

/// Reads the fields of a record one after the other.
struct RecordFields<'a> {
    bytes: &'a [u8],
}

impl<'a> RecordFields<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_ne_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }

    /// `count` addresses.
    fn addresses(&mut self, count: u32) -> Option<Vec<u64>> {
        let bytes = self.bytes(usize::try_from(count).ok()?.checked_mul(8)?)?;
        Some(
            bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes"))).collect(),
        )
    }

    /// A text of at most `room` bytes that ends at the first zero.
    fn text(&mut self, room: usize) -> Option<String> {
        let bytes = self.bytes(room)?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

struct RecordHead {
    time: Time,
    kind: u8,
    flags: u8,
    cpu: u16,
    pid: u32,
}

/// Decodes one record; `None` if it is none.
pub(crate) fn decode(bytes: &[u8]) -> Option<Wire> {
    let mut fields = RecordFields { bytes };
    let head = RecordHead {
        time: Time::from_nanoseconds(fields.u64()?),
        kind: fields.u8()?,
        flags: fields.u8()?,
        cpu: fields.u16()?,
        pid: fields.u32()?,
    };
    let mut accounts = Accounts::default();
    let kind = match head.kind {
        12 => return registers(&head, &mut fields).map(Wire::Registers),
        13 => {
            let StackRecord { tid, mut stack, .. } = stack(&mut fields, &mut accounts)?;
            let task = KernelTask { pid: head.pid, tid };
            let address = stack.key.take()?;
            return Some(Wire::Store(WatchedStore { time: head.time, cpu: head.cpu, task, address, stack }));
        }
        1 => switch(&head, &mut fields, &mut accounts)?,
        2 => wake(&head, &mut fields)?,
        3 => {
            let (kind, handle) = fork(&head, &mut fields)?;
            return Some(Wire::Fork { event: RawEvent { time: head.time, cpu: head.cpu, kind }, handle });
        }
        4 => {
            let task = KernelTask { pid: head.pid, tid: fields.u32()? };
            fields.u32()?;
            let program = fields.text(256)?;
            let length = usize::try_from(fields.u32()?).ok()?;
            fields.u32()?;
            let arguments = fields.bytes(ARGUMENT_BYTES)?.get(..length)?;
            let title = process_title(&program, &arguments_of(arguments));
            RawKind::Exec { task, program, title }
        }
        5 => {
            let task = KernelTask { pid: head.pid, tid: fields.u32()? };
            RawKind::Name { task, name: fields.text(16)? }
        }
        6 => {
            let StackRecord { tid, before, stack } = stack(&mut fields, &mut accounts)?;
            let task = KernelTask { pid: head.pid, tid };
            let kernel = head.flags & IN_KERNEL != 0;
            RawKind::Sample { task, kernel, stack: RawStack::Taken(stack), gap: before }
        }
        9 => join(&head, &mut fields)?,
        10 => transfer(&head, &mut fields)?,
        11 => {
            let (cpu, time) = (head.cpu, head.time);
            return Some(Wire::Look(TimerLook { cpu, time, before: fields.u64()? }));
        }
        8 => RawKind::File { number: fields.u64()?, name: fields.text(64)? },
        7 => {
            let StackRecord { stack, .. } = stack(&mut fields, &mut accounts)?;
            return Some(Wire::Stack { key: stack.key?, stack });
        }
        _ => return None,
    };
    Some(Wire::Event(RawEvent { time: head.time, cpu: head.cpu, kind }, accounts))
}

fn switch(head: &RecordHead, fields: &mut RecordFields<'_>, accounts: &mut Accounts) -> Option<RawKind> {
    let previous = KernelTask { pid: head.pid, tid: fields.u32()? };
    let next_tid = fields.u32()?;
    let next = KernelTask { pid: fields.u32()?, tid: next_tid };
    let blocking = match fields.u8()? {
        0 => Blocking::Runnable,
        1 => Blocking::Interruptible,
        2 => Blocking::Uninterruptible,
        3 => Blocking::Device,
        4 => Blocking::Stopped,
        5 => Blocking::Dead,
        _ => return None,
    };
    let (file, number) = (file(fields)?, number(fields)?);
    *accounts = Accounts { on: account(fields)?, next_waited: fields.u64()? };
    let (call, stack) = call(head, (file, number), fields)?;
    Some(RawKind::Switch {
        previous: (head.flags & PREVIOUS_TRACKED != 0).then_some(previous),
        blocking,
        call,
        stack,
        next: (head.flags & NEXT_TRACKED != 0).then_some(next),
    })
}

fn wake(head: &RecordHead, fields: &mut RecordFields<'_>) -> Option<RawKind> {
    let wakee_tid = fields.u32()?;
    let wakee = KernelTask { pid: fields.u32()?, tid: wakee_tid };
    let waker = KernelTask { pid: head.pid, tid: fields.u32()? };
    let context = fields.u8()?;
    let (file, number) = (file(fields)?, number(fields)?);
    let (call, stack) = call(head, (file, number), fields)?;
    let waker = match context {
        0 if head.flags & WAKER_TRACKED != 0 => RawWaker::Task(waker, String::new()),
        0 => RawWaker::Task(waker, fields.text(16)?),
        1 => RawWaker::Interrupt,
        2 => RawWaker::SoftInterrupt(waker),
        _ => return None,
    };
    Some(RawKind::Wake { wakee, waker, call, stack })
}

fn fork(head: &RecordHead, fields: &mut RecordFields<'_>) -> Option<(RawKind, u64)> {
    let parent = KernelTask { pid: head.pid, tid: fields.u32()? };
    let child_tid = fields.u32()?;
    let child = KernelTask { pid: fields.u32()?, tid: child_tid };
    fields.u32()?;
    let kind = RawKind::Fork { parent, child, stack: named(fields.u64()?) };
    Some((kind, fields.u64()?))
}

fn registers(head: &RecordHead, fields: &mut RecordFields<'_>) -> Option<ThreadRegisters> {
    let task = KernelTask { pid: head.pid, tid: fields.u32()? };
    fields.u32()?;
    let ip = fields.u64()?;
    let general = fields.addresses(16)?.try_into().ok()?;
    Some(ThreadRegisters { time: head.time, task, ip, general })
}

fn join(head: &RecordHead, fields: &mut RecordFields<'_>) -> Option<RawKind> {
    let task = KernelTask { pid: head.pid, tid: fields.u32()? };
    let (child, handle) = (fields.u32()?, fields.u64()?);
    let ended =
        if head.flags & JOIN_CHILD != 0 { RawJoined::Child(child) } else { RawJoined::Handle(handle) };
    let waits = head.flags & JOIN_WAITS != 0;
    Some(RawKind::Inside { task, mark: RawMark::Joined { ended, waits } })
}

fn transfer(head: &RecordHead, fields: &mut RecordFields<'_>) -> Option<RawKind> {
    let task = KernelTask { pid: head.pid, tid: fields.u32()? };
    fields.u32()?;
    let what = RawTransfer { channel: fields.u64()?, position: fields.u64()?, bytes: fields.u64()? };
    let mark = if head.flags & IS_WRITE != 0 { RawMark::Write(what) } else { RawMark::Read(what) };
    Some(RawKind::Inside { task, mark })
}

fn file(fields: &mut RecordFields<'_>) -> Option<FileKind> {
    Some(match fields.u8()? {
        0 => FileKind::None,
        1 => FileKind::Regular,
        2 => FileKind::Pipe,
        3 => FileKind::Socket,
        4 => FileKind::Character,
        5 => FileKind::Block,
        6 => FileKind::Anonymous,
        7 => FileKind::Timer,
        _ => return None,
    })
}

/// The number of a system call.
fn number(fields: &mut RecordFields<'_>) -> Option<i32> {
    fields.array().map(|bytes| i32::from(i16::from_ne_bytes(bytes)))
}

fn account(fields: &mut RecordFields<'_>) -> Option<TaskAccount> {
    let (arrived, waited) = (fields.u64()?, fields.u64()?);
    Some(TaskAccount { arrived: (arrived != 0).then(|| Time::from_nanoseconds(arrived)), waited })
}

/// The call part, where there is one.
fn call(
    head: &RecordHead,
    (file, number): (FileKind, i32),
    fields: &mut RecordFields<'_>,
) -> Option<(Option<CallDefinition>, RawStack)> {
    if head.flags & HAS_CALL == 0 {
        return Some((None, RawStack::None));
    }
    let arguments = [fields.u64()?, fields.u64()?, fields.u64()?];
    Some((Some(CallDefinition { number, arguments, file }), named(fields.u64()?)))
}

fn named(key: u64) -> RawStack {
    if key == 0 { RawStack::None } else { RawStack::Known(key) }
}

struct StackRecord {
    tid: u32,
    /// Of a sample: how long ago the timer looked before.
    before: u64,
    stack: Box<TakenStack>,
}

fn stack(fields: &mut RecordFields<'_>, accounts: &mut Accounts) -> Option<StackRecord> {
    let key = fields.u64()?;
    let registers = Registers { ip: fields.u64()?, sp: fields.u64()?, bp: fields.u64()? };
    accounts.on = account(fields)?;
    let before = fields.u64()?;
    let tid = fields.u32()?;
    let memory_bytes = usize::try_from(fields.u32()?).ok()?;
    let kernel_frames = fields.u32()?;
    let user_frames = fields.u32()?;
    let stack = TakenStack {
        key: (key != 0).then_some(key),
        kernel: fields.addresses(kernel_frames)?,
        registers: (registers.ip != 0).then_some(registers),
        chain: fields.addresses(user_frames)?,
        memory: fields.bytes(memory_bytes)?.to_vec(),
        procedures: Vec::new(),
        at_call: None,
    };
    Some(StackRecord { tid, before, stack: Box::new(stack) })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut bytes = head(1, PREVIOUS_TRACKED | HAS_CALL, 10);
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
        let mut bytes = head(2, 0, 20);
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
            let mut bytes = head(9, flags, 10);
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
            let mut bytes = head(10, flags, 10);
            push32(&mut bytes, &[11, 0]);
            push64(&mut bytes, &[5, u64::MAX, 7]);
            let Some(Wire::Event(event, _)) = decode(&bytes) else { panic!() };
            assert_eq!(event.kind, RawKind::Inside { task: KernelTask { pid: 10, tid: 11 }, mark });
            assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn a_file_has_its_number_and_name() {
        let mut bytes = head(8, 0, 0);
        push64(&mut bytes, &[u64::MAX]);
        let mut name = [0; 64];
        name[..11].copy_from_slice(b"journal.log");
        bytes.extend(name);
        let Some(Wire::Event(event, _)) = decode(&bytes) else { panic!() };
        assert_eq!(event.kind, RawKind::File { number: u64::MAX, name: "journal.log".into() });
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_sample_has_its_thread_s_account() {
        let mut bytes = head(6, IN_KERNEL, 10);
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
        let mut bytes = head(11, 0, 0);
        push64(&mut bytes, &[2_000_000]);
        let look = TimerLook { cpu: 1, time: Time::from_nanoseconds(77), before: 2_000_000 };
        assert_eq!(decode(&bytes), Some(Wire::Look(look)));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn registers_are_read_by_their_numbers() {
        let mut bytes = head(12, 0, 10);
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
        let mut bytes = head(13, 0, 10);
        push64(&mut bytes, &[0x4010, 0x1000, 0x7000, 0x7010, 0, 0, 0]);
        push32(&mut bytes, &[11, 0, 0, 0]);
        let Some(Wire::Store(store)) = decode(&bytes) else { panic!() };
        assert_eq!((store.task, store.address), (KernelTask { pid: 10, tid: 11 }, 0x4010));
        assert_eq!((store.stack.key, store.stack.registers.map(|it| it.ip)), (None, Some(0x1000)));
    }

    #[test]
    fn a_stack_is_taken_apart_and_a_longer_claim_than_the_record_is_refused() {
        let mut bytes = head(7, 0, 10);
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
