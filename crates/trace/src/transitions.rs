//! The state machine of each thread: events of one machine's log become items of the timelines.
//!
//! ```text
//!               Start            In                  Out blocked
//!    Absent ───────────► Ready ──────► Running/Spinning ──────► Blocked(cause)
//!       ▲                  ▲  ◄──────────────┘                      │
//!       └── Out dead       │     Out runnable                       │
//!                          └─────────────── Wake ◄──────────────────┘
//! ```
//! An event that contradicts the state (a switch-in of a running thread) is a sign of loss: the thread is
//! brought into the state that the event proves, and the contradiction is counted.

mod holding;
mod inside;
mod marks;
mod overhead;
mod start;
mod waits;
mod wakes;

use longpole_event::{Blocking, Call, CallId, Event, EventKind, ProcessId, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::cause::{cause, is_yield};
use crate::enablers::Enablers;
use crate::ends::Ends;
use crate::objects::ObjectId;
use crate::observer::{Observer, Oddity};
use crate::overheads::Overhead;
use crate::path_cache::PrefixId;
use crate::paths::PathId;
use crate::primitives::Primitives;
use crate::stacks::{Cut, StackTable};
use crate::state::State;
use crate::subject::subject;
use crate::tenants::Tenants;
use crate::timeline::{DependenceKind, Item, What};
use holding::Told;
use inside::Inside;
use marks::{Entered, Spawned};

/// What the survey knows about a thread before its timeline is replayed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreknowledge {
    /// State at its start, for threads that nobody was seen to create.
    pub(crate) initial: Option<State>,
    /// Its end is told by a switch-out, after the event [`EventKind::Exit`].
    pub(crate) dies_at_switch: bool,
    /// It is the first thread of a process that another recorded process created.
    pub(crate) is_new_process: bool,
    /// Intervals in which it is on a processor only to wait, in time order.
    pub(crate) spins: Vec<(Time, Time)>,
}

/// Messages that were sent: by whom (in the recording's ids) and when.
pub(crate) type Sent = FxHashMap<u64, (ThreadId, Time)>;

/// What a replay reads besides the events.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) stacks: &'a StackTable,
    pub(crate) calls: &'a [Call],
    pub(crate) known: &'a [Foreknowledge],
    /// The collector's own time, in the order of time.
    pub(crate) overheads: &'a [Overhead],
    /// The recording's process of each thread of the log.
    pub(crate) processes: &'a [ProcessId],
    pub(crate) tenants: &'a Tenants,
    pub(crate) primitives: &'a Primitives,
    pub(crate) sent: &'a Sent,
    /// Added to the log's thread ids to make the recording's.
    pub(crate) base: u32,
}

#[derive(Clone, Debug)]
struct Live {
    state: State,
    /// When it came into its state.
    since: Time,
    /// What its paths begin with.
    prefix: PrefixId,
    /// The prefix after the next exec.
    program_prefix: PrefixId,
    /// What it has entered and not left.
    entered: Vec<Entered>,
    /// Where it was seen last.
    path: PathId,
    /// The first of its foreknown spins that is not over.
    next_spin: usize,
    /// Up to then it is in the collector's code.
    overhead_until: Time,
    /// It said something of itself before it was seen to get the processor.
    came_unseen: bool,
    /// It left the processor last to yield it.
    yielded: bool,
    /// It was seen somewhere.
    observed: bool,
    /// What it waits for, and whether to write to it.
    awaits: Option<(ObjectId, bool)>,
    /// The wait that it told of and that is not over.
    inside: Option<Inside>,
}

/// Replays the events of one machine.
pub(crate) struct Transitions<'a> {
    sources: Sources<'a>,
    threads: Vec<Live>,
    ends: Ends,
    enablers: Enablers,
    spawned: Spawned,
    next_overhead: usize,
}

impl<'a> Transitions<'a> {
    pub(crate) fn new(sources: Sources<'a>) -> Self {
        let absent = Live {
            state: State::Absent,
            since: Time::ZERO,
            prefix: PrefixId::ROOT,
            program_prefix: PrefixId::ROOT,
            entered: Vec::new(),
            path: crate::paths::Paths::ROOT,
            next_spin: 0,
            overhead_until: Time::ZERO,
            came_unseen: false,
            yielded: false,
            observed: false,
            awaits: None,
            inside: None,
        };
        Transitions {
            sources,
            threads: vec![absent; sources.known.len()],
            ends: Ends::default(),
            enablers: Enablers::default(),
            spawned: Spawned::default(),
            next_overhead: 0,
        }
    }

