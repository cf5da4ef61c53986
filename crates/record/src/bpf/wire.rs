//! The records that the kernel programs write, as `bpf/records.h` lays them out.
//!
//! In: the bytes of one record. Out: a [`RawEvent`], or a stack that a later record names by its key. A
//! record of a wrong length is refused, not guessed at.

use longpole_event::{Blocking, Call, FileKind, Time};
use longpole_symbols::Registers;

use super::arrivals::{Account, Accounts};
use crate::raw::{RawEvent, RawKind, RawStack, RawWaker, TakenStack, Task};

const PREVIOUS_TRACKED: u8 = 1;
const NEXT_TRACKED: u8 = 2;
const HAS_CALL: u8 = 4;
const IN_KERNEL: u8 = 8;
const WAKER_TRACKED: u8 = 16;

/// One record.
#[derive(Debug, PartialEq)]
pub(crate) enum Wire {
    /// An event, with what the kernel's accounts say of its tasks. A stack it names is [`RawStack::Known`].
    Event(RawEvent, Accounts),
    /// A stack that is named by `key` from now on.
    Stack { key: u64, stack: Box<TakenStack> },
}

/// Reads the fields of a record one after the other.
struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
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

struct Head {
    time: Time,
    kind: u8,
    flags: u8,
    cpu: u16,
    pid: u32,
}

/// Decodes one record; `None` if it is none.
pub(crate) fn decode(bytes: &[u8]) -> Option<Wire> {
    let mut fields = Fields { bytes };
    let head = Head {
        time: Time::from_nanoseconds(fields.u64()?),
        kind: fields.u8()?,
        flags: fields.u8()?,
        cpu: fields.u16()?,
        pid: fields.u32()?,
    };
    let mut accounts = Accounts::default();
    let kind = match head.kind {
        1 => switch(&head, &mut fields, &mut accounts)?,
        2 => wake(&head, &mut fields)?,
        3 => fork(&head, &mut fields)?,
        4 => {
            let task = Task { pid: head.pid, tid: fields.u32()? };
            fields.u32()?;
            RawKind::Exec { task, program: fields.text(256)? }
        }
        5 => {
            let task = Task { pid: head.pid, tid: fields.u32()? };
            RawKind::Name { task, name: fields.text(16)? }
        }
        6 => {
            let (tid, stack) = stack(&mut fields, &mut accounts)?;
            let task = Task { pid: head.pid, tid };
            let kernel = head.flags & IN_KERNEL != 0;
            RawKind::Sample { task, kernel, stack: RawStack::Taken(stack) }
        }
        8 => RawKind::File { number: fields.u64()?, name: fields.text(64)? },
        7 => {
            let (_, stack) = stack(&mut fields, &mut accounts)?;
            return Some(Wire::Stack { key: stack.key?, stack });
        }
        _ => return None,
    };
    Some(Wire::Event(RawEvent { time: head.time, cpu: head.cpu, kind }, accounts))
}

fn switch(head: &Head, fields: &mut Fields<'_>, accounts: &mut Accounts) -> Option<RawKind> {
    let previous = Task { pid: head.pid, tid: fields.u32()? };
    let next_tid = fields.u32()?;
    let next = Task { pid: fields.u32()?, tid: next_tid };
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

fn wake(head: &Head, fields: &mut Fields<'_>) -> Option<RawKind> {
    let wakee_tid = fields.u32()?;
    let wakee = Task { pid: fields.u32()?, tid: wakee_tid };
    let waker = Task { pid: head.pid, tid: fields.u32()? };
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

fn fork(head: &Head, fields: &mut Fields<'_>) -> Option<RawKind> {
    let parent = Task { pid: head.pid, tid: fields.u32()? };
    let child_tid = fields.u32()?;
    let child = Task { pid: fields.u32()?, tid: child_tid };
    fields.u32()?;
    Some(RawKind::Fork { parent, child, stack: named(fields.u64()?) })
}

fn file(fields: &mut Fields<'_>) -> Option<FileKind> {
    Some(match fields.u8()? {
        0 => FileKind::None,
        1 => FileKind::Regular,
        2 => FileKind::Pipe,
        3 => FileKind::Socket,
        4 => FileKind::Character,
        5 => FileKind::Block,
        6 => FileKind::Anonymous,
        _ => return None,
    })
}

/// The number of a system call.
fn number(fields: &mut Fields<'_>) -> Option<i32> {
    fields.array().map(|bytes| i32::from(i16::from_ne_bytes(bytes)))
}

fn account(fields: &mut Fields<'_>) -> Option<Account> {
    let (arrived, waited) = (fields.u64()?, fields.u64()?);
    Some(Account { arrived: (arrived != 0).then(|| Time::from_nanoseconds(arrived)), waited })
}

/// The call part, where there is one.
fn call(
    head: &Head,
    (file, number): (FileKind, i32),
    fields: &mut Fields<'_>,
) -> Option<(Option<Call>, RawStack)> {
    if head.flags & HAS_CALL == 0 {
        return Some((None, RawStack::None));
    }
    let arguments = [fields.u64()?, fields.u64()?, fields.u64()?];
    Some((Some(Call { number, arguments, file }), named(fields.u64()?)))
}

fn named(key: u64) -> RawStack {
    if key == 0 { RawStack::None } else { RawStack::Known(key) }
}

fn stack(fields: &mut Fields<'_>, accounts: &mut Accounts) -> Option<(u32, Box<TakenStack>)> {
    let key = fields.u64()?;
    let registers = Registers { ip: fields.u64()?, sp: fields.u64()?, bp: fields.u64()? };
    accounts.on = account(fields)?;
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
    };
    Some((tid, Box::new(stack)))
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
            previous: Some(Task { pid: 10, tid: 11 }),
            blocking: Blocking::Interruptible,
            call: Some(Call { number: 202, arguments: [1, 2, 3], file: FileKind::Pipe }),
            stack: RawStack::Known(99),
            next: None,
        };
        let time = Time::from_nanoseconds(77);
        let on = Account { arrived: Some(Time::from_nanoseconds(70)), waited: 5 };
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
        let waker = RawWaker::Task(Task { pid: 20, tid: 21 }, "kworker/0:1".into());
        let wakee = Task { pid: 10, tid: 11 };
        assert_eq!(event.kind, RawKind::Wake { wakee, waker, call: None, stack: RawStack::None });
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
        push64(&mut bytes, &[0, 0x1000, 0x7000, 0x7010, 60, 5]);
        push32(&mut bytes, &[11, 0, 0, 0]);
        let Some(Wire::Event(event, accounts)) = decode(&bytes) else { panic!() };
        assert!(matches!(event.kind, RawKind::Sample { task: Task { pid: 10, tid: 11 }, kernel: true, .. }));
        assert_eq!(accounts.on, Account { arrived: Some(Time::from_nanoseconds(60)), waited: 5 });
    }

    #[test]
    fn a_stack_is_taken_apart_and_a_longer_claim_than_the_record_is_refused() {
        let mut bytes = head(7, 0, 10);
        push64(&mut bytes, &[5, 0x1000, 0x7000, 0x7010, 0, 0]);
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
