//! Futex calls as the tracepoints of system calls tell them: why a thread waits, where, and who woke it.
//!
//! The tracepoints of system calls are the only ones that users may have of their own threads with what they say. They come
//! with the user's registers, so that even events without the kernel have them.
//!
//! ```text
//!   A  sys_enter_futex WAIT x ── record: A out ·················· record: A in ── sys_exit_futex
//!                                (why and where: the call's)      ▲
//!   B                                  sys_enter_futex WAKE x ────┘ a wake of A by B, now
//! ```

use longpole_event::{CallDefinition, FileKind};

use super::format::{Field, TracepointFormat};
use crate::queues::Queues;
use crate::raw::{KernelTask, RawStack};

/// System call number.
const FUTEX: i32 = 202;
/// The operation in a futex call's second argument, without its flags.
const OPERATION: u64 = 127;

/// Reads `syscalls:sys_enter_futex`.
#[derive(Clone, Debug)]
pub struct FutexCalls {
    word: Field,
    operation: Field,
    value: Field,
    second_value: Field,
    second_word: Field,
}

/// One `syscalls:sys_enter_futex`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FutexCall {
    word: u64,
    operation: u64,
    value: u64,
    /// A time for calls that wait, a number for calls that move waiting threads to another word.
    second_value: u64,
    second_word: u64,
}

impl FutexCalls {
    /// `None` where the format lacks a field.
    #[must_use]
    pub fn new(format: &TracepointFormat) -> Option<Self> {
        Some(FutexCalls {
            word: format.field("uaddr")?,
            operation: format.field("op")?,
            value: format.field("val")?,
            second_value: format.field("utime")?,
            second_word: format.field("uaddr2")?,
        })
    }

    /// `None` where the tracepoint's bytes end early.
    #[must_use]
    pub fn read(&self, raw: &[u8]) -> Option<FutexCall> {
        Some(FutexCall {
            word: self.word.value(raw)?,
            operation: self.operation.value(raw)?,
            value: self.value.value(raw)?,
            second_value: self.second_value.value(raw)?,
            second_word: self.second_word.value(raw)?,
        })
    }
}

/// What a futex call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FutexPurpose {
    Wait,
    /// So many who wait can go on.
    Wake(u64),
    /// So many can go on, and so many others wait for the second word from now on.
    Move(u64, u64),
    /// So many who wait for the first word can go on, and maybe so many of the second.
    WakeBoth(u64, u64),
    Nothing,
}

impl FutexCall {
    fn purpose(self) -> FutexPurpose {
        match self.operation & OPERATION {
            // FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2
            0 | 6 | 9 | 11 | 13 => FutexPurpose::Wait,
            // FUTEX_WAKE, WAKE_BITSET
            1 | 10 => FutexPurpose::Wake(self.value),
            // FUTEX_REQUEUE, CMP_REQUEUE, CMP_REQUEUE_PI
            3 | 4 | 12 => FutexPurpose::Move(self.value, self.second_value),
            // FUTEX_WAKE_OP
            5 => FutexPurpose::WakeBoth(self.value, self.second_value),
            // FUTEX_UNLOCK_PI
            7 => FutexPurpose::Wake(1),
            _ => FutexPurpose::Nothing,
        }
    }

    /// The call, as it is kept.
    pub(super) fn call(self) -> CallDefinition {
        CallDefinition {
            number: FUTEX,
            arguments: [self.word, self.operation, self.value],
            file: FileKind::None,
        }
    }
}

/// The futex calls that threads are in.
#[derive(Debug, Default)]
pub struct Futexes {
    /// By process and address.
    queues: Queues<(u32, u64)>,
    open: rustc_hash::FxHashMap<u32, (CallDefinition, RawStack)>,
    /// The wakes that were told last, by the woken thread: whose they were, if they prove to be another's.
    last: rustc_hash::FxHashMap<u32, (KernelTask, CallDefinition, RawStack)>,
}

impl Futexes {
    /// A thread calls; returns the threads that it wakes.
    pub(super) fn enter(&mut self, task: KernelTask, call: FutexCall, stack: RawStack) -> Vec<u32> {
        self.exit(task.tid);
        let key = |word| (task.pid, word);
        let (first, second) = (key(call.word), key(call.second_word));
        let woken = match call.purpose() {
            FutexPurpose::Wait => {
                self.queues.ask(task.tid, first);
                self.open.insert(task.tid, (call.call(), stack.clone()));
                Vec::new()
            }
            FutexPurpose::Wake(count) => self.queues.release(first, count),
            FutexPurpose::WakeBoth(count, more) => {
                let mut woken = self.queues.release(first, count);
                woken.extend(self.queues.release(second, more));
                woken
            }
            FutexPurpose::Move(count, others) => {
                let woken = self.queues.release(first, count);
                self.queues.transfer(first, second, others);
                woken
            }
            FutexPurpose::Nothing => Vec::new(),
        };
        for tid in &woken {
            self.last.insert(*tid, (task, call.call(), stack.clone()));
        }
        woken
    }

