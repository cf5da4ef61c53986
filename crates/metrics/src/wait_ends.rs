//! Who ended a wait, and where that thread was in the program when it did.
//!
//! ```text
//!   T1  ===p====|====        T1 wakes T2 at p: what T2 waited since b is ended by (T1, p)
//!   T2  ====b........==
//! ```
//! A wait is the time for which a thread is blocked, or spins for an object by its own word and then blocks for it.
//!
//! A wait is ended by a dependence if that arrives at the moment at which the thread stops waiting; of
//! several, by the last. One that finds the thread waiting on has ended nothing, unless the run ends then.
//!
//! Constant time per item. Memory per thread: the newest 64 changes of its path, for messages that were under way.

use std::collections::VecDeque;

use longpole_event::{ThreadId, Time};
use longpole_graph::Dependence;
use longpole_trace::{PathId, Program, State};

/// Changes of the path that are kept per thread.
const TRAIL: usize = 64;

/// The thread that ended a wait, and its path when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitWaker {
    pub thread: ThreadId,
    pub path: PathId,
}

/// A wait that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedWait {
    pub since: Time,
    /// Nobody that was recorded, where absent.
    pub by: Option<WaitWaker>,
}

/// Follows the waits of all threads.
#[derive(Debug)]
pub(crate) struct WaitEnds {
    per_thread: Vec<WaitEndsThread>,
}

#[derive(Clone, Debug)]
struct WaitEndsThread {
    /// Paths with the times from which on the thread was there; the newest last.
    trail: VecDeque<(Time, PathId)>,
    waits_since: Option<Time>,
    /// It is about to wait for an object.
    awaits: bool,
    state: State,
    enabled: Option<(Time, WaitWaker)>,
}

impl WaitEndsThread {
    fn at(path: PathId) -> WaitEndsThread {
        WaitEndsThread {
            trail: VecDeque::from([(Time::ZERO, path)]),
            waits_since: None,
            awaits: false,
            state: State::Absent,
            enabled: None,
        }
    }

    fn path_at(&self, time: Time) -> PathId {
        let is_then = |(since, _): &&(Time, PathId)| *since <= time;
        let (_, path) = self.trail.iter().rev().find(is_then).unwrap_or(&self.trail[0]);
        *path
    }
}

impl WaitEnds {
    pub fn new(program: &Program) -> Self {
        WaitEnds {
            per_thread: program.threads.iter().map(|thread| WaitEndsThread::at(thread.prefix)).collect(),
        }
    }

    fn of_thread(&mut self, thread: ThreadId) -> &mut WaitEndsThread {
        if thread.index() >= self.per_thread.len() {
            self.per_thread.resize(thread.index() + 1, WaitEndsThread::at(longpole_trace::Paths::ROOT));
        }
        &mut self.per_thread[thread.index()]
    }

    /// All threads.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.per_thread.len()).map(ThreadId::from_index)
    }

    /// Where the thread is.
    pub fn path(&mut self, thread: ThreadId) -> PathId {
        self.of_thread(thread).trail.back().expect("a thread is always at some path").1
    }

    pub fn observe(&mut self, thread: ThreadId, time: Time, path: PathId) {
        let of_thread = self.of_thread(thread);
        if of_thread.trail.back().is_some_and(|&(_, last)| last == path) {
            return;
        }
        if of_thread.trail.len() == TRAIL {
            of_thread.trail.pop_front();
        }
        of_thread.trail.push_back((time, path));
    }

    pub fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, source_time, thread, time, .. } = dependence;
        if source == thread {
            return;
        }
        let path =
            if source_time == time { self.path(source) } else { self.of_thread(source).path_at(source_time) };
        self.of_thread(thread).enabled = Some((time, WaitWaker { thread: source, path }));
    }

    /// Whether the thread is in a wait.
    pub fn is_waiting(&mut self, thread: ThreadId) -> bool {
        self.of_thread(thread).waits_since.is_some()
    }

    /// The thread is about to wait for an object.
    pub fn begin_wait(&mut self, thread: ThreadId) {
        self.of_thread(thread).awaits = true;
    }

    /// Follows a change of state; gives the wait that it ends.
    pub fn enter(&mut self, thread: ThreadId, time: Time, state: State) -> Option<EndedWait> {
        let of_thread = self.of_thread(thread);
        let before = std::mem::replace(&mut of_thread.state, state);
        let awaits = std::mem::take(&mut of_thread.awaits);
        if of_thread.waits_since.is_some() && !awaits && goes_on(before, state) {
            return None;
        }
        // Who spins, loses its processor and is let go meanwhile, sees that when it has it again.
        let since = of_thread.waits_since.filter(|_| before == State::Ready);
        if let Some((at, _)) =
            of_thread.enabled.as_mut().filter(|(at, _)| since.is_some_and(|since| since <= *at))
        {
            *at = time;
        }
        let ended = self.end(thread, time).map(|ended| match state {
            // Its own end cut the wait off.
            State::Absent => EndedWait { by: None, ..ended },
            _ => ended,
        });
        if matches!(state, State::Blocked(_)) || (state == State::Spinning && awaits) {
            self.of_thread(thread).waits_since = Some(time);
        }
        ended
    }

    /// Ends the wait that the thread is in, at the end of the run or before.
    pub fn end(&mut self, thread: ThreadId, time: Time) -> Option<EndedWait> {
        let of_thread = self.of_thread(thread);
        let enabled = of_thread.enabled.take();
        let since = of_thread.waits_since.take()?;
        let by = enabled.filter(|&(at, _)| at == time).map(|(_, waker)| waker);
        Some(EndedWait { since, by })
    }
}

/// Whether the wait that a thread is in is not over in its new state: it spins on, does not get to it, or blocks.
pub(crate) fn goes_on(before: State, state: State) -> bool {
    matches!(before, State::Spinning | State::Ready)
        && matches!(state, State::Spinning | State::Ready | State::Blocked(_))
}
