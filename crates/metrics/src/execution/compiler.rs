//! The sweep that makes a plan of a recording.
//!
//! ```text
//!   states       running | blocked ....... | ready | running
//!   wake at                    x           |
//!   steps        work      wait x    away            work
//! ```
//! What a thread was blocked or spun for up to a dependence is a wait for that; what it was blocked for longer, or without
//! any, passes as it did. A dependence of a source that was itself waiting explains nothing.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, ParallelismLevel, Sweep};
use longpole_trace::{
    Acquisition, Cause, DependenceKind, LockHold, ObservationKind, PathId, Paths, Program, State,
    TaskRuntime, TokenId,
};
use rustc_hash::FxHashMap;

use super::arbitration::{ArbitratedThread, Arbitration};
use super::ends::ThreadEnds;
use super::in_step::{ThreadsInStep, UnseenStreams};
use super::plan::{CompactObjectId, ExecutionPlan, NodeId, PlanStep};
use super::polls::{polled, polled_by_processes};
use super::pools::UnseenQueues;
use super::possible_stops::{PlannedStops, stopped};
use super::queues::TakenItems;
use super::time_limits::TimeLimits;
use super::watcher::Watcher;
use crate::analysis::{Analysis, PathSegment};
use crate::charging::ChargePart;
use crate::hand_offs::HandOffs;
use crate::lookahead::LaneLookahead;
use crate::on_path::{Membership, OnPaths};
use crate::pieces::{PieceEnd, Pieces};
use crate::replay::MOST_MISSED;

/// Where a thread is, and what of its time has no step yet.
#[derive(Clone, Debug)]
pub(super) struct PlannedThread {
    pub state: State,
    has_begun: bool,
    /// Where it was seen last.
    pub path: PathId,
    /// Whether its last work was on the critical paths.
    on: Membership,
    busy: u64,
    pub spun: u64,
    pub away: u64,
    /// Whether it slept until it saw that another one had ended.
    pub saw_end: bool,
    /// What it requested, where it was away for that.
    pub request: Option<CompactObjectId>,
    /// When a busy-wait ended that nothing explains, until the thread is seen next.
    pub spun_until: Option<Time>,
    /// For how long no thread could run before it was blocked, nanoseconds.
    pub idle_before: u64,
    pub arbitrated: ArbitratedThread,
}

pub(super) struct Compiler<'a> {
    foresight: &'a LaneLookahead,
    /// Which hand-offs are arcs.
    pub hand_offs: &'a HandOffs,
    pub plan: ExecutionPlan,
    /// Where locks go to whoever comes first.
    pub arbitration: Option<Arbitration<'a>>,
    on_paths: OnPaths<'a>,
    /// The critical path by elapsed time.
    elapsed_path: &'a [PathSegment],
    pieces: Pieces<'a>,
    pub threads: Vec<PlannedThread>,
    pub ends: ThreadEnds,
    pub stops: PlannedStops,
    places: FxHashMap<(ThreadId, ChargePart), u32>,
    /// Parts of the present piece.
    parts: Vec<(ChargePart, u64)>,
    tokens: FxHashMap<TokenId, (NodeId, u32)>,
    /// What threads took from queues.
    taken: TakenItems,
    unseen: UnseenQueues,
    pub streams: UnseenStreams,
    /// Those that are to keep in step, if any are.
    pub in_step: Option<ThreadsInStep>,
    pub time_limits: TimeLimits,
    /// Nodes that were released for what arrives later.
    departed: FxHashMap<(ThreadId, Time), NodeId>,
    next_departure: usize,
    /// Whether threads take goroutines from a queue that they share.
    pub has_goroutines: bool,
    /// Go's thread that looks after the others.
    pub watcher: Watcher,
    /// For how long no thread could run up to now, nanoseconds.
    pub idle: u64,
    steps: usize,
    most_steps: usize,
}

