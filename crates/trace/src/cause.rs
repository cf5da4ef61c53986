//! The cause of a wait, from the system call, the kernel's procedures and the waiting frames.
//!
//! Best evidence first: what kind of wait the kernel sees (a futex, a pipe, a clock …) comes from the system
//! call with its arguments where the collector has it, else from the names of the kernel's procedures on the
//! stack. Only a futex needs the user's side: the waiting frames tell lock, condition, barrier, join.

use longpole_event::{Blocking, CallDefinition, EXCHANGE, FileKind, LINE_REQUEST, PAGE_REQUEST};

use crate::objects::ObjectKind;
use crate::state::Cause;
use crate::timeline::DependenceKind;
use crate::waiting_frames::Hint;

/// What one waiting frame tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameCause {
    pub(crate) cause: Cause,
    /// What is waited for, where the frame tells.
    pub(crate) kind: Option<ObjectKind>,
}

/// What a stack tells about the wait that began there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackHints {
    /// What the outermost waiting frame that tells anything tells.
    pub(crate) outermost: Option<FrameCause>,
    /// What the innermost one tells.
    pub(crate) innermost: Option<FrameCause>,
    /// Kind of the outermost frame whose object has a pair of futexes.
    pub(crate) paired: Option<ObjectKind>,
    /// The futex is the waiting thread's own.
    pub(crate) is_per_thread: bool,
    /// What the kernel's procedures say, where the stack has them.
    pub(crate) kernel: Option<Cause>,
    /// They wait for a lock in the midst of something else, such as a file.
    pub(crate) locks_within: bool,
    /// The kernel's procedures write or send.
    pub(crate) kernel_writes: bool,
    /// It waits for a lock of the C library for readers and writers, to write.
    pub(crate) writes_lock: bool,
    /// What called the C library is Python's interpreter.
    pub(crate) in_python: bool,
    /// What called the wait is a loop that only looks whether another thread has done something.
    pub(crate) polls: bool,
}

impl StackHints {
    /// Takes in the hints of the waiting frames, innermost first.
    pub(crate) fn add(&mut self, hint: Hint) {
        // An interpreter's lock is waited for in the middle of whatever else, once that is over.
        if self.outermost.is_some_and(|told| told.kind == Some(ObjectKind::InterpreterLock)) {
            return;
        }
        let told = match hint {
            Hint::Object(kind) | Hint::Paired(kind) | Hint::PerThreadObject(kind) => {
                FrameCause { cause: kind.cause(), kind: Some(kind) }
            }
            Hint::Cause(cause) => FrameCause { cause, kind: None },
            Hint::PerThread => {
                self.is_per_thread = true;
                return;
            }
            Hint::Inner => return,
        };
        if let Hint::Paired(kind) = hint {
            self.paired = Some(kind);
        }
        self.is_per_thread |=
            told.kind == Some(ObjectKind::Parker) || matches!(hint, Hint::PerThreadObject(_));
        self.innermost = self.innermost.or(Some(told));
        self.outermost = Some(told);
    }

    /// Takes in what the kernel's next procedure outwards tells. The innermost one tells the cause, but a page fault stays one whatever it
    /// waits for, unless that is the lock of the memory map, which it takes itself.
    pub(crate) fn add_kernel(&mut self, seen: Cause) {
        match (self.kernel, seen) {
            (Some(Cause::Kernel), Cause::PageFault) if !self.locks_within => {}
            (_, Cause::PageFault) | (None, _) => self.kernel = Some(seen),
            (Some(Cause::Kernel), _) => self.locks_within |= seen != Cause::Kernel,
            _ => {}
        }
    }

    /// What a futex wait is.
    pub(crate) fn futex(&self) -> Option<FrameCause> {
        match (self.innermost, self.outermost) {
            // A condition's waiter that has been signalled queues for the mutex: that is a wait for a lock.
            (Some(inner), Some(FrameCause { cause: Cause::Condition, .. })) if inner.cause == Cause::Lock => {
                Some(inner)
            }
            (_, outermost) => outermost,
        }
    }
}

