//! Many longest paths in one sweep (metrics.md §5): what would the critical path be if some work weighed less?
//!
//! A *lane* is the program activity graph with weights of its own. Each thread carries L, the length of the
//! longest path to where it is, and for each lane how much its length in that lane differs from that:
//!
//! ```text
//!                               base    lane of A   lane of B   lane of C    (each leaves out one procedure)
//!   T1  AAAABB        at 6:     6       −4          −2           0
//!   T2  CCC...DD      at 3:     3        0           0          −3
//!       T1@6 -> T2    at 6:     6       max(2, 3)   max(4, 3)   max(6, 0)   =   6−3, 6−2, 6−0
//! ```
//! Work touches only the lanes of what it is charged to, in those parts in which tables divide it ([`crate::charging`]): so no
//! lane is shorter than the critical path without what the table has on it. A dependence takes the larger length in every lane: one
//! loop over two slices, which the compiler vectorises. Numbers are `f64`: every x86-64 has the maximum of two of
//! them in one instruction, which for integers of 64 bits it has not; whole nanoseconds are exact up to 2^53, a
//! hundred days.
//!
//! **CPU weight**: useful CPU time alone has weight; each dependence holds in each lane, and each token.
//!
//! **Elapsed weight**: the critical path's rules decide, on the base, which dependence explains a wait. That
//! dependence holds in each lane, as does what the thread acquires without having waited, and the wait has no weight of its own; ready time, busy-waiting, the way of a message and
//! waits that nothing explains keep their time. Useful CPU time is what a lane leaves out.
//!
//! **Objects**: a lane about an object ends waits for it earlier. If the thread came there at `own` and the
//! dependence would let it go on at `offered`, it goes on at own + f · (offered − own); with f = 0 at once.
//!
//! Time: per item constant, per dependence that holds one maximum for each lane, and of the work since the one before one addition for each
//! lane of the paths that were sampled in its groups ([`due`]). Memory: lanes × live threads, a copy of the lanes for each message under
//! way, shares of groups, and times by pool and path for each thread.
//!
//! What no lane can see: the order of events is the recorded one. In a shorter run locks may be taken in another
//! order, another thread may be last, and the work left out may have warmed a cache.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, ParallelismLevel, Sweep};
use longpole_trace::{Acquisition, ObjectId, ObservationKind, PathId, Paths, Program, State, TokenId};
use rustc_hash::FxHashMap;

use crate::analysis::{Analysis, PathSegment, Weight};
use crate::charging::{ChargePart, Charging};
use crate::lane_path::LanePath;
use crate::lookahead::{Departure, LaneLookahead};
use crate::marks::{Marks, Rules};
use crate::on_path::{Membership, OnPaths};
use crate::path_hand_offs::{PathHandOff, PathHandOffId};
use crate::pieces::{PieceEnd, Pieces};
use crate::spin_waits::SpinWaits;

mod buffers;
mod due;
mod tokens;

use buffers::{Buffers, raise, raise_to};
use due::{DueWork, leave_out_path};
use tokens::LaneTokens;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaneLife {
    NotBegun,
    Alive,
    Ended,
}

/// Where the longest paths of all lanes have come to at one place of the graph. No lanes: all are as the base.
#[derive(Clone, Debug)]
struct LaneReach {
    length: u64,
    lanes: Option<Box<[f64]>>,
    hand_off: PathHandOffId,
}

impl LaneReach {
    const NOTHING: LaneReach = LaneReach { length: 0, lanes: None, hand_off: PathHandOffId::NONE };

    fn of(&self, lane: usize) -> f64 {
        self.length as f64 + self.lanes.as_ref().map_or(0.0, |lanes| lanes[lane])
    }
}

#[derive(Clone, Debug)]
struct LaneThread {
    life: LaneLife,
    begin: Time,
    state: State,
    /// Up to here L is accounted for.
    cut: Time,
    /// Whether its last work was on the critical paths.
    on: Membership,
    /// How often it will be needed after its end.
    uses: u32,
    reach: LaneReach,
    /// What is not yet taken from the lanes of `reach`.
    due: DueWork,
}