    /// Replays one event; its time is on the recording's axis.
    pub(crate) fn apply(&mut self, event: &Event, observer: &mut impl Observer) {
        let (thread, time) = (event.thread, event.time);
        if thread.index() >= self.threads.len() {
            // Values and losses name no thread; others with such an id are damage.
            if !matches!(event.kind, EventKind::Value { .. } | EventKind::Lost { .. }) {
                observer.count(Oddity::Contradiction);
            }
            return;
        }
        match event.kind {
            EventKind::Start { creator, stack } => self.start(thread, time, (creator, stack), observer),
            EventKind::Exec { .. } => {
                let live = &mut self.threads[thread.index()];
                live.prefix = live.program_prefix;
                live.entered.clear();
            }
            EventKind::Exit if !self.sources.known[thread.index()].dies_at_switch => {
                self.enter(thread, time, State::Absent, observer);
            }
            EventKind::In => self.switch_in(thread, time, observer),
            EventKind::Out { blocking, call, stack } => {
                self.switch_out(thread, time, (blocking, call, stack), observer);
            }
            EventKind::Wake { waker, call, stack } => {
                self.wake(thread, time, (waker, call, stack), observer);
            }
            EventKind::Sample { stack, .. } => self.sample(thread, time, stack, observer),
            EventKind::Await { primitive, stack } => {
                self.begin_inside(thread, time, (primitive, stack), observer);
            }
            EventKind::Proceed => self.proceed(thread, time, observer),
            EventKind::Held { primitive, stack, outer, acquisitions, contended, nanoseconds, longest } => {
                let told = Told { outer, acquisitions, contended, nanoseconds, longest };
                self.held(thread, time, (primitive, stack, told), observer);
            }
            EventKind::Enter { frame, stack, task } => {
                self.enter_mark(thread, time, (frame, stack, task), observer);
            }
            EventKind::Leave => self.leave_mark(thread, time, observer),
            EventKind::Spawn { task, stack } => self.spawn(thread, time, (task, stack), observer),
            EventKind::Receive { key } => {
                if let Some(&(source, source_time)) = self.sources.sent.get(&key) {
                    let kind = DependenceKind::Message;
                    self.emit(thread, time, What::Depend { source, source_time, kind }, observer);
                }
            }
            EventKind::Exit
            | EventKind::Name { .. }
            | EventKind::Send { .. }
            | EventKind::Value { .. }
            | EventKind::Lost { .. } => {}
            EventKind::Overhead { nanoseconds } => {
                observer.overhead(thread, time, nanoseconds);
                self.end_overhead(thread, time, observer);
            }
        }
    }

    /// Ends the timelines of all threads that are still there.
    pub(crate) fn finish(&mut self, time: Time, observer: &mut impl Observer) {
        for index in 0..self.threads.len() {
            self.enter(ThreadId::from_index(index), time, State::Absent, observer);
        }
    }

    fn switch_in(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        match self.threads[thread.index()].state {
            State::Ready => {}
            State::Blocked(_) => {
                self.woken_unseen(thread, time, observer);
                self.interrupt_inside(thread);
            }
            State::Absent => observer.count(Oddity::Contradiction),
            // Its own word was there before the collector's.
            _ if self.threads[thread.index()].came_unseen => {}
            State::Running | State::Spinning | State::Overhead => observer.count(Oddity::Contradiction),
        }
        self.threads[thread.index()].came_unseen = false;
        self.enter_processor(thread, time, observer);
    }

    fn switch_out(
        &mut self,
        thread: ThreadId,
        time: Time,
        (blocking, call, stack): (Blocking, Option<CallId>, Option<StackId>),
        observer: &mut impl Observer,
    ) {
        if !self.threads[thread.index()].state.is_on_cpu() {
            observer.count(Oddity::Contradiction);
            self.enter_processor(thread, time, observer);
        }
        self.threads[thread.index()].came_unseen = false;
        let call = self.call(call);
        let stacks = self.sources.stacks;
        let yielded = blocking == Blocking::Runnable && is_yield(call);
        let before = std::mem::replace(&mut self.threads[thread.index()].yielded, yielded);
        if blocking == Blocking::Runnable {
            // A thread that yields again and again does nothing else.
            if yielded {
                observer.observed(thread, time, None, before);
            } else if stack.is_some() {
                self.observe(thread, time, (stack, Cut::Plain), observer);
            }
            self.enter(thread, time, State::Ready, observer);
            return;
        }
        if blocking == Blocking::Dead {
            self.enter(thread, time, State::Absent, observer);
            return;
        }
        if self.is_told_inside(thread, (blocking, call, stack)) {
            self.block_inside(thread, time, stack, observer);
            return;
        }
        let path = match (call, stack) {
            (None, None) => self.wait_somewhere(thread, time, observer),
            _ => self.observe(thread, time, (stack, Cut::Stripped), observer),
        };
        let hints = stacks.hints(stack);
        let cause = cause(blocking, call, hints);
        let wait = subject(cause, call, hints).map(|subject| self.wait(thread, time, subject));
        self.await_object(thread, time, (cause, wait, Some(path)), observer);
        let told = wait.filter(|wait| wait.is_told).map(|wait| wait.kind.cause());
        self.enter(thread, time, State::Blocked(told.unwrap_or(cause)), observer);
    }