/// Why a thread is blocked.
pub(crate) fn cause(blocking: Blocking, call: Option<&CallDefinition>, hints: StackHints) -> Cause {
    if blocking == Blocking::Stopped {
        return Cause::Stopped;
    }
    let told = hints.futex().map(|told| told.cause);
    let by_call = call.map(by_system_call);
    // A lock that is held within a call is no device, nor is that of the memory map a page.
    let waits_for_lock =
        matches!(by_call, Some(Cause::Io | Cause::PageFault)) && hints.kernel == Some(Cause::Kernel);
    let seen = if waits_for_lock { hints.kernel } else { by_call.or(hints.kernel) };
    match seen {
        Some(Cause::Futex) | None => {
            let waits_for_device = blocking == Blocking::Device && seen.is_none();
            let user = told.or_else(|| Some(futex::kind(call?)?.cause()));
            if waits_for_device { Cause::Io } else { user.or(seen).unwrap_or(Cause::Other) }
        }
        // An unknown call that waits for a device does I/O, and so does a thread that waits for requests of its own to a ring.
        Some(Cause::Other | Cause::Poll) if blocking == Blocking::Device => Cause::Io,
        Some(Cause::Other) => told.unwrap_or(Cause::Other),
        Some(Cause::Sleep) if hints.polls => Cause::PollingSleep,
        // `time.sleep` adds the time now to how long it is to sleep (since Python 3.11).
        Some(Cause::Timer) if hints.in_python => Cause::Sleep,
        Some(cause) => cause,
    }
}

/// What kind of dependence ends a wait.
pub(crate) fn dependence(cause: Cause) -> DependenceKind {
    match cause {
        Cause::Lock => DependenceKind::Unlock,
        Cause::Condition | Cause::Park => DependenceKind::Signal,
        Cause::Barrier | Cause::Collective => DependenceKind::Barrier,
        Cause::Join | Cause::Child => DependenceKind::Join,
        Cause::Semaphore => DependenceKind::Post,
        Cause::Pipe
        | Cause::Socket
        | Cause::Delivery
        | Cause::Message
        | Cause::LateSender
        | Cause::LateReceiver
        | Cause::Poll
        | Cause::Terminal => DependenceKind::Message,
        _ => DependenceKind::Wake,
    }
}

/// Whether a soft interrupt during this call of a thread does that thread's work: it sends something, and
/// over loopback the receiver is woken from the sender's soft interrupt.
pub(crate) fn sends(call: Option<&CallDefinition>) -> bool {
    // write, pwrite64, writev, sendfile, connect, sendto, sendmsg, shutdown, close, sendmmsg
    call.is_some_and(|call| matches!(call.number, 1 | 18 | 20 | 40 | 42 | 44 | 46 | 48 | 3 | 307))
}

/// Whether this is `poll` or `ppoll`, which may have a time limit.
pub(crate) fn is_poll(call: Option<&CallDefinition>) -> bool {
    call.is_some_and(|call| matches!(call.number, 7 | 271))
}

/// Whether this is `sched_yield`.
pub(crate) fn is_yield(call: Option<&CallDefinition>) -> bool {
    call.is_some_and(|call| call.number == 24)
}

/// The system call by which threads wait on a word of memory.
pub(crate) mod futex {
    use super::{CallDefinition, FileKind, ObjectKind};

    const COMMAND: u64 = 0x7f;
    const WAIT_BITSET_CLOCK_REALTIME_SHARED: u64 = 9 | 256;

    /// The word's address; `None` for another call, or where it was not kept.
    pub(crate) fn word(call: &CallDefinition) -> Option<u64> {
        let is_futex = matches!(call.number, 202 | 454..=456);
        Some(call.arguments[0]).filter(|&address| is_futex && address != 0)
    }

    /// The word's number in all processes that share it; `None` of another one.
    pub(crate) fn shared(call: &CallDefinition) -> Option<u64> {
        Some(call.arguments[2]).filter(|_| call.file != FileKind::None && word(call).is_some())
    }

    /// Whether the word is a thread's id. glibc joins by waiting on it, and the kernel clears it and wakes as a
    /// shared futex; its other waits with this operation are private, or for words that processes share.
    pub(crate) fn is_join(call: &CallDefinition) -> bool {
        call.number == 202 && call.arguments[1] == WAIT_BITSET_CLOCK_REALTIME_SHARED && shared(call).is_none()
    }

    /// What the operation alone says of the word's use.
    pub(crate) fn kind(call: &CallDefinition) -> Option<ObjectKind> {
        if call.number != 202 {
            return None;
        }
        match call.arguments[1] & COMMAND {
            // LOCK_PI, LOCK_PI2
            6 | 13 => Some(ObjectKind::Mutex),
            // WAIT_REQUEUE_PI
            11 => Some(ObjectKind::Condition),
            _ => is_join(call).then_some(ObjectKind::ThreadEnd),
        }
    }
}