/// Where something that was left at `left` arrives.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    thread: ThreadId,
    time: Time,
    source: ThreadId,
    left: Time,
    /// What the thread waits for, or would have.
    object: Option<ObjectId>,
    /// Elapsed time under way, nanoseconds.
    way: u64,
    /// It ended a wait; else the thread depends on it whether or not it waited.
    is_hand_off: bool,
}

/// The sweep of all lanes.
#[derive(Debug)]
pub(crate) struct Lanes<'a, R> {
    weight: Weight,
    foresight: &'a LaneLookahead,
    marks: Marks<'a, R>,
    /// Whether lanes leave out work; else none is divided.
    marks_work: bool,
    charging: &'a Charging,
    on_paths: OnPaths<'a>,
    pieces: Pieces<'a>,
    per_thread: Vec<LaneThread>,
    spins: SpinWaits,
    buffers: Buffers,
    departed: FxHashMap<(ThreadId, Time), (LaneReach, u32)>,
    tokens: LaneTokens,
    next_departure: usize,
    ended: Vec<ThreadId>,
    /// Threads that end no path.
    killed: Vec<ThreadId>,
    best: LongestLanePaths,
    trail: Option<LanePath>,
}

/// The longest paths to any end.
#[derive(Debug)]
struct LongestLanePaths {
    length: u64,
    /// The longest one to an end where all lanes are as the base.
    plain: u64,
    lanes: Vec<f64>,
}

/// What the lanes came to.
#[derive(Debug)]
pub(crate) struct LaneLengths {
    /// Length of the base's longest path; with elapsed weight up to the last thread's end.
    pub base: u64,
    /// By how much each lane's longest path is shorter.
    pub gains: Vec<f64>,
    /// The longest path of the lane that was followed.
    pub segments: Vec<PathSegment>,
}

