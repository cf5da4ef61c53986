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

mod announced_waits;
mod barriers;
mod communication;
mod joins;
mod lock_holds;
mod marks;
mod monitor;
mod overhead;
mod room;
mod semaphores;
mod start;
mod streams;
mod waits;
mod wakes;

use longpole_event::{
    Blocking, BusyWaiting, CallDefinition, CallId, Event, EventKind, ProcessId, StackId, ThreadId, Time,
};
use rustc_hash::FxHashMap;

use crate::bursts::Burst;
use crate::cause::{cause, futex, is_yield};
use crate::conditions::Monitors;
use crate::connections::{CarriedStreams, CarriedWakes};
use crate::dependences::LogDependences;
use crate::end_polls::SeenEnd;
use crate::exit_wakes::ExitWakes;
use crate::exits::KilledBy;
use crate::id_owners::IdOwners;
use crate::inferred_wakers::InferredWakers;
use crate::messages::PlannedCalls;
use crate::objects::ObjectId;
use crate::observer::{Observer, ReplayAnomaly};
use crate::overheads::Overhead;
use crate::path_cache::PrefixId;
use crate::paths::PathId;
use crate::primitives::LogPrimitives;
use crate::spin_tails::SpinTail;
use crate::stacks::{PathCut, StackTable};
use crate::state::{Cause, State};
use crate::subject::subject;
use crate::timeline::{DependenceKind, Item, ItemKind, ObservationKind};
use crate::tokens::TokenNumbers;
use announced_waits::AnnouncedWait;
use barriers::Barriers;
use communication::Communication;
pub(crate) use communication::OngoingMeetings;
use joins::Joins;
use lock_holds::HoldTotals;
use marks::{Entered, Spawned};
use semaphores::SemaphorePosts;
use streams::{Streams, Transfer};
use wakes::WaitEnd;

pub(crate) use semaphores::KnownCount;
pub(crate) use streams::KnownStream;

/// What the survey knows about a thread before its timeline is replayed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreknowledge {
    /// State at its start, for threads that nobody was seen to create.
    pub(crate) initial: Option<State>,
    /// Its end is told by a switch-out, after the event [`EventKind::Exit`].
    pub(crate) dies_at_switch: bool,
    /// It is the first thread of a process that another recorded process created.
    pub(crate) is_new_process: bool,
    /// Another thread of its process joins it.
    pub(crate) is_joined: bool,
    /// Another process waits for the end of its process.
    pub(crate) is_reaped: bool,
    /// What killed it while it worked.
    pub(crate) killed: Option<KilledBy>,
    /// The number, from 0, of the wake that ended the sleep in which it was told to end.
    pub(crate) stopped: Option<u64>,
    /// Ends of others that it saw after a sleep, in the order of their wakes.
    pub(crate) seen_ends: Vec<SeenEnd>,
    /// The numbers of wakes that came while it was being switched off its processor to wait, in their order.
    pub(crate) early_wakes: Vec<u64>,
    /// The numbers of wakes by which a timer may have ended its wait, in their order.
    pub(crate) timer_wakes: Vec<u64>,
    /// The numbers of wakes by data that had been written long before, in their order.
    pub(crate) delivery_wakes: Vec<u64>,
    /// Intervals in which it is on a processor only to wait, in time order.
    pub(crate) spins: Vec<(Time, Time)>,
}

/// What was sent to other machines: by whom (in the recording's ids) and when.
#[derive(Debug, Default)]
pub(crate) struct SentMessages {
    /// Messages, by their keys.
    pub(crate) keyed: FxHashMap<u64, (ThreadId, Time)>,
    /// Bytes of connections.
    pub(crate) carried: CarriedStreams,
    /// Waits that these ended.
    pub(crate) wakes: CarriedWakes,
}

/// What made a thread's stack known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StackReason {
    /// A sample; with its gap, nanoseconds, 0 where that is not known.
    Sampled { gap: u32 },
    /// It lost its processor.
    Preempted,
    /// It waits, or does something to another thread.
    Acting,
}

