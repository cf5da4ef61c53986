//! The sweep: turns items into arcs, dependences, observations and levels of parallelism.
//!
//! ```text
//!   items of A     State(Running)      Observe(p)            State(Blocked)
//!   time           0                   4                     7               10 = end
//!   arcs of A      |---- running ------|------ running ------|---- blocked ---|
//!   calls          enter               arc, observe          arc, enter       arc, finish
//! ```
//! Time never goes back: an item before the time reached counts as of that time.

use longpole_event::{ThreadId, Time};
use longpole_trace::{
    Acquisition, DependenceKind, Item, ItemKind, LockHold, ObjectId, ObservationKind, PathId, State,
    Timelines, TokenId,
};

/// A stretch of a thread's time in one state, between two neighbouring nodes of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The thread.
    pub thread: ThreadId,
    /// Begin.
    pub from: Time,
    /// End, after `from`.
    pub to: Time,
    /// The state; never [`State::Absent`].
    pub state: State,
    /// What the thread waits for, where it is blocked, or spins and told so, and that is known.
    pub object: Option<ObjectId>,
}

impl Arc {
    /// Its length in nanoseconds.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.to.since(self.from)
    }
}

/// An arc between threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// The enabling thread.
    pub source: ThreadId,
    /// When it enabled; at most `time`.
    pub source_time: Time,
    /// The enabled thread.
    pub thread: ThreadId,
    /// When that was enabled.
    pub time: Time,
    /// How.
    pub kind: DependenceKind,
    /// What the enabled thread waited for, where it did and that is known.
    pub object: Option<ObjectId>,
}

/// The parallelism at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParallelismLevel {
    /// U: busy threads.
    pub effective: u32,
    /// N: threads running, spinning or ready.
    pub nominal: u32,
}

/// What a metric does with the graph as it passes by. For one item the order is `pass`, `arc`, and then what
/// the item says; what a metric does not need it leaves out.
pub trait Sweep {
    /// Time went from `from` to `to` (later) at one level of parallelism.
    fn pass(&mut self, _from: Time, _to: Time, _level: ParallelismLevel) {}

    /// A thread went along this arc, which ends now.
    fn arc(&mut self, _arc: Arc) {}

    /// The thread is about to wait for this object.
    fn begin_wait(&mut self, _thread: ThreadId, _time: Time, _object: ObjectId) {}

    /// What the thread waits for was written by `writer` at this path.
    fn written(&mut self, _thread: ThreadId, _time: Time, _writer: ThreadId, _path: PathId) {}

    /// What the thread's holds of a lock came to, the last of which ends now.
    fn hold(&mut self, _thread: ThreadId, _time: Time, _hold: LockHold) {}

    /// The thread changes from state `before` to another one.
    fn enter(&mut self, _thread: ThreadId, _time: Time, _before: State, _state: State) {}

    /// The thread was found at this path.
    fn observe(&mut self, _thread: ThreadId, _time: Time, _path: PathId, _kind: ObservationKind) {}

    /// One thread enabled another.
    fn depend(&mut self, _dependence: Dependence) {}

    /// What the thread did up to now enables whoever acquires this token.
    fn release(&mut self, _thread: ThreadId, _time: Time, _token: TokenId) {}

    /// The thread depends on every release of a token so far, whether or not it waited for them.
    fn acquire(&mut self, _thread: ThreadId, _time: Time, _acquisition: Acquisition) {}

    /// The run is over; every thread's last arc has been shown.
    fn finish(&mut self, _end: Time) {}
}

/// A sweep that is perhaps not wanted.
impl<S: Sweep> Sweep for Option<S> {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        self.iter_mut().for_each(|sweep| sweep.pass(from, to, level));
    }
    fn arc(&mut self, arc: Arc) {
        self.iter_mut().for_each(|sweep| sweep.arc(arc));
    }
    fn begin_wait(&mut self, thread: ThreadId, time: Time, object: ObjectId) {
        self.iter_mut().for_each(|sweep| sweep.begin_wait(thread, time, object));
    }
    fn written(&mut self, thread: ThreadId, time: Time, writer: ThreadId, path: PathId) {
        self.iter_mut().for_each(|sweep| sweep.written(thread, time, writer, path));
    }
    fn hold(&mut self, thread: ThreadId, time: Time, hold: LockHold) {
        self.iter_mut().for_each(|sweep| sweep.hold(thread, time, hold));
    }
    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        self.iter_mut().for_each(|sweep| sweep.enter(thread, time, before, state));
    }
    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, kind: ObservationKind) {
        self.iter_mut().for_each(|sweep| sweep.observe(thread, time, path, kind));
    }
    fn depend(&mut self, dependence: Dependence) {
        self.iter_mut().for_each(|sweep| sweep.depend(dependence));
    }
    fn release(&mut self, thread: ThreadId, time: Time, token: TokenId) {
        self.iter_mut().for_each(|sweep| sweep.release(thread, time, token));
    }
    fn acquire(&mut self, thread: ThreadId, time: Time, acquisition: Acquisition) {
        self.iter_mut().for_each(|sweep| sweep.acquire(thread, time, acquisition));
    }
    fn finish(&mut self, end: Time) {
        self.iter_mut().for_each(|sweep| sweep.finish(end));
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+)),+ $(,)?) => {$(
        impl<$($name: Sweep),+> Sweep for ($($name,)+) {
            fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
                $(self.$index.pass(from, to, level);)+
            }
            fn arc(&mut self, arc: Arc) {
                $(self.$index.arc(arc);)+
            }
            fn begin_wait(&mut self, thread: ThreadId, time: Time, object: ObjectId) {
                $(self.$index.begin_wait(thread, time, object);)+
            }
            fn written(&mut self, thread: ThreadId, time: Time, writer: ThreadId, path: PathId) {
                $(self.$index.written(thread, time, writer, path);)+
            }
            fn hold(&mut self, thread: ThreadId, time: Time, hold: LockHold) {
                $(self.$index.hold(thread, time, hold);)+
            }
            fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
                $(self.$index.enter(thread, time, before, state);)+
            }
            fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, kind: ObservationKind) {
                $(self.$index.observe(thread, time, path, kind);)+
            }
            fn depend(&mut self, dependence: Dependence) {
                $(self.$index.depend(dependence);)+
            }
            fn release(&mut self, thread: ThreadId, time: Time, token: TokenId) {
                $(self.$index.release(thread, time, token);)+
            }
            fn acquire(&mut self, thread: ThreadId, time: Time, acquisition: Acquisition) {
                $(self.$index.acquire(thread, time, acquisition);)+
            }
            fn finish(&mut self, end: Time) {
                $(self.$index.finish(end);)+
            }
        }
    )+};
}