impl<'a, R: Rules> Lanes<'a, R> {
    /// Lanes of these rules, of a run whose analysis this is.
    pub fn new(
        (program, paths): (&Program, &'a Paths),
        weight: Weight,
        foresight: &'a LaneLookahead,
        rules: R,
        analysis: &'a Analysis,
    ) -> Self {
        let of_thread = |&uses: &u32| LaneThread {
            life: LaneLife::NotBegun,
            begin: Time::ZERO,
            state: State::Absent,
            cut: Time::ZERO,
            on: Membership::NONE,
            uses,
            reach: LaneReach::NOTHING,
            due: DueWork::default(),
        };
        let (lanes, marks_work) = (rules.lanes(), rules.mark_work());
        Lanes {
            weight,
            foresight,
            marks_work,
            marks: Marks::new(rules, &analysis.charging),
            charging: &analysis.charging,
            on_paths: OnPaths::of(analysis),
            pieces: Pieces::new(program, paths),
            per_thread: foresight.uses.iter().map(of_thread).collect(),
            spins: SpinWaits::default(),
            buffers: Buffers { lanes, free: Vec::new() },
            departed: FxHashMap::default(),
            tokens: LaneTokens::default(),
            next_departure: 0,
            ended: Vec::new(),
            killed: ends_of_no_path(program, analysis),
            best: LongestLanePaths { length: 0, plain: 0, lanes: vec![0.0; lanes] },
            trail: None,
        }
    }

    /// Also finds the longest path of this lane.
    pub fn following(mut self, lane: usize) -> Self {
        self.trail = Some(LanePath::new(lane));
        self
    }

    /// The lengths, once the sweep is finished.
    pub fn into_lengths(mut self) -> LaneLengths {
        let LongestLanePaths { length, plain, lanes } = self.best;
        let locks = &self.foresight.locks;
        let least = match self.weight {
            Weight::Cpu => locks.least_lengths(&mut self.marks),
            Weight::Elapsed => vec![0.0; lanes.len()],
        };
        let before = locks.longest().max(length as f64);
        let gain = |(lane, least): (&f64, f64)| (length as f64 - lane.max(plain as f64)).min(before - least);
        let gains = lanes.iter().zip(least).map(gain).collect();
        let begin = |thread: ThreadId| self.per_thread[thread.index()].begin;
        let segments = self.trail.map_or_else(Vec::new, |trail| trail.segments(begin));
        LaneLengths { base: length, gains, segments }
    }

    fn advance(&mut self, thread: ThreadId, to: Time) {
        let grows = self.weight.grows(self.per_thread[thread.index()].state);
        let of_thread = &mut self.per_thread[thread.index()];
        if of_thread.cut >= to {
            return;
        }
        let passed = to.since(of_thread.cut);
        if of_thread.state == State::Running && self.marks_work {
            let (times, on) = self.on_paths.split(thread, of_thread.cut, to);
            self.pieces.work(thread, &times);
            of_thread.on = on;
        }
        if grows {
            of_thread.reach.length += passed;
        }
        of_thread.cut = to;
    }

    /// Charges the thread's work so far, of a piece that ends so.
    fn charge(&mut self, thread: ThreadId, end: PieceEnd) {
        self.pieces.cut(thread);
        if self.pieces.piece(thread).work == [0; Membership::ALL] {
            return;
        }
        let LaneThread { reach, due, .. } = &mut self.per_thread[thread.index()];
        let (weight, charging, at) = (self.weight, self.charging, (&mut self.marks, &mut self.buffers));
        if !at.0.rules.tell_paths_apart() {
            // Lanes that do not ask for paths have all of it, wherever it was.
            for (index, &time) in self.pieces.piece(thread).work.iter().enumerate().filter(|work| *work.1 > 0)
            {
                let place = (thread, Paths::ROOT, Membership::of_index(index).has(weight));
                leave_out_path(place, time as f64, &mut reach.lanes, (&mut *at.0, &mut *at.1));
            }
            return;
        }
        let cell = self.pieces.cell(thread, end);
        charging.divide(cell, self.pieces.piece(thread), |part, on, time| match part {
            ChargePart::Of(group) => due.add(group, on.has(weight), time, charging),
            ChargePart::At(path) => {
                let place = (thread, path, on.has(weight));
                leave_out_path(place, time, &mut reach.lanes, (&mut *at.0, &mut *at.1));
            }
        });
    }

    /// Takes from the thread's lanes all that is due: they are going to be looked at.
    fn settle(&mut self, thread: ThreadId) {
        let LaneThread { reach, due, .. } = &mut self.per_thread[thread.index()];
        due.settle(thread, &mut reach.lanes, (&mut self.marks, &mut self.buffers));
    }

    /// A node of the graph: charges the thread's work up to it.
    fn cut(&mut self, thread: ThreadId, time: Time) {
        if !self.marks_work {
            return;
        }
        self.pieces.cut(thread);
        if self.pieces.piece(thread).work != [0; Membership::ALL] {
            self.charge(thread, self.foresight.piece_end(thread, time));
            self.pieces.piece(thread).clear();
        }
    }

    fn depart(&mut self, departure: Departure) {
        let Departure { time, thread, users } = departure;
        self.advance(thread, time);
        self.cut(thread, time);
        self.settle(thread);
        let of_thread = &mut self.per_thread[thread.index()];
        of_thread.uses -= 1;
        if of_thread.life != LaneLife::NotBegun {
            let LaneReach { length, ref lanes, hand_off } = of_thread.reach;
            let lanes = self.buffers.copy(lanes.as_deref());
            self.departed.insert((thread, time), (LaneReach { length, lanes, hand_off }, users));
        }
        self.forget(thread);
    }

    /// Gives up the lanes of a thread that nobody needs any more.
    fn forget(&mut self, thread: ThreadId) {
        let of_thread = &mut self.per_thread[thread.index()];
        if of_thread.life == LaneLife::Ended && of_thread.uses == 0 {
            self.buffers.take_back(of_thread.reach.lanes.take());
        }
    }

    /// A path may end where this thread is.
    fn offer(&mut self, thread: ThreadId, time: Time) {
        self.settle(thread);
        if self.killed.binary_search(&thread).is_ok() {
            return;
        }
        let reach = &self.per_thread[thread.index()].reach;
        let best = &mut self.best;
        best.length = best.length.max(reach.length);
        match &reach.lanes {
            None => best.plain = best.plain.max(reach.length),
            Some(lanes) => raise(&mut best.lanes, 0.0, lanes, reach.length as f64),
        }
        if let Some(trail) = &mut self.trail {
            trail.offer(thread, time, reach.of(trail.lane), reach.hand_off);
        }
    }

    /// The place that a dependence leaves, taken out of its seat; given back by `put_back`.
    fn leave(&mut self, dependence: &Dependence) -> Option<LaneReach> {
        let Dependence { source, source_time, time, .. } = *dependence;
        if source_time == time {
            self.settle(source);
            let of_thread = &mut self.per_thread[source.index()];
            return (of_thread.life != LaneLife::NotBegun)
                .then(|| std::mem::replace(&mut of_thread.reach, LaneReach::NOTHING));
        }
        let (reach, users) = self.departed.get_mut(&(source, source_time))?;
        *users -= 1;
        if *users == 0 {
            return self.departed.remove(&(source, source_time)).map(|(reach, _)| reach);
        }
        let LaneReach { length, ref lanes, hand_off } = *reach;
        Some(LaneReach { length, lanes: self.buffers.copy(lanes.as_deref()), hand_off })
    }

    fn put_back(&mut self, dependence: &Dependence, reach: LaneReach) {
        if dependence.source_time == dependence.time {
            self.per_thread[dependence.source.index()].reach = reach;
        } else {
            self.buffers.take_back(reach.lanes);
        }
    }

    /// The thread goes on no earlier than what is offered, in each lane.
    fn arrive(&mut self, arrival: &Arrival, from: &LaneReach) {
        let Arrival { thread, time, object, way, is_hand_off, .. } = *arrival;
        let of_thread = &mut self.per_thread[thread.index()];
        if of_thread.life == LaneLife::Ended {
            return;
        }
        let waits = matches!(of_thread.state, State::Absent | State::Blocked(_) | State::Spinning);
        let offered = from.length + way;
        // Less than the time passed means that the source itself waited: no explanation.
        if is_hand_off && self.weight == Weight::Elapsed && !(waits && offered >= time.nanoseconds()) {
            return;
        }
        self.settle(thread);
        let of_thread = &mut self.per_thread[thread.index()];
        let own = of_thread.reach.length;
        let longest = own.max(offered);
        let marks = object.map_or(&[][..], |object| self.marks.rules.object_marks(object));
        let leaves = |lane: usize| from.of(lane) + way as f64;
        let kept: Vec<(usize, f64)> = marks
            .iter()
            .map(|mark| {
                let lane = mark.lane as usize;
                let own = of_thread.reach.of(lane);
                (lane, own + mark.factor * (leaves(lane) - own).max(0.0))
            })
            .collect();
        if let Some(trail) = &mut self.trail {
            let (lane, own) = (trail.lane, of_thread.reach.of(trail.lane));
            let is_open = kept.iter().all(|&(kept, length)| kept != lane || length > own);
            let wins = leaves(lane) > own || (leaves(lane) == own && waits);
            if wins && is_open {
                let Arrival { source, left, .. } = *arrival;
                of_thread.reach.hand_off =
                    trail.hand_off(PathHandOff { parent: from.hand_off, source, left, arrived: time });
            }
        }
        of_thread.reach.length = longest;
        if of_thread.reach.lanes.is_none() && from.lanes.is_none() && kept.is_empty() {
            return;
        }
        let (own, offered, longest) = (own as f64, offered as f64, longest as f64);
        let lanes = of_thread.reach.lanes.get_or_insert_with(|| self.buffers.zeros());
        match &from.lanes {
            Some(from) => raise(lanes, own - longest, from, offered - longest),
            None => raise_to(lanes, own - longest, offered - longest),
        }
        for (lane, length) in kept {
            lanes[lane] = length - longest;
        }
    }

    fn collect_trail(&mut self) {
        let Some(trail) = self.trail.as_mut().filter(|trail| trail.is_full()) else { return };
        let (per_thread, departed, tokens) = (&mut self.per_thread, &mut self.departed, &mut self.tokens);
        trail.collect(|each| {
            tokens.path_hand_offs().for_each(&mut *each);
            per_thread.iter_mut().for_each(|of_thread| each(&mut of_thread.reach.hand_off));
            departed.values_mut().for_each(|(reach, _)| each(&mut reach.hand_off));
        });
    }
}

impl<R: Rules> Sweep for Lanes<'_, R> {
    fn pass(&mut self, _from: Time, to: Time, _level: ParallelismLevel) {
        while let Some(&departure) = self.foresight.departures.get(self.next_departure)
            && departure.time < to
        {
            self.depart(departure);
            self.next_departure += 1;
        }
        while let Some(thread) = self.ended.pop() {
            self.forget(thread);
        }
    }