/// What a replay reads besides the events.
#[derive(Clone, Copy)]
pub(crate) struct ReplaySources<'a> {
    pub(crate) stacks: &'a StackTable,
    pub(crate) calls: &'a [CallDefinition],
    pub(crate) known: &'a [Foreknowledge],
    /// The collector's own time, in the order of time.
    pub(crate) overheads: &'a [Overhead],
    /// Spins at the ends of runs, in the order of time.
    pub(crate) spin_tails: &'a [SpinTail],
    /// The recording's process of each thread of the log.
    pub(crate) processes: &'a [ProcessId],
    pub(crate) id_owners: &'a IdOwners,
    pub(crate) primitives: &'a LogPrimitives,
    pub(crate) sent: &'a SentMessages,
    pub(crate) calls_planned: &'a PlannedCalls,
    /// Samples were taken by a timer; else each is a moment at which the thread's path changed.
    pub(crate) has_timer: bool,
    pub(crate) dependences: &'a LogDependences,
    /// Which of how many machines this is.
    pub(crate) machine: (u32, u32),
    /// Added to the log's thread ids to make the recording's.
    pub(crate) base: u32,
}

/// A thread that yields the processor to wait looks for what it waits for within this time, nanoseconds: a loop of a thousand pauses
/// takes 15 to 50 µs.
const LONGEST_LOOK: u64 = 50_000;

#[derive(Clone, Debug)]
struct LiveThread {
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
    /// It left the processor last to yield it, having only looked for what it waits for.
    yielded: bool,
    /// It was seen somewhere.
    observed: bool,
    /// What it waits for, or waited for last.
    awaits: Option<AwaitedObject>,
    /// The wait that it told of and that is not over.
    inside: Option<AnnouncedWait>,
    /// Times it was woken.
    wakes: u64,
    /// The first of its early wakes that did not come yet.
    next_early: usize,
    /// It was woken, and its switch off the processor is still to be told.
    woken_early: Option<WaitEnd>,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
struct AwaitedObject {
    object: ObjectId,
    /// It waits to write to it.
    writes: bool,
    /// It is a stream of bytes.
    is_stream: bool,
}

/// Replays the events of one machine.
pub(crate) struct Transitions<'a> {
    sources: ReplaySources<'a>,
    threads: Vec<LiveThread>,
    ends: ExitWakes,
    inferred_wakers: InferredWakers,
    spawned: Spawned,
    tokens: TokenNumbers,
    joins: Joins,
    barriers: Barriers,
    streams: Streams,
    counts: SemaphorePosts,
    monitors: Monitors<'a>,
    communication: Communication,
    next_overhead: usize,
    next_spin_tail: usize,
}

impl<'a> Transitions<'a> {
    pub(crate) fn new(sources: ReplaySources<'a>, meetings: OngoingMeetings) -> Self {
        let absent = LiveThread {
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
            wakes: 0,
            next_early: 0,
            woken_early: None,
        };
        Transitions {
            sources,
            threads: vec![absent; sources.known.len()],
            ends: ExitWakes::default(),
            inferred_wakers: InferredWakers::default(),
            spawned: Spawned::default(),
            tokens: TokenNumbers::new(sources.machine.0, sources.machine.1),
            joins: Joins::default(),
            barriers: Barriers::default(),
            streams: Streams::default(),
            counts: SemaphorePosts::default(),
            monitors: Monitors::new(&sources.dependences.conditions),
            communication: Communication::of(meetings),
            next_overhead: 0,
            next_spin_tail: 0,
        }
    }

