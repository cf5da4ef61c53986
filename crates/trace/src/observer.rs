//! Whom a replay of a machine's events tells what it comes across: the survey, and the readings after it.

use longpole_event::{BusyWaiting, ProcessId, StackId, ThreadId, Time};

use crate::bursts::Burst;
use crate::census::BegunWait;
use crate::objects::{ObjectId, Signals};
use crate::path_cache::{Prefix, PrefixId};
use crate::paths::{PathId, Paths, PlaceId};
use crate::spin_tails::FlagWait;
use crate::stacks::PathCut;
use crate::timeline::Item;

/// Where a replay gets paths from, and whom it tells what it comes across.
pub(crate) trait Observer {
    /// The id of a prefix.
    fn prefix(&mut self, prefix: Prefix) -> PrefixId;
    /// The path of a prefix.
    fn prefix_path(&self, prefix: PrefixId) -> PathId;
    /// The path of a stack.
    fn path(&mut self, prefix: PrefixId, stack: (Option<StackId>, PathCut)) -> PathId;
    /// The path that goes on from `caller` into `place`.
    fn call(&mut self, caller: PathId, place: PlaceId) -> PathId;
    /// All paths so far.
    fn paths(&self) -> &Paths;
    /// An item of the timelines.
    fn item(&mut self, item: Item);
    /// The stack of a thread (by its id in the log) is known at this time, or should be.
    fn observed(&mut self, _thread: ThreadId, _time: Time, _stack: Option<StackId>, _waiting: BusyWaiting) {}
    /// What the thread did up to now is known; a later look in a waiting loop says nothing of it.
    fn accounted(&mut self, _thread: ThreadId, _time: Time) {}
    /// The thread spun until now, for this.
    fn freed(&mut self, _thread: ThreadId, _time: Time, _flag: FlagWait) {}
    /// The thread said where it is.
    fn told(&mut self) {}
    /// A timer found the thread at this path.
    fn sampled(&mut self, _thread: ThreadId, _path: PathId) {}
    /// The thread's burst of work ended; gives the path to which the time since its last sample is charged.
    fn worked(&mut self, _thread: ThreadId, burst: Burst) -> PathId {
        burst.end.unwrap_or(burst.prefix)
    }
    /// A thread begins to wait at this path, where that is known; `None` where what for could not be told.
    fn awaited(&mut self, _wait: Option<BegunWait>, _path: Option<PathId>) -> Option<ObjectId> {
        None
    }
    /// A process has a futex at this address that has this number in all processes that share it.
    fn shared(&mut self, _place: (ProcessId, u64), _number: u64) {}
    /// A wait for what [`awaited`](Self::awaited) gave turns out to be at this path.
    fn located(&mut self, _object: ObjectId, _path: PathId) {}
    /// A thread held something that it acquired at this path, so often.
    fn held(&mut self, _held: BegunWait, _path: PathId, _acquisitions: u64) -> Option<ObjectId> {
        None
    }
    /// A thread of `process` ended a wait for the object that [`awaited`](Self::awaited) gave, to write to it or to
    /// read from it.
    fn provided(&mut self, _object: ObjectId, _writes: bool, _process: ProcessId) {}
    /// The second of two threads of the recording waited so long, nanoseconds, for what the first one wrote.
    fn waited_for(&mut self, _ends: (ThreadId, ThreadId), _nanoseconds: u64) {}
    /// The second of two threads of the recording read so many bytes that the first one wrote, and the ends of so many writes.
    fn received(&mut self, _ends: (ThreadId, ThreadId), _messages: u64, _bytes: u64) {}
    /// What is known of the signals of a condition.
    fn signals_seen(&mut self, _condition: BegunWait, _signals: Signals) {}
    /// The collector took so much of the thread's time, nanoseconds, since the thread told so before.
    fn overhead(&mut self, _thread: ThreadId, _time: Time, _nanoseconds: u64) {}
    /// The thread's paths begin with this one.
    fn begins_at(&mut self, _thread: ThreadId, _prefix: PathId) {}
    /// Something to count.
    fn count(&mut self, _what: ReplayAnomaly) {}
}

/// What a replay counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplayAnomaly {
    /// An event contradicts the thread's state.
    Contradiction,
    /// A wait ended without a wake.
    UnmatchedWake,
    /// A wait was ended by an interrupt.
    InterruptWake,
    /// A wait was ended by a task that is not recorded.
    OutsideWake,
}
