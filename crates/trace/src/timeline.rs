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
    pub what: What,
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
pub enum What {
    /// From now on the thread is in this state. Never the state it is in already.
    State(State),
    /// The thread is (or just was) at this path: all it ran since its observation before is charged to it
    /// (metrics.md §1). The path is without the frames of the wait or wake itself, and it is also where
    /// a wait that begins now is suffered.
    Observe(PathId),
    /// The wait that begins with the thread's next state is for this object; that state is blocked, or spinning
    /// where the program itself told of the wait. Without it, what for is not known. The wait goes on while the
    /// thread spins, is ready in between, or blocks after that; it ends where the thread runs or stops being blocked.
    Await(ObjectId),
    /// What the thread's holds of a lock at one place came to, since the last such item of the same three; the last
    /// of them ends now.
    Held(Hold),
    /// `source` at `source_time` enabled this thread to go on now.
    Depend {
        /// The enabling thread.
        source: ThreadId,
        /// When it did; equal to the item's time unless a message was under way.
        source_time: Time,
        /// How.
        kind: DependenceKind,
    },
}

/// What a thread's holds of one lock came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
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
    /// The source was the last to arrive at a barrier.
    Barrier,
    /// The source posted a semaphore.
    Post,
    /// The source sent what the thread received: pipe, socket, message.
    Message,
    /// The source made the thread runnable; what for is not known.
    Wake,
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
}
