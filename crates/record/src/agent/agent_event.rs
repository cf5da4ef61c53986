//! What threads tell through the agent, taken out of its rings.

use longpole_event::{CallDefinition, FileKind, PrimitiveKind};
use longpole_ring::{MPI_ANY, MpiCall, RingEvent, WaitKind, split_rank_and_tag};

use super::files::DescriptorFile;
use crate::raw::{RawPrimitive, RawStack};

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AgentWait {
    /// The kind of wait.
    pub kind: WaitKind,
    /// Address of what is waited for, or the handle of the thread that is joined.
    pub subject: u64,
    /// A descriptor or pid, where the kind has one.
    pub detail: u64,
    /// What the descriptor is open to.
    pub file: DescriptorFile,
}

impl AgentWait {
    /// The wait that an event is about; `None` where it is of no known kind.
    pub(super) fn of(event: &RingEvent<'_>) -> Option<AgentWait> {
        let word = event.word(0);
        let file = DescriptorFile::default();
        Some(AgentWait { kind: WaitKind::of(word as u8)?, subject: event.subject, detail: word >> 8, file })
    }

    /// Whether it is for one descriptor.
    pub(super) fn is_on_descriptor(&self) -> bool {
        matches!(self.kind, WaitKind::Read | WaitKind::Write | WaitKind::Connect | WaitKind::Accept)
    }
}

/// How a call of MPI ended, or a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiRequest {
    /// The request that is complete, or that the call made; 0 for none.
    pub request: u64,
    /// It succeeded.
    pub is_ok: bool,
    /// Rank of the sender, where something was received.
    pub source: i32,
    /// The message's tag, likewise.
    pub tag: i32,
    /// Its length, likewise.
    pub bytes: u64,
}

impl MpiRequest {
    pub(super) fn of(event: &RingEvent<'_>) -> MpiRequest {
        let (source, tag) = event.rest.get(1).map_or((MPI_ANY, MPI_ANY), |&word| split_rank_and_tag(word));
        MpiRequest { request: event.subject, is_ok: event.word(0) != 0, source, tag, bytes: event.word(2) }
    }
}

/// A communicator, as a member tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldCommunicator {
    /// The member's handle of it.
    pub handle: u64,
    /// The handle of the one that it was made from, 0 for the one of the whole job.
    pub parent: u64,
    /// The member's rank in it.
    pub rank: u32,
    /// Its size.
    pub size: u32,
    /// What tells the job from others.
    pub job: u64,
    /// Ranks of its members in the job; empty where they are the same, or too many to tell.
    pub members: Vec<u32>,
}

impl ToldCommunicator {
    pub(super) fn of(event: &RingEvent<'_>) -> ToldCommunicator {
        let halves = |word: u64| [word as u32, (word >> 32) as u32];
        let [rank, size] = halves(event.word(1));
        let mut members: Vec<u32> =
            event.rest.get(3..).unwrap_or_default().iter().copied().flat_map(halves).collect();
        members.truncate(size as usize);
        let (parent, job) = (event.word(0), event.word(2));
        ToldCommunicator { handle: event.subject, parent, rank, size, job, members }
    }
}

/// Who sends to a process, and to whom it sends, in a communicator with neighbours.
pub(super) fn neighbours(event: &RingEvent<'_>) -> (Vec<i32>, Vec<i32>) {
    let halves = |word: u64| [(word as u32).cast_signed(), ((word >> 32) as u32).cast_signed()];
    let mut from: Vec<i32> =
        event.rest.get(1..).unwrap_or_default().iter().copied().flat_map(halves).collect();
    let [sources, destinations] = halves(event.word(0)).map(|count| usize::try_from(count).unwrap_or(0));
    let mut to = from.split_off(sources.min(from.len()));
    to.truncate(destinations);
    (from, to)
}