tuples! {
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8),
}

/// Shows the whole graph to `metric`, once. `io_idle` decides whether threads blocked for a device or a page
/// are busy (metrics.md §3).
///
/// # Errors
/// What the timelines say.
pub fn sweep<T: Timelines>(timelines: &T, io_idle: bool, metric: &mut impl Sweep) -> Result<(), T::Error> {
    let program = timelines.program();
    let mut walk = GraphWalk {
        metric,
        io_idle,
        now: Time::ZERO,
        level: ParallelismLevel::default(),
        threads: vec![ThreadPosition::default(); program.threads.len()],
    };
    timelines.for_each(&mut |item| walk.step(item))?;
    walk.finish(Time::from_nanoseconds(program.elapsed_nanoseconds));
    Ok(())
}

/// Where a thread is: its state, and the node it left last.
#[derive(Clone, Copy, Debug)]
struct ThreadPosition {
    state: State,
    since: Time,
    /// What it waits for, or is about to.
    object: Option<ObjectId>,
}

impl Default for ThreadPosition {
    fn default() -> Self {
        ThreadPosition { state: State::Absent, since: Time::ZERO, object: None }
    }
}

struct GraphWalk<'a, S> {
    metric: &'a mut S,
    io_idle: bool,
    now: Time,
    level: ParallelismLevel,
    threads: Vec<ThreadPosition>,
}

impl<S: Sweep> GraphWalk<'_, S> {
    fn step(&mut self, item: &Item) {
        self.pass(item.time);
        self.cut(item.thread);
        match item.what {
            ItemKind::State(state) => self.enter(item.thread, state),
            ItemKind::Observe { path, kind } => self.metric.observe(item.thread, self.now, path, kind),
            ItemKind::Await(object) => {
                self.position(item.thread).object = Some(object);
                self.metric.begin_wait(item.thread, self.now, object);
            }
            ItemKind::Written { writer, path } => {
                self.metric.written(item.thread, self.now, writer, path);
            }
            ItemKind::Held(hold) => self.metric.hold(item.thread, self.now, hold),
            ItemKind::Release(token) => self.metric.release(item.thread, self.now, token),
            ItemKind::Acquire(acquisition) => self.metric.acquire(item.thread, self.now, acquisition),
            ItemKind::Depend { source, source_time, kind } => {
                self.cut(source);
                let source_time = source_time.min(self.now);
                let object = self.position(item.thread).object;
                self.metric.depend(Dependence {
                    source,
                    source_time,
                    thread: item.thread,
                    time: self.now,
                    kind,
                    object,
                });
            }
        }
    }

    fn pass(&mut self, to: Time) {
        if to > self.now {
            self.metric.pass(self.now, to, self.level);
            self.now = to;
        }
    }

    fn position(&mut self, thread: ThreadId) -> &mut ThreadPosition {
        if thread.index() >= self.threads.len() {
            self.threads.resize(thread.index() + 1, ThreadPosition::default());
        }
        &mut self.threads[thread.index()]
    }

    /// Ends the thread's arc here.
    fn cut(&mut self, thread: ThreadId) {
        let now = self.now;
        let position = self.position(thread);
        let ThreadPosition { state, since, object } = *position;
        if since < now {
            position.since = now;
            if state != State::Absent {
                self.metric.arc(Arc { thread, from: since, to: now, state, object });
            }
        }
    }

    fn enter(&mut self, thread: ThreadId, state: State) {
        let before = std::mem::replace(&mut self.position(thread).state, state);
        if before == state {
            return;
        }
        if !goes_on_waiting(before, state) {
            self.position(thread).object = None;
        }
        let io_idle = self.io_idle;
        let step = |count: &mut u32, was: bool, is: bool| *count = *count + u32::from(is) - u32::from(was);
        step(&mut self.level.effective, before.is_busy(io_idle), state.is_busy(io_idle));
        step(&mut self.level.nominal, before.is_runnable(), state.is_runnable());
        self.metric.enter(thread, self.now, before, state);
    }

    fn finish(&mut self, end: Time) {
        self.pass(end);
        for index in 0..self.threads.len() {
            self.cut(ThreadId::from_index(index));
        }
        self.metric.finish(self.now);
    }
}

/// Whether what the thread waits for, or is about to, stays the same in its new state.
fn goes_on_waiting(before: State, state: State) -> bool {
    match state {
        State::Blocked(_) => true,
        State::Spinning => !matches!(before, State::Blocked(_)),
        State::Ready => before == State::Spinning,
        State::Running | State::Overhead | State::Absent => false,
    }
}

#[cfg(test)]
mod tests;