    fn arc(&mut self, arc: Arc) {
        self.advance(arc.thread, arc.to);
    }

    fn begin_wait(&mut self, thread: ThreadId, _time: Time, _object: ObjectId) {
        self.spins.begin_wait(thread);
    }

    fn enter(&mut self, thread: ThreadId, time: Time, before: State, state: State) {
        if before == State::Running && state != State::Ready {
            self.pieces.cut(thread);
        }
        let Some((before, state)) = self.spins.enter(thread, before, state) else { return };
        let of_thread = &mut self.per_thread[thread.index()];
        of_thread.cut = time;
        // A wait that only the thread's end cut off is not over.
        let wait_ends =
            before == State::Absent || matches!(before, State::Blocked(_)) && state != State::Absent;
        if self.weight == Weight::Elapsed && wait_ends {
            // What no dependence explained up to now weighs its time, in each lane.
            of_thread.reach.length = time.nanoseconds();
        }
        if before == State::Absent {
            of_thread.uses -= 1;
            if of_thread.life == LaneLife::NotBegun {
                of_thread.begin = time;
            }
        }
        (of_thread.life, of_thread.state) = (LaneLife::Alive, state);
        if state == State::Absent {
            self.cut(thread, time);
            self.per_thread[thread.index()].life = LaneLife::Ended;
            self.offer(thread, time);
            self.ended.push(thread);
        }
    }

