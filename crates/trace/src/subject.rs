//! What a wait is for, as the system call and the waiting frames tell it.
//!
//! Where a futex belongs to the thing that is waited for, its address tells one from another. Where it belongs
//! to the thread that waits (`thread::park`, the locks of parking_lot, channels, Go's and Java's parking),
//! and where the collector sees no arguments of system calls, only the place of the wait is left to tell.

use longpole_event::{CallDefinition, FileKind, LINE_REQUEST, PAGE_REQUEST};

use crate::cause::{StackHints, by_system_call, futex};
use crate::objects::ObjectKind;
use crate::state::Cause;

/// What a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitSubject {
    pub(crate) kind: ObjectKind,
    pub(crate) which: SubjectIdentity,
    /// The thread waits until it can write (to a pipe, a socket, what a lock guards), not until it can read.
    pub(crate) writes: bool,
}

/// Which one of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubjectIdentity {
    /// The futex at this address of the process.
    Word(u64),
    /// The end of the thread with this tid.
    Thread(u32),
    /// The end of the process with this pid.
    Process(u32),
    /// The file that the collector gave this number.
    File(u64),
    /// The futex at this address, which processes share; by the number that the collector gave it.
    Shared(u64, u64),
    /// The semaphore or the queue of messages with this number.
    Queue(u64),
    /// The process's map of its memory.
    Memory,
    /// Known by the place of the wait only.
    Place,
}

/// What a wait with this cause is for; `None` where it is for no object.
pub(crate) fn subject(cause: Cause, call: Option<&CallDefinition>, hints: StackHints) -> Option<WaitSubject> {
    let of =
        |kind, which| Some(WaitSubject { kind, which, writes: call.map_or(hints.kernel_writes, writes) });
    match cause {
        Cause::Pipe => of(ObjectKind::Pipe, file(call)),
        Cause::Socket | Cause::Delivery => of(ObjectKind::Socket, file(call)),
        Cause::Terminal => of(ObjectKind::Terminal, SubjectIdentity::Place),
        Cause::Poll | Cause::PollTimeout => of(ObjectKind::Poll, SubjectIdentity::Place),
        Cause::Io => Some(file(call))
            .filter(|&which| which != SubjectIdentity::Place)
            .and_then(|which| of(ObjectKind::File, which)),
        Cause::Child => child(call).and_then(|(kind, which)| of(kind, which)),
        Cause::Kernel => of(ObjectKind::KernelLock, guarded(call)),
        Cause::Join => of(ObjectKind::ThreadEnd, thread(call)),
        Cause::Lock if call.is_some_and(|call| matches!(call.number, 72 | 73)) => {
            of(ObjectKind::FileLock, file(call))
        }
        Cause::Semaphore | Cause::Message if call.is_some_and(is_on_queue) => {
            let [object, semaphore, file] = call?.arguments;
            let number = if call?.file == FileKind::None { object | semaphore << 32 } else { file };
            of(by_cause(cause)?, SubjectIdentity::Queue(number))
        }
        Cause::Lock
        | Cause::Condition
        | Cause::Barrier
        | Cause::Semaphore
        | Cause::Message
        | Cause::Park
        | Cause::Futex => {
            let told = hints.futex().filter(|told| told.cause == cause).and_then(|told| told.kind);
            let by_operation = || call.and_then(futex::kind).filter(|kind| kind.cause() == cause);
            let kind = told.or_else(by_operation).or_else(|| by_cause(cause))?;
            let writes = kind == ObjectKind::RwLock && hints.writes_lock;
            Some(WaitSubject { kind, which: word(kind, call, hints), writes })
        }
        Cause::Request => {
            let call = call?;
            let kind = match call.number {
                PAGE_REQUEST => ObjectKind::Page,
                LINE_REQUEST => ObjectKind::CacheLine,
                _ => ObjectKind::Exchange,
            };
            of(kind, SubjectIdentity::Word(call.arguments[0]))
        }
        Cause::Sleep
        | Cause::Timer
        | Cause::PollingSleep
        | Cause::Signal
        | Cause::Stopped
        | Cause::PageFault
        | Cause::Other => None,
        // No system call shows them: threads tell.
        Cause::LateSender | Cause::LateReceiver | Cause::Collective => None,
    }
}

/// Whether a wait with this cause is for something, whether or not that is known.
pub(crate) fn is_for_something(cause: Cause) -> bool {
    !matches!(
        cause,
        Cause::Sleep | Cause::Timer | Cause::PollingSleep | Cause::Signal | Cause::Stopped | Cause::PageFault
    )
}