impl<'a> Compiler<'a> {
    pub fn new(
        (program, paths): (&Program, &'a Paths),
        analysis: &'a Analysis,
        foresight: &'a LaneLookahead,
        most_steps: usize,
    ) -> Self {
        let mut plan = ExecutionPlan {
            charging: std::sync::Arc::clone(&analysis.charging),
            elapsed: program.elapsed_nanoseconds,
            processors: program.machines.iter().map(|machine| machine.cpus.max(1)).collect(),
            ..ExecutionPlan::default()
        };
        plan.threads.resize_with(program.threads.len(), Default::default);
        for (planned, thread) in plan.threads.iter_mut().zip(&program.threads) {
            planned.machine = program.processes[thread.process.index()].machine.index();
        }
        let thread = |thread: &longpole_trace::Thread| PlannedThread {
            state: State::Absent,
            has_begun: false,
            path: thread.prefix,
            on: Membership::NONE,
            busy: 0,
            spun: 0,
            away: 0,
            saw_end: false,
            request: None,
            spun_until: None,
            idle_before: 0,
            arbitrated: ArbitratedThread::default(),
        };
        let runtime = TaskRuntime::of(paths);
        Compiler {
            foresight,
            hand_offs: &foresight.hand_offs,
            plan,
            arbitration: None,
            on_paths: OnPaths::of(analysis),
            elapsed_path: &analysis.critical_elapsed.segments,
            pieces: Pieces::new(program, paths),
            threads: program.threads.iter().map(thread).collect(),
            ends: ThreadEnds::new(program),
            stops: PlannedStops::default(),
            places: FxHashMap::default(),
            parts: Vec::new(),
            tokens: FxHashMap::default(),
            taken: TakenItems::default(),
            unseen: UnseenQueues::new(program, runtime),
            streams: UnseenStreams::default(),
            in_step: None,
            time_limits: TimeLimits::new(program, runtime),
            departed: FxHashMap::default(),
            next_departure: 0,
            has_goroutines: runtime == TaskRuntime::Go,
            watcher: Watcher::of(program, paths, runtime),
            idle: 0,
            steps: 0,
            most_steps,
        }
    }

    /// The plan's steps; `None` where they are too many.
    pub fn into_steps(mut self, program: &Program) -> Option<ExecutionPlan> {
        self.ends.let_go_of_killed(&mut self.plan);
        self.watcher.let_go(&mut self.plan);
        self.time_limits.join_waits(&mut self.plan);
        self.taken.into_queues(&mut self.plan, program);
        self.plan.unseen_queues = self.unseen.found(&self.plan.processors);
        self.plan.find_known_items();
        // Limits in a row are polls, too.
        let limits = self.time_limits.depended_on(&self.plan, self.elapsed_path);
        self.plan.unexplained +=
            polled(&self.plan, program, &self.watcher).max(limits) + polled_by_processes(program);
        (self.steps <= self.most_steps).then_some(self.plan)
    }

    pub fn into_plan(self, program: &Program) -> Option<ExecutionPlan> {
        let locks = self.foresight.locks.clone();
        let stops = self.stops.in_background(&self.ends);
        let (turns, hand_offs) = (self.ends.turns(&self.plan), self.hand_offs);
        let told = self.ends.told_workers();
        let mut plan = self.into_steps(program)?;
        plan.locks = locks;
        plan.execute_unchanged();
        // Where the run is not reproduced so, and is if each item stays with its thread, items are none.
        if plan.error().abs() > MOST_MISSED {
            let mut kept = plan.clone();
            if kept.keep_items() {
                kept.execute_unchanged();
                if kept.error().abs() + MOST_MISSED < plan.error().abs() {
                    plan = kept;
                }
            }
        }
        plan.stopped = stopped(&stops, &told, &plan).map(Box::new);
        plan.unordered = plan.without_turns(&turns, |object| hand_offs.excludes(object)).map(Box::new);
        Some(plan)
    }

    pub fn push(&mut self, thread: ThreadId, step: PlanStep) {
        self.steps += 1;
        if self.steps <= self.most_steps {
            self.plan.threads[thread.index()].steps.push(step);
        }
    }

    pub fn node(&mut self) -> NodeId {
        self.plan.nodes += 1;
        NodeId(self.plan.nodes as u32 - 1)
    }

    /// Makes steps of the thread's work so far, of a piece that ends so.
    fn charge(&mut self, thread: ThreadId, end: PieceEnd) {
        self.pieces.cut(thread);
        let busy = std::mem::take(&mut self.threads[thread.index()].busy);
        let has_work = self.pieces.piece(thread).work != [0; Membership::ALL];
        let displaced = if has_work || busy > 0 { self.resume(thread) } else { 0 };
        if busy > 0 {
            self.push(thread, PlanStep::Busy(busy));
        }
        let cell = self.pieces.cell(thread, end);
        let mut parts = std::mem::take(&mut self.parts);
        // Parts are rounded so that their sum is the piece.
        let (mut sum, mut given) = (0.0, 0);
        self.plan.charging.divide(cell, self.pieces.piece(thread), |part, _, time| {
            sum += time;
            let up_to = sum.round() as u64;
            parts.push((part, up_to - std::mem::replace(&mut given, up_to)));
        });
        for (part, time) in parts.drain(..).filter(|&(_, time)| time > 0) {
            self.work(thread, part, time);
            let part = displaced as f64 * time as f64 / given as f64;
            if part >= 1.0 {
                let place = self.place_of_last_work(thread);
                self.push(thread, PlanStep::Displaced { place, time: part.round() as u64 });
            }
        }
        self.parts = parts;
    }

    fn work(&mut self, thread: ThreadId, part: ChargePart, work: u64) {
        let place = self.place(thread, part);
        if let Some(PlanStep::Work { place: last, time }) = self.plan.threads[thread.index()].steps.last_mut()
            && *last == place
        {
            *time += work;
            return;
        }
        self.push(thread, PlanStep::Work { place, time: work });
    }

    /// The place of the plan for this part of the thread's work, or for its spins at a path.
    pub fn place(&mut self, thread: ThreadId, part: ChargePart) -> u32 {
        let next = self.plan.places.len() as u32;
        let place = *self.places.entry((thread, part)).or_insert(next);
        if place == next {
            self.plan.places.push((thread, part));
        }
        place
    }

    /// A node of the graph: makes steps of the thread's work up to it.
    pub fn cut(&mut self, thread: ThreadId, time: Time) {
        self.pieces.cut(thread);
        let has_work = self.pieces.piece(thread).work != [0; Membership::ALL];
        if has_work || self.threads[thread.index()].busy > 0 {
            self.charge(thread, self.foresight.piece_end(thread, time));
            self.pieces.piece(thread).clear();
        }
    }

    /// The thread works.
    pub fn run(&mut self, thread: ThreadId, from: Time, to: Time) {
        if from < to {
            let (times, on) = self.on_paths.split(thread, from, to);
            self.threads[thread.index()].on = on;
            self.pieces.work(thread, &times);
        }
    }
}

impl Sweep for Compiler<'_> {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        if let Some(arbitration) = &mut self.arbitration {
            arbitration.pass(to.since(from));
        }
        if level.nominal == 0 {
            self.idle += to.since(from);
        }
        while let Some(departure) = self.foresight.departures.get(self.next_departure)
            && departure.time < to
        {
            let (thread, time) = (departure.thread, departure.time);
            self.cut(thread, time);
            let node = self.node();
            self.push(thread, PlanStep::Release(node));
            self.departed.insert((thread, time), node);
            self.next_departure += 1;
        }
    }

    fn arc(&mut self, arc: Arc) {
        self.ends.live(&arc);
        let arc = self.divide_in_step(arc);
        if self.arbitration.is_some() && self.follow(arc) {
            return;
        }
        let planned = &mut self.threads[arc.thread.index()];
        let of_state = match arc.state {
            State::Running => return self.run(arc.thread, arc.from, arc.to),
            State::Overhead => &mut planned.busy,
            State::Spinning => &mut planned.spun,
            // How long it waits follows from who has the lock.
            State::Blocked(Cause::Lock)
                if arc.object.is_some_and(|object| self.hand_offs.is_asked_for_anew(object)) =>
            {
                return;
            }
            State::Blocked(cause) => {
                let request = arc.object.filter(|_| cause == Cause::Request);
                planned.request = request.and_then(CompactObjectId::new);
                &mut planned.away
            }
            State::Ready | State::Absent => return,
        };
        *of_state += arc.length();
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        if before == State::Absent && !self.threads[thread.index()].has_begun {
            self.threads[thread.index()].has_begun = true;
            if self.plan.threads[thread.index()].steps.is_empty() && time > Time::ZERO {
                self.push(thread, PlanStep::Away { time: time.nanoseconds(), io: false, request: None });
            }
        }
        if before == State::Running && state != State::Ready {
            self.cut(thread, time);
        }
        match (before, state) {
            // Cut off: nobody knows how long it would have waited.
            (_, State::Absent) => {
                (self.threads[thread.index()].spun, self.threads[thread.index()].away) = (0, 0);
                self.ends.end(thread);
                if matches!(before, State::Blocked(_)) {
                    self.taken.end_waiting(thread);
                }
            }
            (State::Blocked(_), _) | (_, State::Running | State::Overhead) => {
                self.pass_waits(thread, time);
            }
            _ => {}
        }
        self.follow_steps(thread, time, state);
        if matches!(state, State::Blocked(_)) {
            self.ends.block(thread);
            self.threads[thread.index()].idle_before = self.idle;
        }
        self.follow_stops(thread, time, (before, state));
        let resumed_at = self.plan.threads[thread.index()].steps.len();
        let taken = self.arbitration.as_mut().map_or(0.0, |own| own.enter(thread, before, state));
        self.threads[thread.index()].arbitrated.enter((before, state), taken, resumed_at);
        self.threads[thread.index()].state = state;
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, kind: ObservationKind) {
        self.place_spin(thread, time, path);
        self.watcher.observe(thread, path);
        self.threads[thread.index()].path = path;
        if let Some(end) = PieceEnd::of(path, kind) {
            self.charge(thread, end);
            self.pieces.end(thread, end);
        } else if let ObservationKind::Sample { gap } = kind {
            let PlannedThread { state, on, .. } = self.threads[thread.index()];
            if state == State::Running {
                self.pieces.sample(thread, (path, on), self.plan.charging.gap(gap));
            }
        }
    }

    fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, source_time, thread, time, kind, object } = dependence;
        if source_time == time {
            self.pieces.cut(source);
        }
        self.pieces.cut(thread);
        if source == thread || !self.waits(thread) {
            return;
        }
        // It gives others what was there to be done: at which of its looks is no order of the program.
        if self.watcher.is_watching(source) {
            return;
        }
        self.ends.enable(source, Some(thread));
        let state = self.threads[thread.index()].state;
        self.unseen.end_wait(thread, state, source);
        self.streams.end_wait(state, &dependence);
        self.cut(thread, time);
        if self.threads[thread.index()].arbitrated.asks(time) || !self.hand_offs.are_order(&dependence) {
            let planned = &mut self.threads[thread.index()];
            (planned.spun, planned.away) = (0, 0);
            return;
        }
        let node = if source_time < time {
            let Some(&node) = self.departed.get(&(source, source_time)) else { return };
            node
        } else {
            if matches!(self.threads[source.index()].state, State::Blocked(_)) {
                return;
            }
            self.cut(source, time);
            self.keep_step(thread, source);
            let node = self.node();
            self.push(source, PlanStep::Release(node));
            node
        };
        self.time_limits.enable(source, kind, node);
        let step = self.plan.threads[thread.index()].steps.len();
        self.ends.wait(thread, source, step);
        let slept = self.threads[thread.index()].away;
        let sees_end = kind == DependenceKind::Join && self.sleeps(thread);
        if sees_end {
            self.take_polls(thread, slept);
        }
        self.wait(thread, (node, 1), object);
        if kind == DependenceKind::Stop {
            self.ends.stop(thread, step, (slept, time));
        }
        if sees_end || kind == DependenceKind::Stop {
            self.threads[thread.index()].away = time.since(source_time);
        }
    }

    fn release(&mut self, thread: ThreadId, time: Time, token: TokenId) {
        self.pieces.cut(thread);
        if !self.foresight.acquisitions.contains_key(&token) || self.watcher.is_watching(thread) {
            return;
        }
        self.ends.enable(thread, None);
        self.cut(thread, time);
        let fresh = NodeId(self.plan.nodes as u32);
        let (node, releases) = self.tokens.entry(token).or_insert((fresh, 0));
        *releases += 1;
        let node = *node;
        self.plan.nodes += usize::from(node == fresh);
        self.time_limits.enable(thread, DependenceKind::Signal, node);
        self.push(thread, PlanStep::Release(node));
    }

    fn acquire(&mut self, thread: ThreadId, time: Time, acquisition: Acquisition) {
        self.cut(thread, time);
        self.streams.acquire(&acquisition);
        let token = self.tokens.get(&acquisition.token).copied();
        if acquisition.last {
            self.tokens.remove(&acquisition.token);
        }
        let object = acquisition.object.and_then(CompactObjectId::new);
        if let Some((node, _)) = token {
            self.time_limits.acquire(thread, acquisition.kind, node);
        }
        let wait = token.map(|(node, releases)| PlanStep::Wait { node, releases, object, spins: false });
        let get = acquisition.queue.map(|queue| self.taken.take(thread, queue, token.map(|token| token.0)));
        if self.arbitration.is_some() || get.is_some() {
            self.insert_waits(thread, acquisition.kind, (get, wait));
        } else if let Some(wait) = wait {
            self.push(thread, wait);
        }
    }

    fn hold(&mut self, thread: ThreadId, time: Time, hold: LockHold) {
        if self.arbitration.is_some() {
            self.give_back(thread, time, hold);
        }
    }

    fn finish(&mut self, _end: Time) {
        for index in 0..self.threads.len() {
            let thread = ThreadId::from_index(index);
            let is_sampled = self.pieces.piece(thread).is_sampled;
            self.charge(thread, PieceEnd::Nothing { is_sampled });
        }
    }
}