    /// The thread waits, and a collector that sees neither call nor stack says nothing of the place: what it did until
    /// now it did where such bursts of work were seen, but that need not be where it waits.
    fn wait_somewhere(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) -> PathId {
        let Live { path, prefix, observed, .. } = self.threads[thread.index()];
        let unknown = observer.path(prefix, (None, Cut::Stripped));
        let worked = match observer.worked(thread, unknown) {
            worked if worked == unknown && observed => path,
            worked => worked,
        };
        if worked != unknown {
            self.emit(thread, time, What::Observe(worked), observer);
        }
        self.emit(thread, time, What::Observe(unknown), observer);
        unknown
    }

    fn sample(&mut self, thread: ThreadId, time: Time, stack: Option<StackId>, observer: &mut impl Observer) {
        if !self.threads[thread.index()].state.is_on_cpu() {
            observer.count(Oddity::Contradiction);
            self.enter_processor(thread, time, observer);
        }
        if self.threads[thread.index()].inside.is_some() {
            self.look_inside(thread, time, stack, observer);
            return;
        }
        // What the agent does is no procedure of the program's; where it tells how long it takes, that is taken out.
        let stack = self.sources.stacks.checked(stack).map(|stack| self.sources.stacks.without_agent(stack));
        let path = self.observe(thread, time, (stack, Cut::Plain), observer);
        observer.sampled(thread, path);
        self.enter_processor(thread, time, observer);
    }

    fn observe(
        &mut self,
        thread: ThreadId,
        time: Time,
        stack: (Option<StackId>, Cut),
        observer: &mut impl Observer,
    ) -> PathId {
        let spins = stack.1 == Cut::Plain && self.sources.stacks.spins(stack.0);
        observer.observed(thread, time, stack.0, spins);
        let live = &mut self.threads[thread.index()];
        live.observed = true;
        let path = observer.path(live.prefix, stack);
        live.path = path;
        if stack.1 == Cut::Stripped {
            let worked = observer.worked(thread, path);
            if worked != path {
                self.emit(thread, time, What::Observe(worked), observer);
            }
        }
        self.emit(thread, time, What::Observe(path), observer);
        path
    }

    /// The thread is on a processor: to work, or only to wait.
    fn enter_processor(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) {
        let live = &mut self.threads[thread.index()];
        let spins = &self.sources.known[thread.index()].spins;
        while spins.get(live.next_spin).is_some_and(|&(_, end)| end <= time) {
            live.next_spin += 1;
        }
        let sampled = spins.get(live.next_spin).is_some_and(|&(begin, _)| begin <= time);
        let state = match live.inside {
            Some(_) => State::Spinning,
            None if time < live.overhead_until => State::Overhead,
            None if sampled => State::Spinning,
            None => State::Running,
        };
        self.enter(thread, time, state, observer);
    }

    fn enter(&mut self, thread: ThreadId, time: Time, state: State, observer: &mut impl Observer) {
        let live = &mut self.threads[thread.index()];
        if state == State::Absent && live.state != State::Absent && !live.observed {
            // It ran unseen: what it did must not be charged to its creator's procedure.
            live.observed = true;
            let path = observer.path(live.prefix, (None, Cut::Plain));
            self.emit(thread, time, What::Observe(path), observer);
        }
        let live = &mut self.threads[thread.index()];
        if live.state != state {
            live.state = state;
            live.since = time;
            if state == State::Absent {
                self.forget_inside(thread);
                self.ends.end(thread, self.sources.processes[thread.index()], time);
            }
            self.emit(thread, time, What::State(state), observer);
        }
    }

    fn emit(&self, thread: ThreadId, time: Time, what: What, observer: &mut impl Observer) {
        observer.item(Item { time, thread: self.global(thread), what });
    }

    fn global(&self, thread: ThreadId) -> ThreadId {
        ThreadId(self.sources.base + thread.0)
    }

    fn call(&self, call: Option<CallId>) -> Option<&'a Call> {
        self.sources.calls.get(call?.index())
    }
}