    fn observe(&mut self, thread: ThreadId, _time: Time, path: PathId, kind: ObservationKind) {
        if !self.marks_work {
            return;
        }
        if let Some(end) = PieceEnd::of(path, kind) {
            self.charge(thread, end);
            self.pieces.end(thread, end);
        } else if let ObservationKind::Sample { gap } = kind {
            let LaneThread { state, on, .. } = self.per_thread[thread.index()];
            if state == State::Running {
                self.pieces.sample(thread, (path, on), self.charging.gap(gap));
            }
        }
    }

    fn depend(&mut self, dependence: Dependence) {
        let Dependence { source, source_time, thread, time, .. } = dependence;
        if source_time == time {
            self.cut(source, time);
        }
        self.cut(thread, time);
        let way = if self.weight == Weight::Elapsed { time.since(source_time) } else { 0 };
        if source == thread && source_time == time {
            return;
        }
        // By elapsed time a wait is explained by what ended it, in whatever order that came.
        let is_arc = self.weight == Weight::Elapsed || self.foresight.hand_offs.are_order(&dependence);
        if source_time == time && !is_arc {
            return;
        }
        let Some(from) = self.leave(&dependence) else { return };
        if source != thread && is_arc {
            let object = dependence.object;
            let arrival = Arrival { thread, time, source, left: source_time, object, way, is_hand_off: true };
            self.arrive(&arrival, &from);
        }
        self.put_back(&dependence, from);
        self.collect_trail();
    }

    fn release(&mut self, thread: ThreadId, time: Time, token: TokenId) {
        self.release_token(thread, time, token);
    }

    fn acquire(&mut self, thread: ThreadId, time: Time, acquisition: Acquisition) {
        self.acquire_token(thread, time, acquisition);
    }

    fn finish(&mut self, end: Time) {
        for index in 0..self.per_thread.len() {
            let thread = ThreadId::from_index(index);
            if self.per_thread[index].life == LaneLife::Alive {
                let is_sampled = self.pieces.piece(thread).is_sampled;
                self.charge(thread, PieceEnd::Nothing { is_sampled });
                self.offer(thread, end);
            }
        }
    }
}

/// Threads with whose end no path ends: those that were killed at their work, unless the critical path does.
fn ends_of_no_path(program: &Program, analysis: &Analysis) -> Vec<ThreadId> {
    let last = analysis.critical_cpu.segments.last();
    let is_end = last.is_some_and(|last| program.is_killed_at_work(last.thread));
    if is_end { Vec::new() } else { program.killed_at_work.clone() }
}