/// One event of the agent. Times are the recording's.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    /// The process is a new program from here on.
    Began {
        /// Its path.
        program: String,
    },
    /// The thread creates another, which will tell the same key.
    Creates {
        /// The key.
        key: u64,
        /// Where.
        stack: RawStack,
    },
    /// The thread is new.
    Created {
        /// The key that its creator told.
        key: u64,
        /// Its handle: what a join of it names.
        handle: u64,
    },
    /// The thread forks a process, whose only thread will tell the same key.
    Forks {
        /// The key.
        key: u64,
        /// Where.
        stack: RawStack,
    },
    /// The thread is the only one of a new process.
    Forked {
        /// The key that its creator told.
        key: u64,
    },
    /// The thread ends.
    Ended,
    /// The process ends, all its threads with it.
    Exits,
    /// Events of the thread were lost: how a wait that it told of went is not known, but it is over.
    Gap,
    /// Calls of MPI were among them.
    CommunicationsLost,
    /// The thread has waited until the reader had made room for what it tells.
    Delayed {
        /// For how long it was on a processor meanwhile.
        nanoseconds: u64,
    },
    /// The thread begins to wait.
    Waits {
        /// For what.
        wait: AgentWait,
        /// Where.
        stack: RawStack,
    },
    /// Its wait is over.
    Done {
        /// It got what it waited for.
        granted: bool,
    },
    /// Somebody who waits can go on, or try again.
    Releases {
        /// For what they wait.
        wait: AgentWait,
        /// Where the releasing thread is.
        stack: RawStack,
    },
    /// What holds of a lock at one place came to.
    Held {
        /// The kind of lock.
        kind: WaitKind,
        /// The lock.
        subject: u64,
        /// The return address of the acquisition.
        place: u64,
        /// The lock that the thread held already, and its kind.
        outer: Option<(u64, WaitKind)>,
        /// Acquisitions.
        acquisitions: u64,
        /// How many of these found it taken.
        contended: u64,
        /// Held in all, nanoseconds.
        nanoseconds: u64,
        /// The longest hold, nanoseconds.
        longest: u64,
    },
    /// The thread adds to a semaphore.
    Posts {
        /// The semaphore.
        subject: u64,
        /// How much.
        count: u64,
    },
    /// The thread has taken one from a semaphore.
    Takes {
        /// The semaphore.
        subject: u64,
    },
    /// The thread has given a semaphore its first count.
    Initialises {
        /// The semaphore.
        subject: u64,
        /// The count.
        count: u64,
    },
    /// The thread has acquired a mutex with which threads wait for conditions.
    Locks {
        /// The mutex.
        subject: u64,
        /// The return address of the acquisition.
        place: u64,
    },
    /// The thread releases such a mutex.
    Unlocks {
        /// The mutex.
        subject: u64,
    },
    /// A wait for a condition has returned.
    Waited {
        /// The condition.
        subject: u64,
        /// The mutex.
        mutex: u64,
        /// It was signalled.
        granted: bool,
    },
    /// The thread signals a condition.
    Signals {
        /// The condition.
        subject: u64,
        /// To all that wait.
        broadcast: bool,
    },
    /// The thread entered a region.
    Enters {
        /// Its name.
        name: String,
        /// Where.
        stack: RawStack,
    },
    /// The thread made a task.
    Spawns {
        /// The task's key.
        task: u64,
        /// Where.
        stack: RawStack,
    },
    /// The thread begins a task.
    Runs {
        /// The task's key.
        task: u64,
        /// Its name.
        name: String,
        /// Where.
        stack: RawStack,
    },
    /// Something has a name.
    NamesObject {
        /// Its address.
        subject: u64,
        /// Its size.
        bytes: u64,
        /// The name.
        name: String,
    },
    /// The thread enters a call of MPI.
    Communicates {
        /// What it does.
        call: MpiCall,
        /// Handle of the communicator.
        communicator: u64,
        /// Rank of the other end, or of the root.
        peer: i32,
        /// Tag.
        tag: i32,
        /// Length of what is sent, or the request that the call is about.
        bytes: u64,
        /// Where.
        stack: RawStack,
    },
    /// The thread leaves that call.
    Communicated(MpiRequest),
    /// A request is complete, as the call says that the thread is in.
    Completes(MpiRequest),
    /// The call that the thread is in has found a message.
    Probed {
        /// Handle of the communicator.
        communicator: u64,
        /// The message, with the handle with which it was taken in place of a request.
        message: MpiRequest,
    },
    /// The call that the thread is in starts what was prepared.
    Starts {
        /// The request.
        request: u64,
    },
    /// The process has a window of the memory of a communicator's members.
    Window {
        /// The window's handle.
        window: u64,
        /// Handle of the communicator.
        communicator: u64,
    },
    /// The call that the thread is in is about this member of the window's group.
    Addresses {
        /// The window's handle.
        window: u64,
        /// The member's rank.
        rank: i32,
    },
    /// The call that the thread is in is of a function of which only this is known.
    NamesCall {
        /// Its name.
        name: String,
    },
    /// The process has neighbours in a communicator.
    Neighbours {
        /// Its handle.
        communicator: u64,
        /// Ranks of those that send to it.
        from: Vec<i32>,
        /// Ranks of those that it sends to.
        to: Vec<i32>,
    },
    /// The process has a communicator.
    Communicator(ToldCommunicator),
    /// The thread was ready without a processor for so long, until now and some time before.
    WasReady {
        /// Nanoseconds.
        nanoseconds: u64,
    },
}