    /// Replays one event; its time is on the recording's axis.
    pub(crate) fn apply(&mut self, event: &Event, observer: &mut impl Observer) {
        let (thread, time) = (event.thread, event.time);
        if thread.index() >= self.threads.len() {
            // Values and losses name no thread; others with such an id are damage.
            if !matches!(event.kind, EventKind::Value { .. } | EventKind::Lost { .. }) {
                observer.count(ReplayAnomaly::Contradiction);
            }
            return;
        }
        while self.next_release().is_some_and(|release| release < time) {
            self.release_next(observer);
        }
        match event.kind {
            EventKind::Communicate { stack, .. } => self.communicate(thread, time, stack, observer),
            EventKind::Communicated => self.communicated(thread, time, observer),
            EventKind::Start { creator, stack } => self.start(thread, time, (creator, stack), observer),
            EventKind::Continue { creator, stack, is_alive } => {
                self.go_on(thread, time, (creator, stack, is_alive), observer);
            }
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
            EventKind::Sample { stack, gap, .. } => {
                self.sample(thread, time, (stack, gap.saturating_mul(1000)), observer);
            }
            EventKind::Await { primitive, stack } => {
                self.begin_inside(thread, time, (primitive, stack), observer);
            }
            EventKind::Proceed => self.proceed(thread, time, observer),
            EventKind::Held { primitive, stack, outer, acquisitions, contended, nanoseconds, longest } => {
                let told = HoldTotals { outer, acquisitions, contended, nanoseconds, longest };
                self.held(thread, time, (primitive, stack, told), observer);
            }
            EventKind::Enter { frame, stack, task } => {
                self.enter_mark(thread, time, (frame, stack, task), observer);
            }
            EventKind::Leave => self.leave_mark(thread, time, observer),
            EventKind::Spawn { task, stack } => self.spawn(thread, time, (task, stack), observer),
            EventKind::Receive { key } => {
                if let Some(&(source, source_time)) = self.sources.sent.keyed.get(&key) {
                    let kind = DependenceKind::Message;
                    self.emit(thread, time, ItemKind::Depend { source, source_time, kind }, observer);
                }
            }
            EventKind::Joined { ended } => self.joined(thread, time, ended, observer),
            EventKind::Initialise { primitive, count } => {
                self.initialise(thread, time, (primitive, count), observer);
            }
            EventKind::Post { primitive, count } => self.post(thread, time, (primitive, count), observer),
            EventKind::Take { primitive } => self.take(thread, time, primitive, observer),
            EventKind::Write { channel, position, bytes } => {
                self.write(thread, time, Transfer { channel, position, bytes }, observer);
            }
            EventKind::Read { channel, position, bytes } => {
                self.read(thread, time, Transfer { channel, position, bytes }, observer);
            }
            EventKind::Written { writer, stack } => self.written(thread, time, (writer, stack), observer),
            EventKind::Freed { by, primitive, stack } => {
                self.freed(thread, time, (by, primitive, stack), observer);
            }
            EventKind::Arrive { primitive } => self.arrive_told(thread, time, primitive),
            EventKind::Depart { primitive } => self.depart_told(thread, time, primitive, observer),
            EventKind::Lock { .. }
            | EventKind::Unlock { .. }
            | EventKind::Waited { .. }
            | EventKind::Signal { .. } => self.monitor(thread, time, event.kind, observer),
            EventKind::Title { .. } | EventKind::Owner { .. } | EventKind::Allowed { .. } => {}
            EventKind::Exit
            | EventKind::Name { .. }
            | EventKind::MessageSend(_)
            | EventKind::MessageSent { .. }
            | EventKind::MessageReceive { .. }
            | EventKind::MessageProbe(_)
            | EventKind::Meet(_)
            | EventKind::MeetingComplete { .. }
            | EventKind::Rank { .. }
            | EventKind::CommunicatorName { .. }
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
        while self.next_release().is_some_and(|release| release <= time) {
            self.release_next(observer);
        }
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
            State::Absent => observer.count(ReplayAnomaly::Contradiction),
            // Its own word was there before the collector's.
            _ if self.threads[thread.index()].came_unseen => {}
            State::Running | State::Spinning | State::Overhead => {
                observer.count(ReplayAnomaly::Contradiction)
            }
        }
        self.threads[thread.index()].came_unseen = false;
        self.go_on_in_call(thread, time, observer);
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
            observer.count(ReplayAnomaly::Contradiction);
            self.enter_processor(thread, time, observer);
        }
        self.threads[thread.index()].came_unseen = false;
        let call = self.call(call);
        let stacks = self.sources.stacks;
        let yields = blocking == Blocking::Runnable && is_yield(call);
        let looks = yields && time.since(self.threads[thread.index()].since) <= LONGEST_LOOK;
        let before = std::mem::replace(&mut self.threads[thread.index()].yielded, looks);
        if blocking == Blocking::Runnable {
            // A thread that yields at once again and again does nothing else. One that yields after work worked.
            if looks {
                let waiting = if before { BusyWaiting::Spins } else { BusyWaiting::Work };
                observer.observed(thread, time, None, waiting);
            } else if stack.is_some() {
                let reason = if yields { StackReason::Acting } else { StackReason::Preempted };
                self.observe(thread, time, (stack, reason), observer);
            }
            self.enter(thread, time, State::Ready, observer);
            return;
        }
        if blocking == Blocking::Dead {
            self.enter(thread, time, State::Absent, observer);
            return;
        }
        let hints = stacks.hints(stack);
        if call.is_some_and(|call| futex::shared(call).is_some()) {
            self.tell_shared(thread, (blocking, call, hints), observer);
        }
        if self.is_told_inside(thread, (blocking, call, stack)) {
            self.block_inside(thread, time, stack, observer);
            self.wake_early(thread, time, observer);
            return;
        }
        let path = match (call, stack) {
            (None, None) => self.wait_somewhere(thread, time, observer),
            _ => self.observe(thread, time, (stack, StackReason::Acting), observer),
        };
        let cause = self.by_its_end(thread, cause(blocking, call, hints), call);
        let wait = subject(cause, call, hints).map(|subject| self.wait(thread, time, subject));
        self.await_object(thread, time, (cause, wait, Some(path)), observer);
        let told = wait.filter(|wait| wait.is_told).map(|wait| wait.kind.cause());
        self.enter(thread, time, State::Blocked(told.unwrap_or(cause)), observer);
        self.wake_early(thread, time, observer);
    }

    /// The thread waits, and a collector that sees neither call nor stack says nothing of the place: what it did until
    /// now it did where such bursts of work were seen, but that need not be where it waits.
    fn wait_somewhere(&mut self, thread: ThreadId, time: Time, observer: &mut impl Observer) -> PathId {
        let LiveThread { path, prefix, observed, .. } = self.threads[thread.index()];
        let unknown = observer.path(prefix, (None, PathCut::Stripped));
        let burst = self.ending_burst(thread, unknown, observer);
        let worked = match observer.worked(thread, burst) {
            worked if worked == unknown && observed => path,
            worked => worked,
        };
        if worked != unknown {
            self.look(thread, time, (worked, ObservationKind::Estimate), observer);
        }
        self.look(thread, time, (unknown, ObservationKind::Site), observer);
        unknown
    }

    fn sample(
        &mut self,
        thread: ThreadId,
        time: Time,
        (stack, gap): (Option<StackId>, u32),
        observer: &mut impl Observer,
    ) {
        if !self.threads[thread.index()].state.is_on_cpu() {
            observer.count(ReplayAnomaly::Contradiction);
            self.enter_processor(thread, time, observer);
        }
        if self.threads[thread.index()].inside.is_some() {
            self.look_inside(thread, time, (stack, gap), observer);
            return;
        }
        // What the agent does is no procedure of the program's; where it tells how long it takes, that is taken out.
        let stack = self.sources.stacks.checked(stack).map(|stack| self.sources.stacks.without_agent(stack));
        let path = self.observe(thread, time, (stack, StackReason::Sampled { gap }), observer);
        observer.sampled(thread, path);
        self.enter_processor(thread, time, observer);
    }

    fn observe(
        &mut self,
        thread: ThreadId,
        time: Time,
        (stack, seen): (Option<StackId>, StackReason),
        observer: &mut impl Observer,
    ) -> PathId {
        let (cut, kind) = match seen {
            StackReason::Sampled { gap } if self.sources.has_timer => {
                (PathCut::Plain, ObservationKind::Sample { gap })
            }
            StackReason::Sampled { .. } => (PathCut::Plain, ObservationKind::Boundary),
            StackReason::Preempted => (PathCut::Plain, ObservationKind::Preemption),
            StackReason::Acting => (PathCut::Stripped, ObservationKind::Site),
        };
        let waiting =
            if cut == PathCut::Plain { self.sources.stacks.waiting(stack) } else { BusyWaiting::Work };
        observer.observed(thread, time, stack, waiting);
        let live = &mut self.threads[thread.index()];
        live.observed = true;
        let path = observer.path(live.prefix, (stack, cut));
        live.path = path;
        if seen == StackReason::Acting {
            self.show_worked(thread, time, path, observer);
        }
        self.look(thread, time, (path, kind), observer);
        path
    }

    /// What the thread did until now, where it is seen at `end`: worked, or spun as samples say of its like.
    fn ending_burst(&self, thread: ThreadId, end: PathId, observer: &mut impl Observer) -> Burst {
        let LiveThread { prefix, state, inside, .. } = &self.threads[thread.index()];
        let spins = *state == State::Spinning && inside.is_none();
        Burst::new(observer.prefix_path(*prefix), end).spinning(spins)
    }

    /// Where the thread worked since its last sample, now that its burst of work ends at `end`.
    fn show_worked(&self, thread: ThreadId, time: Time, end: PathId, observer: &mut impl Observer) {
        let burst = self.ending_burst(thread, end, observer);
        let worked = observer.worked(thread, burst);
        if worked != end {
            self.look(thread, time, (worked, ObservationKind::Estimate), observer);
        }
    }

    /// The thread is at this path.
    fn look(
        &self,
        thread: ThreadId,
        time: Time,
        (path, kind): (PathId, ObservationKind),
        observer: &mut impl Observer,
    ) {
        self.emit(thread, time, ItemKind::Observe { path, kind }, observer);
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

    /// When the next spin at the end of a run begins.
    pub(crate) fn next_spin_tail(&self) -> Option<Time> {
        self.sources.spin_tails.get(self.next_spin_tail).map(|tail| tail.begin)
    }

    /// The next spin at the end of a run begins, where the thread works until then.
    pub(crate) fn begin_spin_tail(&mut self, observer: &mut impl Observer) {
        let Some(&SpinTail { begin, thread, flag, .. }) = self.sources.spin_tails.get(self.next_spin_tail)
        else {
            return;
        };
        self.next_spin_tail += 1;
        if self.threads[thread.index()].state == State::Running {
            if let Some(flag) = flag {
                self.begin_flag_wait(thread, begin, flag, observer);
            }
            self.enter_processor(thread, begin, observer);
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, state: State, observer: &mut impl Observer) {
        let live = &mut self.threads[thread.index()];
        if state == State::Absent && live.state != State::Absent && !live.observed {
            // It ran unseen: what it did must not be charged to its creator's procedure.
            live.observed = true;
            let path = observer.path(live.prefix, (None, PathCut::Plain));
            self.look(thread, time, (path, ObservationKind::Site), observer);
        }
        let live = &mut self.threads[thread.index()];
        if live.state != state {
            live.state = state;
            live.since = time;
            if state == State::Absent {
                self.forget_inside(thread, time, observer);
                self.release_end(thread, time, observer);
            }
            self.emit(thread, time, ItemKind::State(state), observer);
            match state {
                State::Blocked(Cause::Barrier) => self.block_at_barrier(thread),
                State::Running | State::Spinning => self.acquire_due(thread, time, observer),
                _ => {}
            }
        }
    }

    fn emit(&self, thread: ThreadId, time: Time, what: ItemKind, observer: &mut impl Observer) {
        observer.item(Item { time, thread: self.global(thread), what });
    }

    fn global(&self, thread: ThreadId) -> ThreadId {
        ThreadId(self.sources.base + thread.0)
    }

    fn call(&self, call: Option<CallId>) -> Option<&'a CallDefinition> {
        self.sources.calls.get(call?.index())
    }
}
