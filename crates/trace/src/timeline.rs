//! The items of a timeline: what every sweep reads.

use longpole_event::{ThreadId, Time};

use crate::objects::{ObjectId, Objects};
use crate::paths::{PathId, Paths};
use crate::program::Program;
use crate::state::State;

/// One item of the timelines of all threads. Items come in time order; items of the same time come in
/// the order in which they take effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// When, in nanoseconds on the recording's axis (0 = the start of the run).
    pub time: Time,
    /// Which thread, in [`crate::Program::threads`].
    pub thread: ThreadId,
    /// What.
    pub what: ItemKind,
}

/// What an [`Item`] says.
///
/// ```text
///   switch-out of A at t, blocked:      A Observe(path)   A Await(object)   A State(Blocked)
///   A wakes B at t:                     A Observe(path)   B Depend{source A}   B State(Ready)
///   B gets the processor:               B State(Running)
///   A creates B:                        A Observe(path)   B Depend{Create}     B State(Ready)
///   timer finds A running:              A Observe(path)
///   A says that it waits at t:          A Observe(path)   A Await(object)   A State(Spinning)
///   A says that it goes on:             A Observe(path)   A Depend{source B}   A State(Running)
///   B ends:                             B Observe(path)   B State(Absent)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ItemKind {
    /// From now on the thread is in this state. Never the state it is in already.
    State(State),
    /// The thread is (or just was) at this path; what that says of the time around it depends on the kind. The path
    /// is without the frames of the wait or wake itself, and it is also where a wait that begins now is suffered.
    Observe {
        /// Where the thread is.
        path: PathId,
        /// Why it was looked at.
        kind: ObservationKind,
    },
    /// The wait that begins with the thread's next state is for this object; that state is blocked, or spinning
    /// where the program itself told of the wait. Without it, what for is not known. The wait goes on while the
    /// thread spins, is ready in between, or blocks after that; it ends where the thread runs or stops being blocked.
    Await(ObjectId),
    /// What the thread's next wait is for was written by `writer` at this path: that is why it has to be fetched. One such
    /// item for each writer. No arc of the graph: the writer had gone on when the wait began.
    Written {
        /// Who wrote it.
        writer: ThreadId,
        /// Where.
        path: PathId,
    },
    /// What the thread's holds of a lock at one place came to, since the last such item of the same three; the last
    /// of them ends now.
    Held(LockHold),
    /// `source` at `source_time` enabled this thread to go on now.
    Depend {
        /// The enabling thread.
        source: ThreadId,
        /// When it did; equal to the item's time unless a message was under way.
        source_time: Time,
        /// How.
        kind: DependenceKind,
    },
    /// What the thread did up to now lets go on whoever acquires this token. A token may be released by several
    /// threads, and by one thread again: it holds what all of them did.
    Release(TokenId),
    /// The thread goes on no earlier than every release of a token so far, whether or not it waited for them.
    Acquire(Acquisition),
}

/// Identifies a token of a reading: a virtual node of the program activity graph (metrics.md §1), to which releases lead and
/// from which acquisitions leave. Every reading numbers its tokens alike.
///
/// ```text
///   A  ====release━━━┓                 a barrier of three: each releases the token when it arrives and acquires it
///   B  ==release━━━━━╋━━►acquire===    when it leaves; the end of a thread and its join: one release, one acquire
///   C  ========release━━►acquire====
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub u32);

/// A thread's dependence on a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquisition {
    /// The token.
    pub token: TokenId,
    /// How its releases enable the thread.
    pub kind: DependenceKind,
    /// What the thread would wait for, where that is known.
    pub object: Option<ObjectId>,
    /// The queue whose item the token is: any thread that takes from it could have got it. A token that is never released is for a thread
    /// that found no item and went on.
    pub queue: Option<QueueId>,
    /// No acquisition of the token follows.
    pub last: bool,
}

/// A queue from which several threads take whatever item is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