    /// A thread's call is over.
    pub(super) fn exit(&mut self, tid: u32) {
        self.queues.cease(tid);
        self.open.remove(&tid);
    }

    /// A thread blocks: the call that it is in, and where.
    pub(super) fn block(&mut self, tid: u32) -> Option<(CallDefinition, RawStack)> {
        self.queues.block(tid);
        self.open.get(&tid).cloned()
    }

    /// A thread has a processor: the waker of whom nobody was told yet, its call and its place.
    pub(super) fn run(&mut self, tid: u32) -> Option<(KernelTask, CallDefinition, RawStack)> {
        match self.queues.run(tid) {
            Some(other) => self.last.remove(&other),
            None => {
                self.last.remove(&tid);
                None
            }
        }
    }

    /// A thread has ended.
    pub(super) fn end(&mut self, tid: u32) {
        self.exit(tid);
        self.last.remove(&tid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(tid: u32) -> KernelTask {
        KernelTask { pid: 1, tid }
    }

    fn call(operation: u64, value: u64) -> FutexCall {
        FutexCall { word: 0x10, operation, value, second_value: 1, second_word: 0x20 }
    }

    fn waiting(tids: &[u32]) -> Futexes {
        let mut futexes = Futexes::default();
        for &tid in tids {
            assert_eq!(
                futexes.enter(task(tid), call(128, 2), RawStack::Known(tid.into())),
                Vec::<u32>::new()
            );
            let (call, stack) = futexes.block(tid).unwrap();
            assert_eq!((call.number, call.arguments[0], stack), (202, 0x10, RawStack::Known(tid.into())));
        }
        futexes
    }

    #[test]
    fn a_wake_is_of_who_waits_for_the_word_in_the_same_process() {
        let mut futexes = waiting(&[7, 8]);
        let stranger = KernelTask { pid: 2, tid: 9 };
        assert_eq!(futexes.enter(stranger, call(129, 1), RawStack::None), Vec::<u32>::new());
        assert_eq!(futexes.enter(task(9), call(129, 1), RawStack::None), [7]);
        assert_eq!(futexes.run(7), None);
        // Its call is over: what it blocks for now is not told.
        futexes.exit(7);
        assert_eq!(futexes.block(7), None);
    }

    #[test]
    fn a_wait_that_is_given_up_is_woken_by_nobody() {
        let mut futexes = waiting(&[7]);
        assert_eq!(futexes.run(7), None);
        futexes.exit(7);
        assert_eq!(futexes.enter(task(9), call(1, 1), RawStack::None), Vec::<u32>::new());
    }

    #[test]
    fn the_thread_that_came_was_the_woken_one() {
        let mut futexes = waiting(&[7, 8]);
        assert_eq!(futexes.enter(task(9), call(1, 1), RawStack::Known(3)), [7]);
        let (waker, call, stack) = futexes.run(8).unwrap();
        assert_eq!((waker, call.arguments[1], stack), (task(9), 1, RawStack::Known(3)));
        assert_eq!(futexes.run(7), None);
    }

    #[test]
    fn who_is_moved_to_another_word_is_woken_by_its_release() {
        let mut futexes = waiting(&[7, 8, 6]);
        assert_eq!(futexes.enter(task(9), call(4, 1), RawStack::None), [7]);
        let second = FutexCall { word: 0x20, ..call(1, 5) };
        assert_eq!(futexes.enter(task(9), second, RawStack::None), [8]);
    }

    #[test]
    fn the_arguments_are_found_by_their_names() {
        let text = "name: sys_enter_futex\nID: 522\n\
            \tfield:u32 * uaddr;\toffset:16;\tsize:8;\tsigned:0;\n\
            \tfield:int op;\toffset:24;\tsize:8;\tsigned:0;\n\
            \tfield:u32 val;\toffset:32;\tsize:8;\tsigned:0;\n\
            \tfield:const struct __kernel_timespec * utime;\toffset:40;\tsize:8;\tsigned:0;\n\
            \tfield:u32 * uaddr2;\toffset:48;\tsize:8;\tsigned:0;\n";
        let calls = FutexCalls::new(&TracepointFormat::parse(text).unwrap()).unwrap();
        let raw: Vec<u8> =
            [0_u64, 0, 0x10, 129, 3, 1, 0x20].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(calls.read(&raw), Some(call(129, 3)));
        assert_eq!(calls.read(&raw[..40]), None);
    }
}