/// The kind that is certain by the cause alone.
fn by_cause(cause: Cause) -> Option<ObjectKind> {
    Some(match cause {
        Cause::Lock => ObjectKind::Lock,
        Cause::Condition => ObjectKind::Condition,
        Cause::Barrier => ObjectKind::Barrier,
        Cause::Semaphore => ObjectKind::Semaphore,
        Cause::Message => ObjectKind::Channel,
        Cause::Park => ObjectKind::Parker,
        Cause::Futex => ObjectKind::Futex,
        _ => return None,
    })
}

/// The futex that tells the object, at the first of its two words where it has two.
fn word(kind: ObjectKind, call: Option<&CallDefinition>, hints: StackHints) -> SubjectIdentity {
    const PAIR_BYTES: u64 = 8;
    match call.and_then(futex::word) {
        Some(address) if let Some(number) = call.and_then(futex::shared) => {
            SubjectIdentity::Shared(address, number)
        }
        Some(_) if hints.is_per_thread => SubjectIdentity::Place,
        Some(address) if hints.paired == Some(kind) => SubjectIdentity::Word(address & !(PAIR_BYTES - 1)),
        Some(address) => SubjectIdentity::Word(address),
        None => SubjectIdentity::Place,
    }
}

fn thread(call: Option<&CallDefinition>) -> SubjectIdentity {
    let tid = call.filter(|call| futex::is_join(call)).and_then(|call| u32::try_from(call.arguments[2]).ok());
    tid.filter(|&tid| tid != 0).map_or(SubjectIdentity::Place, SubjectIdentity::Thread)
}

/// A vfork's parent waits for no end of a process.
fn child(call: Option<&CallDefinition>) -> Option<(ObjectKind, SubjectIdentity)> {
    const BY_PID: u64 = 1;
    let pid = match call {
        Some(CallDefinition { number: 61, arguments: [pid, ..], .. }) => *pid,
        Some(CallDefinition { number: 247, arguments: [BY_PID, pid, _], .. }) => *pid,
        Some(CallDefinition { number: 247, .. }) => 0,
        Some(_) => return None,
        None => return Some((ObjectKind::ProcessEnd, SubjectIdentity::Place)),
    };
    // Zero and negative numbers stand for any child, or a group of them.
    Some(match i32::try_from(pid as u32).ok().filter(|&pid| pid > 0) {
        Some(pid) => (ObjectKind::ProcessEnd, SubjectIdentity::Process(pid.unsigned_abs())),
        None => (ObjectKind::AnyProcessEnd, SubjectIdentity::Place),
    })
}

/// The collector gives the number in place of the third argument.
fn file(call: Option<&CallDefinition>) -> SubjectIdentity {
    call.map(|call| call.arguments[2])
        .filter(|&number| number != 0)
        .map_or(SubjectIdentity::Place, SubjectIdentity::File)
}

/// What a lock of the kernel guards: the file of the call, or the map of the process's memory.
fn guarded(call: Option<&CallDefinition>) -> SubjectIdentity {
    match call {
        Some(call) if call.file != FileKind::None => file(Some(call)),
        Some(call) if matches!(by_system_call(call), Cause::Kernel | Cause::PageFault) => {
            SubjectIdentity::Memory
        }
        _ => SubjectIdentity::Place,
    }
}

fn is_on_queue(call: &CallDefinition) -> bool {
    matches!(call.number, 65 | 220 | 69 | 70 | 242 | 243)
}