/// The primitive that a wait is for, at the address of its first futex word; `None` where it is for something else.
pub(super) fn primitive(kind: WaitKind, subject: u64) -> Option<RawPrimitive> {
    // Where glibc's waits look, in bytes from the beginning of each type (x86-64).
    const RWLOCK_FUTEX: u64 = 8;
    const CONDITION_FUTEX: u64 = 40;
    const BARRIER_FUTEX: u64 = 4;
    let (kind, offset) = match kind {
        WaitKind::Mutex => (PrimitiveKind::Mutex, 0),
        WaitKind::ReadLock | WaitKind::WriteLock => (PrimitiveKind::ReadWriteLock, RWLOCK_FUTEX),
        WaitKind::SpinLock => (PrimitiveKind::SpinLock, 0),
        WaitKind::Condition => (PrimitiveKind::Condition, CONDITION_FUTEX),
        WaitKind::Barrier => (PrimitiveKind::Barrier, BARRIER_FUTEX),
        WaitKind::Semaphore => (PrimitiveKind::Semaphore, 0),
        WaitKind::Once => (PrimitiveKind::Once, 0),
        WaitKind::Futex => (PrimitiveKind::Futex, 0),
        // An OpenMP team has no memory of its own.
        WaitKind::Team => (PrimitiveKind::Barrier, 0),
        _ => return None,
    };
    Some(RawPrimitive { kind, address: subject + offset })
}

/// The system call that waits so.
pub(super) fn call(wait: AgentWait) -> CallDefinition {
    const FUTEX: i32 = 202;
    const PRIVATE_WAIT: u64 = 128;
    const LOCK_PI: u64 = 6 | 128;
    let AgentWait { kind, subject, detail, file } = wait;
    let (number, arguments, file) = match kind {
        WaitKind::Join => (FUTEX, [subject, 9 | 256, detail], FileKind::None),
        WaitKind::Sleep => (35, [0; 3], FileKind::None),
        WaitKind::Read => (0, [detail, 0, file.number], file.kind),
        WaitKind::Write => (1, [detail, 0, file.number], file.kind),
        WaitKind::Poll => (7, [0, 1, 0], FileKind::None),
        WaitKind::Connect => (42, [detail, 0, file.number], FileKind::Socket),
        WaitKind::Accept => (43, [detail, 0, file.number], FileKind::Socket),
        WaitKind::Child => (61, [detail, 0, 0], FileKind::None),
        WaitKind::Signal => (130, [0; 3], FileKind::None),
        WaitKind::Mutex => (FUTEX, [subject, LOCK_PI, 0], FileKind::None),
        _ => {
            let address = primitive(kind, subject).map_or(subject, |primitive| primitive.address);
            (FUTEX, [address, PRIVATE_WAIT, 0], FileKind::None)
        }
    };
    CallDefinition { number, arguments, file }
}