/// x86-64 system call numbers (arch/x86/entry/syscalls/syscall_64.tbl).
pub(crate) fn by_system_call(call: &CallDefinition) -> Cause {
    match call.number {
        -1 => Cause::PageFault,
        PAGE_REQUEST | LINE_REQUEST | EXCHANGE => Cause::Request,
        // futex, futex_wait, futex_waitv, futex_requeue
        202 | 449 | 455 | 456 => Cause::Futex,
        // read, write, pread64, pwrite64, readv, writev, preadv, pwritev, preadv2, pwritev2, sendfile, splice, tee, copy_file_range
        0 | 1 | 17..=20 | 295 | 296 | 327 | 328 | 40 | 275 | 276 | 326 => by_file(call.file),
        // accept, connect, sendto, recvfrom, sendmsg, recvmsg, accept4, recvmmsg, sendmmsg
        42..=47 | 288 | 299 | 307 => Cause::Socket,
        // poll, ppoll: no descriptors is a clock; arguments are (descriptors, number, timeout)
        7 | 271 if call.arguments[1] == 0 => Cause::Sleep,
        // one descriptor: what a read of it waits for
        7 | 271 if call.arguments[1] == 1 && matches!(call.file, FileKind::Pipe | FileKind::Socket) => {
            by_file(call.file)
        }
        // select, pselect6
        23 | 270 if call.arguments[0] == 0 => Cause::Sleep,
        // poll, select, epoll_wait, pselect6, ppoll, epoll_pwait, epoll_pwait2
        7 | 23 | 232 | 270 | 271 | 281 | 441 => Cause::Poll,
        // clock_nanosleep until a moment (TIMER_ABSTIME)
        230 if call.arguments[1] & 1 != 0 => Cause::Timer,
        // nanosleep, clock_nanosleep
        35 | 230 => Cause::Sleep,
        // wait4, waitid; clone, vfork, clone3 block only for a vfork's child
        61 | 247 | 56 | 58 | 435 => Cause::Child,
        // semop, semtimedop
        65 | 220 => Cause::Semaphore,
        // msgsnd, msgrcv, mq_timedsend, mq_timedreceive
        69 | 70 | 242 | 243 => Cause::Message,
        // flock; fcntl blocks only for a record lock
        73 | 72 => Cause::Lock,
        // pause, rt_sigsuspend, rt_sigtimedwait
        34 | 130 | 128 => Cause::Signal,
        // fsync, fdatasync, sync, syncfs, sync_file_range, msync
        74 | 75 | 162 | 306 | 277 | 26 => Cause::Io,
        // open, stat, fstat, lstat, access, truncate, ftruncate, getdents, rename, mkdir, rmdir, link, unlink, statfs
        2 | 4..=6 | 21 | 76..=78 | 82..=87 | 137 | 138 => Cause::Io,
        // symlink, readlink, chmod, chown and their like, utime, mount, umount2, extended attributes, fadvise64; the same with `at`
        88..=95 | 132 | 165 | 166 | 188..=199 | 221 | 235 | 258..=260 | 265..=268 | 280 | 439 => Cause::Io,
        // close, close_range: the last one of a file writes it, or frees it; of a socket it waits until that is empty
        3 | 436 => by_file(call.file),
        // getdents64, readahead, io_getevents, openat, newfstatat, unlinkat, renameat, faccessat, fallocate, renameat2, statx, openat2
        217 | 187 | 208 | 257 | 262..=264 | 269 | 285 | 316 | 332 | 437 => Cause::Io,
        // io_uring_enter waits for whatever was asked for, if anything was
        426 => Cause::Poll,
        // execve, execveat read the program
        59 | 322 => Cause::Io,
        // mmap, mprotect, munmap, brk, mremap, madvise wait for the lock of the memory map
        9..=12 | 25 | 28 => Cause::Kernel,
        _ => Cause::Other,
    }
}

fn by_file(file: FileKind) -> Cause {
    match file {
        FileKind::Pipe => Cause::Pipe,
        FileKind::Socket => Cause::Socket,
        FileKind::Character => Cause::Terminal,
        FileKind::Anonymous => Cause::Poll,
        FileKind::Timer => Cause::Timer,
        FileKind::Regular | FileKind::Block | FileKind::None => Cause::Io,
    }
}

#[cfg(test)]
mod tests;