fn writes(call: &CallDefinition) -> bool {
    // write, pwrite64, writev, sendfile, sendto, sendmsg, tee, vmsplice, pwritev, sendmmsg, pwritev2
    matches!(call.number, 1 | 18 | 20 | 40 | 44 | 46 | 276 | 278 | 296 | 307 | 328)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting_frames::Hint;

    fn futex(operation: u64, third: u64) -> CallDefinition {
        CallDefinition { number: 202, arguments: [0x102c, operation, third], file: FileKind::None }
    }

    fn hints(innermost_first: &[Hint]) -> StackHints {
        let mut hints = StackHints::default();
        innermost_first.iter().for_each(|&hint| hints.add(hint));
        hints
    }

    fn of(call: CallDefinition, innermost_first: &[Hint]) -> Option<(ObjectKind, SubjectIdentity)> {
        let hints = hints(innermost_first);
        let cause = crate::cause::cause(longpole_event::Blocking::Interruptible, Some(&call), hints);
        subject(cause, Some(&call), hints).map(|subject| (subject.kind, subject.which))
    }

    #[test]
    fn a_lock_is_told_by_the_address_of_its_futex() {
        let mutex = Hint::Object(ObjectKind::Mutex);
        assert_eq!(of(futex(128, 0), &[mutex]), Some((ObjectKind::Mutex, SubjectIdentity::Word(0x102c))));
        assert_eq!(of(futex(128, 0), &[]), Some((ObjectKind::Futex, SubjectIdentity::Word(0x102c))));
        assert_eq!(of(futex(134, 0), &[]), Some((ObjectKind::Mutex, SubjectIdentity::Word(0x102c))));
    }

    #[test]
    fn two_futexes_of_one_condition_are_one_object_and_its_mutex_is_another() {
        let (condition, mutex) = (Hint::Paired(ObjectKind::Condition), Hint::Object(ObjectKind::Mutex));
        assert_eq!(
            of(futex(128, 0), &[condition]),
            Some((ObjectKind::Condition, SubjectIdentity::Word(0x1028)))
        );
        let wrapper = Hint::Object(ObjectKind::Condition);
        assert_eq!(
            of(futex(128, 0), &[condition, wrapper]),
            Some((ObjectKind::Condition, SubjectIdentity::Word(0x1028)))
        );
        assert_eq!(
            of(futex(128, 0), &[mutex, condition]),
            Some((ObjectKind::Mutex, SubjectIdentity::Word(0x102c)))
        );
        assert_eq!(
            of(futex(128, 0), &[wrapper]),
            Some((ObjectKind::Condition, SubjectIdentity::Word(0x102c)))
        );
    }

    #[test]
    fn a_futex_of_the_waiting_thread_tells_no_object() {
        let (mutex, park) = (Hint::Object(ObjectKind::Mutex), Hint::Object(ObjectKind::Parker));
        let channel = Hint::Object(ObjectKind::Channel);
        assert_eq!(
            of(futex(128, 0), &[Hint::PerThread, mutex]),
            Some((ObjectKind::Mutex, SubjectIdentity::Place))
        );
        assert_eq!(of(futex(128, 0), &[park, channel]), Some((ObjectKind::Channel, SubjectIdentity::Place)));
    }

    #[test]
    fn a_join_is_for_the_thread_whose_id_is_waited_on() {
        assert_eq!(of(futex(265, 77), &[]), Some((ObjectKind::ThreadEnd, SubjectIdentity::Thread(77))));
        assert_eq!(of(futex(265, 0), &[]), Some((ObjectKind::ThreadEnd, SubjectIdentity::Place)));
    }

    #[test]
    fn files_queues_and_children_are_told_by_their_numbers() {
        let call = |number, arguments, file| CallDefinition { number, arguments, file };
        let read = call(0, [3, 0, 99], FileKind::Pipe);
        assert_eq!(of(read, &[]), Some((ObjectKind::Pipe, SubjectIdentity::File(99))));
        assert_eq!(
            of(call(73, [3, 2, 99], FileKind::Regular), &[]),
            Some((ObjectKind::FileLock, SubjectIdentity::File(99)))
        );
        let second_of_set = call(65, [5, 1, 0], FileKind::None);
        assert_eq!(
            of(second_of_set, &[]),
            Some((ObjectKind::Semaphore, SubjectIdentity::Queue(5 | 1 << 32)))
        );
        // sem_wait on a semaphore that processes share: the operation is a join's.
        let shared = call(202, [0x102c, 265, 99], FileKind::Regular);
        assert_eq!(
            of(shared, &[Hint::Object(ObjectKind::Semaphore)]),
            Some((ObjectKind::Semaphore, SubjectIdentity::Shared(0x102c, 99)))
        );
        // mq_timedsend: each process has a descriptor of its own.
        let queue = call(242, [3, 0, 77], FileKind::Regular);
        assert_eq!(of(queue, &[]), Some((ObjectKind::Channel, SubjectIdentity::Queue(77))));
        assert_eq!(
            of(call(61, [44, 0, 0], FileKind::None), &[]),
            Some((ObjectKind::ProcessEnd, SubjectIdentity::Process(44)))
        );
        let any = call(61, [u64::from(u32::MAX), 0, 0], FileKind::None);
        assert_eq!(of(any, &[]), Some((ObjectKind::AnyProcessEnd, SubjectIdentity::Place)));
        assert_eq!(of(call(230, [0; 3], FileKind::None), &[]), None);
    }
}
