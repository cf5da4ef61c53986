//! What the threads of a process wait for that is attached to: they may have begun long before, and wait on to the end.
//!
//! In: `/proc/PID/task/TID/syscall` (the system call, its arguments, the stack pointer and the instruction pointer) and
//! the memory above the stack pointer. Out: the switch that no collector saw, at the moment at which the recording
//! begins. A thread that is not in a system call, or that ran while it was looked at, is left alone: the collector sees it.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};

use longpole_event::{Blocking, CallDefinition, FileKind, Time};

use crate::arguments::essential;
use crate::raw::{KernelTask, RawEvent, RawKind, RawStack, TakenStack};

/// Bytes of a stack that are read at most.
const MOST_MEMORY: usize = 64 << 10;
/// The numbers of files in calls are made as the kernel programs make them (`PRIME` in `bpf/longpole.bpf.c`).
const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;

/// A thread that is in a system call, off its processor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InCall {
    number: i32,
    arguments: [u64; 3],
    stack_pointer: u64,
    instruction_pointer: u64,
}

/// The switch by which the thread began to wait, as of `begin`; `None` where it does not wait in a system call.
pub(crate) fn switch_before(task: KernelTask, begin: Time) -> Option<RawEvent> {
    let folder = format!("/proc/{}/task/{}", task.pid, task.tid);
    let look = || {
        let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
        let switches = switches(&fs::read_to_string(format!("{folder}/status")).ok()?)?;
        let call = parse(&fs::read_to_string(format!("{folder}/syscall")).ok()?)?;
        Some((blocking(&stat)?, switches, call))
    };
    let before = look()?;
    let memory = memory(task.pid, before.2.stack_pointer);
    // What ran in between has another stack now.
    if look()? != before {
        return None;
    }
    let (blocking, _, InCall { number, arguments, stack_pointer, instruction_pointer }) = before;
    let (file, number_of_file) = file_behind(task.pid, arguments[0]);
    let is_on_file = !matches!(file, FileKind::None);
    let arguments = [arguments[0], arguments[1], if is_on_file { number_of_file } else { arguments[2] }];
    let call = essential(CallDefinition { number, arguments, file });
    // Of other calls the first argument is no descriptor.
    let is_on_descriptor =
        is_on_file && essential(CallDefinition { number, arguments: [0, 0, 1], file }).arguments[2] == 1;
    let call =
        if is_on_descriptor { call } else { essential(CallDefinition { file: FileKind::None, ..call }) };
    let taken =
        TakenStack { at_call: Some((instruction_pointer, stack_pointer)), memory, ..TakenStack::default() };
    let stack = RawStack::Taken(Box::new(taken));
    let kind = RawKind::Switch { previous: Some(task), blocking, call: Some(call), stack, next: None };
    Some(RawEvent { time: begin, cpu: 0, kind })
}

/// How a thread waits, from its `stat`; `None` where it runs or has ended.
fn blocking(stat: &str) -> Option<Blocking> {
    let (_, rest) = stat.rsplit_once(')')?;
    match rest.split_ascii_whitespace().next()? {
        "S" => Some(Blocking::Interruptible),
        "D" => Some(Blocking::Uninterruptible),
        _ => None,
    }
}

/// How often the thread left a processor, from its `status`.
fn switches(status: &str) -> Option<u64> {
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(of("voluntary_ctxt_switches:")? + of("nonvoluntary_ctxt_switches:")?)
}

/// `NUMBER ARGUMENT… STACK-POINTER INSTRUCTION-POINTER`, the number decimal and the rest hexadecimal; `running` where it runs.
fn parse(text: &str) -> Option<InCall> {
    let mut words = text.split_ascii_whitespace();
    let number: i32 = words.next()?.parse().ok().filter(|&number| number >= 0)?;
    let rest: Vec<u64> =
        words.map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()).collect::<Option<_>>()?;
    let [first, second, third, _, _, _, stack_pointer, instruction_pointer] = *rest.as_slice() else {
        return None;
    };
    Some(InCall { number, arguments: [first, second, third], stack_pointer, instruction_pointer })
}

/// What lies above the stack pointer, up to the end of its mapping.
fn memory(pid: u32, from: u64) -> Vec<u8> {
    let Ok(file) = fs::File::open(format!("/proc/{pid}/mem")) else { return Vec::new() };
    let mut bytes = vec![0; MOST_MEMORY];
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], from.wrapping_add(read as u64)) {
            Ok(count) if count > 0 => read += count,
            _ => break,
        }
    }
    bytes.truncate(read & !7);
    bytes
}

/// Kind and number of the file behind a descriptor.
fn file_behind(pid: u32, descriptor: u64) -> (FileKind, u64) {
    let Ok(descriptor) = u32::try_from(descriptor & 0xffff_ffff) else { return (FileKind::None, 0) };
    let Ok(file) = fs::metadata(format!("/proc/{pid}/fd/{descriptor}")) else { return (FileKind::None, 0) };
    let (kind, code) = match file.mode() & libc::S_IFMT {
        libc::S_IFIFO => (FileKind::Pipe, 2),
        libc::S_IFSOCK => (FileKind::Socket, 3),
        libc::S_IFCHR => return (FileKind::Character, 0),
        libc::S_IFBLK => (FileKind::Block, 5),
        libc::S_IFREG | libc::S_IFDIR => (FileKind::Regular, 1),
        _ => {
            let name = fs::read_link(format!("/proc/{pid}/fd/{descriptor}"));
            let is_timer = name.is_ok_and(|name| name.as_os_str() == "anon_inode:[timerfd]");
            return (if is_timer { FileKind::Timer } else { FileKind::Anonymous }, 0);
        }
    };
    let device = match kind {
        // The kernel's own form of a device's number.
        FileKind::Regular => u64::from(libc::major(file.dev())) << 20 | u64::from(libc::minor(file.dev())),
        _ => 0,
    };
    (kind, (file.ino() ^ device << 32).wrapping_mul(PRIME) ^ code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_and_where_it_is_are_read() {
        let text = "202 0x5581 0x80 0x2 0x0 0x0 0x0 0x7ffd0010 0x7f1122\n";
        let expected = InCall {
            number: 202,
            arguments: [0x5581, 0x80, 2],
            stack_pointer: 0x7ffd_0010,
            instruction_pointer: 0x7f_1122,
        };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse("-1 0x7ffd0010 0x7f1122\n"), None);
        assert_eq!(parse("202 0x1\n"), None);
    }

    #[test]
    fn only_who_waits_is_waited_for() {
        assert_eq!(blocking("7 (a) b) S 1 2"), Some(Blocking::Interruptible));
        assert_eq!(blocking("7 (a) D 1"), Some(Blocking::Uninterruptible));
        assert_eq!(blocking("7 (a) R 1"), None);
        assert_eq!(
            switches("Name:\ta\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n"),
            Some(7)
        );
    }
}
