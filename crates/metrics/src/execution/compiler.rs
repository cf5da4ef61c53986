//! The sweep that makes a plan of a recording.
//!
//! ```text
//!   states       running | blocked ....... | ready | running
//!   wake at                    x           |
//!   steps        work      wait x    away            work
//! ```
//! What a thread was blocked or spun for up to a dependence is a wait for that; what it was blocked for longer, or without
//! any, passes as it did. A dependence of a source that was itself waiting explains nothing.

mod sweep;

use longpole_event::{ThreadId, Time};
use longpole_trace::{ObjectId, Objects, PathId, Paths, Program, State, TaskRuntime, TokenId};
use rustc_hash::FxHashMap;

use super::arbitration::{ArbitratedThread, Arbitration};
use super::ends::ThreadEnds;
use super::in_step::{ThreadsInStep, UnseenStreams};
use super::job_slots::JobSlots;
use super::plan::{ExecutionPlan, NodeId, PlanStep};
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
    /// What it was away for.
    pub object: Option<ObjectId>,
    /// When a busy-wait ended that nothing explains, until the thread is seen next.
    pub spun_until: Option<Time>,
    /// For how long no thread could run before it was blocked, nanoseconds.
    pub idle_before: u64,
    pub arbitrated: ArbitratedThread,
}

pub(super) struct Compiler<'a> {
    pub objects: &'a Objects,
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
    slots: JobSlots<'a>,
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
        (program, paths, objects): (&'a Program, &'a Paths, &'a Objects),
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
            object: None,
            spun_until: None,
            idle_before: 0,
            arbitrated: ArbitratedThread::default(),
        };
        let runtime = TaskRuntime::of(paths);
        Compiler {
            objects,
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
            slots: JobSlots::new(program, objects),
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
        self.slots.into_plan(&mut self.plan);
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
        let (turns, objects) = (self.ends.turns(&self.plan), self.objects);
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
        let excludes = |object| objects.get(object).kind.excludes();
        plan.stopped = stopped(&stops, &told, &plan, excludes).map(Box::new);
        plan.unordered = plan.without_turns(&turns, excludes).map(Box::new);
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