/// Why a thread's call path is known at a moment, and what that says of its work around it (metrics.md §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObservationKind {
    /// A timer found it there: a fair draw of its time on a processor.
    Sample {
        /// Half the timer's interval before it and half of that after it, nanoseconds; 0 where that is not known.
        gap: u32,
    },
    /// It waits, wakes or creates another there. That cuts its time, and says nothing of what came before.
    Site,
    /// It was preempted there: neither a fair draw nor a place of the program's choice.
    Preemption,
    /// It says so itself, as it comes to another path: since its observation before it was on this path or beneath.
    Boundary,
    /// Nothing looked: it is where such stretches of work were sampled, so that work without a sample has a path.
    Estimate,
}

/// What a thread's holds of one lock came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockHold {
    /// The lock.
    pub object: ObjectId,
    /// Where it was acquired.
    pub path: PathId,
    /// What the thread held already when it acquired it: of several the one it had acquired last.
    pub outer: Option<ObjectId>,
    /// How often.
    pub acquisitions: u64,
    /// How many of these found it taken.
    pub contended: u64,
    /// How long it was held in all, nanoseconds.
    pub nanoseconds: u64,
    /// The longest hold, nanoseconds.
    pub longest: u64,
}

/// Kinds of dependence (metrics.md §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DependenceKind {
    /// The source created the thread.
    Create,
    /// The source made the task that the thread begins to run.
    Spawn,
    /// The source ended, and the thread waited for that.
    Join,
    /// The source released a lock.
    Unlock,
    /// The source signalled a condition, an event, a parked thread.
    Signal,
    /// The source arrived at a barrier, the last of all where it ended a wait there.
    Barrier,
    /// The source posted a semaphore.
    Post,
    /// The source sent what the thread received: pipe, socket, message.
    Message,
    /// The source told the thread to end, which looks for that after each sleep: without it the thread would have slept on.
    Stop,
    /// The source made the thread runnable; what for is not known.
    Wake,
}

/// A thread is on a processor, and was on another one before, or nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// From when on.
    pub time: Time,
    /// Which thread.
    pub thread: ThreadId,
    /// The processor's number on the thread's machine.
    pub processor: u16,
}

/// A source of timelines that can be read as often as wanted: an opened recording, or a drawn one in tests.
pub trait Timelines {
    /// Why reading can fail.
    type Error;

    /// The program's tree; every thread of the items is in it.
    fn program(&self) -> &Program;

    /// The call paths that the items name.
    fn paths(&self) -> &Paths;

    /// The objects that the items name.
    fn objects(&self) -> &Objects;

    /// Calls `visit` on every item in time order.
    ///
    /// # Errors
    /// Whatever keeps the source from being read to its end.
    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), Self::Error>;

    /// Where threads were put, in the order of time; nothing where that is not known.
    ///
    /// # Errors
    /// Whatever keeps the source from being read to its end.
    fn placements(&self) -> Result<Vec<Placement>, Self::Error> {
        Ok(Vec::new())
    }

    /// The same with the paths at which threads really were, where the items name their owners ([`crate::FoldedTimelines`]).
    ///
    /// # Errors
    /// Whatever keeps the source from being read to its end.
    fn for_each_unfolded(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), Self::Error> {
        self.for_each(visit)
    }

    /// The owner of such a path.
    fn owner(&self, path: PathId) -> PathId {
        path
    }
}

/// Timelines with the paths at which threads really were.
#[derive(Clone, Copy, Debug)]
pub struct Unfolded<'a, T>(pub &'a T);

impl<T: Timelines> Timelines for Unfolded<'_, T> {
    type Error = T::Error;

    fn program(&self) -> &Program {
        self.0.program()
    }

    fn paths(&self) -> &Paths {
        self.0.paths()
    }

    fn objects(&self) -> &Objects {
        self.0.objects()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), T::Error> {
        self.0.for_each_unfolded(visit)
    }

    fn placements(&self) -> Result<Vec<Placement>, T::Error> {
        self.0.placements()
    }
}
